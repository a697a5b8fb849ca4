package attacks

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// unattended is row 30: where nobody can be asked, what would ask is refused at once.
func unattended() (out []attack) {
	for name, c := range map[string]struct{ server, tool string }{
		"asks": {"box", "write"}, "asks-always": {"box", "always"}, "admin-only": {"box", "guarded"}, "lies": {"liar", "harmless"},
	} {
		out = append(out, everywhere(30, name, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, says("Hello."))
			k.over(1)
			k.unattended(name+"-2", wants(call(c.server, c.tool, `{"path":"`+name+`"}`)))
			s := k.over(2)
			k.never()
			if s.asks > 0 {
				t.Errorf("it asks, and nobody is there: %s", s.text)
			}
		})...)
	}
	out = append(out, everywhere(30, "batch", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		r := wants()
		for i := range 5 {
			r.calls = append(r.calls, call("box", "write", args(name, "n", fmt.Sprint(i))))
		}
		k.unattended(name+"-2", r, r, r)
		k.over(2)
		k.never()
	})...)
	out = append(out, everywhere(30, "then-a-person-is-asked", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		k.unattended(name+"-2", wants(write(name)))
		k.over(2)
		k.again(ana, name+"-3", wants(write(name)))
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 3 })
		k.end()
	})...)
	return out
}

// unattended has something start a turn in Ana's name that nobody waits for, as a schedule or a webhook does.
func (k *talk) unattended(name string, script ...reply) {
	k.t.Helper()
	k.pen.learn(name, script...)
	if err := k.engine.Accept(k.t.Context(), chat.Said{
		Envelope: chat.Envelope{Chat: k.id(), User: k.user(ana), Name: "Ana", Delivery: chat.Delivery("cron-" + name)}, Text: "please #" + name, Unattended: true,
	}); err != nil {
		k.t.Fatal(err)
	}
}
