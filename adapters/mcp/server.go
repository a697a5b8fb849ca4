package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/adapters/mcp/schema"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// server is one configured server, supervised by run.
type server struct {
	name           string
	cfg            Server
	timeout        time.Duration
	connectTimeout time.Duration
	hello          mcp.Implementation
	log            *slog.Logger
	clean          func(string) string
	pace           pace
	legacy         atomic.Bool
	wake           chan struct{} // somebody needs it now; holds one
	running        atomic.Int32  // calls under way, in any chat

	mu        sync.Mutex
	conn      *conn // nil: not connected
	tools     map[string]*tool
	list      []agent.ToolSpec // in the order of names
	absent    []string         // tools that rules name and the last list had not
	blind     []string         // the same of tools that preview names
	bad       string           // the sentence about tools that are not offered
	fault     string           // why it is not connected
	attempted bool             // it was connected or has failed, since it was well
	failed    int              // attempts to connect that failed
	stopped   bool
	change    chan struct{} // closed and replaced at every change of the above
	chatConns map[chat.ID]*chatConn

	life    context.Context // of run
	opening sync.WaitGroup  // of sessions of chats
	retired sync.WaitGroup  // conns that are being closed, and who closes idle ones
}

// run keeps the server connected until ctx ends. It returns when nothing of it is left.
func (s *server) run(ctx context.Context) {
	s.life = ctx
	defer s.retired.Wait()
	defer s.closeChatConns()
	defer s.update(func() { s.stopped, s.attempted, s.conn, s.tools, s.list = true, true, nil, nil, nil })
	s.retired.Go(func() { s.closeIdle(ctx) })
	for failures := 0; ; failures++ {
		began := time.Now()
		c, err := s.connect(ctx)
		if err == nil {
			err = c.exitError(s.serve(ctx, c))
			if time.Since(began) > s.pace.settled {
				failures = 0
			}
		}
		s.down(ctx, c, err, failures)
		if c != nil {
			s.retired.Go(func() { s.retire(ctx, c) })
		}
		if !s.pause(ctx, s.pace.reconnect.After(failures)) {
			return
		}
	}
}

// pause waits before the next attempt. A signal shortens it, but never below the first wait.
func (s *server) pause(ctx context.Context, wait time.Duration) bool {
	least := min(wait, s.pace.reconnect.First)
	_ = backoff.Wait(ctx, least) // its end is looked at below
	rest := time.NewTimer(wait - least)
	defer rest.Stop()
	select {
	case <-ctx.Done():
	case <-rest.C:
	case <-s.wake:
	}
	return ctx.Err() == nil
}

func (s *server) connect(ctx context.Context) (*conn, error) {
	ctx, stop := context.WithTimeout(ctx, s.connectTimeout)
	defer stop()
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.reload(ctx, c); err != nil {
		err = c.exitError(err)
		c.close()
		return nil, err
	}
	s.log.Info("connected", "protocol", c.client.ProtocolVersion(), "transport", c.kind)
	return c, nil
}

// serve follows a live conn until it is lost.
func (s *server) serve(ctx context.Context, c *conn) error {
	var again <-chan time.Time // when to list again
	var regular <-chan time.Time
	if c.kind != kindInProcess { // not every server says that its tools changed, and over HTTP it may be gone without a sign
		t := time.NewTicker(s.pace.refresh)
		defer t.Stop()
		regular = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.gone.Done():
			return context.Cause(c.gone)
		case <-c.changed:
			if again == nil { // servers announce in bursts
				again = time.After(s.pace.debounce)
			}
			continue
		case <-regular:
		case <-again:
			again = nil
		}
		lctx, stop := context.WithTimeout(ctx, s.connectTimeout)
		err := s.reload(lctx, c)
		late := lctx.Err() != nil
		stop()
		switch {
		case late && s.running.Load() > 0: // many servers do one thing at a time: to give this one up would end the call that it is at
			again = time.After(s.pace.debounce)
		case err != nil:
			return err // better no tools than tools that may have changed
		}
	}
}

// retire closes a conn that is no longer used. Over HTTP calls under way are given their time: a server that shuts down in good order still
// answers them. On the other transports there is nothing to wait for.
func (s *server) retire(ctx context.Context, c *conn) {
	if c.kind == kindHTTP {
		idle := make(chan struct{})
		go func() { c.calls.Wait(); close(idle) }()
		select {
		case <-idle:
		case <-ctx.Done():
		}
		defer func() { <-idle }()
	}
	c.close()
}

