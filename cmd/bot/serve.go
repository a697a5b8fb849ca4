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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/document"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/slack/doctor"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/adapters/web/push"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/metrics"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/cmd/bot/traces"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/state"
)

// holdPosts is how long a turn's first message waits for text or a question, where a status says that nod is at work.
const holdPosts = 1500 * time.Millisecond

// flushWithin is how long a stop waits for the last traces to be taken.
const flushWithin = 5 * time.Second

// run wires the parts and runs until ctx ends, then drains and returns. out gets what a person at the terminal
// should see, log the rest.
func run(ctx context.Context, c config.Config, out io.Writer, log *slog.Logger) error {
	ln, err := parts.Listen(ctx, c)
	if err != nil {
		return err
	}
	operators, err := parts.ListenForOperators(ctx, c)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	b, err := wire(ctx, c, log)
	if err != nil {
		err = errors.Join(err, ln.Close())
		if operators != nil {
			err = errors.Join(err, operators.Close())
		}
		return err
	}
	defer b.close()
	greet(out, c, ln.Addr())
	if operators != nil {
		log.Info("metrics for Prometheus", "url", "http://"+operators.Addr().String()+"/metrics")
	}
	return b.serve(ctx, ln, operators)
}

// bot is the wired program: every part that runs, in the order they are stopped.
type bot struct {
	config    config.Config
	log       *slog.Logger
	store     *state.Store
	servers   *mcp.Servers
	metrics   *metrics.Metrics
	traces    *traces.Traces // nil: none are asked for
	engine    *agent.Engine
	settings  *settings.Settings
	web       *web.Server
	platforms []platform // the workspaces and the guilds that it is in
}

// platform is a chat platform's adapter. Its handler, if it has one, serves what the platform posts to /name/.
type platform struct {
	name, title string
	adapter     listener
}

type listener interface {
	Run(context.Context) error
	Ready(context.Context) error
	Handler() http.Handler
}

