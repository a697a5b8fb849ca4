package attacks

import (
	"testing"

	"github.com/nodhq/nod/core/permission"
)

// tightenings are what an operator may set while a card asks or an answer waits to run.
var tightenings = map[string]func(*permission.ToolSettings){
	"disabled":     func(s *permission.ToolSettings) { s.Disabled = true },
	"require-auth": func(s *permission.ToolSettings) { a := permission.RequireAuth; s.Approval = &a },
}

// staleTools are one for each tightening, surface and moment.
func staleTools() (out []tool) {
	for kind := range tightenings {
		for _, s := range surfaces {
			for _, when := range []string{"ask", "run", "grant", "set-ask", "set-run"} {
				out = append(out, tool{server: "stale", name: staleName(kind, when, s.name), description: "Writes."})
			}
		}
	}
	return out
}

func staleName(kind, when, surface string) string { return kind + "-" + when + "-" + surface }

// stalePolicy is row 29: what counts is the policy of now, at the click and once more before the run.
func stalePolicy() (out []attack) {
	for kind, tighten := range tightenings {
		out = append(out, everywhere(29, kind+"-between-ask-and-click", func(t *testing.T, w *world, surface string) {
			x := staleName(kind, "ask", surface)
			k := begin(t, w, surface, wants(call("stale", x, `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			w.law.set("stale", x, tighten)
			k.click(ana, s, "Allow once")
			if kind == "require-auth" { // only an admin's yes would do
				k.until("Ana is told, or it asks an admin", func(s shot) bool { return s.asks == 1 || s.over })
			} else {
				k.over(1)
			}
			k.never()
			k.end()
		})...)
		out = append(out, everywhere(29, kind+"-between-click-and-run", func(t *testing.T, w *world, surface string) {
			x, name := staleName(kind, "run", surface), idOf(t)
			k := begin(t, w, surface, wants(call("stale", x, `{"path":"`+name+`"}`), call("box", "write", `{"path":"other-`+name+`"}`)))
			s := k.asking(2)
			k.press(t, ana, s, s.labelled("Allow once")[0])
			k.until("one is decided", func(s shot) bool { return s.asks == 1 })
			k.never() // it waits for the other's answer
			w.law.set("stale", x, tighten)
			now := k.last()
			k.press(t, ana, now, now.labelled("Deny")[0])
			k.until("it is over, or asks an admin", func(s shot) bool {
				return s.over || kind == "require-auth" && s.asks == 1 && len(s.labelled("Allow for this chat")) == 0 // an admin's card has no such button
			})
			k.end()
		})...)
		out = append(out, everywhere(29, kind+"-after-a-grant", func(t *testing.T, w *world, surface string) {
			x, name := staleName(kind, "grant", surface), idOf(t)
			one := wants(call("stale", x, `{"path":"`+name+`"}`))
			k := begin(t, w, surface, one)
			k.allow("Allow for this chat")
			w.law.set("stale", x, tighten)
			k.again(ana, name+"-2", one)
			k.until("it asks or is over", func(s shot) bool { return len(k.shots()) == 2 && (s.over || s.asks == 1) })
			k.denyAll()
			k.over(2)
			k.times(1)
		})...)
	}
	out = append(out, staleSettings()...)
	// What is not one tool's is changed in a world of its own.
	for name, change := range map[string]func(*world, *permission.Policy){
		"server-disabled": func(_ *world, p *permission.Policy) { s := p.Servers["box"]; s.Disabled = true; p.Servers["box"] = s },
		"policy-gone":     func(_ *world, p *permission.Policy) { *p = permission.Policy{} },
		"others-decide":   onlyListed,
		"nobody-is-admin": func(_ *world, p *permission.Policy) {
			p.Admins = nil
			p.Approvers = permission.Approvers{Rule: permission.ApproversListed}
		},
	} {
		out = append(out, everywhere(29, name+"-between-ask-and-click", func(t *testing.T, _ *world, surface string) {
			w := openWorld(t, boxTools(), nil)
			k := begin(t, w, surface)
			s := k.asking(1)
			w.law.change(func(p *permission.Policy) { change(w, p) })
			before := len(k.told(ana))
			k.click(ana, s, "Allow once")
			until(t, "it is over, or Ana is told why not", func() bool { return k.last().over || len(k.told(ana)) > before })
			k.never()
		})...)
	}
	return out
}
