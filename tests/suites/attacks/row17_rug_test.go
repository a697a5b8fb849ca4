package attacks

import "testing"

// rugPulls is row 17: a tool that changed is another tool, for grants as for asks, and a name is the operator's server and the tool together.
func rugPulls() (out []attack) {
	for kind, change := range changes {
		out = append(out, everywhere(17, kind+"-after-a-chat-grant", func(t *testing.T, w *world, surface string) {
			x := swapTool("rug-"+kind, surface)
			name := idOf(t)
			one := wants(call(x.server, x.name, `{"path":"`+name+`"}`))
			k := begin(t, w, surface, one)
			k.allow("Allow for this chat")
			k.again(ana, name+"-2", one)
			k.over(2)
			k.times(2) // the grant covers the tool as it was
			w.changed(t, x.name, func() { w.servers[x.server].put(change(x)) })
			k.again(ana, name+"-3", one)
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 3 })
			k.denyAll()
			k.over(3)
			k.times(2)
		})...)
		out = append(out, everywhere(17, kind+"-announced-while-it-asks", func(t *testing.T, w *world, surface string) {
			x := swapTool("announced-"+kind, surface)
			k := begin(t, w, surface, wants(call(x.server, x.name, `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			w.changed(t, x.name, func() { w.servers[x.server].put(change(x)) })
			k.click(ada, s, "Allow once") // an admin's yes was to the old one, too
			k.over(1)
			k.never()
		})...)
	}
	out = append(out, everywhere(17, "gone-and-come-back-changed", func(t *testing.T, w *world, surface string) {
		x := swapTool("rug-gone", surface)
		name := idOf(t)
		one := wants(call(x.server, x.name, `{"path":"`+name+`"}`))
		k := begin(t, w, surface, one)
		k.allow("Allow for this chat")
		w.changed(t, x.name, func() { w.servers[x.server].drop(x.name) })
		x.description = "Reads."
		w.changed(t, x.name, func() { w.servers[x.server].put(x) })
		k.again(ana, name+"-2", one)
		k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.denyAll()
		k.over(2)
		k.times(1)
	})...)
	// evil calls itself box, and has a tool of the same name: what was granted to box.write is not its.
	out = append(out, everywhere(17, "shadowed-by-a-server-that-says-its-name", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface)
		k.allow("Allow for this chat")
		k.again(ana, name+"-2", wants(call("evil", "write", `{"path":"`+name+`"}`)))
		s := k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		if !has([]string{s.text}, "evil") {
			t.Errorf("the card does not say whose tool it is: %s", s.text)
		}
		k.denyAll()
		k.over(2)
		k.times(1)
	})...)
	out = append(out, everywhere(17, "tool-named-as-server-and-tool", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("evil", "box__write", `{"path":"`+idOf(t)+`"}`), call("box/write", "write", `{"path":"`+idOf(t)+`"}`)))
		k.until("it asks or is over", func(s shot) bool { return s.asks > 0 || s.over })
		k.end()
	})...)
	return out
}
