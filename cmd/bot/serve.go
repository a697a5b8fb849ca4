package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/demo"
	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/openai"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// holdPosts is how long a turn's first message waits for text or a question, where a status says that nod is at work.
const holdPosts = 1500 * time.Millisecond

// run wires the parts and runs until ctx ends, then drains and returns. out gets what a person at the terminal
// should see, log the rest.
func run(ctx context.Context, c config.Config, out io.Writer, log *slog.Logger) error {
	ln, err := listen(ctx, c)
	if err != nil {
		return err
	}
	b, err := wire(ctx, c, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer b.close()
	greet(out, c, ln.Addr())
	return b.serve(ctx, ln)
}

// bot is the wired program: every part that runs, in the order they are stopped.
type bot struct {
	config  config.Config
	log     *slog.Logger
	store   *state.Store
	servers *mcp.Servers
	engine  *agent.Engine
	web     *web.Server
	slack   *slack.Adapter   // nil where the bot is in no workspace
	discord *discord.Adapter // nil where it is in no guild
}

func wire(ctx context.Context, c config.Config, log *slog.Logger) (_ *bot, err error) {
	b := &bot{config: c, log: log}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.store, err = openStore(ctx, c, log); err != nil {
		return nil, err
	}
	policy, err := policyOf(ctx, c, b.store)
	if err != nil {
		return nil, err
	}
	if b.servers, err = openServers(c, log); err != nil {
		return nil, err
	}
	tools, err := reputed(c, b.servers)
	if err != nil {
		return nil, err
	}
	model, err := openModel(c, log)
	if err != nil {
		return nil, err
	}
	platforms := map[string]agent.Platform{}
	// The surfaces need the engine and the engine the surfaces: the map is filled before anything runs.
	platforms[web.Platform] = nil
	b.engine, err = agent.New(agent.Config{
		Log: b.store, Leases: b.store, Model: model, Tools: tools, Policies: fixed{policy}, Platforms: platforms,
		Lease: c.Lease, Drain: c.Drain, MaxSteps: c.Model.MaxSteps, ContextTokens: c.Model.ContextTokens,
		Sequential: c.Approvals.Sequential, Nudge: c.Approvals.NudgeAfter, Hold: holdPosts, Analyse: c.Permissions.Analysis, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	keys, err := sessionKeys(c)
	if err != nil {
		return nil, err
	}
	b.web, err = web.New(web.Config{
		Listen: c.Listen, Engine: b.engine, Log: b.store, Shelf: shelf{b.store}, Logger: log,
		AdminKeys: config.RevealAll(c.AdminSessionKeys), SessionKeys: keys, Hosts: c.Web.Hosts,
		Banner: banner(c), Suggestions: suggestions(c),
	})
	if err != nil {
		return nil, err
	}
	platforms[web.Platform] = b.web
	if c.Slack.Enabled() {
		if b.slack, err = openSlack(c, b, log); err != nil {
			return nil, err
		}
		platforms[slack.Platform] = b.slack
	}
	if c.Discord.Enabled() {
		if b.discord, err = openDiscord(c, b, log); err != nil {
			return nil, err
		}
		platforms[discord.Platform] = b.discord
	}
	return b, nil
}

// close releases what wire opened.
func (b *bot) close() {
	if b.servers != nil {
		if err := b.servers.Close(); err != nil {
			b.log.Warn("closing the MCP servers", "err", err)
		}
	}
	if b.store != nil {
		if err := b.store.Close(); err != nil {
			b.log.Warn("closing the state", "err", err)
		}
	}
}

// serve runs every part until ctx ends. The first part to fail stops the others. The store outlives those that write to it.
func (b *bot) serve(ctx context.Context, ln net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	storing, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	var behind sync.WaitGroup
	behind.Go(func() { _ = b.store.Run(storing) })
	defer behind.Wait()
	defer stopStore()
	b.servers.Start()

	mux := http.NewServeMux()
	checks := []check{{"the state", stateDown(b.config), b.store.Ping}}
	if b.slack != nil {
		checks = append(checks, check{"Slack", "", b.slack.Ready})
	}
	if b.discord != nil {
		checks = append(checks, check{"Discord", "", b.discord.Ready})
	}
	look := newHealth(b.log, checks...)
	look.serve(mux, ctx)
	behind.Go(func() { look.run(storing) })
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	if b.config.Web.Enabled {
		mux.Handle("/", b.web.Handler())
	}
	if b.slack != nil {
		if h := b.slack.Handler(); h != nil {
			mux.Handle("/slack/", h)
		}
	}
	if b.discord != nil {
		if h := b.discord.Handler(); h != nil {
			mux.Handle("/discord/", h)
		}
	}
	var parts sync.WaitGroup
	var failed error
	var once sync.Once
	part := func(name string, run func(context.Context) error) {
		parts.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				once.Do(func() { failed = fmt.Errorf("%s: %w", name, err) })
			}
			stop() // a part that ends while the others run takes them along
		})
	}
	part("engine", b.engine.Run)
	if b.slack != nil {
		part("slack", b.slack.Run)
	}
	if b.discord != nil {
		part("discord", b.discord.Run)
	}
	part("web", func(context.Context) error { return b.web.Run(streams) })
	part("http", func(ctx context.Context) error {
		return serveHTTP(ctx, ln, mux, b.config.Drain, endStreams, b.log)
	})
	parts.Wait()
	endStreams()
	return failed
}

