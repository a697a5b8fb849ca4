package slack

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// told are the statuses that the thread's session was given.
func (r *room) told() []string {
	s, _ := r.slack.Session("C1", r.place.Thread)
	return s.History
}

func TestPresenceFollowsTheMessage(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	<-r.presence.kick
	if r.presence.round(r.ctx); len(r.presence.kick) > 0 {
		t.Error("a round for nothing follows")
	}
	r.edit(ref, answering("b"), agent.Progress)
	r.presence.round(r.ctx) // nothing new
	r.edit(ref, asking("c"), agent.Progress)
	r.presence.round(r.ctx)
	r.edit(ref, answering("d"), agent.Decision)
	r.edit(ref, asking("e"), agent.Progress)
	r.presence.round(r.ctx) // back where it was
	r.edit(ref, answering("f"), agent.Progress)
	r.edit(ref, finished("g"), agent.Final)
	r.presence.round(r.ctx) // only the newest
	r.edit(ref, render.Message{Blocks: finished("h").Blocks}, agent.Final)
	r.presence.round(r.ctx) // which says nothing of it
	if got := r.told(); !slices.Equal(got, []string{"processing", "suspended", "active"}) || len(r.slack.Calls("agents.sessions.setStatus")) != 3 {
		t.Errorf("told %q", got)
	}
	for _, s := range r.budget.of(r.place.Team + "/agents.sessions.setStatus") {
		if s.Lane != agent.Progress || s.Limit != 50 {
			t.Errorf("spent %+v", s)
		}
	}
}

