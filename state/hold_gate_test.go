package state

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// What a gateway that is shared by replicas takes from a budget: one IDENTIFY in 5 s for each slot, and so many a day, or Discord ends
// all sessions and changes the bot's token: https://docs.discord.com/developers/events/gateway#identifying
var (
	gate  = Spend{Pool: "discord/identify/0", Limit: 1, Per: 5 * time.Second}
	daily = Spend{Pool: "discord/identify/day", Limit: 1000, Per: 24 * time.Hour}
)

// Two replicas with a shard each that ask as soon as they are told to: one call in 5 s and the margin, none lost.
func TestABudgetOfOneIsAGate(t *testing.T) {
	m := miniredis.RunT(t)
	replicas := []*Store{openStore(t, Options{URL: "redis://" + m.Addr()}), openStore(t, Options{URL: "redis://" + m.Addr()})}
	at := noon
	next := []time.Time{at, at} // when each asks
	var went []time.Time
	for len(went) < 20 {
		i := 0
		if next[1].Before(next[0]) {
			i = 1
		}
		at = next[i]
		m.SetTime(at)
		wait, err := replicas[i].Spend(t.Context(), gate)
		if err != nil {
			t.Fatal(err)
		}
		if wait == 0 {
			went = append(went, at)
			wait = time.Millisecond // another shard
		}
		next[i] = at.Add(wait)
	}
	for i := 1; i < len(went); i++ {
		if d := went[i].Sub(went[i-1]); d != 5100*time.Millisecond {
			t.Errorf("call %d is %s after the one before", i, d)
		}
	}
}

// Whoever asks at the same moment, on servers as people run them: one, and another one where the slot is another.
func TestManyAtAGate(t *testing.T) {
	everywhere(t, func(t *testing.T, a, b *Store) {
		for slot := range 3 {
			var through, told atomic.Int32
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					sp := gate
					sp.Pool = fmt.Sprint("discord/identify/", slot)
					wait, err := []*Store{a, b}[i%2].Spend(t.Context(), sp)
					switch {
					case err != nil:
						t.Error(err)
					case wait == 0:
						through.Add(1)
					case wait <= 5100*time.Millisecond:
						told.Add(1)
					default:
						t.Errorf("told to wait %s", wait)
					}
				})
			}
			wg.Wait()
			if through.Load() != 1 || told.Load() != 19 {
				t.Errorf("slot %d: %d went through, %d were told when", slot, through.Load(), told.Load())
			}
		}
	})
}

func TestADaysBudget(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		const each = 80 * time.Second // the thousandth goes 22 h after the first
		for range daily.Limit {
			p.must(daily)
			p.pass(each)
		}
		at := daily.Per + time.Second // and the margin: when the first leaves
		if w := p.mustNot(daily); w != at-1000*each {
			t.Errorf("told to wait %s", w)
		}
		p.pass(at - 1000*each - time.Millisecond)
		p.mustNot(daily)
		p.pass(time.Millisecond)
		p.must(daily)
		p.mustNot(daily)
		if n := p.held(daily.Pool); n != daily.Limit {
			t.Errorf("%d are counted", n)
		}
		p.pass(at)
		p.drop()
		if n := p.held(daily.Pool); n != 0 {
			t.Errorf("a quiet day later %d are counted", n)
		}
	})
}

// BenchmarkDaysBudget is one question to a day's budget, nearly all of which is spent; and what the day holds in Redis.
func BenchmarkDaysBudget(b *testing.B) {
	for _, n := range []int{0, 100, 999, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := Open(b.Context(), Options{URL: startRedis(b), Log: discard})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // a test's store
			spend := func(sp Spend) {
				if _, err := s.Spend(context.Background(), sp); err != nil {
					b.Fatal(err)
				}
			}
			for range n {
				spend(daily)
			}
			key := poolKeys(daily.Pool).spent
			held, err := s.rdb.MemoryUsage(b.Context(), key, 0).Result()
			if err != nil && n > 0 {
				b.Fatal(err)
			}
			ask := daily
			ask.Limit = n // all is spent: asked, and nothing is added
			if n == 0 {
				ask.Limit = 1
				spend(ask)
			}
			for b.Loop() {
				spend(ask)
			}
			b.ReportMetric(float64(held), "held-B")
		})
	}
}
