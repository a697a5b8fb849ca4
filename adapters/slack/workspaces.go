package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// lookEvery is how often what is installed is read anew: so much later, at most, another replica knows of a workspace that is gone. One that
// is new is looked for when something comes from it.
const lookEvery = 2 * time.Second

// Workspaces is the bot in every workspace that installed it: an [Adapter] for each, which has that workspace's token and knows nothing of the
// others, behind one way in, because the sockets and the signing secret are the app's. The one that is embedded hears for all of them and
// speaks in none: what it is asked about a chat or a person the adapter of that workspace does ([Adapter.home]).
type Workspaces struct {
	*Adapter
	install *install.Door
	started chan struct{} // closed when Run begins
	running context.Context
	work    sync.WaitGroup

	looking sync.Mutex // held from the read of what is installed until it counts
	mu      sync.Mutex
	all     map[string]*workspace
}

// workspace is one that installed the bot. Without an adapter it is not served: the log says why.
type workspace struct {
	*Adapter
	sealed, enterprise string
	end                context.CancelFunc
}

// NewWorkspaces is [New] for a bot whose workspaces install it. It has no bot token of its own.
func NewWorkspaces(c Config, of install.Config) (*Workspaces, error) {
	door, err := build(c)
	if err != nil {
		return nil, err
	}
	w := &Workspaces{Adapter: door, started: make(chan struct{}), all: map[string]*workspace{}}
	close(door.introduced) // as nobody
	door.served, door.several = w.serve, w
	w.install, err = install.New(of, door.APIURL, door.http, door.Logger)
	return w, err
}

// Run listens until ctx ends, which is no error, or Slack refuses the app token. All goroutines have ended when it returns.
func (w *Workspaces) Run(ctx context.Context) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.running = running
	close(w.started)
	w.work.Go(func() {
		for ctx.Err() == nil {
			if err := w.look(ctx); err != nil && ctx.Err() == nil {
				w.Logger.Warn("slack: which workspaces have nod could not be read; trying again", "err", err)
			}
			_ = w.pause(ctx, lookEvery)
		}
	})
	err := w.listen(ctx) // until what was taken is done
	w.mu.Lock()
	stop()
	w.mu.Unlock()
	w.work.Wait()
	w.http.CloseIdleConnections()
	return err
}