// listed are a server's tools as one conn gave them.
type listed struct {
	tools     map[string]*tool
	bad       []badTool
	announced uint64 // how often it had said that they change, before
}

func (s *server) readTools(ctx context.Context, c *conn) (*listed, error) {
	l := &listed{tools: map[string]*tool{}, announced: c.announce.Load()} // before the list: what is announced meanwhile makes it stale
	raws, large, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	l.bad = large
	shown, known := s.shown(c.said), map[string]*schema.Schema{}
	s.mu.Lock()
	for _, t := range s.tools {
		known[string(t.spec.InputSchema)] = t.schema
	}
	s.mu.Unlock()
	q := schema.NewQuota(known)
	for _, raw := range raws {
		if ctx.Err() != nil { // a schema takes some time to compile
			return nil, ctx.Err()
		}
		t, b := readTool(s.name, s.cfg, raw, q)
		if b == nil && c.kind == kindHTTP && c.modern.Load() {
			b = badHeaders(t)
		}
		switch {
		case b != nil:
			l.bad = append(l.bad, *b)
		case l.tools[t.spec.Tool.Name] != nil:
			l.bad = append(l.bad, badTool{oneline.Brief(t.spec.Tool.Name, 60), "another tool before it has the same name"})
		default:
			t.spec.Server = shown
			l.tools[t.spec.Tool.Name] = t
		}
	}
	return l, nil
}

// reload reads the tools of c and puts them in force.
func (s *server) reload(ctx context.Context, c *conn) error {
	l, err := s.readTools(ctx, c)
	if err != nil {
		return err
	}
	list := make([]agent.ToolSpec, 0, len(l.tools))
	for _, name := range sorted(l.tools) {
		list = append(list, l.tools[name].spec)
	}
	say := complaint(s.name, l.bad)
	known := func(name string) bool { return l.tools[name] != nil }
	absent := slices.DeleteFunc(slices.Clone(s.cfg.Named), known)
	blind := slices.DeleteFunc(slices.Concat(sorted(s.cfg.Preview), slices.Sorted(maps.Values(s.cfg.Preview))), known)
	s.update(func() {
		if len(absent) > 0 && !slices.Equal(absent, s.absent) {
			s.log.Warn("rules name tools that the server does not have, so they protect nothing", "tools", absent)
		}
		if len(blind) > 0 && !slices.Equal(blind, s.blind) {
			s.log.Warn("preview names tools that the server does not have, so no card shows what changes there", "tools", blind)
		}
		if say != "" && say != s.bad {
			s.log.Warn("tools are not offered", "why", s.clean(say))
		}
		s.conn, s.tools, s.list, s.absent, s.blind, s.bad, s.fault, s.attempted = c, l.tools, list, absent, blind, say, "", true
		c.read.Store(l.announced)
	})
	return nil
}

// shown is what people see of the server. What it says of itself is cut to a line.
func (s *server) shown(said mcp.InitializeResult) render.Server {
	brief := func(words string) string { return oneline.Brief(words, 200) }
	sh := render.Server{Name: s.name, Icon: s.cfg.Icon, Trusted: s.cfg.Trusted, Description: cmp.Or(s.cfg.Description,
		brief(said.ServerInfo.Description), brief(said.ServerInfo.Title), brief(said.Instructions))}
	for _, icon := range said.ServerInfo.Icons {
		drawable := strings.HasPrefix(icon.Src, "https://") || strings.HasPrefix(icon.Src, "data:image/")
		if sh.Icon == "" && drawable && len(icon.Src) <= maxIcon && oneline.Printable(icon.Src) == icon.Src {
			sh.Icon = icon.Src
		}
	}
	return sh
}

// down records that the server cannot be used, and why. Of one that was well until now List waits to hear whether it comes back at once.
func (s *server) down(ctx context.Context, c *conn, err error, failures int) {
	reason := cmp.Or(why(err, s.cfg), "the connection was lost")
	if c == nil {
		reason = cmp.Or(why(err, s.cfg), "it did not answer as an MCP server does")
	}
	say := fmt.Sprintf("The %s server cannot be used now: %s. It is tried again.", s.name, reason)
	if ctx.Err() != nil {
		say = fmt.Sprintf("The %s server is being disconnected.", s.name)
	}
	attrs := []any{"why", reason, "cause", oneline.Brief(s.clean(err.Error()), 500)}
	if e, ok := errors.AsType[*exited](err); ok {
		attrs = append(attrs, "stderr", e.last)
	}
	s.update(func() {
		switch {
		case ctx.Err() != nil:
		case s.fault == say:
			s.log.Debug("still not connected", attrs...)
		default:
			s.log.Warn("not connected", attrs...)
		}
		s.conn, s.tools, s.list, s.bad, s.fault, s.attempted = nil, nil, nil, "", say, c == nil || failures > 0
		if c == nil {
			s.failed++
		}
	})
}

