package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// Call implements [agent.Tools]. The request is sent again only if nothing of it left, or if the server said that it does not know our
// session.
func (m *Servers) Call(ctx context.Context, token agent.RunToken, progress func(turn.Progress)) (turn.Result, error) {
	return m.run(ctx, token, token.Ask, progress)
}

// run is Call, with the way to the person who answers what the tool's server asks for meanwhile.
func (m *Servers) run(ctx context.Context, token agent.RunToken, ask askFunc, progress func(turn.Progress)) (turn.Result, error) {
	call, ok := token.Call()
	if !ok {
		return turn.Result{}, notRun("The tool", ": the call has no approval.")
	}
	s := m.byName[call.Tool.Server]
	if s == nil {
		return turn.Result{}, notRun(call.Tool.Name, ": there is no server %q.", oneline.Brief(call.Tool.Server, 60))
	}
	if progress == nil {
		progress = func(turn.Progress) {}
	}
	for first := true; ; first = false {
		c, t, err := s.find(ctx, call.Tool)
		if err != nil {
			return turn.Result{}, err
		}
		c, t, leave, err := s.connFor(ctx, token.Chat(), c, t, call.Tool)
		if err != nil {
			return turn.Result{}, err
		}
		r, err := s.call(ctx, c, t, call.Args, ask, progress)
		leave()
		stale := errors.Is(err, errStale)
		if stale {
			s.lose(c, err)
		}
		if !stale || !first {
			return r, err
		}
	}
}

// errStale says that the server does not know the session: it did not look at the call.
var errStale = fmt.Errorf("%w: the session is over", agent.ErrNotRun)

// call runs one tool on one conn.
func (s *server) call(ctx context.Context, c *conn, t *tool, args json.RawMessage, ask askFunc, progress func(turn.Progress)) (turn.Result, error) {
	defer c.calls.Done()
	s.running.Add(1)
	defer s.running.Add(-1)
	sent, clock, stop := withClock(ctx, s.timeout)
	defer stop()
	defer context.AfterFunc(c.life, stop)() // a conn that is closed ends its calls
	r := &run{ctx: sent, clock: clock, ask: ask, log: s.log.With("tool", t.spec.Tool.Name)}
	over := c.begin(r)
	sent, tr := withTrace(withRun(sent, r))

	var req mcp.CallToolRequest
	req.Params.Name = t.spec.Tool.Name
	req.Params.Meta = &mcp.Meta{ProgressToken: r.token}
	// The very bytes that were approved: a map would lose the text of numbers, and a nil map is sent as null.
	req.Params.Arguments = args
	if len(args) == 0 {
		req.Params.Arguments = json.RawMessage(`{}`)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.client.CallTool(sent, req) // what it returns is read off the trace, where nothing is lost
		done <- err
	}()
	for {
		select {
		case p := <-r.latest:
			progress(p)
		case err := <-done:
			select {
			case p := <-r.latest:
				progress(p)
			default:
			}
			result, err := s.outcome(ctx, sent, c, tr.read(), t.spec.Tool.Name, err)
			over(err == nil || errors.Is(err, agent.ErrNotRun))
			if result.IsError {
				result.Text += c.openFirst(r, tr.read().refused)
			}
			return result, err
		}
	}
}

// outcome tells the three ends of a call apart: the server answered this request, it certainly did not get it, and, in doubt, nobody knows.
func (s *server) outcome(ctx, sent context.Context, c *conn, n notes, name string, err error) (turn.Result, error) {
	name = oneline.Brief(name, 60)
	if raw := n.results[string(mcp.MethodToolsCall)]; raw != nil {
		return readResult(raw, n.lacks), nil
	}
	// That it ran is known then, what it said is not.
	if n.refused != nil && n.refused.Code == codeTooBig || errors.As(err, new(*http.MaxBytesError)) {
		return turn.Result{IsError: true, Text: fmt.Sprintf(
			"%s ran on the %s server, but its answer has more than %s bytes and was not read. Do not repeat the call as it is; ask for less.",
			name, s.name, text.Number(maxAnswer))}, nil
	}
	// A handler in this process that ends with our context reports that as an answer; it knows no more than we.
	if n.refused != nil && sent.Err() == nil {
		return turn.Result{IsError: true, Text: fmt.Sprintf("The %s server refused %s: %s (JSON-RPC error %d)",
			s.name, name, s.clean(cut(n.refused.Message, maxDescription)), n.refused.Code)}, nil
	}
	err = cmp.Or(err, errors.New("an answer without a result"))
	s.log.Warn("call without an answer", "tool", name, "cause", oneline.Brief(s.clean(err.Error()), 500))
	if not := s.unsent(ctx, c, n, name, err); not != nil {
		return turn.Result{}, not
	}
	say, is := s.unknown(ctx, sent, c, n, name)
	return turn.Result{}, &callError{say + " Whether " + name + " happened is not known.", is}
}