// stateDown is what a stranger hears where the state does not work.
func stateDown(c config.Config) string {
	if c.Redis.URL.IsZero() {
		return "The state in this process cannot be written."
	}
	return "Redis does not answer."
}

// keep is how long the log of a silent chat stays, in the store's words: for ever is negative.
func keep(c config.Config) time.Duration {
	if c.Audit.Keep == 0 {
		return -1
	}
	return time.Duration(c.Audit.Keep)
}

// replica names this process among those that live: the same after a restart, and another than its neighbour's on the same host, which cannot
// listen where this one does. Else a restart of one of them would look like a cold start, and end what grants.survive_restart keeps.
func replica(c config.Config) string {
	host, _ := os.Hostname() // without one the address has to do
	return host + " " + c.Listen
}

func openStore(ctx context.Context, c config.Config, log *slog.Logger) (*state.Store, error) {
	o := state.Options{URL: c.Redis.URL.Reveal(), Durability: c.Redis.Durability.String(), Lease: c.Lease, Keep: keep(c), Log: log, Replica: replica(c)}
	var err error
	if o.Audit, err = makeAuditKey(c, time.Now(), log); err != nil {
		return nil, err
	}
	if c.Redis.URL.IsZero() {
		return state.OpenEmbedded(c.DataDir, o)
	}
	store, err := state.Open(ctx, o)
	if err == nil && c.Redis.Durability.String() == "local" {
		if facts, err := store.Server(ctx); err == nil && facts["aof_enabled"] == "0" {
			log.Warn("Redis keeps no append-only file, and redis.durability is local: when it restarts, decisions and starts of tools may be gone, and people are asked again; set appendonly yes")
		}
	}
	return store, err
}

// fixed is the policy of the configuration: it stands until the process is restarted.
type fixed struct{ policy permission.Policy }

func (f fixed) Policy(context.Context) (permission.Policy, error) { return f.policy, nil }

// operators is the operator's policy, without what only a running bot knows.
func operators(c config.Config) permission.Policy {
	p := c.Policy()
	for _, k := range c.AdminSessionKeys {
		p.Admins = append(p.Admins, web.AdminUser(k.Reveal()))
	}
	return p
}

func policyOf(ctx context.Context, c config.Config, store *state.Store) (permission.Policy, error) {
	p := operators(c)
	var err error
	if p.Epoch, err = store.Epoch(ctx); err != nil {
		return p, fmt.Errorf("read the run epoch: %w", err)
	}
	return p, p.Validate()
}

func openServers(c config.Config, log *slog.Logger) (*mcp.Servers, error) {
	servers := map[string]mcp.Server{}
	if c.OffersWorkbench() {
		workbench, err := demo.Connect(filepath.Join(c.DataDir, "workspace"), !c.Demo(), nil)
		if err != nil {
			return nil, err
		}
		servers[config.Workbench] = mcp.Server{
			InProcess: workbench, Source: permission.SourceWorkbench, Metadata: demo.Metadata(), Trusted: true,
			Description: "nod's own tools: a clock, a calculator, and files of nod's own.", Icon: "⚒",
		}
	}
	for name := range c.MCP.Servers {
		servers[name] = serverOf(c, name)
	}
	for name, s := range servers {
		s.Named = slices.Sorted(maps.Keys(c.Permissions.Servers[name].Tools))
		servers[name] = s
	}
	if err := passable(c); err != nil {
		return nil, fmt.Errorf("open data_dir to servers that are other users: %w", err)
	}
	sayGuard(c, log)
	sample, err := openSampling(c, log)
	if err != nil {
		return nil, err
	}
	return mcp.New(mcp.Config{Servers: servers, Sample: sample, Log: log, ClientName: "nod", Version: versionLine()})
}

