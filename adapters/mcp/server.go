package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	sample         sampleFunc    // for those who may ask the model
	kick           chan struct{} // somebody needs it now; holds one

	mu        sync.Mutex
	conn      *conn // nil: not connected
	tools     map[string]*tool
	list      []agent.ToolSpec // in the order of names
	absent    []string         // tools that rules name and the last list had not
	bad       string           // the sentence about tools that are not offered
	fault     string           // why it is not connected
	attempted bool             // it was connected or has failed
	failed    int              // attempts to connect that failed
	stopped   bool
	change    chan struct{} // closed and replaced at every change of the above
	seats     map[chat.ID]*seat

	life    context.Context // of run
	opening sync.WaitGroup  // of seats
	retired sync.WaitGroup  // conns that are being closed
}

// run keeps the server connected until ctx ends. It returns when nothing of it is left.
func (s *server) run(ctx context.Context) {
	s.life = ctx
	defer s.retired.Wait()
	defer s.clear()
	defer s.update(func() { s.stopped, s.conn, s.tools, s.list = true, nil, nil, nil })
	var tidying sync.WaitGroup
	defer tidying.Wait()
	tidying.Go(func() { s.tidy(ctx) })
	for failures := 0; ; failures++ {
		began := time.Now()
		c, err := s.connect(ctx)
		if err == nil {
			err = c.exitError(s.serve(ctx, c))
			if time.Since(began) > s.pace.settled {
				failures = 0
			}
		}
		s.down(ctx, c, err)
		if c != nil {
			s.retired.Go(func() { s.retire(ctx, c) })
		}
		if !s.pause(ctx, s.pace.reconnect.After(failures)) {
			return
		}
	}
}

// pause waits before the next attempt. A kick shortens it, but never below the first wait.
func (s *server) pause(ctx context.Context, wait time.Duration) bool {
	least := time.NewTimer(min(wait, s.pace.reconnect.First))
	defer least.Stop()
	full := time.NewTimer(wait)
	defer full.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-least.C:
	}
	select {
	case <-ctx.Done():
		return false
	case <-full.C:
	case <-s.kick:
	}
	return true
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
		case <-c.gone:
			return c.cause
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
		stop()
		if err != nil {
			return err // better no tools than tools that may have changed
		}
	}
}

// retire closes a conn that is no longer used. Calls under way over HTTP may still get their answers from a
// server that is shutting down in good order, so they are given their time; on the other transports there is nothing to wait for.
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
	ctx, tr := withTrace(ctx)
	raws, bad, err := c.list(ctx)
	if err != nil {
		return nil, s.status(tr, err)
	}
	shown := s.shown(c.said)
	s.mu.Lock()
	known := map[string]*schema.Schema{}
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
			bad = append(bad, *b)
		case l.tools[t.spec.Tool.Name] != nil:
			bad = append(bad, badTool{oneline.Brief(t.spec.Tool.Name, 60), "another tool before it has the same name"})
		default:
			t.spec.Server = shown
			l.tools[t.spec.Tool.Name] = t
		}
	}
	l.bad = bad
	return l, nil
}

// reload reads the tools of c and puts them in force.
func (s *server) reload(ctx context.Context, c *conn) error {
	l, err := s.readTools(ctx, c)
	if err != nil {
		return err
	}
	tools := l.tools
	list := make([]agent.ToolSpec, 0, len(tools))
	for _, name := range sorted(tools) {
		list = append(list, tools[name].spec)
	}
	say := complaint(s.name, l.bad)
	absent := slices.DeleteFunc(slices.Clone(s.cfg.Named), func(name string) bool { return tools[name] != nil })
	s.update(func() {
		if len(absent) > 0 && !slices.Equal(absent, s.absent) {
			s.log.Warn("rules name tools that the server does not have, so they protect nothing", "tools", absent)
		}
		s.absent = absent
		if say != "" && say != s.bad {
			s.log.Warn("tools are not offered", "why", s.clean(say))
		}
		s.conn, s.tools, s.list, s.bad, s.fault, s.attempted = c, tools, list, say, "", true
		c.read.Store(l.announced)
	})
	return nil
}

// shown is what people see of the server. What it says of itself is cut to a line.
func (s *server) shown(said mcp.InitializeResult) render.Server {
	sh := render.Server{Name: s.name, Description: s.cfg.Description, Icon: s.cfg.Icon, Trusted: s.cfg.Trusted}
	for _, words := range []string{said.ServerInfo.Description, said.ServerInfo.Title, said.Instructions} {
		if sh.Description == "" {
			sh.Description = oneline.Brief(words, 200)
		}
	}
	for _, icon := range said.ServerInfo.Icons {
		drawable := strings.HasPrefix(icon.Src, "https://") || strings.HasPrefix(icon.Src, "data:image/")
		if sh.Icon == "" && drawable && len(icon.Src) <= maxIcon && oneline.Printable(icon.Src) == icon.Src {
			sh.Icon = icon.Src
		}
	}
	return sh
}

