package slack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// answering is a message with words of the model.
func answering(text string) render.Message {
	return render.Message{State: render.Working, Blocks: []render.Block{render.Text{Markdown: text}}}
}

func finished(text string) render.Message {
	m := answering(text)
	m.State = render.Done
	return m
}

// asking is a message with a card.
func asking(token string) render.Message {
	return render.Message{State: render.Waiting, Token: "turn", Blocks: []render.Block{
		render.Text{Markdown: "I'll write it."},
		render.Ask{
			Call: "call", Token: token, Kind: render.AskPermission, Header: "Allow tool call from files?", Run: "Run write_file from files", Tool: "write_file",
			Server: "files", Args: render.Args{JSON: `{"path": "notes.txt"}`, Rows: []render.Row{{Name: "path", Value: "notes.txt"}}, Digest: "7f3a", Chars: 21},
			Choices: []render.Choice{
				{Choice: chat.AllowChat, Token: token, Label: "Allow for this chat"},
				{Choice: chat.AllowOnce, Token: token, Label: "Allow once"},
				{Choice: chat.Deny, Token: token, Label: "Deny", Style: render.Danger},
			},
		},
	}}
}

// budget is a Budget in memory that gives what the test says.
type budget struct {
	mu     sync.Mutex
	waits  map[string][]time.Duration // by pool: the next answers
	err    error
	spent  []surface.Spend // also those that had to wait
	cooled map[string]time.Duration
}

func (b *budget) Spend(_ context.Context, s surface.Spend) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = append(b.spent, s)
	if b.err != nil {
		return 0, b.err
	}
	if w := b.waits[s.Pool]; len(w) > 0 {
		b.waits[s.Pool] = w[1:]
		return w[0], nil
	}
	return 0, nil
}

func (b *budget) CoolOff(_ context.Context, pool string, d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cooled[pool] = d
	return nil
}

func (b *budget) wait(pool string, w ...time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits[pool] = w
}

// of are the spends from a pool.
func (b *budget) of(pool string) (out []surface.Spend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spent {
		if s.Pool == pool {
			out = append(out, s)
		}
	}
	return out
}

// room is a thread in a stand-in Slack, and the adapter that posts there.
type room struct {
	t *testing.T
	*Adapter
	slack  *fakeslack.Server
	budget *budget
	log    *lines
	place  blocks.Place
	id     chat.ID
	ctx    context.Context

	mu    sync.Mutex
	clock time.Time
	slept []time.Duration
}

func newRoom(t *testing.T, o fakeslack.Options) *room {
	t.Helper()
	o.Undescribed = t.Error
	s := fakeslack.New(o)
	t.Cleanup(s.Close)
	s.AddUser(fakeslack.User{ID: "UANA", Name: "Ana"})
	s.AddChannel(fakeslack.Channel{ID: "C1", Members: []string{"UANA", s.BotUser()}})
	r := &room{t: t, slack: s, budget: &budget{waits: map[string][]time.Duration{}, cooled: map[string]time.Duration{}}, log: &lines{}, clock: time.Now(), ctx: t.Context()}
	r.Adapter = newAdapter(t, Config{BotToken: s.BotToken(), APIURL: s.URL(), Budget: r.budget, Logger: r.log.logger(), Suggestions: []string{"a", "b", "c", "d", "e"}})
	t.Cleanup(func() {
		if log := r.log.String(); strings.Contains(log, s.BotToken()) || strings.Contains(log, "/actions/") {
			t.Errorf("a secret is in the log:\n%s", log)
		}
	})
	r.now = func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.clock }
	r.pause = func(ctx context.Context, d time.Duration) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.slept = append(r.slept, d)
		return ctx.Err()
	}
	if err := r.introduce(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.place = blocks.Place{Team: s.Team(), Channel: "C1", Thread: s.Say("UANA", "C1", "", "hello")}
	r.id = r.place.Chat()
	return r
}

func (r *room) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

func (r *room) post(m render.Message) chat.MessageRef {
	r.t.Helper()
	ref, err := r.Post(r.ctx, r.id, "key", m)
	if err != nil {
		r.t.Fatal(err)
	}
	return ref
}

