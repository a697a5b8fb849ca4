package state

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent"
)

// Calls arrive later than they were spent, some by a second more than others: the platform never counts too many.
func TestNeverMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var replicas []*Store
		for range 2 {
			s, err := Open(t.Context(), Options{URL: "redis://" + m.Addr(), Log: discard})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // a test's store
			replicas = append(replicas, s)
		}
		limit := rapid.IntRange(1, 12).Draw(r, "limit")
		per := time.Duration(rapid.SampledFrom([]int{1000, 5000, 60_000}).Draw(r, "per")) * time.Millisecond
		jitter := int(margin(per).Milliseconds())
		at := noon
		var arrived []time.Time
		for range rapid.IntRange(20, 120).Draw(r, "steps") {
			at = at.Add(time.Duration(rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, int(per.Milliseconds()/2))).Draw(r, "ms")) * time.Millisecond)
			m.SetTime(at)
			sp := Spend{
				Pool: "p", Limit: limit, Per: per, Lane: agent.Urgency(rapid.IntRange(0, 2).Draw(r, "lane")),
				Message: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(r, "message"),
				Rate:    rapid.SampledFrom([]float64{0, 3, 300}).Draw(r, "rate"), Ends: rapid.Bool().Draw(r, "ends"),
			}
			wait, err := replicas[rapid.IntRange(0, 1).Draw(r, "replica")].Spend(t.Context(), sp)
			if err != nil {
				r.Fatal(err)
			}
			if wait != 0 && wait < 20*time.Millisecond || wait > per+margin(per) {
				r.Fatalf("told to wait %s", wait)
			}
			if wait == 0 {
				arrived = append(arrived, at.Add(time.Duration(rapid.IntRange(0, jitter).Draw(r, "delay"))*time.Millisecond))
			}
		}
		slices.SortFunc(arrived, time.Time.Compare)
		for i := limit; i < len(arrived); i++ {
			if d := arrived[i].Sub(arrived[i-limit]); d < per {
				r.Fatalf("%d calls arrive within %s", limit+1, d)
			}
		}
	})
}

// Where the platform bears bursts, decisions go beyond the limit, as far as they are let; nothing else does, nor makes them wait.
func TestDecisionsGoBeyondTheLimit(t *testing.T) {
	p := miniBudget(t)
	take := func(lane agent.Urgency, hard int) bool {
		wait, err := p.Spend(t.Context(), Spend{Pool: "p", Limit: 4, Hard: hard, Per: time.Minute, Lane: lane})
		if err != nil {
			t.Fatal(err)
		}
		return wait == 0
	}
	for i := range 4 {
		if !take(agent.Final, 6) {
			t.Fatalf("final %d waits", i)
		}
	}
	if take(agent.Final, 6) || take(agent.Progress, 6) || take(agent.Decision, 0) {
		t.Error("something other than a decision that may went beyond the limit")
	}
	for i, want := range []bool{true, true, false} {
		if take(agent.Decision, 6) != want {
			t.Errorf("decision %d beyond the limit: want %v, for six are the most", i+1, want)
		}
	}
}

func TestALostReplyIsNoSecondSpending(t *testing.T) {
	t.Parallel()
	p := miniBudget(t)
	f := &faults{}
	p.rdb.AddHook(f)
	p.must(Spend{Pool: "warm"})
	f.after.Store(1)
	p.must(Spend{Limit: 1, Lane: final, Message: "m", Ends: true})
	if n := p.held("slack/T1/chat.update"); n != 1 {
		t.Errorf("%d are spent", n)
	}
	f.before.Store(attempts)
	if _, err := p.Spend(t.Context(), Spend{Pool: "p", Limit: 1, Per: time.Second}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

// Replicas that ask at the same moment never get more than the limit, on servers as people run them.
func TestReplicasShareABudget(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"Redis":   func(t *testing.T) string { return startRedis(t) },
		"Cluster": cluster,
	} {
		t.Run(name, func(t *testing.T) {
			url := start(t)
			var granted [3]map[agent.Urgency]int
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range granted {
				granted[i] = map[agent.Urgency]int{}
			}
			for range 4 {
				s := openStore(t, Options{URL: url})
				for j := range 60 {
					wg.Go(func() {
						pool, lane := j%3, agent.Urgency(j/3%3)
						wait, err := s.Spend(t.Context(), Spend{Pool: fmt.Sprint("p", pool), Limit: 20, Per: time.Hour, Lane: lane})
						if err != nil {
							t.Error(err)
							return
						}
						if wait == 0 {
							mu.Lock()
							granted[pool][lane]++
							mu.Unlock()
						}
					})
				}
			}
			wg.Wait()
			for pool, g := range granted {
				if n := g[0] + g[final] + g[decision]; n != 20 {
					t.Errorf("pool %d: %d calls of 20", pool, n)
				}
			}
			s := openStore(t, Options{URL: url})
			if err := s.CoolOff(t.Context(), "fresh", time.Hour); err != nil {
				t.Fatal(err)
			}
			if w, err := s.Spend(t.Context(), Spend{Pool: "fresh", Limit: 9, Per: time.Hour, Lane: decision}); err != nil || w < 59*time.Minute {
				t.Errorf("after a 429: %s, %v", w, err)
			}
		})
	}
}

// BenchmarkSpend is one question in a busy pool: eight live messages, a window half spent.
func BenchmarkSpend(b *testing.B) {
	s, err := Open(b.Context(), Options{URL: startRedis(b), Log: discard})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test's store
	ask := func(lane agent.Urgency, i int) {
		if _, err := s.Spend(b.Context(), Spend{Pool: "p", Limit: 50, Per: time.Minute, Lane: lane, Message: fmt.Sprint("m", i%8), Rate: 300}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 24 {
		ask(final, i)
	}
	for i := 0; b.Loop(); i++ {
		ask(0, i)
	}
}
