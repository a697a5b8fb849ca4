package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheClockStandsStillWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, k, stop := withClock(t.Context(), time.Minute)
		defer stop()
		time.Sleep(40 * time.Second)
		one, two := k.pause(), k.pause()
		time.Sleep(time.Hour)
		one()
		one() // once is once
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it ran while it was paused")
		}
		two()
		<-ctx.Done()
		if took := time.Since(began); took != 2*time.Hour+time.Minute {
			t.Errorf("it took %s", took)
		}
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		k.pause()() // after the end: nothing
	})
}

func TestAStoppedClockStaysStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, k, stop := withClock(t.Context(), time.Minute)
		resume := k.pause()
		stop()
		resume()
		if k.timer.Stop() {
			t.Error("it runs again")
		}
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}