func (r *room) edit(ref chat.MessageRef, m render.Message, u agent.Urgency) {
	r.t.Helper()
	if err := r.Edit(r.ctx, r.id, ref, m, u); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) shown(ref chat.MessageRef) fakeslack.Message {
	r.t.Helper()
	m, ok := r.slack.Message("C1", string(ref))
	if !ok {
		r.t.Fatalf("no message %s", ref)
	}
	return m
}

// bots are the bot's messages in the thread.
func (r *room) bots() (out []fakeslack.Message) {
	for _, m := range r.slack.Messages("C1", r.place.Thread) {
		if m.BotID != "" {
			out = append(out, m)
		}
	}
	return out
}

func (r *room) updatePool() string { return r.place.Team + "/chat.update" }
func (r *room) postPool() string   { return r.place.Team + "/chat.postMessage/C1" }

func fault(t *testing.T, err error) *agent.PlatformError {
	t.Helper()
	var pe *agent.PlatformError
	if !errors.As(err, &pe) {
		t.Fatalf("%v is no PlatformError", err)
	}
	return pe
}

func TestPost(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	m := r.shown(r.post(answering("see https://evil.example/?q=secret")))
	if m.Thread != r.place.Thread {
		t.Errorf("it stands in thread %q", m.Thread)
	}
	if m.Unfurl.Links || m.Unfurl.Media {
		t.Errorf("previews are made: %+v", m.Unfurl)
	}
	if !strings.Contains(string(m.Metadata), `"nod_turn"`) || !strings.Contains(string(m.Metadata), `"key":"key"`) {
		t.Errorf("metadata %s", m.Metadata)
	}
	if m.Text == "" || len(m.JSON()) == 0 {
		t.Errorf("text %q, blocks %s: both must be there", m.Text, m.Blocks)
	}
	if s := r.budget.of(r.postPool()); len(s) != 1 || s[0].Limit != 6 || s[0].Per != 6500*time.Millisecond || !s[0].Evenly || s[0].Lane == agent.Progress {
		t.Errorf("spent %+v", s)
	}
}

func TestPostWhereNobodyIs(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	for id, want := range map[chat.ID]agent.PlatformFault{
		{Platform: "web", Key: "x"}:                                                           agent.FaultGone,
		{Platform: Platform, Workspace: "T1", Key: "C1"}:                                      agent.FaultGone,
		blocks.Place{Team: r.place.Team, Channel: "CNONE", Thread: "1.1"}.Chat():              agent.FaultGone,
		blocks.Place{Team: "TOTHER", Channel: r.place.Channel, Thread: r.place.Thread}.Chat(): agent.FaultForbidden,
	} {
		_, err := r.Post(r.ctx, id, "key", answering("x"))
		if pe := fault(t, err); pe.Kind != want {
			t.Errorf("%v: %v", id, pe)
		}
		if err := r.Edit(r.ctx, id, "1.1", answering("x"), agent.Final); fault(t, err).Kind != want {
			t.Errorf("%v: %v", id, err)
		}
	}
	if n := len(r.bots()); n > 0 {
		t.Errorf("%d messages were written", n)
	}
}

// The answer to a post is lost after Slack made the message: it is found again, and not made twice.
func TestOneMessagePerKey(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("chat.postMessage", 1, fakeslack.Fault{CutAfter: true})
	_, err := r.Post(r.ctx, r.id, "key", answering("x"))
	if pe := fault(t, err); pe.Kind != agent.FaultTransient {
		t.Fatalf("got %v: it may have happened", pe)
	}
	if n := len(r.slack.Calls("chat.postMessage")); n != 1 {
		t.Fatalf("%d posts: a post is never repeated by itself", n)
	}
	ref, found, err := r.Seek(r.ctx, r.id, "key")
	if err != nil || !found {
		t.Fatalf("got %q, %v, %v", ref, found, err)
	}
	if mine := r.bots(); len(mine) != 1 || mine[0].TS != string(ref) {
		t.Errorf("%d messages, the found one is %q", len(mine), ref)
	}
	r.edit(ref, finished("y"), agent.Final)
}

