package attacks

import "testing"

// lateClicks is row 14: after its deadline an ask is answered by nobody.
func lateClicks() (out []attack) {
	for name, label := range map[string]string{"allow-once": "Allow once", "allow-for-chat": "Allow for this chat", "deny": "Deny", "extend": "+5 min"} {
		out = append(out, everywhere(14, name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "brief", `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			b := k.one(s, label)
			done := k.over(1)
			if !has([]string{done.text}, "nobody answered") {
				t.Errorf("it does not say that nobody answered: %s", done.text)
			}
			k.refused(ana, s, b, "")
			k.never()
			k.again(ana, k.name+"-2")
			k.over(2)
			k.never()
		})...)
	}
	out = append(out, everywhere(14, "approve-all", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, wants(call("box", "brief", `{"path":"`+name+`"}`), call("box", "brief", args(name, "n", "2"))))
		s := k.asking(2)
		b := k.one(s, "Approve all (2)…")
		k.over(1)
		k.refused(ana, s, b, "")
		k.never()
		k.again(ana, k.name+"-2")
		k.over(2)
		k.never()
	})...)
	out = append(out, everywhere(14, "asked-again-asks", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "brief", `{"path":"`+idOf(t)+`"}`)))
		old := k.asking(1)
		allow := k.one(old, "Allow once")
		done := k.over(1)
		k.click(ana, done, "Ask again")
		now := k.until("it asks anew", func(s shot) bool { return s.asks == 1 })
		k.press(t, ana, now, allow) // the old ask's
		k.never()
		k.over(len(k.shots()))
		k.never()
	})...)
	return out
}