// lose gives a conn up: a call found that the server does not know it any more.
func (s *server) lose(c *conn, err error) {
	c.lose(err)
	s.update(func() {
		if s.conn == c {
			s.conn = nil
		}
	})
}

func (s *server) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.change)
	s.change = make(chan struct{})
}

// withStatus puts the HTTP status in place of an error that only quotes the server, but for the answers to initialize that mean "not here,
// or not this way": the old HTTP+SSE may be spoken.
func withStatus(tr *trace, err error) error {
	code := tr.read().status
	if code < 400 || errors.Is(err, transport.ErrLegacySSEServer) && (maybeStale(code) || code == http.StatusMethodNotAllowed) {
		return err
	}
	return fmt.Errorf("%w: %w", errStatus(code), err)
}

// state is what List and Check read.
func (s *server) state() (list []agent.ToolSpec, fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conn != nil && !lost(s.conn):
		return s.list, s.bad
	case s.conn != nil:
		return nil, fmt.Sprintf("The %s server cannot be used now: the connection was lost. It is tried again.", s.name)
	case s.fault != "":
		return nil, s.fault
	default:
		return nil, fmt.Sprintf("The %s server is not connected yet.", s.name)
	}
}

// tried waits until the server connected or failed once, also after it was lost.
func (s *server) tried(ctx context.Context) error {
	for {
		s.mu.Lock()
		done, change := s.attempted && (s.conn == nil || !lost(s.conn)), s.change
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-change:
		}
	}
}

// find returns the tool in force in the wanted definition, with a conn to call it on. It waits for a server that is away, and for a list
// that was announced as changed before the call came: some servers announce at every list. Every error is ErrNotRun.
func (s *server) find(ctx context.Context, want permission.Tool) (*conn, *tool, error) {
	patience := time.NewTimer(s.pace.await)
	defer patience.Stop()
	failed := -1
	var of *conn
	var announced uint64 // of that conn, when the call first saw it
	for {
		s.mu.Lock()
		c, t, change, stopped, fault := s.conn, s.tools[want.Name], s.change, s.stopped, s.fault
		if failed < 0 {
			failed = s.failed
		}
		tried := s.failed > failed
		if c != nil && lost(c) { // run does not know yet
			c = nil
		}
		if c != nil && c != of {
			of, announced = c, c.announce.Load()
		}
		if c != nil && c.read.Load() >= announced {
			c.calls.Add(1) // under the lock: retire must not see none while we are about to call
			s.mu.Unlock()
			err := s.same(t, want)
			if err != nil {
				c.calls.Done()
			}
			return c, t, err
		}
		s.mu.Unlock()
		if stopped || tried {
			return nil, nil, notRun(want.Name, ". %s", cmp.Or(fault, "The server is disconnected."))
		}
		if c == nil {
			signal(s.wake)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, nil, s.cancelled(want)
		case <-patience.C:
			return nil, nil, notRun(want.Name, ". %s", cmp.Or(fault, fmt.Sprintf("The %s server is not ready.", s.name)))
		}
	}
}

func (s *server) cancelled(want permission.Tool) error {
	return notRun(want.Name, ": it was cancelled before it was sent to the %s server.", s.name)
}

// signal leaves a signal in a channel that holds one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// same refuses a tool that is not the one that was approved.
func (s *server) same(t *tool, want permission.Tool) error {
	switch {
	case t == nil:
		return notRun(want.Name, ": the %s server no longer offers it.", s.name)
	case t.spec.Tool.Definition != want.Definition:
		return notRun(want.Name, ": the tool changed since it was approved.")
	}
	return nil
}

// check validates arguments for the model.
func (s *server) check(want permission.Tool, args json.RawMessage) error {
	_, fault := s.state()
	s.mu.Lock()
	t, up := s.tools[want.Name], s.conn != nil
	s.mu.Unlock()
	switch {
	case !up:
		return errors.New(fault)
	case t == nil:
		return fmt.Errorf("the %s server has no tool %q", s.name, oneline.Brief(want.Name, 60))
	case want.Definition != "" && t.spec.Tool.Definition != want.Definition:
		return fmt.Errorf("the tool %q changed; look at its description again", oneline.Brief(want.Name, 60))
	}
	return t.schema.Check(args)
}