func TestSeekFindsOnlyOurs(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	if ref, found, err := r.Seek(r.ctx, r.id, "key"); found || err != nil {
		t.Errorf("in an empty thread: %q, %v", ref, err)
	}
	r.post(answering("x"))
	if ref, found, _ := r.Seek(r.ctx, r.id, "other"); found {
		t.Errorf("another key found %q", ref)
	}
	if _, found, _ := r.Seek(r.ctx, r.id, "key"); !found {
		t.Error("the message is not found")
	}
	r.self.Bot, r.self.User = "BOTHER", "UOTHER"
	if ref, found, _ := r.Seek(r.ctx, r.id, "key"); found {
		t.Errorf("%q is another bot's", ref)
	}
}

// Long threads: what is recent is looked at first, then the rest.
func TestSeekInALongThread(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("x"))
	for range seekPage + 5 {
		r.slack.Say("UANA", "C1", r.place.Thread, "and another thing")
	}
	if got, found, err := r.Seek(r.ctx, r.id, "key"); got != ref || !found || err != nil {
		t.Errorf("recent: got %q, %v, %v", got, found, err)
	}
	r.slack.Forget()
	if _, found, err := r.Seek(r.ctx, r.id, "other"); found || err != nil || len(r.slack.Calls("conversations.replies")) != 2 || strings.Contains(r.log.String(), "part of the thread") {
		t.Errorf("what is nowhere, in a thread that is not old: %v, %v after %d calls; the log:\n%s", found, err, len(r.slack.Calls("conversations.replies")), r.log)
	}
	r.pass(2 * time.Hour)
	if got, found, err := r.Seek(r.ctx, r.id, "key"); got != ref || !found || err != nil {
		t.Errorf("old: got %q, %v, %v", got, found, err)
	}
	late, err := r.Annotate(r.ctx, r.id, ref, "late", note("x"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got, found, err := r.Seek(r.ctx, r.id, "late"); got != late || !found || err != nil {
		t.Errorf("on the second page: got %q, %v, %v", got, found, err)
	}
	r.slack.Forget()
	for range seekFurther * seekPage {
		r.slack.Say("UANA", "C1", r.place.Thread, "and on")
	}
	if _, found, err := r.Seek(r.ctx, r.id, "other"); found || err != nil || len(r.slack.Calls("conversations.replies")) != 1+seekFurther || !strings.Contains(r.log.String(), "part of the thread") {
		t.Errorf("what is nowhere, in a thread longer than is looked through: %v, %v after %d calls; the log:\n%s", found, err, len(r.slack.Calls("conversations.replies")), r.log)
	}
}

func TestSeekWithoutScope(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("conversations.replies", 1, fakeslack.Fault{Error: "missing_scope"})
	if _, found, err := r.Seek(r.ctx, r.id, "key"); found || err != nil {
		t.Errorf("got %v, %v: a turn must go on without", found, err)
	}
	for range 2 { // also where the old part of the thread can be read
		r.slack.Fail("conversations.replies", 1, fakeslack.Fault{Error: "internal_error"})
		if _, _, err := r.Seek(r.ctx, r.id, "key"); err == nil {
			t.Error("an outage looks like \"not there\": it would be posted twice")
		}
		r.pass(2 * time.Hour)
	}
}

// What has our key is ours by either name that Slack gives the bot, and nobody's by none.
func TestSeekKnowsItsOwn(t *testing.T) {
	for by, ours := range map[string]bool{`"bot_id":"BBOT"`: true, `"user":"UBOT"`: true, `"bot_id":"BEVIL","user":"UEVIL"`: false, `"text":"x"`: false} {
		for name, self := range map[string]inbound.Self{"named": testSelf, "not named": {Team: "T1"}} {
			api, _ := answers(t, `{"ok":true,"messages":[{"ts":"5.5",`+by+`,"metadata":{"event_payload":{"key":"key"}}}]}`, `{"ok":true}`) // which the old part of the thread does not hold
			a := newAdapter(t, Config{APIURL: api})
			a.self = self
			close(a.introduced)
			if _, found, err := a.Seek(t.Context(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "key"); err != nil || found != (ours && self == testSelf) {
				t.Errorf("%s of a bot that is %s: %v, %v", by, name, found, err)
			}
		}
	}
}

func TestEdit(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.edit(ref, finished("a and b"), agent.Final)
	m := r.shown(ref)
	if len(m.Versions) != 2 || m.Via != "chat.update" || len(m.JSON()) == 0 || m.Text == "" || m.Edited {
		t.Errorf("got %+v", m)
	}
	if v := r.slack.Calls("chat.update")[0].Values; v.Get("blocks") == "" || v.Get("text") == "" || v.Get("parse") != "none" {
		t.Errorf("sent %v", v)
	}
}

func TestEqualEditsAreNotSentAgain(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.edit(ref, answering("a"), agent.Progress)
	r.edit(ref, answering("b"), agent.Progress)
	r.edit(ref, answering("b"), agent.Final)
	if n := len(r.slack.Calls("chat.update")); n != 1 {
		t.Errorf("%d edits, want 1", n)
	}
	r.pass(surface.Believed) // another replica may have drawn it since
	r.edit(ref, answering("b"), agent.Progress)
	if n := len(r.slack.Calls("chat.update")); n != 2 {
		t.Errorf("%d edits, want 2", n)
	}
}

// After an edit whose answer was lost nobody knows what stands there.
func TestALostEditIsSentAgain(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.slack.Fail("chat.update", 1, fakeslack.Fault{CutAfter: true})
	if err := r.Edit(r.ctx, r.id, ref, answering("b"), agent.Progress); fault(t, err).Kind != agent.FaultTransient {
		t.Error(err)
	}
	r.edit(ref, answering("a"), agent.Progress)
	if m := r.shown(ref); !strings.Contains(string(m.Blocks)+m.Text, "a") || len(m.Versions) != 3 {
		t.Errorf("%d versions, the last is %q", len(m.Versions), m.Text)
	}
}

func TestErrorCodesBecomeFaults(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	for want, f := range map[agent.PlatformFault]fakeslack.Fault{
		agent.FaultGone:      {Error: "message_not_found"},
		agent.FaultForbidden: {Error: "edit_window_closed"},
		agent.FaultTransient: {Status: 503},
		agent.FaultBusy:      {RetryAfter: 5 * time.Second},
	} {
		r.slack.Fail("chat.update", 1, f)
		pe := fault(t, r.Edit(r.ctx, r.id, ref, answering(string(want)), agent.Progress))
		if pe.Kind != want {
			t.Errorf("%+v became %v", f, pe)
		}
		if !strings.Contains(pe.Error(), "chat.update") {
			t.Errorf("%v does not say what failed", pe)
		}
	}
	if d := r.budget.cooled[r.updatePool()]; d != 5*time.Second {
		t.Errorf("the replicas cool off for %s after a 429 with 5 s", d)
	}
	r.slack.Fail("chat.postMessage", 1, fakeslack.Fault{RetryAfter: 2 * time.Second})
	_, err := r.Post(r.ctx, r.id, "k2", answering("x"))
	if pe := fault(t, err); pe.Kind != agent.FaultBusy || pe.RetryAfter != 2*time.Second || r.budget.cooled[r.postPool()] != 2*time.Second {
		t.Errorf("got %v after %s, cooled %v", pe, pe.RetryAfter, r.budget.cooled)
	}
}

func TestArchivedAndDeleted(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	gone := r.post(answering("b"))
	if err := r.Remove(r.ctx, r.id, gone); err != nil {
		t.Fatal(err)
	}
	if pe := fault(t, r.Edit(r.ctx, r.id, gone, answering("c"), agent.Progress)); pe.Kind != agent.FaultGone {
		t.Error(pe)
	}
	r.slack.AddChannel(fakeslack.Channel{ID: "C1", Archived: true, Members: []string{r.slack.BotUser()}})
	if pe := fault(t, r.Edit(r.ctx, r.id, ref, answering("c"), agent.Decision)); pe.Kind != agent.FaultForbidden {
		t.Error(pe)
	}
}
