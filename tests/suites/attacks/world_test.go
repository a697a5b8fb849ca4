package attacks

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/web"
	websession "github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// patience bounds every wait. Only a broken product gets there.
const patience = 2 * time.Minute

// adminKey is the web's administrator.
const adminKey = "the-long-key-of-ada"

// webAdmin is who signs in with it. Made once: a key's fingerprint is slow to make, so that it is slow to guess.
var webAdmin = sync.OnceValue(func() chat.User { return websession.AdminUser(adminKey) })

// person is who acts. Each surface knows them under keys of its own.
type person string

// The people. Ana asks; Ada is an admin; the others may do nothing, each for another reason.
const (
	ana person = "Ana"
	ben person = "Ben"
	ada person = "Ada"
)

// law is the policy in force, which a case may change under a card that asks.
type law struct {
	mu sync.Mutex
	p  permission.Policy
}

// Policy implements agent.Policies.
func (l *law) Policy(context.Context) (permission.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p, nil
}

// set changes one tool's settings. What others hold is never changed.
func (l *law) set(server, name string, change func(*permission.ToolSettings)) {
	l.change(func(p *permission.Policy) {
		s := p.Servers[server]
		s.Tools = maps.Clone(s.Tools)
		if s.Tools == nil {
			s.Tools = map[string]permission.ToolSettings{}
		}
		t := s.Tools[name]
		change(&t)
		s.Tools[name] = t
		p.Servers[server] = s
	})
}

// change gives the policy another revision, as another file of configuration has: what is made of a policy is kept under it.
func (l *law) change(f func(*permission.Policy)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p.Servers = maps.Clone(l.p.Servers)
	f(&l.p)
	l.p.Revision += "'"
}

// world is one of everything.
type world struct {
	t         testing.TB
	law       *law
	pen       *pen
	ledger    *ledger
	servers   map[string]*liar
	engine    *agent.Engine
	settings  *settings.Settings
	store     *state.Store
	tools     *mcp.Servers
	slack     *fakeslack.Server
	platforms map[string]agent.Platform
	discord   *fakediscord.Server
	url       string // of the web surface, and of the addresses that Slack and Discord deliver to
	sessions  map[person]*session
	rooms     atomic.Int64
	forms     sync.Mutex    // a person has one open at a time
	streams   chan struct{} // room for streams of the web
	record    record
}

// record is what the program logged last.
type record struct {
	mu   sync.Mutex
	said []string
}

const remembered = 200 // lines

func (r *record) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said[max(0, len(r.said)+1-remembered):], string(line))
	return len(line), nil
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "")
}

// rules are how a world's policy differs from the usual one.
type rules func(*world, *permission.Policy)

