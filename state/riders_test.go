package state

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
)

// trips are what goes out at once: how many commands each time.
type trips struct {
	mu sync.Mutex
	n  []int
}

func (x *trips) of(s *Store) *trips {
	s.rdb.AddHook(&faults{seen: func(cmds ...redis.Cmder) {
		if name := cmds[0].Name(); name == "hello" || name == "info" { // a connection more, whenever the pool wants one
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.n = append(x.n, len(cmds))
	}})
	return x
}

func (x *trips) take() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.n
	x.n = nil
	return out
}

// patient is a store whose riders do not leave alone.
func patient(t *testing.T) (*Store, *trips, *miniredis.Miniredis) {
	t.Helper()
	s, m := mini(t, Options{})
	s.w.(*remote).riders.within = time.Hour
	for _, op := range []string{"w1", "w2"} { // scripts are loaded
		mustAppend(t, s, agent.Write{Events: []agent.Keyed{said(op)}})
	}
	return s, new(trips).of(s), m
}

func (q *riders) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// aboard waits until so many wait for a write to travel with.
func aboard(t *testing.T, s *Store, n int) {
	t.Helper()
	for over := time.Now().Add(time.Minute); s.w.(*remote).riders.count() != n; runtime.Gosched() {
		if time.Now().After(over) {
			t.Fatal("nobody waits")
		}
	}
}

// What nobody waits for travels with the next write, in one round trip.
func TestRidersTravelWithTheNextWrite(t *testing.T) {
	s, x, _ := patient(t)
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	x.take()
	came := make(chan agent.Written, 1)
	go func() {
		got, err := s.Append(context.Background(), agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Release: true, Patient: true})
		if err != nil {
			t.Error(err)
		}
		came <- got
	}()
	aboard(t, s, 1)
	if n := x.take(); len(n) != 0 {
		t.Fatalf("it left alone: %v", n)
	}
	other := room
	other.Key = "other"
	if _, err := s.Append(t.Context(), agent.Write{Chat: other, Events: []agent.Keyed{said("d2")}}); err != nil {
		t.Fatal(err)
	}
	if got := <-came; !got.Released {
		t.Errorf("%+v", got)
	}
	if n := x.take(); len(n) != 1 || n[0] != 2 {
		t.Errorf("round trips of %v commands, want one of 2", n)
	}
}

// Who is called off before a write goes out is not run.
func TestARiderIsCalledOff(t *testing.T) {
	s, _, _ := patient(t)
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Append(ctx, agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Release: true, Patient: true})
		failed <- err
	}()
	aboard(t, s, 1)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
	if _, _, err := s.Renew(t.Context(), w.Lease); err != nil {
		t.Errorf("it was given back all the same: %v", err)
	}
}

// A rider whose reply is lost is sent again, and what is to be confirmed carries nobody: WAIT is about its own.
func TestRidersAreSentAgain(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	f := &faults{}
	s.rdb.AddHook(f)
	f.after.Store(1)
	s.w.(*remote).riders.within = time.Millisecond
	got, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Release: true, Patient: true})
	if err != nil || !got.Released {
		t.Errorf("its reply was lost: %+v, %v", got, err)
	}
}

func TestWhatIsConfirmedCarriesNobody(t *testing.T) {
	s, x, _ := patient(t)
	r := s.w.(*remote)
	r.dur = durability{replicas: 1}
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	s.mention(putScript.on([]string{runProbe}, "at", "1"), func(any, error) {})
	x.take()
	_, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w3")}})
	if n := x.take(); !errors.Is(err, agent.ErrNotDurable) || len(n) != 1 || n[0] != 2 || r.riders.count() != 1 {
		t.Errorf("round trips of %v commands, %d wait: %v", n, r.riders.count(), err)
	}
}

// With a heartbeat a replica knows what is free and spends its share of that without asking; all of it is counted.
func TestAShareIsSpentWithoutAsking(t *testing.T) {
	s, x, m := patient(t)
	sp := Spend{Pool: "T1/status", Limit: 20, Per: time.Minute}
	spend := func(s *Store, want bool) {
		t.Helper()
		if wait, err := s.Spend(t.Context(), sp); err != nil || (wait == 0) != want {
			t.Errorf("wait %s, %v", wait, err)
		}
	}
	spend(s, true) // nothing is known: asked
	if n := x.take(); len(n) == 0 {
		t.Error("not asked")
	}
	beat := func() {
		t.Helper()
		s.look()
		if _, err := s.beat(t.Context(), time.Minute, false); err != nil {
			t.Fatal(err)
		}
	}
	beat() // how many live is known after it
	beat()
	x.take()
	for range 9 { // of 19 that are free half
		spend(s, true)
	}
	if n := x.take(); len(n) != 0 {
		t.Errorf("asked: %v", n)
	}
	spend(s, true) // the tenth is asked, and the nine travel with it
	beat()
	left := 0
	other := openStore(t, Options{URL: "redis://" + m.Addr()})
	for ; left < 30; left++ {
		if wait, err := other.Spend(t.Context(), sp); err != nil || wait > 0 {
			break
		}
	}
	if left != 9 { // 1 + 9 + 1 are spent
		t.Errorf("others find %d free of 20", left)
	}
	if err := s.CoolOff(t.Context(), sp.Pool, time.Minute); err != nil {
		t.Fatal(err)
	}
	spend(s, false)
}
