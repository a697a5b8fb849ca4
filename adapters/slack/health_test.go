package slack

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// waitReady waits until Ready says want.
func (sc *scene) waitReady(want error) {
	sc.t.Helper()
	sc.until("Ready says "+errText(want), func() bool { return errors.Is(sc.a.Ready(sc.ctx), want) && (want != nil || sc.a.Ready(sc.ctx) == nil) })
}

func errText(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}

func TestARevokedTokenIsSaidAndNoticedWhenItWorksAgain(t *testing.T) {
	for _, code := range []string{"token_revoked", "invalid_auth", "account_inactive"} {
		t.Run(code, func(t *testing.T) {
			sc := newScene(t, overSocket).connected()
			sc.waitReady(nil)
			sc.slack.Revoke(code)
			if _, err := sc.a.Post(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.000001"}.Chat(), "k", finished("an answer")); err == nil {
				t.Fatal("it was posted")
			}
			sc.waitReady(errRefused)
			if log := sc.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, code) || !strings.Contains(log, calls.TokenAdvice[code][:20]) {
				t.Errorf("the log:\n%s", log)
			}
			sc.slack.Revoke("")
			sc.waitReady(nil)
			if log := sc.log.String(); strings.Count(log, "nothing can be read or written") != 1 || !strings.Contains(log, "the token is taken again") {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

// One method's own no is no word about the token.
func TestAMethodThatRefusesTheTokenIsNotTheTokensEnd(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	for i, says := range []int{0, http.StatusInternalServerError, 0} { // nor is that Slack does not answer
		if says > 0 {
			sc.slack.Fail("auth.test", 1, fakeslack.Fault{Status: says})
		}
		sc.slack.Fail("chat.postMessage", 1, fakeslack.Fault{Error: "not_allowed_token_type"})
		if _, err := sc.a.Post(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.000001"}.Chat(), "k", finished("an answer")); err == nil {
			t.Fatal("it was posted")
		}
		sc.until("the token was looked at", func() bool { return len(sc.slack.Calls("auth.test")) == i+2 })
	}
	sc.waitReady(nil)
	if strings.Contains(sc.log.String(), "level=ERROR") || strings.Contains(sc.log.String(), "is taken again") {
		t.Errorf("the log:\n%s", sc.log)
	}
}

func TestDeafIsNotReady(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.waitReady(nil)
	sc.slack.RefuseConnections(true)
	sc.slack.Drop()
	sc.waitReady(errDeaf)
	sc.slack.RefuseConnections(false)
	sc.waitReady(nil)
	if n := strings.Count(sc.log.String(), "nothing is heard"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, sc.log)
	}
}

func TestWithoutAHelloNothingIsHeard(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	a, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1", Engine: newLedger(), Asks: newLedger()})
	if err != nil {
		t.Fatal(err)
	}
	a.now = func() time.Time { return now }
	if !errors.Is(a.Ready(t.Context()), errNotYet) {
		t.Error("ready before it is known who the bot is")
	}
	close(a.introduced)
	var one, two socketState
	ready := func() error { return a.Ready(t.Context()) }
	a.setSocketState(&one, socketDialed)
	a.setSocketState(&one, socketHello)
	a.setSocketState(&one, socketHello)
	if a.setSocketState(&two, socketDialed); ready() != nil {
		t.Error(ready())
	}
	a.setSocketState(&one, socketGone)
	if now = now.Add(deafFor); ready() != nil {
		t.Error("too early", ready())
	}
	if now = now.Add(time.Second); !errors.Is(ready(), errDeaf) {
		t.Error("too late", ready())
	}
	a.setSocketState(&two, socketHello)
	if ready() != nil {
		t.Error(ready())
	}
	a.setSocketState(&two, socketGone)
	now = now.Add(time.Second)
	for range failedRounds * a.Connections { // Slack takes the connection and hangs up, as it does when Socket Mode is switched off
		if ready() != nil {
			t.Error("too early", ready())
		}
		a.setSocketState(&one, socketDialed)
		a.setSocketState(&one, socketGone)
	}
	if !errors.Is(ready(), errDeaf) {
		t.Error("it is not noticed that Slack hangs up each time")
	}
	a.setSocketState(&two, socketHello)
	for range 2 * failedRounds * a.Connections { // one hears
		a.setSocketState(&one, socketFailed)
	}
	if ready() != nil {
		t.Error(ready())
	}
	posts := newAdapter(t, Config{}) // what Slack posts needs no socket
	close(posts.introduced)
	posts.now = func() time.Time { return time.Now().Add(time.Hour) }
	if err := posts.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// A token that is refused is said to be once, also where Slack does not answer in between, and keeps nothing from ending.
func TestStoppingWhileTheTokenIsRefused(t *testing.T) {
	sc := newScene(t, overSocket, func(sc *scene, _ *Config) {
		sc.tune = func(a *Adapter) { a.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } }
	}).connected()
	sc.slack.Revoke("token_revoked")
	fails := false
	sc.slack.FailWhen("auth.test", func(fakeslack.Call) *fakeslack.Fault {
		if fails = !fails; fails {
			return nil
		}
		return &fakeslack.Fault{Status: http.StatusInternalServerError}
	})
	if err := sc.a.Remove(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: "1.000001"}.Chat(), "1.1"); err == nil {
		t.Fatal("it was done")
	}
	sc.until("it was looked at several times", func() bool { return len(sc.slack.Calls("auth.test")) > 7 })
	sc.waitReady(errRefused)
	if log := sc.log.String(); strings.Count(log, "nothing can be read or written") != 1 || strings.Contains(log, "is taken again") {
		t.Errorf("the log:\n%s", log)
	}
}

func TestStoppingIsNoFailure(t *testing.T) {
	hold := make(chan struct{})
	var asked atomic.Int32
	sc := newScene(t, overSocket, func(sc *scene, _ *Config) {
		sc.slack.FailWhen("apps.connections.open", func(fakeslack.Call) *fakeslack.Fault {
			asked.Add(1)
			return &fakeslack.Fault{Hold: hold}
		})
	})
	sc.until("both ask for a socket", func() bool { return asked.Load() == 2 })
	sc.stop()
	if err := <-sc.ended; err != nil {
		t.Error(err)
	}
	close(hold)
	sc.ended <- nil
	if log := sc.log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") || strings.Contains(log, context.Canceled.Error()) {
		t.Errorf("the log:\n%s", log)
	}
}

func TestAnAttemptThatStoppingCutsShortIsNotLogged(t *testing.T) {
	t.Parallel()
	log := &lines{}
	a, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1", Engine: newLedger(), Asks: newLedger(), Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var at socketState
	cut := socketmode.Event{Type: socketmode.EventTypeConnectionError, Data: &slack.ConnectionErrorEvent{ErrorObj: context.Canceled}}
	if err := a.socketEvent(ctx, nil, &at, cut); err != nil || !strings.Contains(log.String(), "no socket could be opened") {
		t.Errorf("%v; the log:\n%s", err, log)
	}
	before := log.String()
	cancel()
	if err := a.socketEvent(ctx, nil, &at, cut); err != nil || log.String() != before {
		t.Errorf("%v; the log:\n%s", err, log)
	}
}