// openWorld starts everything and closes it when the test ends.
func openWorld(t testing.TB, tools []tool, change rules) *world {
	t.Helper()
	w := &world{t: t, pen: newPen(), ledger: &ledger{}, servers: map[string]*liar{}, sessions: map[person]*session{}, streams: make(chan struct{}, 6)}
	log := slog.New(slog.NewTextHandler(&w.record, nil))
	w.openPlaces(t)
	configs := map[string]mcp.Server{}
	for name, of := range byServer(tools) {
		w.servers[name] = startLiar(t, name, callsItself(name), instructions(name), w.ledger, of)
		configs[name] = mcp.Server{URL: w.servers[name].http.URL, Transport: "http", Timeout: 20 * time.Second}
	}
	servers := must(mcp.New(mcp.Config{Servers: configs, Log: log}))(t)
	w.tools = servers
	t.Cleanup(func() { _ = servers.Close() })
	store := must(state.Open(t.Context(), state.Options{URL: harness.Lightest.Start(t), Replica: "attacked", Log: log}))(t)
	t.Cleanup(func() { _ = store.Close() })
	w.law, w.store = &law{p: w.policy(change)}, store
	platforms := map[string]agent.Platform{web.Platform: nil}
	w.engine = must(agent.New(agent.Config{
		Log: store, Index: store, Leases: store, Model: w.pen, Tools: servers, Policies: w.law, Platforms: platforms, MaxDenials: 100, MaxSteps: 40, Logger: log,
	}))(t)
	w.settings = must(settings.New(settings.Config{Engine: w.engine, Log: store, Index: store, Tools: servers, Platforms: platforms, Logger: log}))(t)
	page := must(web.New(web.Config{Listen: "127.0.0.1:0", Engine: w.engine, Settings: w.settings, Log: store, Shelf: store, AdminKeys: []string{adminKey}, Logger: log}))(t)
	inSlack := must(slack.New(slack.Config{
		BotToken: w.slack.BotToken(), SigningSecret: w.slack.SigningSecret(), APIURL: w.slack.URL(), Engine: w.engine, Asks: store, Settings: w.settings, Logger: log,
	}))(t)
	inDiscord := must(discord.New(discord.Config{
		Token: w.discord.Token(), PublicKey: w.discord.PublicKey(), APIURL: w.discord.URL(), Engine: w.engine, Asks: store, Settings: w.settings, Shards: 1, Logger: log,
	}))(t)
	w.platforms = platforms
	platforms[web.Platform], platforms[slack.Platform], platforms[discord.Platform] = page, inSlack, inDiscord

	front := httptest.NewServer(router{page.Handler(), inSlack.Handler(), inDiscord.Handler()})
	t.Cleanup(front.Close)
	w.url = front.URL
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	t.Cleanup(func() { stop(); parts.Wait() })
	servers.Start()
	for _, run := range []func(context.Context) error{store.Run, w.engine.Run, w.settings.Run, inSlack.Run, inDiscord.Run, page.Run} {
		parts.Go(func() { _ = run(ctx) })
	}
	w.ready(servers)
	w.sessions[ana], w.sessions[ben] = w.session("Ana"), w.session("Ben")
	w.sessions[ada] = &session{w: w, key: adminKey}
	return w
}

// ready waits until every part has what it needs, and lets Slack and Discord deliver.
func (w *world) ready(servers *mcp.Servers) {
	w.t.Helper()
	until(w.t, "every server answers", func() bool {
		_, faults, err := servers.List(w.t.Context())
		return err == nil && len(faults) == 0
	})
	until(w.t, "the gateway has a session", func() bool { return w.discord.Connected() == 1 && len(w.discord.Commands("")) > 0 })
	until(w.t, "Slack's adapter takes deliveries", func() bool {
		return w.slack.Deliver(fakeslack.Endpoints{Events: w.url + slack.PathEvents, Interactivity: w.url + slack.PathInteractivity, Commands: w.url + slack.PathCommands}) == nil
	})
	if err := w.discord.Deliver(w.url + discord.PathInteractions); err != nil {
		w.t.Fatal(err)
	}
}

// policy is the usual one: MCP tools ask, and who asked or an admin decides.
func (w *world) policy(change rules) permission.Policy {
	p := permission.Policy{
		Revision: "r", Installed: true, Timeout: time.Hour, SurviveRestart: true, Servers: map[string]permission.ServerSettings{},
		Admins: []chat.User{w.slackUser(ada), w.discordUser(ada), webAdmin()},
	}
	never, auth, no, brief := permission.NeverAsk, permission.RequireAuth, false, 3*time.Second
	p.Servers["box"] = permission.ServerSettings{Tools: map[string]permission.ToolSettings{
		"free": {Ask: never}, "guarded": {Approval: &auth}, "nograntable": {ChatGrant: &no}, "brief": {Timeout: &brief}, "always": {Ask: permission.AlwaysAsk},
	}}
	p.Servers["mix"], p.Servers["believed"] = mixed(), permission.ServerSettings{Trusted: true}
	for _, name := range []string{"loud", "asker", "wanter", "bomb"} {
		p.Servers[name] = permission.ServerSettings{Ask: never}
	}
	if change != nil {
		change(w, &p)
	}
	return p
}

func byServer(tools []tool) map[string][]tool {
	out := map[string][]tool{}
	for _, x := range tools {
		out[x.server] = append(out[x.server], x)
	}
	return out
}

// room is a number nobody has had in this world.
func (w *world) room() string { return fmt.Sprintf("%04d", w.rooms.Add(1)) }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// until asks again and again until the answer is yes.
func until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came that %s", what)
		case <-tick.C:
		}
	}
}

// idOf makes a script's name of a test's.
func idOf(t testing.TB) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, t.Name()), "-")
}

func has(list []string, what string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, what) })
}
