package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
)

// What somebody else did to the keys is found, named, and never called a mere rewind: loading again does not help.
func TestABrokenLogIsNamed(t *testing.T) {
	four := func(t *testing.T, s *Store) { // and a snapshot up to the third
		t.Helper()
		w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
		mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2"), said("d3")}, Snapshot: &agent.Snapshot{}})
		mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d4")}})
	}
	k := keysOf(room)
	without := func(i int) func(*testing.T, *miniredis.Miniredis) {
		return func(t *testing.T, m *miniredis.Miniredis) {
			all, err := m.List(k.log)
			if err != nil {
				t.Fatal(err)
			}
			m.Del(k.log)
			if _, err := m.RPush(k.log, append(all[:i:i], all[i+1:]...)...); err != nil {
				t.Fatal(err)
			}
		}
	}
	replaced := func(old, new string) func(*testing.T, *miniredis.Miniredis) {
		return func(t *testing.T, m *miniredis.Miniredis) {
			v, err := m.Get(k.snap)
			if err != nil || !strings.Contains(v, old) {
				t.Fatal(v, err)
			}
			if err := m.Set(k.snap, strings.Replace(v, old, new, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		do            func(*testing.T, *miniredis.Miniredis)
		load, history string
	}{
		"an entry in the middle is gone": {without(1), "entry 2", "entry 2"},
		"the last entry is gone":         {without(3), "entry 4", "entry 4"},
		"all entries are gone":           {func(_ *testing.T, m *miniredis.Miniredis) { m.Del(k.log) }, "entry 2", "entry 1"},
		"an entry is garbage": {func(t *testing.T, m *miniredis.Miniredis) {
			if _, err := m.RPush(k.log, "garbage"); err != nil {
				t.Fatal(err)
			}
		}, "entry 5", "entry 5"},
		"an event is garbage": {func(t *testing.T, m *miniredis.Miniredis) {
			if _, err := m.RPush(k.log, "5 1 op -\n{"); err != nil {
				t.Fatal(err)
			}
		}, "entry 5", "entry 5"},
		"the snapshot is of another history": {replaced(" d3\n", " d9\n"), "another history", ""},
		"the snapshot is ahead of the log":   {replaced("3 1 ", "9 1 "), "is missing", ""},
		"the snapshot is garbage":            {replaced("3 1 ", "x"), "snapshot", ""},
		"the snapshot's session is garbage":  {replaced("{", "["), "snapshot", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := mini(t, Options{})
			four(t, s)
			c.do(t, m)
			_, _, _, err := s.Load(t.Context(), room)
			_, histErr := s.History(t.Context(), room)
			for what, got := range map[string]struct {
				err  error
				want string
			}{"Load": {err, c.load}, "History": {histErr, c.history}} {
				switch {
				case got.want == "" && got.err != nil && what == "History":
					t.Errorf("%s: %v", what, got.err)
				case got.want == "":
				case got.err == nil || !strings.Contains(got.err.Error(), got.want) || !errors.Is(got.err, ErrBroken) || errors.Is(got.err, agent.ErrRewound):
					t.Errorf("%s: error %v, want ErrBroken with %q", what, got.err, got.want)
				}
			}
		})
	}
}
