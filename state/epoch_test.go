package state

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// C13
func TestEpochCountsColdStarts(t *testing.T) {
	t.Parallel()
	for name, url := range servers(t) {
		t.Run(name, func(t *testing.T) {
			at := url(t)
			replica := func(name string, want uint64) *Store {
				t.Helper()
				s := openStore(t, Options{URL: at, Replica: name})
				if got, err := s.Epoch(t.Context()); err != nil || got != want {
					t.Errorf("%s: epoch %d, %v, want %d", name, got, err, want)
				}
				return s
			}
			a := replica("a", 1)
			b := replica("b", 1) // a is alive: a rolling update
			replica("a", 1)      // a is killed and comes back while b is alive
			b.leave()
			replica("a", 2) // alone: its own old heartbeat is nobody else's
			a.leave()
			c := replica("c", 3)
			if _, err := c.beat(t.Context(), beatLife, false); err != nil {
				t.Error(err)
			}
			replica("d", 3)
		})
	}
}

func TestAHeartbeatLapses(t *testing.T) {
	m := miniredis.RunT(t)
	now := time.Now()
	m.SetTime(now)
	for i, c := range []struct {
		after time.Duration
		want  uint64
	}{{0, 1}, {beatLife - time.Millisecond, 1}, {2*beatLife - time.Millisecond, 2}} {
		m.SetTime(now.Add(c.after))
		s := openStore(t, Options{URL: "redis://" + m.Addr(), Replica: itoa(i)})
		if got, err := s.Epoch(t.Context()); err != nil || got != c.want {
			t.Errorf("start %d: epoch %d, %v, want %d", i, got, err, c.want)
		}
	}
}

func TestRunBeatsAndLeaves(t *testing.T) {
	s, m := mini(t, Options{Replica: "a"})
	if _, err := s.Epoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m.Exists(runReplicas) {
		t.Error("it still counts as alive")
	}
}
