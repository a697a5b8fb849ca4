package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// The limits on what one call's server may want of people.
const (
	maxWants = 10 // in all; what is wanted after these is cancelled unseen
	maxRound = 5  // in one answer of a multi round-trip call
)

// strayFor is how long a call that was given up counts as one that may still run: its server was told, and an honest
// one has ended it long before.
const strayFor = 10 * time.Minute

// askFunc is [agent.RunToken.Ask].
type askFunc func(context.Context, turn.Want) (turn.Fill, error)

// run is one call under way on a conn, with the way to the person who may answer for it.
type run struct {
	ctx   context.Context // ends with the call
	clock *clock
	ask   askFunc
	log   *slog.Logger

	mu    sync.Mutex
	wants int
}

type runKey struct{}

func withRun(ctx context.Context, r *run) context.Context { return context.WithValue(ctx, runKey{}, r) }

// runOf is the call that a context belongs to; nil for none.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// want puts w to the person and waits, without using up the call's time. Whatever prevents an answer is a cancel, which
// is never a yes. An error means that the call ended: nobody waits for the answer either.
func (r *run) want(ctx context.Context, w turn.Want) (turn.Fill, error) {
	cancel := turn.Fill{Action: turn.FillCancel}
	r.mu.Lock()
	r.wants++
	tooMany := r.wants > maxWants
	r.mu.Unlock()
	if tooMany {
		r.log.Warn("the server wants too much of one person; it was cancelled", "limit", maxWants)
		return cancel, nil
	}
	defer r.clock.pause()()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)()
	f, err := r.ask(ctx, w)
	switch {
	case r.ctx.Err() != nil:
		return cancel, context.Cause(r.ctx)
	case errors.Is(err, agent.ErrNobody):
		r.log.Info("what the server wants was cancelled", "why", "nobody can be asked", "kind", string(w.Kind))
		return cancel, nil
	case err != nil:
		r.log.Info("what the server wants was cancelled", "why", "the wait ended", "kind", string(w.Kind))
		return cancel, nil
	}
	return f, nil
}

// begin counts a call as under way until over, which must be called. answered says that the server has ended it; else it may still run there.
func (c *conn) begin(r *run) (over func(answered bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[r] = true
	return func(answered bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.runs, r)
		if !answered {
			c.strayed = time.Now()
		}
	}
}

// asker is the call that a request of the server is about, where the request does not say: the one under way, if it
// is sure to be that. A person must never be asked on behalf of somebody else's call. why says what is unsure.
func (c *conn) asker() (r *run, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.runs) == 0:
		return nil, ""
	case len(c.runs) > 1:
		return nil, "several calls run on this connection, and the request does not say which it is about"
	case !c.strayed.IsZero() && time.Since(c.strayed) < strayFor:
		return nil, "a call that was given up may still run, and the request does not say which it is about"
	}
	for r = range c.runs {
	}
	return r, ""
}
