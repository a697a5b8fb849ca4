package state

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// rider is a write that nobody waits for at once, so that it can travel in another one's round trip: what a chat is given back with, what
// was spent already. It is as durable as any other, a little later.
type rider struct {
	call
	then func(any, error) // what comes of it; must not block
}

// riders are those that wait for a write to travel with. The heartbeat is one each second; who waited longer leaves alone.
type riders struct {
	within time.Duration

	mu      sync.Mutex
	waiting []*rider
	leave   *time.Timer // runs while somebody waits
	closed  bool
	alone   sync.WaitGroup
}

const (
	rideWithin = time.Second
	maxRiders  = 64 // in one round trip
)

// wait has rd travel with the next write. off takes it back, and is false where it has left.
func (r *remote) wait(rd *rider) (off func() bool) {
	q := &r.riders
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		rd.then(nil, ErrClosed)
		return func() bool { return false }
	}
	q.waiting = append(q.waiting, rd)
	if len(q.waiting) == 1 {
		q.leave = time.AfterFunc(q.within, r.goAlone)
	}
	return func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		i := slices.Index(q.waiting, rd)
		if i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		}
		return i >= 0
	}
}

// board gives those who travel now.
func (q *riders) board() []*rider {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxRiders)
	if n == 0 {
		return nil
	}
	out := slices.Clone(q.waiting[:n])
	if q.waiting = slices.Delete(q.waiting, 0, n); len(q.waiting) == 0 {
		q.leave.Stop()
	}
	return out
}

// goAlone sends those with whom nobody travelled.
func (r *remote) goAlone() {
	r.riders.mu.Lock()
	if r.riders.closed {
		r.riders.mu.Unlock()
		return
	}
	r.riders.alone.Add(1)
	r.riders.mu.Unlock()
	defer r.riders.alone.Done()
	for {
		some := r.riders.board()
		if some == nil {
			return
		}
		ctx, cancel := bounded(context.Background())
		r.arrived(some, r.send(ctx, 0, false, callsOf(some)))
		cancel()
	}
}

func callsOf(some []*rider) []call {
	out := make([]call, len(some))
	for i, rd := range some {
		out[i] = rd.call
	}
	return out
}

// arrived tells each what came of it. What the server did not run, or nobody knows about, is sent once more, by itself.
func (r *remote) arrived(some []*rider, came []reply) {
	for i, rd := range some {
		a := came[i]
		if !repeatable(a.err) && !isNoScript(a.err) {
			if a.err != nil {
				a.err = fmt.Errorf("redis: %s: %w", rd.Script.Name, a.err)
			}
			rd.then(a.res, a.err)
			continue
		}
		first := 1
		if isNoScript(a.err) {
			first = 0
		}
		r.riders.mu.Lock()
		closed := r.riders.closed
		if !closed {
			r.riders.alone.Add(1)
		}
		r.riders.mu.Unlock()
		if closed {
			rd.then(nil, ErrClosed)
			continue
		}
		go func() {
			defer r.riders.alone.Done()
			ctx, cancel := bounded(context.Background())
			defer cancel()
			out, err := r.carry(ctx, first, nil, []call{rd.call})
			rd.then(out[0], err)
		}()
	}
}

// close ends the waiting: nobody who waits travels any more.
func (q *riders) close() {
	q.mu.Lock()
	q.closed = true
	some := q.waiting
	q.waiting = nil
	if q.leave != nil {
		q.leave.Stop()
	}
	q.mu.Unlock()
	for _, rd := range some {
		rd.then(nil, ErrClosed)
	}
	q.alone.Wait()
}

// ride runs one script with the next write that goes out, or within rideWithin. Where ctx ends before it has left, it is not run.
func (s *Store) ride(ctx context.Context, c call) (any, error) {
	r, remote := s.w.(*remote)
	if !remote {
		return s.write(ctx, c)
	}
	came := make(chan reply, 1)
	off := r.wait(&rider{c, func(res any, err error) { came <- reply{res, err} }})
	select {
	case a := <-came:
		return a.res, a.err
	case <-ctx.Done():
	}
	if off() {
		return nil, ctx.Err()
	}
	a := <-came
	return a.res, a.err
}

// mention has a script run soon, and takes what comes of it.
func (s *Store) mention(c call, then func(any, error)) {
	if r, remote := s.w.(*remote); remote {
		r.wait(&rider{c, then})
		return
	}
	then(s.write(context.Background(), c))
}
