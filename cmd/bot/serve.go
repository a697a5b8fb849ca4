package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// holdPosts is how long a turn's first message waits for text or a question, where a status says that nod is at work.
const holdPosts = 1500 * time.Millisecond

// run wires the parts and runs until ctx ends, then drains and returns. out gets what a person at the terminal
// should see, log the rest.
func run(ctx context.Context, c config.Config, out io.Writer, log *slog.Logger) error {
	ln, err := parts.Listen(ctx, c)
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
	config   config.Config
	log      *slog.Logger
	store    *state.Store
	servers  *mcp.Servers
	engine   *agent.Engine
	settings *settings.Settings
	web      *web.Server
	slack    *slack.Adapter   // nil where the bot is in no workspace
	discord  *discord.Adapter // nil where it is in no guild
}

func wire(ctx context.Context, c config.Config, log *slog.Logger) (_ *bot, err error) {
	b := &bot{config: c, log: log}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.store, err = parts.OpenStore(ctx, c, log); err != nil {
		return nil, err
	}
	policy, err := policyOf(ctx, c, b.store)
	if err != nil {
		return nil, err
	}
	if b.servers, err = parts.OpenServers(c, versionLine(), log); err != nil {
		return nil, err
	}
	scores, err := parts.Reputations(c)
	if err != nil {
		return nil, err
	}
	model, err := parts.OpenModel(c, log)
	if err != nil {
		return nil, err
	}
	platforms := map[string]agent.Platform{}
	// The surfaces need the engine and the engine the surfaces: the map is filled before anything runs.
	platforms[web.Platform] = nil
	b.engine, err = agent.New(agent.Config{
		Log: b.store, Index: b.store, Leases: b.store, Model: model, Tools: b.servers, Policies: parts.Fixed(policy), Platforms: platforms,
		Lease: c.Lease, Drain: c.Drain, MaxSteps: c.Model.MaxSteps, ContextTokens: c.Model.ContextTokens,
		Sequential: c.Approvals.Sequential, Nudge: c.Approvals.NudgeAfter, Hold: holdPosts, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	managed := settings.Config{Engine: b.engine, Log: b.store, Index: b.store, Tools: b.servers, Platforms: platforms, Reputations: scores, Logger: log}
	if c.Permissions.Analysis {
		managed.Analyst = model
	}
	if b.settings, err = settings.New(managed); err != nil {
		return nil, err
	}
	keys, err := sessionKeys(c)
	if err != nil {
		return nil, err
	}
	b.web, err = web.New(web.Config{
		Listen: c.Listen, Engine: b.engine, Settings: b.settings, Log: b.store, Shelf: shelf{b.store}, Logger: log,
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
	part("settings", b.settings.Run)
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

func policyOf(ctx context.Context, c config.Config, store *state.Store) (permission.Policy, error) {
	p := parts.Operators(c)
	var err error
	if p.Epoch, err = store.Epoch(ctx); err != nil {
		return p, fmt.Errorf("read the run epoch: %w", err)
	}
	return p, p.Validate()
}

// openSlack makes the surface for Slack.
func openSlack(c config.Config, b *bot, log *slog.Logger) (*slack.Adapter, error) {
	sc := parts.Slack(c)
	sc.Engine, sc.Settings, sc.Asks, sc.Budget, sc.Logger = b.engine, b.settings, b.store, purse{b.store}, log
	return slack.New(sc)
}

// openDiscord makes the surface for Discord.
func openDiscord(c config.Config, b *bot, log *slog.Logger) (*discord.Adapter, error) {
	dc := parts.Discord(c)
	dc.Engine, dc.Settings, dc.Asks, dc.Budget, dc.Logger = b.engine, b.settings, b.store, purse{b.store}, log
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
