package attacks

import (
	"sync"
	"testing"
)

// races is row 13: of clicks at the same moment one counts, and the call runs once or not at all.
func races() (out []attack) {
	out = append(out, everywhere(13, "allow-and-allow", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		k.atOnce(s, ana, "Allow once", ada, "Allow once")
		k.over(1)
		k.times(1)
	})...)
	out = append(out, everywhere(13, "allow-once-and-for-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		k.atOnce(s, ana, "Allow once", ana, "Allow for this chat")
		k.over(1)
		k.times(1)
	})...)
	out = append(out, everywhere(13, "allow-and-deny", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		k.atOnce(s, ana, "Allow once", ada, "Deny")
		done := k.over(1)
		denied := has([]string{done.text}, "denied by ")
		if n := k.ran(); n > 1 || denied && n != 0 || !denied && n != 1 {
			t.Errorf("denied %v, and it ran %d times: %s", denied, n, done.text)
		}
	})...)
	out = append(out, everywhere(13, "thirty-clicks", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		b := k.one(s, "Allow once")
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() { k.fire(t, ana, s, b) })
		}
		all.Wait()
		k.over(1)
		k.again(ana, k.name+"-2") // what came too late was read before this turn is over
		k.over(2)
		k.times(1)
	})...)
	out = append(out, everywhere(13, "allow-and-stop", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		k.atOnce(s, ana, "Allow once", ana, "Stop")
		k.over(1)
		if n := k.ran(); n > 1 {
			t.Errorf("it ran %d times", n)
		}
	})...)
	out = append(out, everywhere(13, "allow-and-edit", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		allow, send := k.one(s, "Allow once"), k.open(t, ana, s, k.one(s, "Edit arguments…"))
		var both sync.WaitGroup
		both.Go(func() { send("args", `{"path":"changed-`+k.name+`"}`) })
		both.Go(func() { k.press(t, ada, s, allow) })
		both.Wait()
		k.until("one of them counts", func(s shot) bool { return s.over || has([]string{s.text}, "changed-") })
		k.denyAll()
		k.over(1)
		if old, fresh := k.ran(), len(k.ledger.of("changed-"+k.name)); old > 1 || fresh != 0 {
			t.Errorf("the call ran %d times, and the changed one, which nobody allowed, %d times", old, fresh)
		}
	})...)
	return out
}

// atOnce has two press at the same moment.
func (k *talk) atOnce(s shot, one person, first string, other person, second string) {
	k.t.Helper()
	a, b := k.one(s, first), k.one(s, second)
	var both sync.WaitGroup
	both.Go(func() { k.press(k.t, one, s, a) })
	both.Go(func() { k.press(k.t, other, s, b) })
	both.Wait()
}
