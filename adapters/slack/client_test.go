package slack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
)

const testToken = "xoxb-1234567890-secretsecret"

// deaf is an engine that hears nothing.
type deaf struct{}

func (deaf) Accept(context.Context, chat.Inbound) error                       { return nil }
func (deaf) Decide(context.Context, chat.Clicked) ([]decision.Outcome, error) { return nil, nil }
func (deaf) Refuses(context.Context, chat.Clicked) *decision.Refusal          { return nil }
func (deaf) Session(context.Context, chat.ID) (turn.Session, error)           { return turn.Session{}, nil }
func (deaf) Knows(context.Context, chat.ID) (bool, error)                     { return false, nil }
func (deaf) Asking(context.Context, func(chat.ID) bool) ([]chat.ID, error)    { return nil, nil }

// newAdapter fills in what a test does not care for.
func newAdapter(t *testing.T, c Config) *Adapter {
	t.Helper()
	if c.BotToken == "" {
		c.BotToken = testToken
	}
	if c.AppToken == "" && c.SigningSecret == "" {
		c.SigningSecret = "shh"
	}
	c.Engine, c.Asks = deaf{}, deaf{}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.http.CloseIdleConnections)
	return a
}

// lines is a log that a test reads.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, want := range []string{"BotToken", "AppToken", "SigningSecret", "Engine", "Asks"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if a, err := New(Config{BotToken: testToken}); a != nil || err == nil {
		t.Errorf("it is made of a token alone: %v", err)
	}
}

// answers is a Slack that answers every call with the next of some bodies, the last one for ever; bots.info it answers beside them.
func answers(t *testing.T, bodies ...string) (url string, calls func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/bots.info") {
			_, _ = w.Write([]byte(`{"ok":true,"bot":{"id":"BBOT","app_id":"A1"}}`))
			return
		}
		mu.Lock()
		body := bodies[min(n, len(bodies)-1)]
		n++
		mu.Unlock()
		switch {
		case body == "cut":
			panic(http.ErrAbortHandler)
		case strings.HasPrefix(body, "429 "):
			w.Header().Set("Retry-After", body[4:])
			w.WriteHeader(http.StatusTooManyRequests)
		case body == "500":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/api/", func() int { mu.Lock(); defer mu.Unlock(); return n }
}

const known = `{"ok":true,"url":"https://acme.slack.com/","team_id":"T1","enterprise_id":"E1","user_id":"UBOT","bot_id":"BBOT"}`

func TestRunGivesUpOnATokenThatWillNeverWork(t *testing.T) {
	for _, c := range []string{"invalid_auth", "account_inactive", "token_revoked", "not_authed", "token_expired"} {
		api, calls := answers(t, `{"ok":false,"error":"`+c+`"}`)
		var log lines
		a := newAdapter(t, Config{APIURL: api, Logger: log.logger()})
		err := a.Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), c) || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") {
			t.Errorf("%s: %v does not say what to do", c, err)
		}
		if n := calls(); n != 1 {
			t.Errorf("%s: asked %d times", c, n)
		}
		if all := log.String() + err.Error(); strings.Contains(all, "secretsecret") {
			t.Errorf("%s: the token is in %s", c, all)
		}
	}
}

func TestRunWaitsForSlack(t *testing.T) {
	api, calls := answers(t, "cut", "500", "429 3", `not json`, `{"ok":false,"error":"internal_error"}`, known)
	var log lines
	a := newAdapter(t, Config{APIURL: api, Logger: log.logger()})
	var waits []time.Duration
	a.pause = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	me, err := a.me(ctx)
	if want := (inbound.Self{Team: "T1", Enterprise: "E1", User: "UBOT", Bot: "BBOT", App: "A1", URL: "https://acme.slack.com/"}); err != nil || me != want {
		t.Errorf("got %+v, %v", me, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("an ended context is no error, got %v", err)
	}
	if calls() != 6 || len(waits) != 5 {
		t.Errorf("%d calls, %d waits", calls(), len(waits))
	}
	if waits[2] < 3*time.Second {
		t.Errorf("asked again %s after a Retry-After of 3 s", waits[2])
	}
	for i, w := range waits {
		if w < 250*time.Millisecond {
			t.Errorf("wait %d is %s", i, w)
		}
	}
	if strings.Contains(log.String(), "secretsecret") {
		t.Errorf("the token is in the log: %s", log.String())
	}
}

func TestRunEndsWhileItWaits(t *testing.T) {
	api, _ := answers(t, "500")
	a := newAdapter(t, Config{APIURL: api})
	ctx, cancel := context.WithCancel(context.Background())
	a.pause = func(ctx context.Context, d time.Duration) error { cancel(); return backoff.Wait(ctx, d) }
	if err := a.Run(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestPostBeforeRunWaits(t *testing.T) {
	a := newAdapter(t, Config{APIURL: "http://127.0.0.1:1/api/"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := a.Post(ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "k", answering("x"))
	var pe *agent.PlatformError
	if !errors.As(err, &pe) || pe.Kind != agent.FaultTransient {
		t.Errorf("got %v", err)
	}
}

// An answer that slack-go cannot read must not make a message look unsent: it would be posted twice.
func TestLeanAnswers(t *testing.T) {
	for _, answer := range []string{`,"message":{"ts":"5.5","thread_ts":"1.1","blocks":[{"type":"section","text":[]}],"attachments":"?"}`, `,"message":"?"`, ""} {
		api, _ := answers(t, known, `{"ok":true,"channel":"C1","ts":"5.5"`+answer+`}`)
		a := newAdapter(t, Config{APIURL: api})
		ctx := t.Context()
		if err := a.introduce(ctx); err != nil {
			t.Fatal(err)
		}
		ref, err := a.Post(ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "k", answering("x"))
		if ref != "5.5" || err != nil {
			t.Errorf("%s: got %q, %v", answer, ref, err)
		}
	}
}

// bodies counts the answers whose end nobody has told.
type bodies struct{ open atomic.Int64 }

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		b.open.Add(1)
		resp.Body = openBody{resp.Body, b}
	}
	return resp, err
}

type openBody struct {
	io.ReadCloser
	of *bodies
}

func (o openBody) Close() error {
	o.of.open.Add(-1)
	return o.ReadCloser.Close()
}

// What is sent stays in memory until its answer is closed, or for as long as a call may take.
func TestAnswersAreClosed(t *testing.T) {
	api, _ := answers(t, known, `{"ok":true,"channel":"C1","ts":"5.5","message":{"ts":"5.5","thread_ts":"1.1"}}`)
	var b bodies
	a := newAdapter(t, Config{APIURL: api, Client: &http.Client{Transport: &b}})
	if err := a.introduce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Post(t.Context(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "k", answering("x")); err != nil {
		t.Fatal(err)
	}
	if n := b.open.Load(); n != 0 {
		t.Errorf("%d answers stay open", n)
	}
}

// Slack puts a reply into the channel where the thread's first message is gone. Nobody could answer an ask there.
func TestAstray(t *testing.T) {
	api, calls := answers(t, known, `{"ok":true,"channel":"C1","ts":"5.5","message":{"ts":"5.5"}}`, `{"ok":true}`)
	a := newAdapter(t, Config{APIURL: api})
	ctx := t.Context()
	if err := a.introduce(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := a.Post(ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "k", answering("x"))
	var pe *agent.PlatformError
	if !errors.As(err, &pe) || pe.Kind != agent.FaultGone || calls() != 3 {
		t.Errorf("got %v after %d calls", err, calls())
	}
}
