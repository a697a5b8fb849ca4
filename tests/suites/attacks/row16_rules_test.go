package attacks

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
)

// argumentRules are the operator's, by tool: of one a GET below /srv/docs runs, and a PUSH asks each time; of the other a DROP is refused.
var argumentRules = map[string][]permission.Rule{
	"ruled": {
		{When: pin.Condition{"m": {"GET"}, "at": {"/srv/docs/**"}}, Ask: permission.NeverAsk, Enabled: true},
		{When: pin.Condition{"m": {"PUSH*"}, "at": {"x"}}, Ask: permission.AlwaysAsk, Enabled: true},
	},
	"refusing": {{When: pin.Condition{"m": {"DROP"}, "at": {"x"}}}},
}

// ruled is row 16, too: what a rule on arguments lets run is that and nothing like it, and what one asks about or refuses is also all that a
// server could take for it.
func ruled() (out []attack) {
	of := func(tool, name, fields string) reply {
		return wants(call("mix", tool, fmt.Sprintf(`{"path":%q,%s}`, name, fields)))
	}
	wantsIt := func(name, fields string) reply { return of("ruled", name, fields) }
	out = append(out, everywhere(16, "a-rule-lets-run-control", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wantsIt(idOf(t), `"m":"GET","at":"/srv/docs/a"`))
		k.over(1)
		k.times(1)
	})...)
	for name, fields := range map[string]string{
		"another":       `"m":"POST","at":"/srv/docs/a"`,
		"case":          `"m":"get","at":"/srv/docs/a"`,
		"hidden":        `"m":"GET\u200b","at":"/srv/docs/a"`,
		"nul":           `"m":"GET\u0000","at":"/srv/docs/a"`,
		"list":          `"m":["GET"],"at":"/srv/docs/a"`,
		"missing":       `"at":"/srv/docs/a"`,
		"twin":          `"m":"GET","M":"POST","at":"/srv/docs/a"`,
		"up":            `"m":"GET","at":"/srv/docs/../keys"`,
		"backslash":     `"m":"GET","at":"/srv/docs/..\\..\\keys"`,
		"beside":        `"m":"GET","at":"/srv/docs-of-others/a"`,
		"above":         `"m":"GET","at":"/srv"`,
		"percent":       `"m":"GET","at":"/srv/docs/%2e%2e/keys"`,
		"absolute-twin": `"m":"GET","at":"/srv/docs/a","At":"/etc/passwd"`,
	} {
		out = append(out, somewhere(16, "a-rule-lets-run-but-not-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wantsIt(idOf(t), fields))
			k.asking(1)
			k.still(1)
			k.end()
		})...)
	}
	for name, fields := range map[string]string{
		"itself": `"m":"PUSH","at":"x"`, "more": `"m":"PUSH --force","at":"x"`, "case": `"m":"push x","at":"X"`, "hidden": `"m":"PU\u200bSH","at":"x"`,
		"shell": `"m":"ls; PUSH","at":"x"`, "missing": `"at":"x"`, "number": `"m":7,"at":"x"`,
	} {
		out = append(out, somewhere(16, "a-rule-asks-in-spite-of-a-grant-"+name, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wantsIt(name, `"m":"POST","at":"y"`))
			k.allow("Allow for this chat")
			k.times(1)
			k.again(ana, name+"-2", wantsIt(name, `"m":"POST","at":"z"`), wantsIt(name, fields))
			s := k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 && k.ran() == 2 })
			if n := len(s.labelled("Allow for this chat")); n > 0 {
				t.Errorf("more than once is offered: %q", s.labels())
			}
			k.denyAll()
			k.over(2)
			k.times(2)
		})...)
	}
	for name, fields := range map[string]string{
		"itself": `"m":"DROP","at":"x"`, "case": `"m":"drop","at":"x"`, "space": `"m":" DROP","at":"x"`, "object": `"m":{"a":"DROP"},"at":"x"`,
	} {
		out = append(out, somewhere(16, "a-rule-refuses-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, of("refusing", idOf(t), fields))
			if s := k.over(1); s.asks > 0 {
				t.Error("it asks for what the operator refuses")
			}
			k.never()
		})...)
	}
	return append(out, inWorld("never", everywhere(16, "a-rule-asks-in-a-chat-that-never-does", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wantsIt(idOf(t), `"m":"PUSH","at":"x"`))
		k.asking(1)
		k.still(1)
		k.end()
	}))...)
}