// unsent is the error of a call that the server certainly did not get, or nil.
func (s *server) unsent(ctx context.Context, c *conn, n notes, name string, err error) error {
	unsent := c.http != nil && !n.reached
	switch {
	case n.calls > 1: // it got the call before, and asked back
		return nil
	case errors.Is(err, child.ErrUnsent):
		return notRun(name, ": the %s server did not take the request.", s.name)
	case n.stale, unsent && errors.Is(err, transport.ErrSessionTerminated):
		return &callError{fmt.Sprintf("%s was not run: the %s server ended the session.", name, s.name), errStale}
	case unsent && ctx.Err() != nil: // which says nothing of the server
		return notRun(name, ": it was cancelled before the %s server got it.", s.name)
	case unsent:
		s.lose(c, err)
		return notRun(name, ": the %s server cannot be reached (%s).", s.name, cmp.Or(why(err, s.cfg), "the connection was lost"))
	case n.untaken:
		return notRun(name, ": the %s server refused the request (%d %s).", s.name, n.status, http.StatusText(n.status))
	}
	return nil
}

// unknown says how a call ended of which nobody knows whether it happened, and which error that is.
func (s *server) unknown(ctx, sent context.Context, c *conn, n notes, name string) (say string, is error) {
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("%s was cancelled while it ran on the %s server.", name, s.name), ctx.Err()
	case c.child != nil && lost(c):
		ended, how := c.exitStatus()
		if ended {
			return fmt.Sprintf("The %s server stopped while %s ran (%s).", s.name, name, how), nil
		}
		return fmt.Sprintf("The connection to the %s server was lost while %s ran: %s.", s.name, name, how), nil
	case lost(c):
		return fmt.Sprintf("The connection to the %s server was lost while %s ran.", s.name, name), nil
	case sent.Err() != nil:
		is = context.Cause(sent)
		return fmt.Sprintf("The %s server %v.", s.name, is), is
	case n.status < 300:
		return fmt.Sprintf("The connection to the %s server broke while %s ran.", s.name, name), nil
	case n.status < 400 || maybeStale(n.status):
		c.toolsChanged() // whether it still knows us, and where it is, shows when the tools are read again: no call is risked for that
	}
	return fmt.Sprintf("The %s server answered %d %s.", s.name, n.status, http.StatusText(n.status)), nil
}

// The limits on what one call's server may ask of people.
const (
	maxElicitations = 10 // in all; what is asked after these is cancelled unseen
	maxRound        = 5  // in one answer of a multi round-trip call
)

// abandonedFor is how long a call that was given up may still run: its server was told, and an honest one has ended it long before.
const abandonedFor = 10 * time.Minute

// askFunc is [agent.RunToken.Ask].
type askFunc func(context.Context, turn.Elicitation) (turn.Fill, error)

// run is one call under way on a conn, with the way to the person who may answer for it.
type run struct {
	ctx   context.Context // ends with the call
	clock *clock
	ask   askFunc
	log   *slog.Logger

	token  string             // of its progress
	latest chan turn.Progress // the last of it; holds one
	done   float64            // how far it said to be; guarded by the conn's lock

	elicitations atomic.Int32
}

type runKey struct{}

func withRun(ctx context.Context, r *run) context.Context { return context.WithValue(ctx, runKey{}, r) }

