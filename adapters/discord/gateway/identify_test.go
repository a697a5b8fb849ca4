package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestShardsBeginOneAfterTheOther(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		bubbled(t, fmt.Sprint(concurrency), func(t *testing.T) {
			w := newWorld(t)
			w.starts.Shards, w.starts.Limit.Concurrency = 6, concurrency
			b := w.bot(func(c *Config) { c.Shards = 0 }).start() // as many as Discord recommends
			b.after(time.Minute)
			b.expect(t, 6, 0)
			var shards []string
			at := map[int][]time.Time{}
			for _, p := range w.all() {
				x := p.packets()[0]
				var id struct{ Shard []int }
				if err := json.Unmarshal(x.Data, &id); err != nil || len(id.Shard) != 2 {
					t.Fatal(err, id)
				}
				shards = append(shards, fmt.Sprint(id.Shard))
				slot := id.Shard[0] % concurrency
				if n := len(at[slot]); n > 0 && x.At.Sub(at[slot][n-1]) < identifyEvery {
					t.Errorf("slot %d: %s apart", slot, x.At.Sub(at[slot][n-1]))
				}
				at[slot] = append(at[slot], x.At)
			}
			if took := at[0][len(at[0])-1].Sub(at[0][0]); concurrency == 3 && took >= 2*identifyEvery {
				t.Errorf("they waited for each other: %s", took)
			}
			if slices.Sort(shards); fmt.Sprint(shards) != "[[0 6] [1 6] [2 6] [3 6] [4 6] [5 6]]" || len(at) != concurrency {
				t.Errorf("shards %v in %d slots", shards, len(at))
			}
		})
	}
}

func TestTheGateIsSharedBetweenReplicas(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		w.starts.Shards = 4
		a, _ := w.replica(all, "a", func(c *Config) { c.Shards = 0; c.Holds = nil }) // both begin all of them
		b, _ := w.replica(all, "b", func(c *Config) { c.Shards = 0; c.Holds = nil })
		a.start()
		b.start().after(time.Minute)
		a.expect(t, 8, 0)
		var at []time.Time
		for _, p := range w.all() {
			at = append(at, p.packets()[0].At)
		}
		slices.SortFunc(at, time.Time.Compare)
		for i, x := range at[1:] {
			if x.Sub(at[i]) < identifyEvery {
				t.Errorf("two IDENTIFYs %s apart", x.Sub(at[i]))
			}
		}
		day, slot := 0, 0
		for _, s := range all.spent {
			switch {
			case s.Pool == "discord/77/identify/day" && s.Limit == 980 && s.Per == 24*time.Hour:
				day++
			case s.Pool == "discord/77/identify/0" && s.Limit == 1 && s.Per == 5*time.Second:
				slot++
			default:
				t.Errorf("spent %+v", s)
			}
		}
		if day != 8 || slot != 8 || strings.Contains(w.log(), "a shard waits before") {
			t.Errorf("spent %d of the day and %d of the slot\n%s", day, slot, w.log())
		}
	})
}

func TestADayThatIsNearlyUsedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.starts.Limit.Remaining, w.starts.Limit.ResetAfter = 20, (3 * time.Hour).Milliseconds()
		b := w.bot().start()
		b.after(3*time.Hour - time.Minute)
		b.expect(t, 0, 0)
		if n := strings.Count(w.log(), "level=ERROR"); n != 1 || !strings.Contains(w.log(), "resets the token") {
			t.Errorf("%d errors:\n%s", n, w.log())
		}
		w.mu.Lock()
		w.starts.Limit.Remaining = 1000
		w.mu.Unlock()
		b.after(15 * time.Minute)
		b.expect(t, 1, 0)
	})
}

func TestOurOwnCountOfADay(t *testing.T) {
	bubble(t, func(t *testing.T) { // Discord's answer never changes here
		w := newWorld(t)
		w.starts.Limit.Total, w.starts.Limit.Remaining = 10, 10
		for range 100 {
			w.script = append(w.script, func(p *peer) { p.hello(); p.next(); p.send(op9) })
		}
		b := w.bot().start()
		b.after(23 * time.Hour)
		if b.expect(t, 10, 0); strings.Count(w.log(), "a shard waits before") != 1 {
			t.Error(w.log())
		}
		b.after(2 * time.Hour)
		b.expect(t, 20, 0)
	})
}

func TestAnIdentifyThatNeverLeftIsPaidOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		w.noDial["gateway.test:80"] = true
		a, _ := w.replica(all, "a")
		a.start().after(3 * time.Hour)
		w.mu.Lock()
		w.noDial = nil
		w.mu.Unlock()
		a.after(2 * time.Minute)
		a.expect(t, 1, 0)
		days := 0
		for _, s := range all.spent {
			if strings.HasSuffix(s.Pool, "/day") {
				days++
			}
		}
		if days != 1 {
			t.Errorf("paid %d times for one IDENTIFY", days)
		}
		w.all()[0].send(op9)
		a.after(time.Minute)
		if n := len(all.spent); !strings.HasSuffix(all.spent[n-2].Pool, "/day") {
			t.Error("the next is not paid for")
		}
	})
}

func TestGatewayBotRefusesOrFails(t *testing.T) {
	for _, shards := range []int{0, 1} {
		bubbled(t, fmt.Sprint("refuses ", shards), func(t *testing.T) {
			w := newWorld(t)
			w.fail = 401
			b := w.bot(func(c *Config) { c.Shards = shards }).start()
			b.after(time.Minute)
			<-b.done
			if b.err == nil || !strings.Contains(b.err.Error(), "copy the token") || w.asked != 1 {
				t.Errorf("%v after %d", b.err, w.asked)
			}
		})
		bubbled(t, fmt.Sprint("fails ", shards), func(t *testing.T) {
			w := newWorld(t)
			w.fail = 503
			b := w.bot(func(c *Config) { c.Shards = shards }).start()
			b.after(30 * time.Minute)
			if w.asked < 25 || w.asked > 80 {
				t.Errorf("asked %d times in half an hour", w.asked)
			}
			w.mu.Lock()
			w.fail = 0
			w.mu.Unlock()
			b.after(2 * time.Minute)
			b.expect(t, 1, 0)
		})
		bubbled(t, fmt.Sprint("stopped ", shards), func(t *testing.T) {
			w := newWorld(t)
			w.fail = 503
			b := w.bot(func(c *Config) { c.Shards = shards }).start()
			b.after(10 * time.Second)
			b.stop()
			<-b.done
			if b.err != nil {
				t.Error(b.err)
			}
		})
	}
}
