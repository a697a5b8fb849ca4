package state

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"
)

// everywhere runs a test with two replicas of every kind of store; an embedded one has only itself.
func everywhere(t *testing.T, test func(t *testing.T, a, b *Store)) {
	t.Helper()
	shared := func(start func(*testing.T) string) func(*testing.T) {
		return func(t *testing.T) {
			url := start(t)
			test(t, openStore(t, Options{URL: url}), openStore(t, Options{URL: url}))
		}
	}
	t.Run("mini", shared(func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() }))
	t.Run("embedded", func(t *testing.T) {
		s := openEmbedded(t, t.TempDir(), Options{})
		test(t, s, s)
	})
	t.Run("Redis", shared(func(t *testing.T) string { return startRedis(t) }))
	t.Run("Cluster", shared(cluster))
}

func hold(t testing.TB, s *Store, name, owner string, d time.Duration) Held {
	t.Helper()
	h, err := s.Hold(context.Background(), name, owner, d)
	if err != nil {
		t.Fatal(err)
	}
	if h.Mine != (h.Owner == owner) || h.Left > d && h.Mine || (h.Owner == "") != (h == Held{}) {
		t.Fatalf("%s asked for %s: %+v", owner, d, h)
	}
	return h
}

func drop(t testing.TB, s *Store, name, owner string) {
	t.Helper()
	if err := s.Drop(context.Background(), name, owner); err != nil {
		t.Fatal(err)
	}
}

// lapse ends a hold as time would.
func lapse(t *testing.T, s *Store, name string) {
	t.Helper()
	if err := s.rdb.HSet(t.Context(), holdKey(name), "until", 1).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, b *Store) {
		const name = "discord/shard {0}/1" // any text will do
		var last uint64
		takes := func(s *Store, owner string) {
			t.Helper()
			h := hold(t, s, name, owner, time.Hour)
			if !h.Mine || h.Token <= last || h.Left < 59*time.Minute {
				t.Fatalf("%s takes it after token %d: %+v", owner, last, h)
			}
			last = h.Token
		}
		takes(a, "ana")
		if h := hold(t, a, name, "ana", time.Hour); !h.Mine || h.Token != last {
			t.Errorf("renewed: %+v, token %d before", h, last)
		}
		if h := hold(t, b, name, "ben", time.Minute); h.Mine || h.Owner != "ana" || h.Token != last || h.Left < 59*time.Minute || h.Left > time.Hour {
			t.Errorf("while ana has it: %+v", h)
		}
		if h := hold(t, b, "another", "ben", time.Hour); !h.Mine {
			t.Errorf("another name: %+v", h)
		}

		drop(t, b, name, "ben")
		if h := hold(t, b, name, "ben", time.Hour); h.Mine {
			t.Fatalf("ben dropped what ana has: %+v", h)
		}
		drop(t, b, "never held", "ben")
		drop(t, a, name, "ana")
		drop(t, a, name, "ana")
		takes(b, "ben")
		drop(t, b, name, "ben")
		takes(b, "ben") // a new holder

		lapse(t, a, name)
		takes(a, "ana")
		if h := hold(t, b, name, "ben", time.Hour); h.Mine || h.Owner != "ana" {
			t.Errorf("ben did not renew in time: %+v", h)
		}
		lapse(t, a, name)
		takes(a, "ana") // the same owner, too
	})
}

// What a hold leaves behind fades some time after it, and until then the token grows from where it was, whatever the clock does.
func TestATokenGrows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, _ *Store) {
		key := holdKey("n")
		fades := func() { // an embedded store's keys may stay for up to a sweep longer
			t.Helper()
			if d, err := a.rdb.PTTL(t.Context(), key).Result(); err != nil || d > holdKept+time.Hour+time.Minute || d < holdKept+59*time.Minute {
				t.Errorf("fades in %s, %v", d, err)
			}
		}
		const ahead = 8_000_000_000_000 // as if the clock was set back by two centuries
		hold(t, a, "n", "ana", time.Hour)
		fades()
		if err := errors.Join(a.rdb.HSet(t.Context(), key, "token", ahead).Err(), a.rdb.PExpire(t.Context(), key, time.Minute).Err()); err != nil {
			t.Fatal(err)
		}
		if h := hold(t, a, "n", "ana", time.Hour); h.Token != ahead {
			t.Errorf("renewed: %+v", h)
		}
		fades()
		drop(t, a, "n", "ana")
		if h := hold(t, a, "n", "ana", time.Hour); h.Token != ahead+1 {
			t.Errorf("dropped and taken: %+v", h)
		}
		lapse(t, a, "n")
		if h := hold(t, a, "n", "ben", time.Hour); h.Token != ahead+2 {
			t.Errorf("run out and taken: %+v", h)
		}
	})
}

