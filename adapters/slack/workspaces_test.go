package slack

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

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
	mu  sync.Mutex
	all map[string]string
}

func (s *shelf) Installs(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all), nil
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
	if s.all[workspace] == was {
		if s.all[workspace] = sealed; sealed == "" {
			delete(s.all, workspace)
		}
	}
	return nil
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
