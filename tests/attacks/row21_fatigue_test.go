package attacks

import (
	"fmt"
	"testing"
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
	return out
}
