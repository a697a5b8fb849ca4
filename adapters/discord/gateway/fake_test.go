package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// pacer is a budget that never refuses: its clock goes on instead.
type pacer struct{ clock *fakediscord.Manual }

func (p pacer) Spend(_ context.Context, s surface.Spend) (time.Duration, error) {
	if s.Limit == 1 {
		p.clock.Advance(s.Per)
	}
	return 0, nil
}

func (pacer) CoolOff(context.Context, string, time.Duration) error { return nil }

// The stand-in Discord over TCP, in real time: what the other tests show in memory holds there.
func TestTroubleWithTheStandIn(t *testing.T) {
	t.Parallel()
	clock := fakediscord.NewManual()
	f := fakediscord.New(fakediscord.Options{Clock: clock})
	defer f.Close()
	var apart sync.RWMutex // held: nothing connects again
	pause := func(ctx context.Context, d time.Duration) error {
		apart.RLock()
		defer apart.RUnlock()
		clock.Advance(d)
		return ctx.Err()
	}
	quiet, budget := slog.New(slog.DiscardHandler), pacer{clock}
	api, err := rest.New(rest.Config{Token: f.Token(), APIURL: f.URL(), Budget: budget, Logger: quiet, Now: time.Now, Pause: pause})
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{fresh: make(chan struct{}, 1)}
	a := New(Config{
		Token: f.Token(), Shards: 1, Lease: 15 * time.Second, Budget: budget, Rest: api, OpenWithin: 30 * time.Second, SilentWithin: 90 * time.Second, Logger: quiet,
		Now: time.Now, Pause: pause, Event: l.event, Connected: l.connected,
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	run, stop := context.WithCancel(ctx)
	go func() { ended <- a.Run(run, f.AppID()) }()

	until := func(what string, began, resumed int) {
		t.Helper()
		for {
			if b, r := l.times(); b == began && r == resumed {
				return
			} else if b > began || r > resumed {
				t.Fatalf("%s: began %d times and resumed %d, want %d and %d", what, b, r, began, resumed)
			}
			select {
			case <-l.fresh:
			case <-ctx.Done():
				t.Fatal(what)
			}
		}
	}
	until("the start", 1, 0)
	f.AskHeartbeat()
	f.Drop()
	until("a drop", 1, 1)
	f.Greet(fakediscord.OnResume, 1, fakediscord.Greeting{Reconnect: true})
	f.Reconnect()
	until("op 7, again as the first packet", 1, 2)
	f.Greet(fakediscord.OnIdentify, 2, fakediscord.Greeting{Invalid: true})
	f.Invalidate(false)
	until("op 9, again in answer to IDENTIFY", 2, 2)
	apart.Lock()
	f.Drop()
	if err := f.Wait(ctx, func() bool { return f.Connected() == 0 }); err != nil {
		t.Fatal(err)
	}
	// It is stopped while READY is being handled: it waits for that, and says goodbye, or the session would stand.
	l.mu.Lock()
	l.on = func(kind string) {
		if kind == "READY" {
			stop()
			soon, enough := context.WithTimeout(ctx, 200*time.Millisecond)
			defer enough()
			select {
			case err := <-ended:
				t.Errorf("it has ended, and an event is being handled: %v", err)
				ended <- err
			case <-soon.Done():
			}
		}
	}
	l.mu.Unlock()
	f.EndSessions()
	apart.Unlock()
	until("a RESUME that fails", 3, 2)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := len(f.Identifies()); n != 5 || f.TokenReset() {
		t.Errorf("%d IDENTIFYs", n)
	}
	if err := f.Wait(ctx, func() bool { return len(f.Sessions()) == 0 }); err != nil { // it hears of the close a little later
		t.Errorf("sessions are left: %v", f.Sessions())
	}
	dials := f.Dials()
	for _, at := range []string{"/?v=10&encoding=json", "/resume/?v=10&encoding=json"} {
		if !slices.ContainsFunc(dials, func(d string) bool { return len(d) >= len(at) && d[len(d)-len(at):] == at }) {
			t.Errorf("nothing dialled %s: %s", at, fmt.Sprint(dials))
		}
	}
}