// look reads what is installed, and opens and closes what changed.
func (w *Workspaces) look(ctx context.Context) error {
	w.looking.Lock()
	defer w.looking.Unlock()
	stored, err := w.install.Store.Installs(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for team, at := range w.all {
		if stored[team] == "" {
			at.end()
			delete(w.all, team)
			w.Logger.Info("slack: a workspace is not served any more: nod is not installed there", "workspace", team)
		}
	}
	for team, sealed := range stored {
		if at := w.all[team]; at == nil || at.sealed != sealed {
			w.open(ctx, team, sealed)
		}
	}
	return nil
}

// open begins to serve a workspace. What runs there goes on with the token that it has where what is stored now cannot be opened: another
// replica may have a key that this one gets with its next start. w.mu is held.
func (w *Workspaces) open(ctx context.Context, team, sealed string) {
	at := cmp.Or(w.all[team], &workspace{end: func() {}})
	w.all[team], at.sealed = at, sealed
	is, old, err := w.install.Open(team, sealed)
	if err == nil && !w.install.Allows(team, is.Enterprise) {
		at.end()
		at.Adapter, err = nil, errors.New("slack.install.workspaces does not have it")
	}
	if err != nil {
		w.Logger.Error("slack: a workspace is not served", "workspace", team, "err", err)
		return
	}
	if old { // so that the old key can go some day; if it is replaced meanwhile, or this fails, the next look sees that
		if again, err := w.install.Seal(team, is); err == nil {
			at.sealed = again
			_ = w.install.Store.Reinstall(ctx, team, sealed, again)
		}
	}
	if at.Adapter != nil && at.BotToken == is.Token || w.running.Err() != nil {
		return
	}
	at.end()
	c := w.Config
	c.BotToken, c.Team = is.Token, team
	a, _ := build(c) // the door's configuration, which is whole
	running, end := context.WithCancel(w.running)
	a.lost = func() { w.forget(team) }
	at.Adapter, at.enterprise, at.end = a, is.Enterprise, end
	w.work.Go(func() { w.keep(running, a) })
}

// keep has an adapter at work until ctx ends. A refused token is tried again: its workspace may have closed itself to an address for a while.
func (w *Workspaces) keep(ctx context.Context, a *Adapter) {
	for failed := 0; ctx.Err() == nil; failed++ {
		err := a.run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
		if err != nil && failed == 0 {
			w.Logger.Error("slack: nod cannot work in a workspace; it is tried until it can", "workspace", a.Team, "err", err)
		}
		_ = w.pause(ctx, again.Base(failed))
	}
}

// forget is leave where nobody says that nod was removed but the token itself.
func (w *Workspaces) forget(team string) {
	ctx, cancel := context.WithTimeout(w.running, afterWithin) // not the adapter's own, which ends by this
	defer cancel()
	if err := w.leave(ctx, team); err != nil {
		w.Logger.Warn("slack: a workspace that nod was removed from is not forgotten yet", "workspace", team, "err", err)
	}
}

// leave forgets a workspace that nod was removed from: its open questions end, since nobody there can answer them, and its token goes. Slack
// is asked first whether it refuses the token: the word may be an old one, from before nod was installed again.
func (w *Workspaces) leave(ctx context.Context, team string) error {
	stored, err := w.install.Store.Installs(ctx)
	sealed := stored[team]
	if err != nil || sealed == "" {
		return err
	}
	is, _, err := w.install.Open(team, sealed)
	if err != nil {
		w.Logger.Error("slack: a workspace that nod was removed from is not forgotten", "workspace", team, "err", err)
		return nil
	}
	_, err = slack.New(is.Token, slack.OptionHTTPClient(lean{w.http}), slack.OptionAPIURL(w.APIURL)).AuthTestContext(ctx)
	if code := calls.CodeOf(err); code != "invalid_auth" && !calls.Removed(err) {
		return err
	}
	asking, err := w.Asks.Asking(ctx, func(id chat.ID) bool { return id.Platform == Platform && id.Workspace == team })
	if err == nil {
		err = surface.EndAsks(ctx, w.Engine, asking, chat.Delivery("u:"+strconv.FormatInt(is.At.UnixNano(), 10)), w.Logger)
	}
	if err == nil {
		err = w.install.Store.Reinstall(ctx, team, sealed, "")
	}
	if err != nil {
		return err
	}
	w.Logger.Info("slack: nod was removed from a workspace; its token is deleted", "workspace", team, "name", is.Name)
	return w.look(ctx)
}

// serve has a delivery served by the adapter of its workspace. What is of none is refused as what is of another app.
func (w *Workspaces) serve(ctx context.Context, d inbound.Delivery) (receipt, error) {
	if e, _ := d.(inbound.Event); e.Inner.Type == "app_uninstalled" || e.Inner.Type == "tokens_revoked" {
		return receipt{}, w.leave(ctx, string(e.Team))
	}
	for _, known := range []bool{false, true} { // one that is new is installed perhaps since the last look
		if known {
			if err := w.look(ctx); err != nil {
				return receipt{}, fmt.Errorf("which workspaces have nod: %w", err)
			}
		}
		for _, home := range inbound.Homes(d) {
			if a := w.at(home); a != nil {
				if _, err := a.me(ctx); err != nil {
					return receipt{}, err
				}
				return a.serve(ctx, d)
			}
		}
	}
	switch d := d.(type) {
	case inbound.Interaction:
		return w.refuseElsewhere(d), nil
	case inbound.SlashCommand:
		return w.refuseSlash(d), nil
	}
	w.Logger.Info("slack: an event is of no workspace that has nod")
	return receipt{}, nil
}

// at is the adapter of a workspace, or of one of an organisation's; nil: there is none here, as far as it was looked.
func (w *Workspaces) at(home string) *Adapter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.all[home]; at != nil {
		return at.Adapter
	}
	for _, team := range slices.Sorted(maps.Keys(w.all)) { // always the same one; of no organisation is none
		if at := w.all[team]; at.Adapter != nil && at.enterprise == home && home != "" {
			return at.Adapter
		}
	}
	return nil
}

// of is the adapter of a workspace, for whoever wants something of it.
func (w *Workspaces) of(ctx context.Context, home string) (*Adapter, error) {
	select {
	case <-w.started:
	case <-ctx.Done():
		return nil, calls.Transient(ctx.Err())
	}
	a := w.at(home)
	if a == nil {
		if err := w.look(ctx); err != nil {
			return nil, calls.Transient(fmt.Errorf("which workspaces have nod: %w", err))
		}
		a = w.at(home)
	}
	if a == nil {
		return nil, &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("nod is not installed in the workspace %q", home)}
	}
	return a, nil
}

// Handler has the addresses of installing, and without sockets those that Slack posts to.
func (w *Workspaces) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(install.PathBegin, w.install.Handler())
	mux.Handle(install.PathReturn, w.install.Handler())
	if heard := w.Adapter.Handler(); heard != nil {
		mux.Handle("/", heard)
	}
	return mux
}

// homeOf is the workspace that knows of somebody in a chat: the chat's, or for a chat elsewhere their own.
func homeOf(id chat.ID, u chat.User) string {
	if id.Platform == Platform {
		return id.Workspace
	}
	return u.Workspace
}
