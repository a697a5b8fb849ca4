package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/adapters/surface"
)

var errRedis = errors.New("redis cannot be reached")

// shardRights are Holds and Budget of several replicas.
type shardRights struct {
	identifyLimiter
	mu    sync.Mutex
	held  map[string]hold
	spent []surface.Spend
}

type hold struct {
	owner string
	until time.Time
}

// replica is what one of them sees of it.
type replica struct {
	*shardRights
	mu      sync.Mutex
	down    bool   // it cannot be asked
	dropped func() // before a shard is given back
}

func (r *replica) fail(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *replica) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errRedis
	}
	return nil
}

func (r *replica) Hold(_ context.Context, name, owner string, d time.Duration) (bool, time.Duration, error) {
	if err := r.err(); err != nil {
		return false, 0, err
	}
	r.shardRights.mu.Lock()
	defer r.shardRights.mu.Unlock()
	if h := r.held[name]; h.owner != owner && time.Until(h.until) > 0 {
		return false, time.Until(h.until), nil
	}
	if r.held == nil {
		r.held = map[string]hold{}
	}
	r.held[name] = hold{owner, time.Now().Add(d)}
	return true, d, nil
}

func (r *replica) Drop(_ context.Context, name, owner string) error {
	if r.dropped != nil {
		r.dropped()
	}
	if err := r.err(); err != nil {
		return err
	}
	r.shardRights.mu.Lock()
	defer r.shardRights.mu.Unlock()
	if r.held[name].owner == owner {
		delete(r.held, name)
	}
	return nil
}

func (r *replica) Spend(ctx context.Context, s surface.Spend) (time.Duration, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	wait, err := r.identifyLimiter.Spend(ctx, s)
	if wait == 0 && strings.Contains(s.Pool, "/identify/") {
		r.shardRights.mu.Lock()
		defer r.shardRights.mu.Unlock()
		r.spent = append(r.spent, s)
	}
	return wait, err
}

// replica is a bot that shares its shardRights with others.
func (w *world) replica(all *shardRights, name string, change ...func(*Config)) (*bot, *replica) {
	r := &replica{shardRights: all}
	return w.bot(append([]func(*Config){func(c *Config) { c.Holds, c.Budget, c.Owner = r, r, name }}, change...)...), r
}

func TestOneOfTwoReplicasHasTheShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		a, _ := w.replica(all, "a")
		b, _ := w.replica(all, "b")
		a.start().after(time.Second)
		b.start().after(10 * time.Minute)
		a.expect(t, 1, 0)
		if !b.lastHeard().IsZero() {
			t.Error("the one that waits is said to have heard something")
		}
		if _, ok := all.held["discord/77/shard/0/1"]; !ok {
			t.Errorf("held: %v", all.held)
		}
		// One that stops gives it back first: the other need not wait for the hold to end.
		before := time.Now()
		a.stop()
		b.after(2500 * time.Millisecond)
		if began, _ := b.times(); began != 1 {
			t.Errorf("%s after the other stopped it has not begun", time.Since(before))
		}
		if a.err != nil || w.all()[0].closeCode() != 1000 {
			t.Errorf("%v, closed with %d", a.err, w.all()[0].closeCode())
		}
	})
}

func TestAReplicaThatDiesIsReplacedWhenItsHoldEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		a, ra := w.replica(all, "a")
		b, _ := w.replica(all, "b")
		a.start().after(time.Minute)
		b.start().after(time.Minute)
		ra.fail(true) // it cannot give back what it has
		a.stop()
		b.after(a.Lease - a.Lease/3 - time.Second)
		b.expect(t, 1, 0)
		b.after(a.Lease/3 + 3*time.Second)
		b.expect(t, 2, 0)
		if began, _ := b.times(); began != 1 {
			t.Errorf("began %d", began)
		}
		if !strings.Contains(w.log(), "could not be given back") {
			t.Error(w.log())
		}
	})
}

func TestWhoLosesAShardClosesWhenTheOtherHasBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		a, ra := w.replica(all, "a")
		b, _ := w.replica(all, "b")
		a.start().after(time.Minute)
		b.start().after(time.Second)
		ra.fail(true)
		b.after(2 * a.Lease)
		if began, _ := b.times(); began != 1 {
			t.Fatalf("began %d", began)
		}
		a.expect(t, 2, 0)
		if w.all()[0].closeCode() != 0 {
			t.Error("the connection did not stay while nobody could be asked")
		}
		ra.fail(false)
		b.after(handover - time.Second)
		if w.all()[0].closeCode() != 0 {
			t.Error("closed before the other had a chance")
		}
		b.after(handover)
		if got := w.all()[0].closeCode(); got != 1000 {
			t.Errorf("closed with %d", got)
		}
		b.after(10 * time.Minute)
		a.expect(t, 2, 0) // it waits again
		b.stop()
		a.after(10 * time.Second)
		if began, _ := a.times(); began != 2 {
			t.Errorf("began %d", began)
		}
	})
}

