package command

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// UntilSignal returns a context that ends at the first signal: from then on no work is taken. A second signal ends the process
// at once, whatever still runs: everything acknowledged is in the log, so that is safe, only less polite. release stops the
// watching and waits for it.
func UntilSignal(parent context.Context, signals <-chan os.Signal, drain time.Duration, log *slog.Logger, exit func(int)) (ctx context.Context, release func()) {
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
					exit(Fail)
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
