package state

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

const surface = "discord"

func mark(t testing.TB, s *Store, place, at string) {
	t.Helper()
	if err := s.Mark(t.Context(), surface, place, at); err != nil {
		t.Fatal(err)
	}
}

func wantMarks(t testing.TB, s *Store, within time.Duration, want map[string]string) {
	t.Helper()
	if got, err := s.Marks(t.Context(), surface, within); err != nil || !maps.Equal(got, want) {
		t.Errorf("marked within %s: %v, %v; want %v", within, got, err, want)
	}
}

func TestMarks(t *testing.T) {
	everywhere(t, func(t *testing.T, a, b *Store) {
		wantMarks(t, a, time.Hour, map[string]string{})
		if err := a.Unmark(t.Context(), surface, "never marked"); err != nil {
			t.Error(err)
		}
		mark(t, a, "C1", "1152921504606846977") // 2^60 + 1
		mark(t, b, "C 2", "5")
		if err := a.Mark(t.Context(), "another", "C1", "7"); err != nil {
			t.Fatal(err)
		}
		wantMarks(t, b, time.Hour, map[string]string{"C1": "1152921504606846977", "C 2": "5"})

		for _, step := range [][2]string{
			{"1152921504606846976", "1152921504606846977"}, // never back; as Lua numbers both are the same
			{"1152921504606846978", "1152921504606846978"},
			{"999999999999999999", "1152921504606846978"}, // shorter, although it sorts after
			{"18446744073709551615", "18446744073709551615"},
			{"9999999999999999999", "18446744073709551615"},
			{"99999999999999999999", "99999999999999999999"},
		} {
			mark(t, b, "C1", step[0])
			wantMarks(t, a, time.Hour, map[string]string{"C1": step[1], "C 2": "5"})
		}
		mark(t, a, "C 2", "0000000000000000000000004")
		mark(t, a, "C3", "000")
		wantMarks(t, a, time.Hour, map[string]string{"C1": "99999999999999999999", "C 2": "5", "C3": "0"})
		if err := b.Unmark(t.Context(), surface, "C1"); err != nil {
			t.Fatal(err)
		}
		wantMarks(t, a, time.Hour, map[string]string{"C 2": "5", "C3": "0"})
		if n, err := a.rdb.ZCard(t.Context(), marksOf(surface).when).Result(); n != 2 || err != nil {
			t.Errorf("%d places have a time, %v", n, err)
		}
		mark(t, a, "C1", "1") // it is anew
		wantMarks(t, b, time.Hour, map[string]string{"C1": "1", "C 2": "5", "C3": "0"})
		if got, err := b.Marks(t.Context(), "another", time.Hour); err != nil || !maps.Equal(got, map[string]string{"C1": "7"}) {
			t.Errorf("another surface: %v, %v", got, err)
		}
	})
}

func TestMarksOfALongWhileAgo(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		mark(t, p.Store, "a", "10")
		p.pass(time.Minute)
		mark(t, p.Store, "b", "20")
		p.pass(time.Hour)
		wantMarks(t, p.Store, time.Hour+time.Minute+time.Millisecond, map[string]string{"a": "10", "b": "20"})
		wantMarks(t, p.Store, time.Hour+time.Minute, map[string]string{"b": "20"})
		wantMarks(t, p.Store, time.Hour, map[string]string{})
		mark(t, p.Store, "a", "9") // said late, and a sign of life
		wantMarks(t, p.Store, time.Hour, map[string]string{"a": "10"})
		p.pass(time.Hour)
		wantMarks(t, p.Store, time.Hour, map[string]string{})
		mark(t, p.Store, "a", "10") // said again
		wantMarks(t, p.Store, time.Hour, map[string]string{"a": "10"})
		p.pass(markKept - time.Millisecond)
		wantMarks(t, p.Store, 365*24*time.Hour, map[string]string{"a": "10"})
		p.pass(time.Millisecond)
		wantMarks(t, p.Store, 365*24*time.Hour, map[string]string{})
	})
}

func (p *testBudget) places(t *testing.T) (at, when int64) {
	t.Helper()
	k := marksOf(surface)
	at, err := p.rdb.HLen(t.Context(), k.at).Result()
	when, also := p.rdb.ZCard(t.Context(), k.when).Result()
	if err = errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
	return at, when
}

