package state

import (
	"testing"
	"time"
)

// A key whose life is shorter than the time between two sweeps lives as long as it was told to, in the next process, too.
func TestASweepEndsNothingEarly(t *testing.T) {
	at, dir := noon, t.TempDir()
	opt := Options{now: func() time.Time { return at }}
	s := openEmbedded(t, dir, opt)
	sp := Spend{Pool: "p", Limit: 1, Per: 5 * time.Second} // and a margin of 100 ms
	want := func(free bool) {
		t.Helper()
		if w, err := s.Spend(t.Context(), sp); err != nil || (w == 0) != free {
			t.Fatalf("told to wait %s, %v", w, err)
		}
	}
	at = at.Add(59 * time.Second) // since the last sweep
	want(true)
	at = at.Add(time.Second)
	if err := s.disk.Sweep(); err != nil {
		t.Fatal(err)
	}
	want(false)
	at = at.Add(4 * time.Second)
	want(false)
	dir = killed(t, dir)
	s = openEmbedded(t, dir, opt)
	want(false)
	at = at.Add(100 * time.Millisecond)
	want(true)
	at = at.Add(59 * time.Second)
	want(true)
	s = openEmbedded(t, killed(t, dir), opt)
	want(false)
}

// To a script, a key that ran out is gone, and one that did not has as long as it had, however often it is written.
func TestAScriptSeesWhatIsThere(t *testing.T) {
	at := noon
	s := openEmbedded(t, t.TempDir(), Options{now: func() time.Time { return at }})
	put := func(field string) {
		t.Helper()
		if err := s.put(t.Context(), "k", field, "1"); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	if err := s.rdb.Expire(t.Context(), "k", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		at = at.Add(15 * time.Second)
		put("a")
	}
	if err := s.disk.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left := s.rdb.TTL(t.Context(), "k").Val(); left != 15*time.Second {
		t.Errorf("it has %s left of a minute after 45 s", left)
	}
	at = at.Add(15 * time.Second)
	put("b")
	if got, err := s.rdb.HGetAll(t.Context(), "k").Result(); err != nil || len(got) != 1 || got["b"] != "1" {
		t.Errorf("after a minute: %v, %v", got, err)
	}
}