// runOf is the call that a context belongs to; nil for none.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// elicit puts w to the person and waits, without using up the call's time. Whatever prevents an answer is a cancel, never a yes. An error
// means that the call ended: nobody waits for the answer either.
func (r *run) elicit(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
	cancel := turn.Fill{Action: turn.FillCancel}
	if r.elicitations.Add(1) > maxElicitations {
		r.log.Warn("the server wants too much of one person; it was cancelled", "limit", maxElicitations)
		return cancel, nil
	}
	defer r.clock.pause()()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)()
	f, err := r.ask(ctx, w)
	if r.ctx.Err() != nil {
		return cancel, context.Cause(r.ctx)
	}
	if err != nil {
		why := "the wait ended"
		if errors.Is(err, agent.ErrNobody) {
			why = "nobody can be asked"
		}
		r.log.Info("what the server wants was cancelled", "why", why, "kind", string(w.Kind))
		return cancel, nil
	}
	return f, nil
}

// begin counts a call as under way until over, which must be called. answered says that the server has ended it; else it may still run
// there.
func (c *conn) begin(r *run) (over func(answered bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	r.token, r.latest = fmt.Sprintf("p%d", c.tokens), make(chan turn.Progress, 1)
	c.runs[r.token] = r
	return func(answered bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.runs, r.token)
		if !answered {
			c.abandoned = time.Now()
		}
	}
}

// asker is the call that a request of the server is about, where that does not say: the one under way, if it is sure to be that. A person
// must never be asked on behalf of somebody else's call. why says what is unsure.
func (c *conn) asker() (r *run, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.runs) > 1:
		return nil, "several calls run on this connection, and the request does not say which it is about"
	case time.Since(c.abandoned) < abandonedFor:
		return nil, "a call that was given up may still run, and the request does not say which it is about"
	}
	for _, r = range c.runs {
	}
	return r, ""
}

// clock ends a call's context when its time is up: when its server was silent for too long, or worked for too long. It stands still while a
// person is asked, who is not the server's to hurry.
type clock struct {
	mu       sync.Mutex
	timer    *time.Timer
	patience time.Duration // for silence
	since    time.Time     // when it last began to run
	left     time.Duration // of patience
	rest     time.Duration // of what the whole call may take
	moved    bool          // the server told of progress
	pauses   int
	stopped  bool
}

// longest is by how much a call may take longer than silence, while its server tells of progress. "Implementations SHOULD always enforce a maximum
// timeout, regardless of progress notifications": https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle#timeouts
const longest = 10

// withClock is context.WithTimeout with a clock that can be paused, and begins anew with progress; the cause is context.DeadlineExceeded, too. stop
// must be called.
func withClock(ctx context.Context, patience time.Duration) (_ context.Context, _ *clock, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	k := &clock{patience: patience, left: patience, rest: longest * patience, since: time.Now()}
	k.timer = time.AfterFunc(patience, func() { end(k.overdue()) })
	return ctx, k, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stopped = true
		k.timer.Stop()
		end(&callError{"was left before it answered", context.Canceled})
	}
}

// overdue is why its time is up: what the server did.
func (k *clock) overdue() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	did := "did not answer in " + span(k.patience.Round(time.Millisecond))
	switch {
	case k.moved && k.rest <= k.left:
		did = "told of progress, and did not answer in " + span((longest * k.patience).Round(time.Millisecond))
	case k.moved:
		did = "told of progress, and then nothing for " + span(k.patience.Round(time.Millisecond))
	}
	return &callError{did, context.DeadlineExceeded}
}

// halt stops the timer, and counts what passed. false: it stands still already, or the time is up. Call with k.mu.
func (k *clock) halt() bool {
	runs := k.timer.Stop()
	if runs {
		passed := time.Since(k.since)
		k.left, k.rest = k.left-passed, k.rest-passed
	}
	return runs
}

// run has the timer run for what is left. Call with k.mu.
func (k *clock) run() {
	k.since = time.Now()
	k.timer.Reset(max(min(k.left, k.rest), 0))
}

// progress begins the silence anew.
func (k *clock) progress() {
	k.mu.Lock()
	defer k.mu.Unlock()
	runs := k.halt()
	if k.moved, k.left = true, k.patience; runs {
		k.run()
	}
}

// pause holds the clock until resume; pauses may overlap.
func (k *clock) pause() (resume func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pauses++
	k.halt()
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.pauses--; k.pauses == 0 && !k.stopped {
			k.run()
		}
	})
}
