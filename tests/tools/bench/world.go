package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

const (
	slackTakes = 80 * time.Millisecond
	firstToken = 400 * time.Millisecond
	channels   = 10
	people     = 10 // who ask: the replies to one of them wait for each other where there are many
	person     = "UANA"
	another    = "UBEN"
	// postsAtOnce is the burst of posts that the stand-in's channels bear. Slack names no number.
	postsAtOnce = 6
	// hold and nudge are as people run nod; askFor is longer, so that nothing expires while it is measured.
	hold   = 1500 * time.Millisecond
	nudge  = 2 * time.Second
	askFor = 10 * time.Minute
)

// world is one of everything.
type world struct {
	slack    *fakeslack.Server
	relay    *relay
	model    *pen
	replicas []*replica
	next     atomic.Uint64 // who gets the next delivery
	closers  []func()
	stats    *redis.Client // of the server itself

	mu    sync.Mutex
	spent map[spending]int
}

// spending is what was spent for.
type spending struct {
	method string
	lane   agent.Urgency
}

// replica is one process's worth of the bot.
type replica struct {
	store    *state.Store
	servers  *mcp.Servers
	engine   *agent.Engine
	settings *settings.Settings
	adapter  *slack.Adapter
}

// furnish starts what every world has: a folder, a Redis, who asks that one for its numbers, and a tool server.
func (w *world) furnish(ctx context.Context) (dir, redisAt, toolsAt string, err error) {
	if dir, err = os.MkdirTemp("", "nodbench"); err != nil {
		return "", "", "", err
	}
	w.later(func() { _ = os.RemoveAll(dir) })
	if redisAt, err = w.redis(ctx, dir); err != nil {
		return "", "", "", err
	}
	o, err := redis.ParseURL(redisAt)
	if err != nil {
		return "", "", "", err
	}
	w.stats = redis.NewClient(o)
	w.later(func() { _ = w.stats.Close() })
	tools := httptest.NewServer(server.NewStreamableHTTPServer(mcpserver.New("box", mcpserver.OpenLedger(filepath.Join(dir, "ledger"))).MCP))
	w.later(tools.Close)
	return dir, redisAt, tools.URL + "/mcp", nil
}

// newWorld starts everything. Close it.
func newWorld(ctx context.Context, model *pen, replicas int) (_ *world, err error) {
	w := &world{model: model, spent: map[spending]int{}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	dir, _, toolsAt, err := w.furnish(ctx)
	if err != nil {
		return nil, err
	}
	if w.relay, err = newRelay(filepath.Join(dir, "relay"), filepath.Join(dir, "s")); err != nil {
		return nil, err
	}
	w.later(w.relay.close)
	w.slack = fakeslack.New(fakeslack.Options{
		Tiers: fakeslack.Floors(), PostsPerChannel: fakeslack.PostsPerChannelFloor, PostsAtOnce: postsAtOnce,
		Latency: func(string) time.Duration { return slackTakes },
	})
	w.later(w.slack.Close)
	members := []string{w.slack.BotUser()}
	for i := range people {
		w.slack.AddUser(fakeslack.User{ID: asker(i), Name: asker(i)})
		members = append(members, asker(i))
	}
	for c := range channels {
		w.slack.AddChannel(fakeslack.Channel{ID: channel(c), Members: members})
	}
	for i := range replicas {
		r, err := w.replica(ctx, "unix://"+w.relay.Addr().String(), toolsAt, i)
		if err != nil {
			return nil, err
		}
		w.replicas = append(w.replicas, r)
		w.later(func() { _, _ = r.servers.Close(), r.store.Close() }) // the world ends
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	w.later(func() { stop(); parts.Wait() })
	for _, r := range w.replicas {
		r.servers.Start()
		for _, run := range []func(context.Context) error{r.store.Run, r.engine.Run, r.settings.Run, r.adapter.Run} {
			parts.Go(func() { _ = run(running) })
		}
	}
	front := httptest.NewServer(w)
	w.later(front.Close)
	return w, w.ready(ctx, front.URL)
}

// ready waits until every replica knows who it is and has its tools, and lets Slack deliver.
func (w *world) ready(ctx context.Context, front string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, r := range w.replicas {
		for {
			specs, _, err := r.servers.List(ctx)
			if err == nil && len(specs) > 0 {
				break
			}
			if err := sleep(ctx, 20*time.Millisecond); err != nil {
				return errors.New("the tools do not come")
			}
		}
	}
	for w.slack.Count("auth.test") < len(w.replicas) {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return errors.New("the adapters do not introduce themselves")
		}
	}
	if err := sleep(ctx, slackTakes); err != nil { // the answer comes after it was counted
		return err
	}
	return w.slack.Deliver(fakeslack.Endpoints{Events: front + slack.PathEvents, Interactivity: front + slack.PathInteractivity, Commands: front + slack.PathCommands})
}

func (w *world) later(f func()) { w.closers = append(w.closers, f) }

func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
}

