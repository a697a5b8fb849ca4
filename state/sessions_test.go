package state

import (
	"maps"
	"slices"
	"testing"
)

func TestSessions(t *testing.T) {
	embedded := func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) }
	redis := func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s }
	for name, open := range map[string]func(*testing.T) *Store{"embedded": embedded, "redis": redis} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t)
			is := func(hash, want string) {
				t.Helper()
				if b, ok, err := s.Session(ctx, hash); string(b) != want || ok != (want != "") || err != nil {
					t.Errorf("%s is %q, %v, %v, want %q", hash, b, ok, err, want)
				}
			}
			begin := func(hash string, want bool) {
				t.Helper()
				if ok, err := s.OpenSession(ctx, hash, []byte("of "+hash), 2); ok != want || err != nil {
					t.Errorf("%s is taken: %v, %v", hash, ok, err)
				}
			}
			is("one", "")
			begin("one", true)
			begin("two", true)
			begin("three", false) // there may be two
			begin("two", true)    // it is there
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(s.KeepSession(ctx, "one", []byte("changed")))
			is("one", "changed")
			begin("one", true) // a copy of its beginning comes late
			is("one", "changed")
			must(s.EndSessions(ctx, false, "one", "none"))
			must(s.KeepSession(ctx, "one", []byte("late"))) // whoever still uses it does not bring it back
			is("one", "")
			is("two", "of two")
			// Those of an older version, each under a key of its own.
			for _, hash := range []string{"old", "older"} {
				must(s.put(ctx, oldSessionKey(hash), "user", "u-"+hash, "name", "Ana"))
			}
			is("old", `{"name":"Ana","user":"u-old"}`)
			if n, err := s.rdb.Exists(ctx, oldSessionKey("old")).Result(); n != 0 || err != nil {
				t.Errorf("it is kept twice: %d, %v", n, err)
			}
			all, err := s.Sessions(ctx)
			if got := slices.Sorted(maps.Keys(all)); err != nil || !slices.Equal(got, []string{"old", "two"}) || string(all["two"]) != "of two" {
				t.Errorf("%v, %v", got, err)
			}
			must(s.EndSessions(ctx, true, "old", "two"))
			for _, hash := range []string{"old", "older", "two", endedOld} {
				is(hash, "")
			}
			if all, err := s.Sessions(ctx); len(all) != 0 || err != nil {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}