func TestWithoutRedisNoSessionBeginsAndNoneEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		a, ra := w.replica(all, "a")
		ra.fail(true)
		a.start().after(10 * time.Minute)
		a.expect(t, 0, 0)
		ra.fail(false)
		a.after(10 * time.Second)
		a.expect(t, 1, 0)
		ra.fail(true)
		w.all()[0].drop()
		a.after(10 * time.Minute)
		a.expect(t, 1, 1) // it is the same session
		w.all()[1].send(op9)
		a.after(10 * time.Minute)
		a.expect(t, 1, 1) // no IDENTIFY that nobody counts
		ra.fail(false)
		a.after(time.Minute)
		a.expect(t, 2, 1)
		for _, say := range []string{"whether a shard is free", "the right to a shard is renewed", "a shard waits before it may begin"} {
			if n := strings.Count(w.log(), say); n == 0 || n > 4 {
				t.Errorf("%q is said %d times", say, n)
			}
		}
	})
}

func TestNoShardIsTakenUnasked(t *testing.T) {
	bubble(t, func(t *testing.T) { // only the gate can be asked
		w, all := newWorld(t), &shardRights{}
		a, ra := w.replica(all, "a", func(c *Config) { c.Budget = nil })
		ra.fail(true)
		a.start().after(10 * time.Minute)
		a.expect(t, 0, 0)
	})
}

func TestAShardIsGivenBackBeforeItsConnectionIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		a, ra := w.replica(all, "a")
		drops := 0
		ra.dropped = func() {
			drops++
			time.Sleep(dropping / 2)
			if c := w.all()[0].closeCode(); c != 0 {
				t.Errorf("closed with %d already", c)
			}
		}
		a.start().after(time.Minute)
		a.stop()
		<-a.done
		if drops != 1 {
			t.Errorf("given back %d times", drops)
		}
	})
}

// again is a hold that another has for a moment, twice.
type again struct {
	*replica
	lost []bool // of the next looks
}

func (g *again) Hold(context.Context, string, string, time.Duration) (bool, time.Duration, error) {
	if len(g.lost) == 0 {
		return true, time.Minute, nil
	}
	lost := g.lost[0]
	g.lost = g.lost[1:]
	return !lost, time.Second, nil
}

func TestAShardThatIsLostForAMomentStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		g := &again{replica: &replica{shardRights: all}, lost: []bool{false, true, true, false, false, true, true, false}}
		a, _ := w.replica(all, "a", func(c *Config) { c.Holds = g })
		a.start().after(5 * time.Minute)
		a.expect(t, 1, 0)
		if len(g.lost) != 0 || w.all()[0].closeCode() != 0 {
			t.Errorf("closed with %d", w.all()[0].closeCode())
		}
	})
}

func TestOneShardThatIsRefusedEndsAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t, nil, func(p *peer) { p.hello(); p.next(); p.closeWith(4004) }), &shardRights{}
		b, _ := w.replica(all, "a", func(c *Config) { c.Shards = 3 })
		b.start().after(time.Minute)
		<-b.done
		if b.err == nil || !strings.Contains(b.err.Error(), "4004") {
			t.Error(b.err)
		}
		if len(all.held) != 0 {
			t.Errorf("still held: %v", all.held)
		}
		synctest.Wait()
		if w.all()[0].closeCode() != 1000 {
			t.Errorf("the other was closed with %d", w.all()[0].closeCode())
		}
	})
}

// helloOnly is a connection whose gateway says HELLO and then nothing, however long the client waits.
func helloOnly(p *peer) { p.hello() }

func TestWhoCannotGetASessionLetsAnotherTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t, func(p *peer) { p.open(); p.drop() }, helloOnly, helloOnly, helloOnly), &shardRights{}
		a, _ := w.replica(all, "a")
		b, _ := w.replica(all, "b")
		a.start().after(500 * time.Millisecond)
		b.start().after(2 * time.Minute)
		if began, _ := b.times(); began != 1 || !a.lastHeard().IsZero() {
			t.Errorf("the other one began %d times; this one last heard something at %s\n%s", began, a.lastHeard(), w.log())
		}
		a.after(10 * time.Minute)
		if a.Ready() != nil || b.Ready() != nil {
			t.Errorf("%v, %v", a.Ready(), b.Ready())
		}
		if began, _ := b.times(); began != 1 {
			t.Errorf("the other one began %d times", began)
		}
	})
}

func TestWhoCannotGetASessionIsNotReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, all := newWorld(t), &shardRights{}
		for range 1000 {
			w.script = append(w.script, helloOnly)
		}
		a, _ := w.replica(all, "a")
		a.start().after(downUnready)
		if err := a.Ready(); err != nil {
			t.Error(err)
		}
		for range 60 { // also while it has given the shard back, and nobody took it
			a.after(time.Second)
			if err := a.Ready(); err == nil || !strings.Contains(err.Error(), "no session of the gateway") {
				t.Fatalf("ready says %v", err)
			}
		}
		w.mu.Lock()
		w.script = nil
		w.mu.Unlock()
		a.after(3 * time.Minute)
		if began, _ := a.times(); began != 1 || a.Ready() != nil {
			t.Errorf("began %d, ready says %v", began, a.Ready())
		}
	})
}
