package command

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"
)

// Heed has signals come to p.Signals from now on. Before that one ends the process, as it does any program: nobody else would leave a question that
// is typed at, or a host that does not answer.
func (p Process) Heed() {
	if p.Hear != nil {
		p.Hear()
	}
}

// UntilSignal returns a context that ends at the first signal: from then on no work is taken. A second signal ends the process
// at once, whatever still runs: everything acknowledged is in the log, so that is safe, only less polite. release stops the
// watching and waits for it.
func (p Process) UntilSignal(drain time.Duration, log *slog.Logger) (ctx context.Context, release func()) {
	p.Heed()
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-p.Signals:
				if n > 1 && s == syscall.SIGHUP { // a shell hands on what the kernel said already
					continue
				}
				if n > 1 {
					log.Warn("stopping at once", "signal", s.String())
					p.Exit(Fail)
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
