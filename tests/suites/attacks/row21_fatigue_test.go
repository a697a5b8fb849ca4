package attacks

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent"
)

// fatigue is row 21: what was denied is not asked for again in the same turn, however it is written.
func fatigue() (out []attack) {
	for name, next := range map[string]func(name string, i int) string{
		"the-same-20-times": func(name string, _ int) string { return fmt.Sprintf(`{"path":%q,"n":1}`, name) },
		"keys-turned":       func(name string, _ int) string { return fmt.Sprintf(`{"n":1,"path":%q}`, name) },
		"with-spaces":       func(name string, i int) string { return fmt.Sprintf(`{ "path" : %q , "n":%*d }`, name, 3+i, 1) },
		"with-escapes":      func(name string, _ int) string { return fmt.Sprintf(`{"p\u0061th":%q,"n":1}`, name) },
	} {
		out = append(out, everywhere(21, name, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			script := []reply{wants(call("box", "write", fmt.Sprintf(`{"path":%q,"n":1}`, name)))}
			for i := range 19 {
				script = append(script, wants(call("box", "write", next(name, i))))
			}
			k := begin(t, w, surface, append(script, says("I give up."))...)
			s := k.asking(1)
			k.click(ana, s, "Deny")
			k.over(1)
			k.never()
			if n := len(k.shots()); n != 1 {
				t.Errorf("%d messages", n)
			}
		})...)
	}
	// Near copies are as many questions: no more than people can look at are asked, and the model is told to go on after those.
	for name, n := range map[string]int{"near-copies": 60, "absurdly-many": 400} {
		out = append(out, everywhere(21, name, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			var all []agent.ReplyCall
			for i := range n {
				all = append(all, call("box", "write", fmt.Sprintf(`{"path":%q,"n":%d}`, name, i)))
			}
			k := begin(t, w, surface, wants(all...), says("Enough."))
			k.waiting(20)
			k.until("all can be denied", func(s shot) bool { return len(s.labelled("Deny all (20)")) == 1 })
			k.click(ana, k.last(), "Deny all (20)")
			k.over(1)
			k.never()
		})...)
	}
	out = append(out, everywhere(21, "control-three", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, wants(write(name), call("box", "write", fmt.Sprintf(`{"path":%q,"n":1}`, name)), call("box", "write", fmt.Sprintf(`{"path":%q,"n":2}`, name))))
		k.asking(3)
		k.end()
	})...)
	return out
}