func TestATokenGrowsWhereTheKeyWasLost(t *testing.T) {
	p := miniBudget(t)
	before := hold(t, p.Store, "n", "ana", time.Hour)
	if err := p.rdb.Del(t.Context(), holdKey("n")).Err(); err != nil {
		t.Fatal(err)
	}
	p.pass(time.Millisecond)
	if h := hold(t, p.Store, "n", "ben", time.Hour); !h.Mine || h.Token <= before.Token {
		t.Errorf("%+v after %+v", h, before)
	}
}

func TestAHoldEndsByRedissClock(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		const d = 30 * time.Second
		first := hold(t, p.Store, "n", "ana", d)
		p.pass(20 * time.Second)
		if h := hold(t, p.Store, "n", "ben", d); h.Left != 10*time.Second || h.Owner != "ana" {
			t.Errorf("%+v", h)
		}
		hold(t, p.Store, "n", "ana", d)
		p.pass(d - time.Millisecond)
		p.drop()
		if h := hold(t, p.Store, "n", "ben", d); h.Left != time.Millisecond || h.Token != first.Token {
			t.Errorf("a millisecond before the end: %+v", h)
		}
		p.pass(time.Millisecond)
		h := hold(t, p.Store, "n", "ben", d)
		if !h.Mine || h.Token <= first.Token {
			t.Errorf("at the end: %+v", h)
		}
		p.pass(holdKept + d)
		p.drop()
		if n, err := p.rdb.Exists(t.Context(), holdKey("n")).Result(); n != 0 || err != nil {
			t.Errorf("it stays for ever: %d, %v", n, err)
		}
		if again := hold(t, p.Store, "n", "ana", d); again.Token <= h.Token {
			t.Errorf("a month later: %+v after %+v", again, h)
		}
	})
}

// Of many that ask at once one gets it, and no token is given twice.
func TestManyWantTheSame(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, b *Store) {
		var last uint64
		for round := range 10 {
			var mu sync.Mutex
			var wg sync.WaitGroup
			var mine []Held
			for i := range 16 {
				wg.Go(func() {
					h, err := []*Store{a, b}[i%2].Hold(t.Context(), "n", itoa(i+1), time.Hour)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if h.Mine {
						mine = append(mine, h)
					}
				})
			}
			wg.Wait()
			if len(mine) != 1 || mine[0].Token <= last {
				t.Fatalf("round %d: %+v, after token %d", round, mine, last)
			}
			last = mine[0].Token
			drop(t, b, "n", mine[0].Owner)
		}
	})
}

func TestALostReplyOfAHold(t *testing.T) {
	t.Parallel()
	p := miniBudget(t)
	f := &faults{}
	p.rdb.AddHook(f)
	hold(t, p.Store, "warm", "ana", time.Hour)
	drop(t, p.Store, "warm", "ana")

	f.after.Store(1)
	h := hold(t, p.Store, "n", "ana", time.Hour)
	if !h.Mine || hold(t, p.Store, "n", "ben", time.Hour).Token != h.Token {
		t.Errorf("the answer of the repeat: %+v", h)
	}
	if h.Left > time.Hour-10*time.Millisecond {
		t.Errorf("the repeat came at least 10 ms later, and the hold is told to last %s from now", h.Left)
	}
	f.after.Store(1)
	if h := hold(t, p.Store, "n", "ben", time.Hour); h.Owner != "ana" || h.Left != time.Hour {
		t.Errorf("refused in the repeat: %+v", h)
	}
	f.after.Store(2)
	drop(t, p.Store, "n", "ana")
	if h := hold(t, p.Store, "n", "ben", time.Hour); !h.Mine {
		t.Errorf("dropped in a repeat: %+v", h)
	}
	f.before.Store(attempts)
	if _, err := p.Hold(t.Context(), "n", "ana", time.Hour); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "hold n") {
		t.Errorf("when no reply comes: %v", err)
	}
	f.before.Store(attempts)
	if err := p.Drop(t.Context(), "n", "ana"); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "drop n") {
		t.Errorf("when no reply comes: %v", err)
	}
}

// A hold that is over when the answer comes is nobody's right to act.
func TestAnAnswerThatComesTooLate(t *testing.T) {
	p := miniBudget(t) // Redis's clock stands still, ours does not
	f := &faults{}
	p.rdb.AddHook(f)
	hold(t, p.Store, "warm", "ana", time.Hour)
	f.after.Store(1) // the repeat comes after 10 ms or more
	h, err := p.Hold(t.Context(), "n", "ana", 5*time.Millisecond)
	if err != nil || h.Mine || h.Left != 0 || h.Owner != "ana" {
		t.Errorf("%+v, %v", h, err)
	}
}