func wire(ctx context.Context, c config.Config, log *slog.Logger) (*bot, error) {
	b := &bot{config: c, log: log}
	if err := b.open(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// open makes every part. The surfaces need the engine and the engine the surfaces: their map is filled before anything runs.
func (b *bot) open(ctx context.Context) (err error) {
	c, log, surfaces := b.config, b.log, map[string]agent.Platform{web.Platform: nil}
	if b.store, err = parts.OpenStore(ctx, c, log); err != nil {
		return err
	}
	policy := parts.Operators(c)
	if policy.Epoch, err = b.store.Epoch(ctx); err != nil {
		return fmt.Errorf("read the run epoch: %w", err)
	}
	if err = b.store.Begin(ctx, versionLine()); err != nil {
		return fmt.Errorf("record which nod begins: %w", err)
	}
	if err = policy.Validate(); err != nil {
		return err
	}
	var mark parts.Mark
	switch b.traces, err = traces.New(versionLine(), log); {
	case err != nil:
		log.Warn("there will be no traces", "err", err)
	case !c.Traces.Propagate:
	case b.traces == nil:
		log.Warn("traces.propagate tells nobody of a trace: there is none while no collector is named (OTEL_EXPORTER_OTLP_ENDPOINT)")
	default:
		mark = traces.Mark
	}
	if b.servers, err = parts.OpenServers(c, versionLine(), mark, log); err != nil {
		return err
	}
	b.metrics = metrics.New(versionLine(), log)
	looked := b.metrics.Store(b.store, surfaces)
	managed := settings.Config{Log: looked, Index: b.store, Tools: b.servers, Platforms: surfaces, Place: config.ParsePlace, Logger: log}
	if managed.Reputations, err = parts.Reputations(c); err != nil {
		return err
	}
	model, err := parts.OpenModel(c, mark, log)
	if err != nil {
		return err
	}
	asks, tools, tracer := b.metrics.Model(model), b.metrics.Tools(b.servers), agent.Tracer(nil)
	if b.traces != nil {
		asks, tools, tracer = b.traces.Model(asks), b.traces.Tools(tools), b.traces
	}
	b.engine, err = agent.New(agent.Config{
		Log: looked, Index: b.store, Leases: b.store, Model: asks, Tools: tools, Tracer: tracer, Policies: parts.Fixed(policy), Platforms: surfaces,
		Reader: document.Reader{}, Blobs: b.store, ModelSees: c.Model.Images,
		Lease: c.Lease, Drain: c.Drain, MaxSteps: c.Model.MaxSteps, ContextTokens: c.Model.ContextTokens,
		Person:     prompt.Person{Meter: b.store, TurnsPerHour: c.Limits.Person.TurnsPerHour, TokensPerDay: c.Limits.Person.TokensPerDay},
		Sequential: c.Approvals.Sequential, Nudge: c.Approvals.NudgeAfter, Escalate: c.Approvals.Escalate.After, Long: c.Approvals.AnnounceEndAfter, Forget: c.Audit.ForgetAfter, Hold: holdPosts, Logger: log,
	})
	if err != nil {
		return err
	}
	managed.Engine = b.engine
	if c.Permissions.Analysis {
		managed.Analyst = model
	}
	if b.settings, err = settings.New(managed); err != nil {
		return err
	}
	return b.openSurfaces(surfaces)
}

func (b *bot) openSurfaces(surfaces map[string]agent.Platform) error {
	c, log := b.config, b.log
	if c.Slack.Enabled() {
		of := parts.Slack(c)
		of.Engine, of.Settings, of.Asks, of.Budget, of.Logger = b.engine, b.settings, b.store, budget{b.store}, log
		of.Client = b.metrics.Client(slack.Platform, surface.HTTPClient(nil))
		var a interface {
			agent.Platform
			listener
		}
		var err error
		if c.Slack.Install.Enabled() {
			a, err = slack.NewWorkspaces(of, parts.SlackInstall(c, doctor.Scopes(c.Policy().NamesGroups(slack.Platform)), b.store))
		} else {
			a, err = slack.New(of)
		}
		if err != nil {
			return err
		}
		surfaces[slack.Platform] = a
		b.platforms = append(b.platforms, platform{slack.Platform, "Slack", a})
	}
	if c.Discord.Enabled() {
		of := parts.Discord(c)
		of.Engine, of.Settings, of.Asks, of.Budget, of.Logger = b.engine, b.settings, b.store, budget{b.store}, log
		of.Holds, of.Marks, of.Lease = holds{b.store}, places{b.store}, c.Lease
		of.Client = b.metrics.Client(discord.Platform, surface.HTTPClient(nil))
		a, err := discord.New(of)
		if err != nil {
			return err
		}
		surfaces[discord.Platform] = a
		b.platforms = append(b.platforms, platform{discord.Platform, "Discord", a})
	}
	return b.openPage(surfaces)
}

func (b *bot) openPage(surfaces map[string]agent.Platform) error {
	c, log := b.config, b.log
	keys, err := sessionKeys(c)
	if err != nil {
		return err
	}
	doors, err := parts.SignIn(c, log)
	if err != nil {
		return err
	}
	b.web, err = web.New(web.Config{
		Listen: c.Listen, Engine: b.engine, Settings: b.settings, Log: b.store, Shelf: b.store, Files: b.store, Logger: log,
		AdminKeys: config.RevealAll(c.AdminSessionKeys), SessionKeys: keys, SignIn: doors, Surfaces: surfaces, Hosts: c.Web.Hosts,
		Push: b.metrics.Client("push", push.HTTPClient()), Banner: banner(c), Suggestions: suggestions(c),
	})
	if err != nil {
		return err
	}
	surfaces[web.Platform] = b.web
	return nil
}

// close releases what wire opened.
func (b *bot) close() {
	if b.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
		if err := b.traces.Close(ctx); err != nil {
			b.log.Warn("the last traces did not reach their collector", "err", err)
		}
		cancel()
	}
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
func (b *bot) serve(ctx context.Context, ln, operators net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { _ = b.store.Run(storeCtx) })
	defer background.Wait()
	defer stopStore()
	b.servers.Start()

	look := b.health()
	handler := b.handler(ctx, look)
	background.Go(func() { look.run(storeCtx) })
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	var failed error
	var once sync.Once
	part := func(name string, run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				once.Do(func() { failed = fmt.Errorf("%s: %w", name, err) })
			}
			stop() // a part that ends while the others run takes them along
		})
	}
	if operators != nil {
		part("metrics", func(ctx context.Context) error {
			return serveHTTP(ctx, operators, b.metrics.Handler(b.config.Metrics.Local()), b.config.Drain, nil, b.log)
		})
	}
	part("engine", b.engine.Run)
	part("settings", b.settings.Run)
	for _, p := range b.platforms {
		part(p.name, p.adapter.Run)
	}
	part("web", func(context.Context) error { return b.web.Run(streams) })
	part("http", func(ctx context.Context) error {
		return serveHTTP(ctx, ln, handler, b.config.Drain, endStreams, b.log)
	})
	running.Wait()
	endStreams()
	return failed
}