// ServeHTTP gives each delivery to the next replica.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	n := w.next.Add(1)
	w.replicas[n%uint64(len(w.replicas))].adapter.Handler().ServeHTTP(rw, r)
}

// redis starts a server on a socket.
func (w *world) redis(ctx context.Context, dir string) (url string, err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errors.New("needs redis-server in PATH")
	}
	sock := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no", "--dir", dir, "--daemonize", "no") //nolint:gosec // our own server
	if err := cmd.Start(); err != nil {
		return "", err
	}
	w.later(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for range 500 {
		if _, err := os.Stat(sock); err == nil {
			return "unix://" + sock, nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return "", err
		}
	}
	return "", errors.New("redis-server does not start")
}

// trips is how often Redis has read from a client: one round trip each, however much came at once.
func (w *world) trips(ctx context.Context) (int64, error) {
	info, err := w.stats.Info(ctx, "stats").Result()
	if err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(info, "total_reads_processed:")
	text, _, _ = strings.Cut(text, "\r")
	return strconv.ParseInt(text, 10, 64)
}

// idleTrips is how many there are in a second in which nothing happens.
func (w *world) idleTrips(ctx context.Context) (float64, error) {
	const watched = 5 * time.Second
	before, err := w.trips(ctx)
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, watched); err != nil {
		return 0, err
	}
	after, err := w.trips(ctx)
	return float64(after-before) / watched.Seconds(), err
}

func (w *world) replica(ctx context.Context, redis, tools string, i int) (*replica, error) {
	quiet := slog.New(slog.DiscardHandler)
	if os.Getenv("NOD_BENCH_LOG") != "" {
		quiet = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("replica", i)
	}
	r := &replica{}
	var err error
	if r.store, err = state.Open(ctx, state.Options{URL: redis, Replica: fmt.Sprint("r", i), Log: quiet}); err != nil {
		return nil, err
	}
	if r.servers, err = mcp.New(mcp.Config{Servers: map[string]mcp.Server{"box": {URL: tools}}, Log: quiet}); err != nil {
		return nil, err
	}
	platforms := map[string]agent.Platform{slack.Platform: nil}
	r.engine, err = agent.New(agent.Config{
		Log: r.store, Index: r.store, Leases: r.store, Model: w.model, Tools: r.servers, Policies: policy{}, Platforms: platforms,
		Lease: 10 * time.Second, Nudge: nudge, Hold: hold, Logger: quiet,
	})
	if err != nil {
		return nil, err
	}
	r.settings, err = settings.New(settings.Config{Engine: r.engine, Log: r.store, Index: r.store, Tools: r.servers, Platforms: platforms, Logger: quiet})
	if err != nil {
		return nil, err
	}
	r.adapter, err = slack.New(slack.Config{
		BotToken: w.slack.BotToken(), SigningSecret: w.slack.SigningSecret(), APIURL: w.slack.URL(),
		Engine: r.engine, Asks: r.store, Budget: countedBudget{r.store, w}, Logger: quiet,
	})
	if err != nil {
		return nil, err
	}
	platforms[slack.Platform] = r.adapter
	return r, nil
}

func asker(i int) string { return fmt.Sprintf("U0ASKER%d", i%people) }

func channel(i int) string { return fmt.Sprintf("C%02d", i%channels) }

// policy asks for everything that writes.
type policy struct{}

func (policy) Policy(context.Context) (permission.Policy, error) {
	return permission.Policy{Installed: true, Timeout: askFor, SurviveRestart: true}, nil
}

// countedBudget is the store's budget, counted.
type countedBudget struct {
	*state.Store
	world *world
}

func (p countedBudget) Spend(ctx context.Context, s surface.Spend) (time.Duration, error) {
	wait, err := p.Store.Spend(ctx, state.Spend(s))
	if err == nil && wait == 0 && s.Limit > 0 {
		p.world.mu.Lock()
		p.world.spent[spending{method(s.Pool), s.Lane}]++
		p.world.mu.Unlock()
	}
	return wait, err
}