// down records that the server cannot be used, and why.
func (s *server) down(ctx context.Context, c *conn, err error) {
	reason := why(err, s.cfg)
	if reason == "" && c == nil {
		reason = "it did not answer as an MCP server does"
	} else if reason == "" {
		reason = "the connection was lost"
	}
	say := fmt.Sprintf("The %s server cannot be used now: %s. It is tried again.", s.name, reason)
	if ctx.Err() != nil {
		say = fmt.Sprintf("The %s server is being disconnected.", s.name)
	}
	attrs := []any{"why", reason, "cause", oneline.Brief(s.clean(err.Error()), 500)}
	if c != nil && c.child != nil {
		attrs = append(attrs, "stderr", c.child.LastLine())
	}
	s.update(func() {
		switch {
		case ctx.Err() != nil:
		case s.fault == say:
			s.log.Debug("still not connected", attrs...)
		default:
			s.log.Warn("not connected", attrs...)
		}
		s.conn, s.tools, s.list, s.bad, s.fault, s.attempted = nil, nil, nil, "", say, true
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

// status puts the HTTP status in place of an error that only quotes the server.
func (s *server) status(tr *trace, err error) error {
	if tr == nil || errors.Is(err, transport.ErrLegacySSEServer) && staleOr405(int(tr.status.Load())) {
		return err
	}
	if code := int(tr.status.Load()); code >= 400 {
		return fmt.Errorf("%w: %w", errStatus(code), err)
	}
	return err
}

// staleOr405 tells the answers to initialize that mean "not here, or not this way": the old HTTP+SSE may be spoken.
func staleOr405(status int) bool { return maybeStale(status) || status == 405 }

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
	case s.stopped:
		return nil, fmt.Sprintf("The %s server is disconnected.", s.name)
	default:
		return nil, fmt.Sprintf("The %s server is not connected yet.", s.name)
	}
}

// tried waits until the server connected or failed once.
func (s *server) tried(ctx context.Context) error {
	for {
		s.mu.Lock()
		done, change := s.attempted || s.stopped, s.change
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

// find returns the tool in force in the wanted definition, with a conn on which to call it. It waits for a
// server that is away, and for a list that the server has announced as changed. Every error is ErrNotRun.
func (s *server) find(ctx context.Context, want permission.Tool) (*conn, *tool, error) {
	patience := time.NewTimer(s.pace.await)
	defer patience.Stop()
	failed := -1
	for {
		s.mu.Lock()
		c, t, change, stopped := s.conn, s.tools[want.Name], s.change, s.stopped
		if failed < 0 {
			failed = s.failed
		}
		tried := s.failed > failed
		fault := s.fault
		if c != nil && lost(c) { // run does not know yet
			c = nil
		}
		if c != nil && c.read.Load() == c.announce.Load() {
			c.calls.Add(1) // under the lock: retire must not see none while we are about to call
			s.mu.Unlock()
			err := s.same(t, want)
			if err != nil {
				c.calls.Done()
			}
			return c, t, err
		}
		s.mu.Unlock()
		if stopped || c == nil && tried {
			return nil, nil, notRun("%s was not run. %s", oneline.Brief(want.Name, 60), errOrSay(fault, "The server is disconnected."))
		}
		if c == nil {
			select {
			case s.kick <- struct{}{}:
			default:
			}
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, nil, notRun("%s was not run: it was cancelled before it was sent to the %s server.", oneline.Brief(want.Name, 60), s.name)
		case <-patience.C:
			return nil, nil, notRun("%s was not run. %s", oneline.Brief(want.Name, 60), errOrSay(fault, fmt.Sprintf("The %s server is not ready.", s.name)))
		}
	}
}

// same refuses a tool that is not the one that was approved.
func (s *server) same(t *tool, want permission.Tool) error {
	switch {
	case t == nil:
		return notRun("%s was not run: the %s server no longer offers it.", oneline.Brief(want.Name, 60), s.name)
	case t.spec.Tool.Definition != want.Definition:
		return notRun("%s was not run: the tool changed since it was approved.", oneline.Brief(want.Name, 60))
	}
	return nil
}

func errOrSay(s, other string) string {
	if s == "" {
		return other
	}
	return s
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
