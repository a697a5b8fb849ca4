package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// untilSignal returns a context that ends at the first signal: from then on no work is taken. A second signal ends the process
// at once, whatever still runs: everything acknowledged is in the log, so that is safe, only less polite. release stops the
// watching and waits for it.
func untilSignal(parent context.Context, signals <-chan os.Signal, drain time.Duration, log *slog.Logger, exit func(int)) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if n > 1 {
					log.Warn("stopping at once", "signal", s.String())
					exit(exitFail)
					return
				}
				log.Info("stopping: finishing what runs, taking nothing new; the signal again stops at once", "signal", s.String(), "drain", drain)
				cancel(fmt.Errorf("stopped by %s", s))
			}
		}
	})
	return ctx, sync.OnceFunc(func() {
		close(done)
		watching.Wait()
		cancel(nil)
	})
}

// drained returns the context for doing work, when taking ends with the context for taking it: doing ends drain after taking
// did. Its values are taking's. release frees it.
func drained(taking context.Context, drain time.Duration) (doing context.Context, release func()) {
	doing, cancel := context.WithCancel(context.WithoutCancel(taking))
	var mu sync.Mutex
	var timer *time.Timer
	stop := context.AfterFunc(taking, func() {
		mu.Lock()
		defer mu.Unlock()
		timer = time.AfterFunc(drain, cancel)
	})
	return doing, func() {
		stop()
		cancel()
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
	}
}
