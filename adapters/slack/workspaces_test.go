package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// shelf is a store of installations.
type shelf struct {
	mu   sync.Mutex
	all  map[string]string
	down error
	then func() // called once it was read
}

func (s *shelf) Installs(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.then != nil {
		s.then()
	}
	return maps.Clone(s.all), s.down
}

func (s *shelf) Install(_ context.Context, workspace, sealed string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[workspace] = sealed
	return nil
}

func (s *shelf) Reinstall(_ context.Context, workspace, was, sealed string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[workspace] == was && s.down == nil {
		if s.all[workspace] = sealed; sealed == "" {
			delete(s.all, workspace)
		}
	}
	return s.down
}

func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// company is the bot in the workspaces T1 and T2 of the organisation E1. In each, a question waits in the thread of its number.
type company struct {
	*Workspaces
	t      *testing.T
	log    *lines
	kept   *shelf
	ledger *ledger
	at     map[string]*fakeslack.Server
	waits  chan time.Duration // what is to be waited for, once somebody takes it
	stop   func()
	ended  chan error
	posted int
}

func newCompany(t *testing.T, keys ...string) *company {
	t.Helper()
	home := fakeslack.New(fakeslack.Options{})
	t.Cleanup(home.Close)
	c := &company{t: t, log: &lines{}, kept: &shelf{all: map[string]string{}}, ledger: newLedger(), at: map[string]*fakeslack.Server{}, waits: make(chan time.Duration), ended: make(chan error, 1)}
	var err error
	c.Workspaces, err = NewWorkspaces(Config{SigningSecret: postSecret, APIURL: home.URL(), Engine: c.ledger, Asks: c.ledger, Logger: c.log.logger()},
		install.Config{Keys: append(keys, "a-key-0123456789"), Workspaces: []string{"E1"}, Store: c.kept})
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(ctx context.Context, d time.Duration) error {
		select {
		case c.waits <- d:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	for _, team := range []string{"T1", "T2"} {
		c.at[team] = home.Host(fakeslack.Options{Team: team, Enterprise: "E1", Undescribed: t.Error})
		t.Cleanup(c.at[team].Close)
		c.at[team].AddUser(fakeslack.User{ID: "UANA"})
		c.at[team].AddChannel(fakeslack.Channel{ID: "C1", Members: []string{"UANA", c.at[team].BotUser()}})
		c.store(team, c.at[team].Grant(), "E1")
		(&scene{ledger: c.ledger}).asks(blocks.Place{Team: team, Channel: "C1", Thread: "1700000000.00000" + team[1:]}, userOf(team, "UANA"), team)
	}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(t.Context())
	go func() { c.ended <- c.Run(ctx) }()
	t.Cleanup(func() { c.stop(); <-c.ended; c.ended <- nil })
	for !c.receive(unreadable("probe"), func(receipt, error) {}) {
		runtime.Gosched()
	}
	for _, team := range []string{"T1", "T2"} {
		c.answers(team, "", team)
	}
	return c
}

// store keeps a token of a workspace, sealed with the last key.
func (c *company) store(team, token, enterprise string) {
	c.t.Helper()
	door, err := install.New(install.Config{Keys: c.install.Keys[len(c.install.Keys)-1:], Store: c.kept}, "", nil, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	sealed, err := door.Seal(team, install.Installed{Token: token, Name: team, Enterprise: enterprise})
	if err != nil {
		c.t.Fatal(err)
	}
	c.kept.set(func() { c.kept.all[team] = sealed })
}

func (c *company) stored(team string) (sealed string) {
	c.kept.set(func() { sealed = c.kept.all[team] })
	return sealed
}

// event has Slack send one of a workspace, and returns whether that is acknowledged.
func (c *company) event(team, event string) bool {
	r := signedRequest(PathEvents, `{"type":"event_callback","team_id":"`+team+`","event":`+event+`}`, postSecret, time.Now())
	return serve(c.Handler(), r).Code == http.StatusOK
}

// Each says that nod was removed from a workspace, as an admin of it does: both come.
const (
	uninstalled = `{"type":"app_uninstalled"}`
	revoked     = `{"type":"tokens_revoked"}`
)

// answers sees which workspace answers what waits there; "": none.
func (c *company) answers(team, enterprise, want string) {
	c.t.Helper()
	c.posted++
	body := url.Values{"command": {"/nod"}, "text": {"pending"}, "team_id": {team}, "enterprise_id": {enterprise}, "channel_id": {"C1"}, "user_id": {"UANA"}, "trigger_id": {fmt.Sprint(c.posted)}}.Encode()
	said := serve(c.Handler(), signedRequest(PathCommands, body, postSecret, time.Now())).Body.String()
	for _, is := range []string{"T1", "T2"} {
		if strings.Contains(said, "thread_ts=1700000000.00000"+is[1:]) != (is == want) {
			c.t.Errorf("of %q in %q, %q should answer: %s", team, enterprise, want, said)
		}
	}
}

// What is stored and cannot be read, or is somebody else's, changes nothing for who is served already.
func TestWorkspacesThatAreServedAlready(t *testing.T) {
	c := newCompany(t, "the-next-key-0123456789")
	if before := c.stored("T1"); c.look(t.Context()) != nil || c.stored("T1") != before {
		t.Error("what the newest key sealed is sealed again")
	}
	door, err := install.New(install.Config{Keys: c.install.Keys[:1], Store: c.kept}, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"T1", "T2"} {
		if _, _, err := door.Open(team, c.stored(team)); err != nil {
			t.Errorf("the old key cannot go: %s: %v", team, err)
		}
	}
	asked := c.at["T1"].Count("auth.test")
	c.store("T1", c.at["T1"].BotToken(), "E1")
	if err := c.look(t.Context()); err != nil {
		t.Error(err)
	}
	c.answers("T1", "", "T1")
	if n := c.at["T1"].Count("auth.test") - asked; n > 0 {
		t.Errorf("what has the token that it had begins anew: Slack was asked %d times", n)
	}
	if !c.event("T1", `{"type":"app_mention","user":"UANA","channel":"C1","ts":"1700000001.000100","text":"<@`+c.at["T1"].BotUser()+`> hello"}`) || !slices.Equal(texts(c.ledger), []string{"hello"}) {
		t.Errorf("taken: %q", texts(c.ledger))
	}
	c.kept.set(func() { c.kept.down = errDown })
	if !errors.Is(c.look(t.Context()), errDown) {
		t.Error("nobody hears that it cannot be read")
	}
	c.answers("T1", "", "T1")
	if c.event("T1", uninstalled) {
		t.Error("what cannot be looked at is acknowledged")
	}
	elsewhere := blocks.Place{Team: "T9", Channel: "C1", Thread: "1.1"}.Chat()
	if pe := fault(t, c.Remove(t.Context(), elsewhere, "1.1")); pe.Kind != agent.FaultTransient {
		t.Error(pe)
	}
	if _, err := c.serve(t.Context(), inbound.SlashCommand{Team: "T9"}); !errors.Is(err, errDown) {
		t.Errorf("whether it is of a workspace of ours is not known: %v", err)
	}
	c.kept.set(func() { c.kept.down, c.kept.all["T1"] = nil, "garbage" })
	if err := c.look(t.Context()); err != nil {
		t.Error(err)
	}
	c.answers("T1", "", "T1")
	if !c.event("T1", uninstalled) || c.stored("T1") != "garbage" {
		t.Error("what cannot be opened is deleted, or asked about for ever")
	}
}

// An organisation is answered by the first of its workspaces that is served.
func TestWhoAnswersForAnOrganisation(t *testing.T) {
	c := newCompany(t)
	for range 9 { // always the same
		c.answers("", "E1", "T1")
	}
	c.answers("T9", "E9", "")
	c.answers("", "", "")
	c.store("T1", c.at["T1"].BotToken(), "E9") // which nobody allowed
	if err := c.look(t.Context()); err != nil {
		t.Error(err)
	}
	c.answers("T1", "", "")
	c.answers("", "E1", "T2")
}

// Only where Slack refuses the token nod was removed: that it was may be an old word, from before it was installed again.
func TestAWorkspaceIsForgottenWhereItsTokenIsRefused(t *testing.T) {
	for code, x := range map[string]struct{ acked, forgotten bool }{
		"": {true, false}, "internal_error": {false, false}, "invalid_auth": {true, true}, "token_revoked": {true, true}, "account_inactive": {true, true},
	} {
		t.Run(code, func(t *testing.T) {
			c := newCompany(t)
			if code == "internal_error" {
				c.at["T1"].Fail("auth.test", 1, fakeslack.Fault{Error: code})
			} else {
				c.at["T1"].Revoke(code)
			}
			c.ledger.set(func() {
				c.ledger.fail = func(chat.Inbound) error { return errDown }
				for id, s := range c.ledger.sessions { // a question of another platform's, which has a place of that name
					if id.Workspace == "T1" {
						s.Chat.Platform = "web"
						c.ledger.sessions[s.Chat] = s
						break
					}
				}
			})
			if x.forgotten && (c.event("T1", uninstalled) || c.stored("T1") == "") {
				t.Error("it is forgotten while its question waits")
			}
			c.ledger.set(func() { c.ledger.fail = nil })
			if acked := c.event("T1", revoked); acked != x.acked || (c.stored("T1") == "") != x.forgotten {
				t.Errorf("acknowledged: %v, stored: %q", acked, c.stored("T1"))
			}
			var ended []string
			for _, in := range c.ledger.got() {
				ended = append(ended, in.From().Chat.Workspace)
			}
			if x.forgotten != slices.Equal(ended, []string{"T1"}) || !x.forgotten && ended != nil || c.stored("T2") == "" {
				t.Errorf("questions ended in %v", ended)
			}
			if x.forgotten {
				if before := c.log.String(); !c.event("T1", uninstalled) || c.log.String() != before {
					t.Errorf("the second word of it: %s", strings.TrimPrefix(c.log.String(), before))
				}
			}
		})
	}
}

// What a token that is refused says of a workspace: that nod was removed, or only that it is refused.
func TestARemovalIsFoundOut(t *testing.T) {
	for code, forgotten := range map[string]bool{"account_inactive": true, "invalid_auth": false} {
		c := newCompany(t)
		c.at["T1"].Revoke(code)
		if err := c.Remove(t.Context(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "1.1"); err == nil {
			t.Fatal("it was done")
		}
		for !strings.Contains(c.log.String(), "its token is deleted") && !strings.Contains(c.log.String(), "nothing can be read or written") { // no signal says so
			runtime.Gosched()
		}
		c.stop()
		err := <-c.ended // and all that is said of it is
		if c.ended <- err; (c.stored("T1") == "") != forgotten || strings.Contains(c.log.String(), "level=ERROR") == forgotten {
			t.Errorf("%s: stored %q; the log:\n%s", code, c.stored("T1"), c.log)
		}
	}
}

// Who clicks in a workspace that does not have nod is told so by what the click brought: there is no token for it.
func TestAClickWhereNodIsNot(t *testing.T) {
	c, told := newCompany(t), make(chan string, 1)
	link := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	t.Cleanup(link.Close)
	click := `{"type":"block_actions","trigger_id":"t","team":{"id":"T9"},"user":{"id":"UANA"},"container":{"channel_id":"C1"},"response_url":"` + link.URL + `"}`
	if w := serve(c.Handler(), signedRequest(PathInteractivity, url.Values{"payload": {click}}.Encode(), postSecret, time.Now())); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
	if said := <-told; !strings.Contains(said, sayElsewhere[:20]) {
		t.Errorf("told: %s", said)
	}
}

// A workspace whose token does not work is tried again and named once; what comes of it is not of elsewhere.
func TestAWorkspaceWhoseTokenDoesNotWork(t *testing.T) {
	c := newCompany(t)
	tried := c.at["T2"].Count("auth.test")
	c.store("T1", c.at["T2"].BotToken(), "E1")
	if err := c.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for c.at["T2"].Count("auth.test") < tried+3 {
		<-c.waits
	}
	if n := strings.Count(c.log.String(), "nod cannot work in a workspace"); n != 1 {
		t.Errorf("it is named %d times:\n%s", n, c.log)
	}
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := c.serve(soon, inbound.Interaction{Type: "block_actions", Team: inbound.TeamRef{ID: "T1"}}); err == nil {
		t.Errorf("a click is answered %+v", r)
	}
}

func TestStoppingSeveralIsNoFailure(t *testing.T) {
	if _, err := NewWorkspaces(Config{}, install.Config{}); err == nil {
		t.Error("made of nothing")
	}
	c := newCompany(t)
	c.kept.set(func() { c.kept.down, c.kept.then = errDown, c.stop })
	<-c.waits // until it is looked again
	err := <-c.ended
	c.ended <- err
	if log := c.log.String(); err != nil || strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("%v; the log:\n%s", err, log)
	}
	c.kept.set(func() { c.kept.down, c.kept.then = nil, nil })
	c.store("T3", "xoxb-3", "E1")
	if pe := fault(t, c.Remove(t.Context(), blocks.Place{Team: "T3", Channel: "C1", Thread: "1.1"}.Chat(), "1.1")); pe.Kind != agent.FaultForbidden {
		t.Errorf("a workspace is opened after the end: %v", pe)
	}
}

// servesItsWorkspace has each of what the engine and the page ask done by the adapter of the chat's, or of the person's, workspace.
func servesItsWorkspace(t *testing.T, w *Workspaces, s *fakeslack.Server, id chat.ID) {
	t.Helper()
	ctx, ana := t.Context(), userOf(id.Workspace, "UANA")
	root, _ := blocks.PlaceOf(id)
	starts, byNone := w.Starts(id), 0
	w.presence.locked(func() { byNone = len(w.presence.pending) })
	if !starts || byNone > 0 {
		t.Errorf("%s: that a turn is under way is shown: %v, by the one that speaks in none: %d", id, starts, byNone)
	}
	ref, err := w.Annotate(ctx, id, chat.MessageRef(root.Thread), "beside", note("beside "+id.Workspace), true)
	if m, there := s.Message("C1", string(ref)); err != nil || !there || m.User != s.BotUser() {
		t.Errorf("%s: %+v, %v, %v", id, m, there, err)
	}
	if found, ok, err := w.Seek(ctx, id, "beside"); found != ref || !ok || err != nil {
		t.Errorf("%s: found %q, %v, %v", id, found, ok, err)
	}
	if err := w.Remove(ctx, id, ref); err != nil {
		t.Errorf("%s: %v", id, err)
	}
	if m, there := s.Message("C1", string(ref)); there && !m.Deleted {
		t.Errorf("%s: it still stands", id)
	}
	if _, err := w.Tell(ctx, ana, "told", note("to you in "+id.Workspace)); err != nil || len(s.Messages(s.DM("UANA"), "")) != 1 {
		t.Errorf("%s: she was told %+v, %v", id, s.Messages(s.DM("UANA"), ""), err)
	}
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall-" + id.Workspace, Users: []string{"UANA"}})
	elsewhere := chat.ID{Platform: "web", Workspace: "local", Key: "c"}
	for _, in := range []chat.ID{id, elsewhere} {
		group := userOf(id.Workspace, chat.GroupPrefix+"S1")
		if of, err := w.Groups(ctx, in, ana); err != nil || !slices.Equal(of, []chat.User{group}) || w.GroupName(in, group) != "oncall-"+id.Workspace {
			t.Errorf("%s: she is in %v, %q, %v", in, of, w.GroupName(in, group), err)
		}
	}
	if of, err := w.Groups(ctx, id, userOf("T9", "UEXT")); of != nil || err != nil {
		t.Errorf("%s: of somebody of another workspace is known: %v, %v", id, of, err)
	}
	if is, _, no := w.Member(ctx, elsewhere, ana); is != ana || no != "" {
		t.Errorf("%s: she is %v: %s", id, is, no)
	}
	if to := w.LinkTo(render.ChatLink{Chat: id.String()}); !strings.Contains(to, root.Channel) {
		t.Errorf("%s: it is at %q", id, to)
	}
	_, err = w.Fetch(ctx, id, chat.File{Handle: "F0"}, 1000)
	if why, _ := errors.AsType[*attach.Error](err); why == nil || why.Why != turn.UnreadGone {
		t.Errorf("%s: a file that was deleted: %v", id, err)
	}
}

// Each workspace is spoken to with its own token, while others come, go and come back; what is of none is refused for good.
func TestWorkspacesSpeakWithTheirOwnTokens(t *testing.T) {
	home := fakeslack.New(fakeslack.Options{})
	t.Cleanup(home.Close)
	log, kept := &lines{}, &shelf{all: map[string]string{}}
	of := install.Config{Keys: []string{"a-key-0123456789"}, Workspaces: []string{install.Anybody}, Store: kept}
	w, err := NewWorkspaces(Config{SigningSecret: "shh", APIURL: home.URL(), Engine: deaf{}, Asks: deaf{}, Logger: log.logger()}, of)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	var at []*fakeslack.Server
	var ids []chat.ID
	given := func(i int, token string) {
		t.Helper()
		sealed, err := w.install.Seal(at[i].Team(), install.Installed{Token: token, Name: at[i].Team()})
		if err != nil || kept.Install(ctx, at[i].Team(), sealed) != nil {
			t.Fatal(err)
		}
	}
	for i, team := range []string{"T1", "T2"} {
		at = append(at, home.Host(fakeslack.Options{Team: team}))
		t.Cleanup(at[i].Close)
		at[i].AddUser(fakeslack.User{ID: "UANA"})
		given(i, at[i].Grant())
		at[i].AddChannel(fakeslack.Channel{ID: "C1", Members: []string{"UANA", at[i].BotUser()}})
		ids = append(ids, blocks.Place{Team: team, Channel: "C1", Thread: at[i].Say("UANA", "C1", "", "hello")}.Chat())
	}
	var both sync.WaitGroup
	for i, id := range ids {
		both.Go(func() {
			ref, err := w.Post(ctx, id, chat.PostKey("k"), answering("to "+id.Workspace))
			if err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			if m, ok := at[i].Message("C1", string(ref)); !ok || m.User != at[i].BotUser() || !strings.Contains(string(m.Blocks)+m.Text, "to "+id.Workspace) {
				t.Errorf("%s: %+v, %v", id, m, ok)
			}
		})
		both.Go(func() {
			if err := w.Whisper(ctx, (&Adapter{self: inbound.Self{Team: id.Workspace}}).privately("", "C1", "", "UANA"), note("hush "+id.Workspace)); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if all := at[i].Ephemerals("UANA"); len(all) != 1 || !strings.Contains(all[0].Text, "hush "+id.Workspace) {
				t.Errorf("%s: she alone sees %+v", id, all)
			}
		})
	}
	both.Wait()
	for i, id := range ids {
		servesItsWorkspace(t, w, at[i], id)
	}

	// A token of another workspace, put under this one's name by somebody who has a key, speaks in neither.
	at[0].Uninstall()
	given(0, at[1].BotToken())
	if err := w.look(ctx); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(log.String(), "the token is of the workspace T2") { // no signal says so
		runtime.Gosched()
	}
	all, _ := kept.Installs(ctx)
	if err := kept.Reinstall(ctx, "T1", all["T1"], ""); err != nil {
		t.Fatal(err)
	}
	if err := w.look(ctx); err != nil {
		t.Fatal(err)
	}
	pe, _ := errors.AsType[*agent.PlatformError](w.Edit(ctx, ids[0], "1.1", answering("x"), agent.Final))
	if pe == nil || pe.Kind != agent.FaultForbidden {
		t.Errorf("where nod is no more: %v", pe)
	}
	gone := userOf("T1", "UANA")
	_, tells := w.Tell(ctx, gone, "k", note("x"))
	_, _, seeks := w.Seek(ctx, ids[0], "k")
	_, annotates := w.Annotate(ctx, ids[0], "1.1", "k", note("x"), false)
	_, groups := w.Groups(ctx, ids[0], gone)
	_, fetches := w.Fetch(ctx, ids[0], chat.File{Handle: "F0"}, 1)
	whispers := w.Whisper(ctx, (&Adapter{self: inbound.Self{Team: "T1"}}).privately("", "C1", "", "UANA"), note("x"))
	for i, err := range []error{tells, seeks, annotates, groups, fetches, whispers, w.Remove(ctx, ids[0], "1.1")} {
		if err == nil {
			t.Errorf("where nod is no more, %d is done", i)
		}
	}
	_, _, no := w.Member(ctx, ids[0], gone)
	if no != sayOtherWorkspace || w.Starts(ids[0]) || w.GroupName(ids[0], gone) != "" || w.LinkTo(render.ChatLink{Chat: ids[0].String()}) != "" {
		t.Errorf("where nod is no more somebody is known, or something shown: %q", no)
	}
	if a := w.known(""); a != nil {
		t.Errorf("nowhere is in the workspace %s", a.self.Team)
	}
	given(0, at[0].Grant())
	if _, err := w.Post(ctx, ids[0], chat.PostKey("k2"), answering("again")); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, secret := range home.Given() {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, log)
		}
	}
}