func openModel(c config.Config, log *slog.Logger) (agent.Model, error) {
	if c.Demo() {
		return demo.Model{Delay: demo.Pace}, nil
	}
	return openai.New(openai.Config{BaseURL: c.Model.BaseURL.Reveal(), APIKey: c.Model.APIKey.Reveal(), Model: c.Model.Name, Log: log})
}

// openSlack makes the surface for Slack.
func openSlack(c config.Config, b *bot, log *slog.Logger) (*slack.Adapter, error) {
	sc := slackConfig(c)
	sc.Engine, sc.Settings, sc.Asks, sc.Budget, sc.Logger = b.engine, b.engine, b.store, purse{b.store}, log
	return slack.New(sc)
}

// openDiscord makes the surface for Discord.
func openDiscord(c config.Config, b *bot, log *slog.Logger) (*discord.Adapter, error) {
	dc := discordConfig(c)
	dc.Engine, dc.Settings, dc.Asks, dc.Budget, dc.Logger = b.engine, b.engine, b.store, purse{b.store}, log
	dc.Holds, dc.Marks, dc.Lease = holds{b.store}, places{b.store}, c.Lease
	return discord.New(dc)
}

// holds lends the store's holds to the Discord surface, in the surface's own words.
type holds struct{ store *state.Store }

func (h holds) Hold(ctx context.Context, name, owner string, d time.Duration) (bool, time.Duration, error) {
	held, err := h.store.Hold(ctx, name, owner, d)
	return held.Mine, held.Left, err
}

func (h holds) Drop(ctx context.Context, name, owner string) error {
	return h.store.Drop(ctx, name, owner)
}

// places lends the store's marks to it.
type places struct{ store *state.Store }

func (m places) Mark(ctx context.Context, place, message string) error {
	return m.store.Mark(ctx, discord.Platform, place, message)
}

func (m places) Marks(ctx context.Context, within time.Duration) (map[string]string, error) {
	return m.store.Marks(ctx, discord.Platform, within)
}

func (m places) Unmark(ctx context.Context, place string) error {
	return m.store.Unmark(ctx, discord.Platform, place)
}

// purse lends the store's budget to the chat surfaces, in their own type.
type purse struct{ *state.Store }

func (p purse) Spend(ctx context.Context, s surface.Spend) (time.Duration, error) {
	return p.Store.Spend(ctx, state.Spend(s))
}

// shelf lends the store's shelf to the web surface, in the surface's own type.
type shelf struct{ *state.Store }

func (s shelf) Chats(ctx context.Context, user string) ([]web.ChatLine, error) {
	list, err := s.Store.Chats(ctx, user)
	out := make([]web.ChatLine, len(list))
	for i, e := range list {
		out[i] = web.ChatLine(e)
	}
	return out, err
}

func sessionKeys(c config.Config) (keys []web.SessionKey, err error) {
	for _, k := range c.Web.SessionKeys {
		if k.Key == config.Mask {
			return nil, errors.New("web.session_keys: *** is what config print shows instead of a key: write the key itself")
		}
		keys = append(keys, web.SessionKey{Name: k.Name, Key: k.Key.Reveal()})
	}
	return keys, nil
}

func banner(c config.Config) string {
	if !c.Demo() {
		return ""
	}
	return "This is a scripted demo, not a language model. To connect one, set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL for another server), or model: in bot.yaml."
}

func suggestions(c config.Config) []string {
	if !c.Demo() {
		return nil
	}
	return []string{"write hello to notes.txt", "what time is it and calculate 6*7", "read notes.txt and write bye to b.txt and list files", "delete notes.txt"}
}

func greet(out io.Writer, c config.Config, at net.Addr) {
	if c.Web.Enabled {
		fmt.Fprintf(out, "nod listens on http://%s\n", at)
	} else {
		fmt.Fprintf(out, "nod listens on %s (web page disabled)\n", at)
	}
	if b := banner(c); b != "" {
		fmt.Fprintln(out, b)
	}
	if c.Redis.URL.IsZero() {
		fmt.Fprintf(out, "State is kept in this process, under %s. Run one process only; for several replicas set redis.url.\n", c.DataDir)
	}
}
