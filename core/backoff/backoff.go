// Package backoff says how long to wait after each failure, and waits.
//
// It is for loops that try something again: a connection, a write, a request. An [Exponential] is a value; the loop keeps the number of
// failures itself, and sets it to 0 when it is well again. All waits end with their context, and run on the clock of a testing/synctest
// bubble. It imports nothing of ours, so that the engine, the store and every adapter may use it. Start with
// [Exponential.After]; a loop whose waits grow otherwise is a reason to ask whether they have to, not for another type.
//
// A limit on how often something happens without a failure (a rate) belongs to golang.org/x/time/rate; a repeated look, to a time.Ticker.
package backoff

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Exponential is a wait that grows: First after the first failure, then Factor times as long each time, never longer than Most.
type Exponential struct {
	First  time.Duration
	Most   time.Duration // none if zero
	Factor int           // 2 if zero
	// Jitter is the part of a wait that chance adds at most, or takes off where it is negative, so that replicas do not come back in step.
	Jitter float64
}

// Base is the wait after a failure that some came before, without jitter.
func (e Exponential) Base(before int) time.Duration {
	most, factor := cmp.Or(e.Most, math.MaxInt64), cmp.Or(e.Factor, 2)
	d := min(e.First, most)
	for range before {
		if d > most/time.Duration(factor) {
			return most
		}
		d = time.Duration(int64(d) * int64(factor))
	}
	return d
}

// After is [Exponential.Base] with jitter.
func (e Exponential) After(before int) time.Duration {
	d := e.Base(before)
	part := time.Duration(e.Jitter * float64(d))
	if part < 0 {
		return d - rand.N(-part)
	}
	return d + rand.N(part+1)
}

// Wait waits for d. An error is the context's, which ended first.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
