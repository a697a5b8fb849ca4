package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func answered(t *testing.T, status int, body string) error {
	return alone(t, Config{}, func(*http.Request) *http.Response { return says(status, body) }).post(t.Context(), "5")
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   agent.PlatformFault
	}{
		"unknown channel":     {404, `{"code":10003,"message":"Unknown Channel"}`, agent.FaultGone},
		"unknown message":     {404, `{"code":10008,"message":"Unknown Message"}`, agent.FaultGone},
		"unknown interaction": {404, `{"code":10062}`, agent.FaultGone},
		"no access":           {403, `{"code":50001}`, agent.FaultForbidden},
		"no permission":       {403, `{"code":50013}`, agent.FaultForbidden},
		"archived":            {400, `{"code":50083}`, agent.FaultForbidden},
		"locked":              {400, `{"code":160005}`, agent.FaultForbidden},
		"a new code":          {400, `{"code":987654}`, agent.FaultForbidden},
		"no JSON":             {403, `<html>`, agent.FaultForbidden},
		"unauthorized":        {401, `{"code":0}`, agent.FaultForbidden},
		"500":                 {500, `{"code":0}`, agent.FaultTransient},
		"502 page":            {502, `<html>`, agent.FaultTransient},
		"503 page":            {503, `<html>`, agent.FaultTransient},
		"overloaded":          {503, `{"code":130000}`, agent.FaultTransient},
		"429":                 {429, `{"retry_after":3}`, agent.FaultBusy},
		"429 bare":            {429, `{}`, agent.FaultBusy},
	} {
		if err := answered(t, c.status, c.body); samples.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := answered(t, 429, `{"retry_after":3}`); samples.AfterOf(err) != 3*time.Second {
		t.Error(err)
	}
	if FaultOf(nil) != nil {
		t.Error("nothing is a fault")
	}
}

func TestFaultsOfTheWayHideTheAddress(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind agent.PlatformFault
	}{
		{errors.New("connection reset"), agent.FaultTransient}, {context.DeadlineExceeded, agent.FaultTransient},
		{&agent.PlatformError{Kind: agent.FaultLater, Cause: errors.New("x")}, agent.FaultLater},
	} {
		err := FaultOf(&url.Error{Op: "Post", URL: "https://discord.com/api/v10/interactions/1/SECRETTOKEN/callback", Err: c.err})
		if samples.KindOf(err) != c.kind || strings.Contains(err.Error(), "SECRETTOKEN") {
			t.Error(err)
		}
	}
}

func TestABadFormNamesThePlace(t *testing.T) {
	err := answered(t, 400, `{"code":50035,"message":"Invalid Form Body","errors":{"data":{"components":{"0":{"components":{"3":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"`+samples.Token+`"}]}}}}}}}}`)
	if s := err.Error(); !strings.Contains(s, " at data.components.0.components.3.content: BASE_TYPE_MAX_LENGTH") || strings.Contains(s, samples.Token) {
		t.Error(s)
	}
	if CodeOf(err) != CodeBadForm || RefusalIn(err).Status != 400 {
		t.Error("the code is lost")
	}
	deep := strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)
	if s := wrongAt(json.RawMessage(deep)); len(s) > 1000 {
		t.Error(len(s))
	}
}

func TestSecretsAreScrubbed(t *testing.T) {
	interaction := "aW50ZXJhY3Rpb246MTIzNDU2Nzg5MDp6enp6"
	for _, s := range []string{
		"Post https://discord.com/api/v10/interactions/123/" + interaction + "/callback: reset",
		"Post https://discord.com/api/v10/webhooks/123/" + interaction + "?wait=true: reset",
		"header Authorization: Bot " + samples.Token, "token " + samples.Token + " is bad", "just " + interaction,
	} {
		if got := Scrub(s); strings.Contains(got, interaction) || strings.Contains(got, samples.Token) {
			t.Errorf("%s", got)
		}
	}
	if s := "a bot is here: webhooks and interactions/ are words"; Scrub(s) != s {
		t.Error(Scrub(s))
	}
}