func TestEveryStateHasAStatus(t *testing.T) {
	for s, want := range map[render.State]string{
		render.Working: "processing", render.Waiting: "suspended", render.Done: "active", render.Failed: "active", render.Stopped: "active", "": "",
	} {
		if got := statuses[s]; got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
}

// Where the budget has no room the status waits, and it is the newest one that is told then.
func TestPresenceWaitsItsTurn(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.budget.wait(r.place.Team+"/agents.sessions.setStatus", 5*time.Second)
	ref := r.post(answering("a"))
	<-r.presence.kick
	if wait := r.presence.round(r.ctx); wait != 5*time.Second || len(r.told()) > 0 || len(r.presence.kick) > 0 {
		t.Errorf("wait %s, told %q, asked again at once: %d", wait, r.told(), len(r.presence.kick))
	}
	r.edit(ref, asking("b"), agent.Progress)
	if wait := r.presence.round(r.ctx); wait != 0 || !slices.Equal(r.told(), []string{"suspended"}) {
		t.Errorf("wait %s, told %q", wait, r.told())
	}
	r.slack.Fail("agents.sessions.setStatus", 1, fakeslack.Fault{RetryAfter: 7 * time.Second})
	r.edit(ref, finished("c"), agent.Final)
	if wait := r.presence.round(r.ctx); wait != 7*time.Second {
		t.Errorf("wait %s after Slack said 7 s", wait)
	}
	if r.presence.round(r.ctx); !slices.Equal(r.told(), []string{"suspended", "active"}) {
		t.Errorf("told %q", r.told())
	}
}

// stood is an engine whose log says how the chat stands.
type stood struct {
	deaf
	as turn.Session
}

func (s *stood) Session(context.Context, chat.ID) (turn.Session, error) { return s.as, nil }

// What waited for room may not be true any more: another replica went on with the thread, and had its own say.
func TestPresenceThatWaitedIsLookedAtAgain(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	log := &stood{}
	r.Adapter.Engine = log
	status := r.place.Team + "/agents.sessions.setStatus"
	ref := r.post(answering("a"))
	for _, c := range []struct {
		say   string
		stand turn.Session
		draw  render.Message
		told  []string
	}{
		{"the turn is over", turn.Session{Last: &turn.Turn{End: turn.Answered}}, answering("b"), nil},
		{"it works", turn.Session{Turn: &turn.Turn{}}, answering("c"), []string{"processing"}},
		{"it works, and does not wait any more", turn.Session{Turn: &turn.Turn{}}, asking("d"), nil},
		{"nothing is known of it", turn.Session{}, asking("e"), []string{"suspended"}},
		{"it works, but nobody draws it any more", turn.Session{Turn: &turn.Turn{}}, finished("f"), []string{"active"}},
	} {
		before := len(r.told())
		log.as = c.stand
		r.budget.wait(status, time.Second)
		r.edit(ref, c.draw, agent.Progress)
		if wait := r.presence.round(r.ctx); wait == 0 || len(r.told()) > before {
			t.Errorf("%s: it does not wait", c.say)
		}
		if wait := r.presence.round(r.ctx); wait > 0 || !slices.Equal(r.told()[before:], c.told) {
			t.Errorf("%s: told %q, want %q", c.say, r.told()[before:], c.told)
		}
		if r.presence.round(r.ctx); len(r.told()) != before+len(c.told) || len(r.presence.pending) > 0 {
			t.Errorf("%s: told again, %q", c.say, r.told()[before:])
		}
	}
}

// A turn that is over before there was room needs no call; one that another process began does.
func TestPresenceOfAQuickTurn(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.edit(ref, finished("b"), agent.Final)
	r.presence.round(r.ctx)
	if got := r.told(); len(got) > 0 {
		t.Errorf("told %q", got)
	}
	r.setTitle(r.place, "a session that is to have a title")
	r.edit(ref, finished("bb"), agent.Final)
	r.presence.round(r.ctx)
	if got := r.told(); !slices.Equal(got, []string{"active"}) {
		t.Errorf("told %q", got)
	}
	r.presence.sent = map[blocks.Place]string{}
	r.edit(ref, finished("c"), agent.Final)
	r.presence.round(r.ctx)
	if got := r.told(); !slices.Equal(got, []string{"active", "active"}) {
		t.Errorf("told %q", got)
	}
	r.post(answering("d"))
	r.presence.round(r.ctx)
	r.post(answering("e"))
	r.presence.round(r.ctx)
	if got := r.told(); !slices.Equal(got, []string{"active", "active", "processing"}) {
		t.Errorf("told %q", got)
	}
}

func TestPresenceIsSwitchedOffOnce(t *testing.T) {
	for _, code := range []string{"missing_scope", "unknown_method", "feature_disabled", "not_authorized", "not_agent_app", "no_permission", "access_denied"} {
		r := newRoom(t, fakeslack.Options{})
		r.slack.Fail("agents.sessions.setStatus", 9, fakeslack.Fault{Error: code})
		ref := r.post(answering("a"))
		for i := range 4 {
			r.presence.round(r.ctx)
			r.edit(ref, answering(strings.Repeat("b", i+2)), agent.Progress)
			r.edit(ref, asking(fmt.Sprint(i)), agent.Progress)
		}
		if r.Starts(r.id) {
			t.Errorf("%s: it is said that a turn is shown", code)
		}
		if n := len(r.presence.pending); n > 0 {
			t.Errorf("%s: %d statuses are kept that nobody will be told", code, n)
		}
		if n := len(r.slack.Calls("agents.sessions.setStatus")); n != 1 {
			t.Errorf("%s: %d calls", code, n)
		}
		if n := strings.Count(r.log.String(), "level=INFO"); n != 1 || !strings.Contains(r.log.String(), code) {
			t.Errorf("%s: %d lines in the log:\n%s", code, n, r.log)
		}
	}
}

func TestPresenceSurvivesATroubledThread(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("agents.sessions.setStatus", 1, fakeslack.Fault{Error: "channel_not_found"})
	ref := r.post(answering("a"))
	r.presence.round(r.ctx)
	r.edit(ref, asking("b"), agent.Progress)
	r.presence.round(r.ctx)
	if got := r.told(); !slices.Equal(got, []string{"suspended"}) {
		t.Errorf("told %q", got)
	}
}

// Of people who ask at once, none waits for what Slack says to another.
func TestPresenceTellsSeveralAtOnce(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	hold, arrived := make(chan struct{}), make(chan struct{}, atOnce)
	r.slack.FailWhen("agents.sessions.setStatus", func(fakeslack.Call) *fakeslack.Fault {
		arrived <- struct{}{}
		return &fakeslack.Fault{Hold: hold}
	})
	if r.Starts(chat.ID{Platform: "web", Key: "c"}) {
		t.Error("what is no thread is shown in one")
	}
	for i := range atOnce + 1 {
		r.Starts(blocks.Place{Team: r.place.Team, Channel: "C1", Thread: fmt.Sprintf("%d.000100", i+1)}.Chat())
	}
	told := make(chan struct{})
	go func() { r.presence.round(r.ctx); close(told) }()
	for range atOnce {
		<-arrived
	}
	close(hold)
	if <-told; len(r.presence.pending) != 1 {
		t.Errorf("%d wait for the next round", len(r.presence.pending))
	}
}

// An edit does not wait for the status, whatever happens to that.
func TestPresenceDelaysNothing(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	hold, arrived := make(chan struct{}), make(chan struct{})
	first := true
	r.slack.FailWhen("agents.sessions.setStatus", func(fakeslack.Call) *fakeslack.Fault {
		if !first {
			return nil
		}
		first = false
		close(arrived)
		return &fakeslack.Fault{Hold: hold}
	})
	ref := r.post(answering("a"))
	told := make(chan struct{})
	go func() { r.presence.round(r.ctx); close(told) }()
	<-arrived
	r.edit(ref, finished("b"), agent.Final)
	ref = r.post(answering("c"))
	r.edit(ref, finished("d"), agent.Final)
	<-r.presence.kick
	if r.presence.round(r.ctx); len(r.slack.Calls("agents.sessions.setStatus")) > 0 || len(r.presence.kick) > 0 {
		t.Error("a status overtakes the one before, or is tried again and again")
	}
	close(hold)
	<-told
	r.presence.round(r.ctx)
	if got := r.told(); got[len(got)-1] != "active" {
		t.Errorf("told %q", got)
	}
}

// Nobody works any more on a message that is gone.
func TestPresenceOfAMessageThatIsGone(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.presence.round(r.ctx)
	if err := r.Remove(r.ctx, r.id, ref); err != nil {
		t.Fatal(err)
	}
	if pe := fault(t, r.Edit(r.ctx, r.id, ref, answering("b"), agent.Progress)); pe.Kind != agent.FaultGone {
		t.Fatal(pe)
	}
	r.presence.round(r.ctx)
	if got := r.told(); !slices.Equal(got, []string{"processing", "active"}) {
		t.Errorf("told %q", got)
	}
}

// A session can have a title once the first status has made it.
func TestTitle(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.setTitle(r.place, "  please\nlook at "+strings.Repeat("é", 80))
	r.presence.round(r.ctx)
	if n := len(r.slack.Calls("agents.sessions.rename")); n != 0 {
		t.Errorf("%d calls before there is a session", n)
	}
	ref := r.post(answering("a"))
	r.presence.round(r.ctx)
	s, _ := r.slack.Session("C1", r.place.Thread)
	if n := len([]rune(s.Title)); n != 60 || !strings.HasPrefix(s.Title, "please look at é") || !strings.HasSuffix(s.Title, "…") {
		t.Errorf("%d characters: %q", n, s.Title)
	}
	r.setTitle(r.place, " \n")
	r.edit(ref, finished("b"), agent.Final)
	r.presence.round(r.ctx)
	if n := len(r.slack.Calls("agents.sessions.rename")); n != 1 {
		t.Errorf("%d calls for nothing to say", n)
	}
}

func TestSuggest(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.suggest(r.ctx, "C1")
	calls := r.slack.Calls("assistant.threads.setSuggestedPrompts")
	if len(calls) != 1 {
		t.Fatalf("%d calls", len(calls))
	}
	if v := calls[0].Values; v.Get("channel_id") != "C1" || v.Has("thread_ts") || strings.Count(v.Get("prompts"), "message") != 4 {
		t.Errorf("sent %v: the agent view takes no thread, and four prompts", v)
	}
	r.Suggestions = nil
	r.suggest(r.ctx, "C1")
	if n := len(r.slack.Calls("assistant.threads.setSuggestedPrompts")); n != 1 {
		t.Errorf("%d calls for nothing to offer", n)
	}
}

func TestExtrasAreSwitchedOffOnceAndLeftOutWithoutRoom(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("agents.sessions.rename", 9, fakeslack.Fault{Error: "missing_scope"})
	r.slack.Fail("assistant.threads.setSuggestedPrompts", 9, fakeslack.Fault{Error: "unknown_method"})
	r.budget.wait(r.place.Team+"/agents.sessions.rename", time.Second)
	ref := r.post(answering("a"))
	for i := range 3 {
		r.setTitle(r.place, "hello")
		r.edit(ref, asking(fmt.Sprint(i)), agent.Progress)
		r.presence.round(r.ctx)
		r.setTitle(r.place, "hello")
		r.edit(ref, answering(fmt.Sprint(i)), agent.Progress)
		r.presence.round(r.ctx)
		r.suggest(r.ctx, "C1")
	}
	if n, m := len(r.slack.Calls("agents.sessions.rename")), len(r.slack.Calls("assistant.threads.setSuggestedPrompts")); n != 1 || m != 1 {
		t.Errorf("%d and %d calls", n, m)
	}
	if n := strings.Count(r.log.String(), "level=INFO"); n != 2 {
		t.Errorf("%d lines:\n%s", n, r.log)
	}
	r.setTitle(r.place, "hello")
	if n := len(r.presence.newTitles); n > 0 {
		t.Errorf("%d titles are kept that nobody will be told", n)
	}
}

// What Slack is to be told is bounded, and the newest all the same.
func TestPresenceIsBounded(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	var at blocks.Place
	for i := range maxPlaces + 1 {
		at = blocks.Place{Team: "T1", Channel: "C1", Thread: fmt.Sprint(maxPlaces - i)}
		r.setTitle(at, "hello")
		r.presence.show(at, render.Working)
	}
	at.Thread = "1"
	r.presence.show(at, render.Waiting)
	if n, m := len(r.presence.newTitles), len(r.presence.pending); n != maxPlaces || m != maxPlaces || r.presence.pending[at].status != "suspended" {
		t.Errorf("%d and %d are kept, of it %+v", n, m, r.presence.pending[at])
	}
}

func TestSuggestIsLeftOutWithoutRoom(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.budget.wait(r.place.Team+"/assistant.threads.setSuggestedPrompts", time.Second)
	r.suggest(r.ctx, "C1")
	if n := len(r.slack.Calls("assistant.threads.setSuggestedPrompts")); n != 0 || len(r.slept) > 0 {
		t.Errorf("%d calls, after %v", n, r.slept)
	}
}

// Run returns when what it started has ended, not before. While statuses wait for room, no new one has the budget asked.
func TestRunWaitsForItsWorkers(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.introduced = make(chan struct{})
	status := r.place.Team + "/agents.sessions.setStatus"
	r.budget.wait(status, time.Hour)
	waits := make(chan struct{})
	var ended atomic.Bool
	r.pause = func(ctx context.Context, _ time.Duration) error {
		close(waits)
		<-ctx.Done()
		for range 1000 {
			runtime.Gosched()
		}
		ended.Store(true)
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.post(answering("a"))
	<-waits
	for range 3 { // the first is looked at when there is room for the third
		r.presence.kick <- struct{}{}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(r.budget.of(status)); n != 1 {
		t.Errorf("the budget was asked %d times", n)
	}
	if !ended.Load() {
		t.Error("a worker is still there")
	}
}

func TestRunLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := fakeslack.New(fakeslack.Options{})
	s.AddUser(fakeslack.User{ID: "UANA", Name: "Ana"})
	s.AddChannel(fakeslack.Channel{ID: "C1", Members: []string{"UANA", s.BotUser()}})
	a, err := New(Config{BotToken: s.BotToken(), SigningSecret: "shh", APIURL: s.URL(), Engine: deaf{}, Asks: deaf{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	a.pause = func(context.Context, time.Duration) error { t.Error("it waits for nothing"); return context.Canceled }
	go func() { done <- a.Run(ctx) }()
	p := blocks.Place{Team: s.Team(), Channel: "C1", Thread: s.Say("UANA", "C1", "", "hello")}
	if _, err := a.Post(ctx, p.Chat(), "key", answering("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), func() bool { x, _ := s.Session("C1", p.Thread); return x.Status == "processing" }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Close()
	goleak.VerifyNone(t, before)
}