// What was sent and given up may arrive after its own repeat, and after what came next.
func TestAStrayRepeatChangesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, _ *Store) {
		key := []string{holdKey("n")}
		taking := holdScript.on(key, "ana", "3600000", "op1", a.home(), "1")
		dropping := dropScript.on(key, "ana", "op2")
		do := func(c call) []string {
			t.Helper()
			res, err := a.write(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return strs(res)
		}
		if got := do(taking); len(got) != 3 || got[0] != "ana" {
			t.Fatal(got)
		}
		do(dropping)
		if got := do(taking); len(got) != 3 || got[0] != "" || got[1] != "0" || got[2] != "0" {
			t.Errorf("it took what was given back: %v", got)
		}
		h := hold(t, a, "n", "ana", time.Hour)
		do(dropping)
		if got := hold(t, a, "n", "ben", time.Hour); got.Owner != "ana" || got.Token != h.Token {
			t.Errorf("it ended what was taken since: %+v", got)
		}
	})
}

func TestHoldsEndWithTheEmbeddedStore(t *testing.T) {
	for _, how := range []string{"kill -9", "closed"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			opt := Options{now: func() time.Time { return noon }} // it stands still, so only the counter makes tokens grow
			s := openEmbedded(t, dir, opt)
			var last Held
			for range 5 {
				last = hold(t, s, "n", "ana", time.Hour)
				drop(t, s, "n", "ana")
			}
			last = hold(t, s, "n", "ana", time.Hour)
			for round := range 3 {
				if how == "closed" {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				} else {
					dir = killed(t, dir)
				}
				s = openEmbedded(t, dir, opt)
				h := hold(t, s, "n", "ana", time.Hour)
				if !h.Mine || h.Token != last.Token+1 {
					t.Fatalf("round %d: %+v after %+v", round, h, last)
				}
				last = h
				if h := hold(t, s, "n", "ben", time.Hour); h.Owner != "ana" {
					t.Fatalf("round %d: %+v", round, h)
				}
			}
		})
	}
}

func TestHoldWants(t *testing.T) {
	s, m := mini(t, Options{})
	for _, c := range []struct {
		name, owner string
		d           time.Duration
	}{{"", "ana", time.Hour}, {"n", "", time.Hour}, {"n", "ana", 0}, {"n", "ana", time.Millisecond - 1}, {"n", "ana", -time.Hour}} {
		if h, err := s.Hold(t.Context(), c.name, c.owner, c.d); err == nil || h != (Held{}) {
			t.Errorf("%+v: %+v, %v", c, h, err)
		}
	}
	if s.Drop(t.Context(), "", "ana") == nil || s.Drop(t.Context(), "n", "") == nil {
		t.Error("no error")
	}
	if keys := m.Keys(); len(keys) != 0 {
		t.Errorf("stored: %v", keys)
	}
}

// A second opinion: whatever two replicas do and however time goes, each gets what this simple one says.
func TestHoldsAgainstASecondOpinion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := Open(t.Context(), Options{URL: "redis://" + m.Addr(), Log: discard})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // a test's store
		at := noon
		m.SetTime(at)
		var owner string
		var ends time.Time
		var token uint64
		for range rapid.IntRange(5, 60).Draw(r, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(-10_000, 120_000).Draw(r, "ms")) * time.Millisecond)
			m.SetTime(at)
			who := rapid.SampledFrom([]string{"ana", "ben", "cy"}).Draw(r, "who")
			if rapid.IntRange(0, 3).Draw(r, "what") == 0 {
				if err := s.Drop(t.Context(), "n", who); err != nil {
					r.Fatal(err)
				}
				if owner == who {
					owner = ""
				}
				continue
			}
			d := time.Duration(rapid.IntRange(60_000, 300_000).Draw(r, "for")) * time.Millisecond
			h, err := s.Hold(t.Context(), "n", who, d)
			if err != nil {
				r.Fatal(err)
			}
			if owner == "" || !at.Before(ends) {
				if h.Token <= token {
					r.Fatalf("token %d after %d", h.Token, token)
				}
				owner, token = who, h.Token
			}
			if owner == who {
				ends = at.Add(d)
			}
			if h.Owner != owner || h.Mine != (owner == who) || h.Token != token || h.Left > ends.Sub(at) || !h.Mine && h.Left != ends.Sub(at) {
				r.Fatalf("%s gets %+v; want %s with %d for %s", who, h, owner, token, ends.Sub(at))
			}
		}
	})
}

// What is stored is found again only while this does not change.
func TestHoldAndMarkKeys(t *testing.T) {
	k := marksOf("discord/T1{2}")
	if holdKey("discord/0/1") != "nod:hold:discord/0/1" || k.at != "nod:{marks:discord%2FT1%7B2%7D}:at" || k.when != "nod:{marks:discord%2FT1%7B2%7D}:when" {
		t.Error(holdKey("discord/0/1"), k)
	}
	if slot(k.at) != slot(k.when) {
		t.Error("marks: two slots")
	}
}