// Silent places are forgotten while others are marked, a few at a time; a silent surface as a whole.
func TestSilentPlacesAreForgotten(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		for i := range 3 * markDrops {
			mark(t, p.Store, fmt.Sprint("old", i), "10")
		}
		p.pass(time.Millisecond)
		p.drop()
		mark(t, p.Store, "young", "20")
		p.pass(markKept - time.Millisecond)
		p.drop()
		for i := range 5 {
			mark(t, p.Store, "new", "1")
			want := int64(max(0, 3-1-i)*markDrops + 2)
			if at, when := p.places(t); at != want || when != want {
				t.Fatalf("after %d marks: %d marks and %d times, want %d", i+1, at, when, want)
			}
		}
		p.pass(time.Millisecond)
		mark(t, p.Store, "young", "5") // it was forgotten, so this is a first mark
		wantMarks(t, p.Store, time.Hour, map[string]string{"new": "1", "young": "5"})
		p.drop()
		if at, when := p.places(t); at != 2 || when != 2 {
			t.Errorf("%d marks and %d times, want 2", at, when)
		}
		p.pass(markKept)
		p.drop()
		if at, when := p.places(t); at != 0 || when != 0 {
			t.Errorf("a silent week later: %d marks and %d times", at, when)
		}
	})
}

// Thousands of places are more than a script can take at once. One whose mark is missing is left out.
func TestMarksOfMany(t *testing.T) {
	everywhere(t, func(t *testing.T, a, _ *Store) {
		ctx, k := t.Context(), marksOf(surface)
		want := map[string]string{}
		var at []any
		var when []redis.Z
		for i := range 9000 {
			place := fmt.Sprint("C", i)
			when = append(when, redis.Z{Score: float64(time.Now().Add(time.Minute).UnixMilli()), Member: place})
			if i != 600 {
				want[place] = fmt.Sprint(1<<60 + i)
				at = append(at, place, want[place])
			}
		}
		if err := errors.Join(a.rdb.HSet(ctx, k.at, at...).Err(), a.rdb.ZAdd(ctx, k.when, when...).Err()); err != nil {
			t.Fatal(err)
		}
		got, err := a.Marks(ctx, surface, time.Hour)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%d places of %d, C600: %q, %v", len(got), len(want), got["C600"], err)
		}
	})
}

// Whatever comes in which order, from many at once, the furthest stays.
func TestManyMark(t *testing.T) {
	everywhere(t, func(t *testing.T, a, b *Store) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				at := fmt.Sprint(uint64(1)<<60 + uint64(i*37%200)) //nolint:gosec // a test's small numbers
				if err := []*Store{a, b}[i%2].Mark(t.Context(), surface, fmt.Sprint("C", i%3), at); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want := map[string]string{}
		for i := range 200 {
			p := fmt.Sprint("C", i%3)
			want[p] = max(want[p], fmt.Sprint(uint64(1)<<60+uint64(i*37%200))) //nolint:gosec // a test's small numbers
		}
		wantMarks(t, a, time.Hour, want)
	})
}

func TestMarksWant(t *testing.T) {
	s, m := mini(t, Options{})
	for _, at := range []string{"", " 1", "1 ", "-1", "+1", "1.0", "1e3", "0x1", "٣", "1\x00", "123456789012345678901", "null", strings.Repeat("x", 1000)} {
		err := s.Mark(t.Context(), surface, "C1", at)
		if err == nil || len(err.Error()) > 200 {
			t.Errorf("%q: %v", at, err)
		}
	}
	if s.Mark(t.Context(), "", "C1", "1") == nil || s.Mark(t.Context(), surface, "", "1") == nil {
		t.Error("marked nothing, without an error")
	}
	if s.Unmark(t.Context(), "", "C1") == nil || s.Unmark(t.Context(), surface, "") == nil {
		t.Error("unmarked nothing, without an error")
	}
	for _, within := range []time.Duration{0, -time.Hour, time.Millisecond - 1} {
		if got, err := s.Marks(t.Context(), surface, within); err == nil {
			t.Errorf("within %s: %v", within, got)
		}
	}
	if got, err := s.Marks(t.Context(), "", time.Hour); err == nil {
		t.Errorf("of no surface: %v", got)
	}
	if keys := m.Keys(); len(keys) != 0 {
		t.Errorf("stored: %v", keys)
	}
}