// health looks at the state and the platforms.
func (b *bot) health() *health {
	down := "Redis does not answer."
	if b.config.Redis.URL.IsZero() {
		down = "The state in this process cannot be written."
	}
	checks := []check{{"the state", down, b.store.Ping}}
	for _, p := range b.platforms {
		checks = append(checks, check{p.title, "", p.adapter.Ready})
	}
	return newHealth(b.log, checks...)
}

// handler is everything that the listener serves.
func (b *bot) handler(ctx context.Context, look *health) http.Handler {
	mux := http.NewServeMux()
	look.serve(mux, ctx)
	if b.config.Web.Enabled {
		mux.Handle("/", b.web.Handler())
	}
	for _, p := range b.platforms {
		if h := p.adapter.Handler(); h != nil {
			mux.Handle("/"+p.name+"/", h)
		}
	}
	return mux
}

// holds lends the store's holds to the Discord surface, in the surface's own words.
type holds struct{ *state.Store }

func (h holds) Hold(ctx context.Context, name, owner string, d time.Duration) (bool, time.Duration, error) {
	held, err := h.Store.Hold(ctx, name, owner, d)
	return held.Mine, held.Left, err
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

// budget lends the store's budget to the chat surfaces, in their own type.
type budget struct{ *state.Store }

func (p budget) Spend(ctx context.Context, s surface.Spend) (time.Duration, error) {
	return p.Store.Spend(ctx, state.Spend(s))
}

func sessionKeys(c config.Config) (keys []session.Key, err error) {
	for _, k := range c.Web.SessionKeys {
		if k.Key == config.Mask {
			return nil, errors.New("web.session_keys: *** is what config print shows instead of a key: write the key itself")
		}
		keys = append(keys, session.Key{Name: k.Name, Key: k.Key.Reveal()})
	}
	return keys, nil
}

func banner(c config.Config) string {
	if !c.Demo() {
		return ""
	}
	return "This is a scripted demo, not a language model. To connect one, set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL for another server), or model: in nod.yaml."
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
	if n := len(c.MCP.Servers); n > 0 { // a program of npx or uvx is fetched first
		fmt.Fprintf(out, "Starting %s: %s. The first start can take minutes; the log says when each is connected.\n",
			command.Count(n, "tool server", "tool servers"), strings.Join(slices.Sorted(maps.Keys(c.MCP.Servers)), ", "))
	}
	if c.Redis.URL.IsZero() {
		fmt.Fprintf(out, "State is kept in this process, under %s. Run one process only; for several replicas set redis.url.\n", c.DataDir)
	}
}
