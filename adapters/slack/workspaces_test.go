package slack

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
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
