package attacks

import (
	"fmt"
	"testing"
)

// wrongItems is row 12: of several that wait, a click answers the one it was drawn for.
func wrongItems() (out []attack) {
	several := func(t *testing.T, w *world, surface string, n int) (*talk, shot) {
		name := idOf(t)
		r := wants()
		for i := range n {
			r.calls = append(r.calls, call("box", "write", fmt.Sprintf(`{"path":%q,"n":%d}`, fmt.Sprint(name, "-", i), i)))
		}
		k := begin(t, w, surface, r)
		return k, k.asking(n)
	}
	ran := func(k *talk, n int) (all []int) {
		for i := range n {
			all = append(all, len(k.ledger.of(quoted(fmt.Sprint(k.name, "-", i)))))
		}
		return all
	}
	const n = 3 // more cards than these do not stand on one message of Discord's
	for i := range n {
		out = append(out, everywhere(12, fmt.Sprintf("only-number-%d-of-%d", i+1, n), func(t *testing.T, w *world, surface string) {
			k, s := several(t, w, surface, n)
			k.press(t, ana, s, s.labelled("Allow once")[i])
			k.until("one is decided", func(s shot) bool { return s.asks == n-1 })
			k.denyAll()
			k.over(1)
			for j, times := range ran(k, n) {
				if want := map[bool]int{true: 1}[i == j]; times != want {
					t.Errorf("number %d ran %d times, want %d", j+1, times, want)
				}
			}
		})...)
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		out = append(out, everywhere(12, fmt.Sprintf("order-%d%d%d", order[0], order[1], order[2]), func(t *testing.T, w *world, surface string) {
			k, s := several(t, w, surface, n)
			allow, deny := s.labelled("Allow once"), s.labelled("Deny")
			for at, i := range order { // those at even places of the order are allowed, by buttons that were drawn before anybody decided
				b := allow[i]
				if at%2 == 1 {
					b = deny[i]
				}
				k.press(t, ana, s, b)
			}
			k.over(1)
			got := ran(k, n)
			for at, i := range order {
				if want := (at + 1) % 2; got[i] != want {
					t.Errorf("number %d ran %d times, want %d", i+1, got[i], want)
				}
			}
		})...)
	}
	out = append(out, everywhere(12, "all-of-what-is-no-more", func(t *testing.T, w *world, surface string) {
		k, s := several(t, w, surface, 3)
		all := k.one(s, "Approve all (3)…")
		k.press(t, ana, s, s.labelled("Deny")[1])
		now := k.until("one is decided", func(s shot) bool { return s.asks == 2 })
		k.refused(ana, now, all, "nothing was decided")
		k.still(2)
		k.denyAll()
		k.over(1)
		if got := ran(k, 3); got[0]+got[1]+got[2] != 0 {
			t.Errorf("it ran: %v", got)
		}
	})...)
	out = append(out, everywhere(12, "same-call-twice", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, wants(write(name), write(name)))
		s := k.until("it asks", func(s shot) bool { return s.asks > 0 })
		if s.asks == 1 {
			k.end()
			return
		}
		k.press(t, ana, s, s.labelled("Allow once")[1])
		k.until("one is decided", func(s shot) bool { return s.asks == 1 })
		k.denyAll()
		k.over(1)
		k.times(1)
	})...)
	return out
}
