package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/mcpserver"
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

// A server that tells of progress gets more time, and not for ever; while a person is asked none of it passes.
func TestProgressGivesACallMoreTime(t *testing.T) {
	for name, x := range map[string]struct {
		steps, pause time.Duration // between two steps; that a person is asked, after each
		most         int           // steps
		took         time.Duration
		say          string
	}{
		"none":               {say: "did not answer in 60 s", took: time.Minute},
		"some":               {steps: 55 * time.Second, most: 3, took: 165*time.Second + time.Minute, say: "told of progress, and then nothing for 60 s"},
		"ever":               {steps: 55 * time.Second, most: 99, took: 10 * time.Minute, say: "told of progress, and did not answer in 10 min"},
		"while one is asked": {steps: 55 * time.Second, pause: time.Hour, most: 3, took: 3*time.Hour + 165*time.Second + time.Minute, say: "told of progress, and then nothing for 60 s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, k, stop := withClock(t.Context(), time.Minute)
			defer stop()
			for n := 0; n < x.most && ctx.Err() == nil; n++ {
				select {
				case <-ctx.Done():
				case <-time.After(x.steps):
				}
				if x.pause > 0 && ctx.Err() == nil {
					resume := k.pause()
					k.progress()
					time.Sleep(x.pause)
					resume()
				}
				k.progress()
			}
			<-ctx.Done()
			if took := time.Since(began); took != x.took {
				t.Errorf("%s: it took %s", name, took)
			}
			if cause := context.Cause(ctx); cause.Error() != x.say || !errors.Is(cause, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, cause)
			}
			k.progress() // after the end: nothing
		})
	}
}

// A call whose server tells of each step is waited for longer than one that is silent, and its steps are its own only.
func TestACallThatTellsOfItsStepsMayTakeLonger(t *testing.T) {
	const silent, stuck = "The files server did not answer in 60 s.", "The files server told of progress, and then nothing for 60 s."
	for _, x := range []struct {
		of   any // the call that it says it is about
		done []float64
		say  string // "": it is waited for
	}{
		{"p1", []float64{1, 2, 2, 3}, ""}, {"p1", []float64{2, 2, 2, 1}, stuck}, {"p1", []float64{0, 0, 0, 0}, silent}, {"p2", []float64{1, 2, 3, 4}, silent}, {nil, []float64{1, 2, 3, 4}, silent},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := mcpserver.New("tools", ledger(t))
			m := start(t, map[string]Server{"files": {InProcess: s.InProcess}})
			slow := spec(t, m, "files", "slow").Tool
			m.byName["files"].timeout = time.Minute
			type end struct {
				r   turn.Result
				err error
			}
			ended := make(chan end, 1)
			go func() {
				r, err := m.Call(t.Context(), token(t, slow, `{}`), nil)
				ended <- end{r, err}
			}()
			for _, done := range x.done {
				time.Sleep(25 * time.Second)
				synctest.Wait()
				connOf(m).notified(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: string(mcp.MethodNotificationProgress),
					Params: mcp.NotificationParams{AdditionalFields: map[string]any{"progressToken": x.of, "progress": done}}}})
			}
			time.Sleep(50 * time.Second)
			s.Release()
			if got := <-ended; x.say == "" && (got.err != nil || got.r.Text != "done") || x.say != "" && (got.err == nil || !strings.Contains(got.err.Error(), x.say)) {
				t.Errorf("%+v: %+v", x, got)
			}
		})
	}
}
