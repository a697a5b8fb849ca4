package mcp

import (
	"context"
	"sync"
	"time"
)

// clock ends a call's context when its time is up. It stands still while a person is asked: a server's patience is
// measured by what the server takes.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // when it last began to run
	left    time.Duration
	pauses  int
	stopped bool
}

// withClock is context.WithTimeout with a clock that can be paused. The cause of the context's end is
// context.DeadlineExceeded when the time was up. stop must be called.
func withClock(ctx context.Context, d time.Duration) (_ context.Context, _ *clock, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	k := &clock{left: d, since: time.Now()}
	k.timer = time.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return ctx, k, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stopped = true
		k.timer.Stop()
		end(context.Canceled)
	}
}

// pause holds the clock until resume; pauses may overlap.
func (k *clock) pause() (resume func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pauses++; k.pauses == 1 && k.timer.Stop() {
		k.left -= time.Since(k.since)
	}
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.pauses--; k.pauses == 0 && !k.stopped {
			k.since = time.Now()
			k.timer.Reset(max(k.left, 0))
		}
	})
}