func TestALostReplyOfAMark(t *testing.T) {
	t.Parallel()
	s, _ := mini(t, Options{})
	f := &faults{}
	s.rdb.AddHook(f)
	mark(t, s, "C1", "1")
	for i, lose := range []func(int32){f.after.Store, f.before.Store} {
		lose(2)
		mark(t, s, "C1", itoa(i+2))
		lose(2)
		wantMarks(t, s, time.Hour, map[string]string{"C1": itoa(i + 2)})
	}
	f.before.Store(attempts)
	if err := s.Mark(t.Context(), surface, "C1", "9"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	f.before.Store(attempts)
	if got, err := s.Marks(t.Context(), surface, time.Hour); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, %v", got, err)
	}
	f.after.Store(1)
	if err := s.Unmark(t.Context(), surface, "C1"); err != nil {
		t.Error(err)
	}
	if err := s.rdb.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	wantMarks(t, s, time.Hour, map[string]string{})
}

func TestMarksOutliveTheProcess(t *testing.T) {
	for _, how := range []string{"kill -9", "closed"} {
		t.Run(how, func(t *testing.T) {
			dir, at := t.TempDir(), noon
			opt := Options{now: func() time.Time { return at }}
			s := openEmbedded(t, dir, opt)
			mark(t, s, "C1", "1152921504606846977")
			mark(t, s, "C2", "1")
			mark(t, s, "C1", "3")
			if err := s.Unmark(t.Context(), surface, "C2"); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Hour)
			mark(t, s, "C3", "2")
			for range 2 {
				if how == "closed" {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				} else {
					dir = killed(t, dir)
				}
				at = at.Add(time.Hour)
				s = openEmbedded(t, dir, opt)
				wantMarks(t, s, 24*time.Hour, map[string]string{"C1": "1152921504606846977", "C3": "2"})
				mark(t, s, "C1", "7")
			}
			wantMarks(t, s, 2*time.Hour, map[string]string{"C1": "1152921504606846977"})
		})
	}
}

// A second opinion: numbers are compared as numbers.
func TestMarksAgainstASecondOpinion(t *testing.T) {
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
		want := map[string]*big.Int{}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			place := rapid.SampledFrom([]string{"a", "b", "a b"}).Draw(r, "place")
			if rapid.IntRange(0, 9).Draw(r, "what") == 0 {
				if err := s.Unmark(t.Context(), surface, place); err != nil {
					r.Fatal(err)
				}
				delete(want, place)
				continue
			}
			at := rapid.OneOf(rapid.StringMatching(`[0-9]{1,20}`), rapid.StringMatching(`115292150460684697[0-9]`), rapid.StringMatching(`0{0,3}[89]{1,3}`)).Draw(r, "at")
			if err := s.Mark(t.Context(), surface, place, at); err != nil {
				r.Fatal(err)
			}
			n, ok := new(big.Int).SetString(at, 10)
			if !ok {
				r.Fatal(at)
			}
			if was := want[place]; was == nil || n.Cmp(was) > 0 {
				want[place] = n
			}
		}
		got, err := s.Marks(t.Context(), surface, time.Hour)
		if err != nil || len(got) != len(want) {
			r.Fatalf("%v, %v; want %v", got, err, want)
		}
		for place, n := range want {
			if got[place] != n.String() {
				r.Fatalf("%s: %s, want %s", place, got[place], n)
			}
		}
	})
}

// BenchmarkMark is one message in one of some thousand places, on a real server; BenchmarkMarks all of them after a gap.
func BenchmarkMark(b *testing.B)  { benchMarks(b, false) }
func BenchmarkMarks(b *testing.B) { benchMarks(b, true) }

func benchMarks(b *testing.B, all bool) {
	s, err := Open(b.Context(), Options{URL: startRedis(b), Log: discard})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test's store
	const places = 5000
	for i := range places {
		mark(b, s, fmt.Sprint(1152921504606846977+i), fmt.Sprint(1252921504606846977+i))
	}
	for i := 0; b.Loop(); i++ {
		if all {
			if got, err := s.Marks(b.Context(), surface, time.Hour); err != nil || len(got) != places {
				b.Fatal(len(got), err)
			}
			continue
		}
		mark(b, s, fmt.Sprint(1152921504606846977+i%places), fmt.Sprint(1252921504606846977+i))
	}
}
