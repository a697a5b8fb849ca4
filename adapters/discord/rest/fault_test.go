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

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func answered(status int, body string) error {
	var msg *discordgo.APIErrorMessage
	_ = json.Unmarshal([]byte(body), &msg)
	return &discordgo.RESTError{Response: &http.Response{StatusCode: status, Status: http.StatusText(status)}, ResponseBody: []byte(body), Message: msg}
}

func TestFaults(t *testing.T) {
	busy := &discordgo.RateLimitError{RateLimit: &discordgo.RateLimit{URL: "https://discord.com/api/v9/webhooks/1/SECRETTOKEN", TooManyRequests: &discordgo.TooManyRequests{RetryAfter: 3 * time.Second}}}
	for name, c := range map[string]struct {
		err  error
		kind agent.PlatformFault
	}{
		"unknown channel":     {answered(404, `{"code":10003,"message":"Unknown Channel"}`), agent.FaultGone},
		"unknown message":     {answered(404, `{"code":10008,"message":"Unknown Message"}`), agent.FaultGone},
		"unknown interaction": {answered(404, `{"code":10062}`), agent.FaultGone},
		"no access":           {answered(403, `{"code":50001}`), agent.FaultForbidden},
		"no permission":       {answered(403, `{"code":50013}`), agent.FaultForbidden},
		"archived":            {answered(400, `{"code":50083}`), agent.FaultForbidden},
		"locked":              {answered(400, `{"code":160005}`), agent.FaultForbidden},
		"a new code":          {answered(400, `{"code":987654}`), agent.FaultForbidden},
		"no JSON":             {answered(403, `<html>`), agent.FaultForbidden},
		"unauthorized":        {answered(401, `{"code":0}`), agent.FaultForbidden},
		"500":                 {answered(500, `{"code":0}`), agent.FaultTransient},
		"503 page":            {answered(503, `<html>`), agent.FaultTransient},
		"408 page":            {answered(408, `<html>`), agent.FaultTransient},
		"overloaded":          {answered(503, `{"code":130000}`), agent.FaultTransient},
		"502":                 {errors.New("Exceeded Max retries HTTP 502 Bad Gateway, <html>"), agent.FaultTransient},
		"429":                 {busy, agent.FaultBusy},
		"429 bare":            {answered(429, `{}`), agent.FaultBusy},
		"network":             {&url.Error{Op: "Post", URL: "https://discord.com/api/v9/interactions/1/SECRETTOKEN/callback", Err: errors.New("connection reset")}, agent.FaultTransient},
		"deadline":            {&url.Error{Op: "Post", URL: "x", Err: context.DeadlineExceeded}, agent.FaultTransient},
		"of the transport":    {&url.Error{Op: "Post", URL: "x", Err: &agent.PlatformError{Kind: agent.FaultLater, Cause: errors.New("x")}}, agent.FaultLater},
	} {
		err := FaultOf(c.err)
		if samples.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), "SECRETTOKEN") {
			t.Errorf("%s: a token is in %v", name, err)
		}
	}
	if samples.AfterOf(FaultOf(busy)) != 3*time.Second {
		t.Error(FaultOf(busy))
	}
	for _, why := range []error{context.Canceled, context.DeadlineExceeded} { // the doctor and the engine say what ended
		if err := FaultOf(&url.Error{Op: "Post", URL: "x", Err: why}); !errors.Is(err, why) {
			t.Errorf("%v is lost in %v", why, err)
		}
	}
	if s := FaultOf(answered(503, `<html>`)).Error(); !strings.HasSuffix(s, "HTTP status 503") {
		t.Error(s)
	}
	for kind, want := range map[agent.PlatformFault]bool{agent.FaultGone: true, agent.FaultForbidden: true, agent.FaultTransient: false, agent.FaultBusy: false} {
		if IsUnreachable(&agent.PlatformError{Kind: kind}) != want {
			t.Errorf("%v is taken for the opposite", kind)
		}
	}
	if IsUnreachable(errors.New("x")) {
		t.Error("any error lets go of a room")
	}
	if FaultOf(nil) != nil {
		t.Error("nothing is a fault")
	}
}

func TestABadFormNamesThePlace(t *testing.T) {
	err := FaultOf(answered(400, `{"code":50035,"message":"Invalid Form Body","errors":{"data":{"components":{"0":{"components":{"3":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"`+samples.Token+`"}]}}}}}}}}`))
	if s := err.Error(); !strings.Contains(s, " at data.components.0.components.3.content: BASE_TYPE_MAX_LENGTH") || strings.Contains(s, samples.Token) {
		t.Error(s)
	}
	if CodeOf(err) != discordgo.ErrCodeInvalidFormBody || RefusalIn(err).Status != 400 {
		t.Error("the code is lost")
	}
	one := `{"_errors":[{"code":"X"}]}`
	deep, wide := strings.Repeat(`{"a":`, 5000)+one+strings.Repeat("}", 5000), `{"0":`+one
	for i := range 100 {
		wide += `,"` + strings.Repeat("1", i+1) + `":` + one
	}
	for _, s := range []string{deep, wide + "}"} {
		if s := FaultOf(answered(400, `{"code":50035,"errors":`+s+`}`)).Error(); len(s) > 200 {
			t.Error(s)
		}
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
