package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/agent"
)

// What the doctor says of an error, and what to do about it: each once, in full.
func TestDoctorsWords(t *testing.T) {
	real, away := examine(discord.Config{Token: doctorToken}), examine(discord.Config{Token: doctorToken, APIURL: "http://h"})
	const (
		network = "Look at the network: this machine must reach https://discord.com (a proxy is taken from HTTPS_PROXY)."
		standIn = "Look at discord.api_url (DISCORD_API_URL): it names a stand-in. Empty is Discord itself."
		token   = "Reset Token on the application's page Bot shows a new one; give it as discord.token (DISCORD_TOKEN). Discord also resets tokens by itself: where one became public, or a bot identified itself too often."
		later   = "Try again later; https://discordstatus.com says how Discord is."
		lookUp  = "Look the code up at https://docs.discord.com/developers/topics/opcodes-and-status-codes."
	)
	busy := &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: 1500 * time.Millisecond, Cause: errors.New("slow")}
	for name, tt := range map[string]struct {
		err              error
		said, do, doAway string
	}{
		"unknown token": {&rest.Refusal{Status: 401, Say: "401: Unauthorized"}, "Discord does not know it (401)", token, token},
		"busy":          {busy, "Discord says to slow down (429)", "Try again in 2s.", "Try again in 2s."},
		"down":          {&rest.Refusal{Status: 502}, "the server answered 502, and not in Discord's form", later, later},
		"a refusal":     {&rest.Refusal{Status: 403, Code: 50001, Say: "Missing\nAccess"}, "Discord refuses it: Missing ⏎ Access (403, code 50001)", lookUp, standIn},
		"no form":       {&rest.Refusal{Status: 404}, "the server answered 404, and not in Discord's form", lookUp, standIn},
		"not Discord":   {rest.ErrUnexpected, "the answer is not Discord's", network, standIn},
		"late":          {rest.Transient(context.DeadlineExceeded), "no answer in 5s", network, standIn},
		"no way":        {rest.Transient(errors.New("refused")), "Discord cannot be reached: refused", network, standIn},
	} {
		if got := real.said(tt.err); got != tt.said {
			t.Errorf("%s: said %q, want %q", name, got, tt.said)
		}
		if got := real.advice(tt.err); got != tt.do {
			t.Errorf("%s: advises %q, want %q", name, got, tt.do)
		}
		if got := away.advice(tt.err); got != tt.doAway {
			t.Errorf("%s, at a stand-in: advises %q, want %q", name, got, tt.doAway)
		}
	}
	if got := real.advice(&agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: time.Minute, Cause: rest.ErrShutOut}); !strings.Contains(got, "shut out") || !strings.Contains(got, "in 1m0s") {
		t.Errorf("shut out: %q", got)
	}
}

// answering is a network that gives one answer.
type answering struct {
	status int
	body   io.Reader
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(a.body)}, nil
}

// What is not Discord's answer is not read as one.
func TestDoctorAsks(t *testing.T) {
	var into struct{ ID string }
	ask := func(c discord.Config) error { return examine(c).get(t.Context(), "users/@me", &into) }
	if err := ask(discord.Config{APIURL: "http://h\x7f"}); !errors.Is(err, rest.ErrUnexpected) {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader(`{"id":"1"}`), failing{})
	err := ask(discord.Config{Client: &http.Client{Transport: answering{200, broken}}})
	if say := examine(discord.Config{}).said(err); say != "Discord cannot be reached: "+io.ErrClosedPipe.Error() {
		t.Error(say)
	}
	for _, body := range []string{"{}", `{"code":50001}`, "<html>", ""} {
		err := ask(discord.Config{Client: &http.Client{Transport: answering{403, strings.NewReader(body)}}})
		if no := rest.RefusalIn(err); no.Say != "" || no.Status != 403 {
			t.Errorf("%s: %v", body, err)
		}
	}
	// Nobody can make the status another one.
	err = ask(discord.Config{Client: &http.Client{Transport: answering{403, strings.NewReader(`{"Status":200,"status":200,"message":"m","code":7}`)}}})
	if no := rest.RefusalIn(err); no.Status != 403 || no.Code != 7 || no.Say != "m" {
		t.Errorf("%+v", no)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDoctorHides(t *testing.T) {
	if got := examine(discord.Config{Token: "t.t"}).hide("a t.t b t.t"); got != "a [secret] b [secret]" {
		t.Error(got)
	}
	if got := examine(discord.Config{}).hide("ab"); got != "ab" {
		t.Error(got)
	}
}

func TestSocketProblem(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		resp *http.Response
		want string
	}{
		"refused": {errors.New("websocket: bad handshake"), &http.Response{StatusCode: 403, Body: http.NoBody}, "the server answered 403"},
		"late":    {&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, nil, "no answer in 5s"},
		"no way":  {&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}, nil, "refused"},
		"else":    {errors.New("websocket: odd"), nil, "odd"},
	} {
		if got := socketProblem(tt.err, tt.resp); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
