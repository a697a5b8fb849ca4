package permission

import "testing"

// R41, 5.12: a grant that gives less access than a call needs is kept with the ruling, so that its card says so; one that does not cover it for
// any other reason is not.
func TestTooLittleIsKept(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Access: new(Write), Risk: new(Moderate)})})
	for name, change := range map[string]func(*Grant){
		"reads":                   func(g *Grant) { g.Scope, g.Tools = ScopeReads, []Tool{files} },
		"writes, run out":         func(g *Grant) { g.Scope, g.Tools, g.Until = ScopeWrites, []Tool{files}, noon },
		"the tool, used up":       func(g *Grant) { g.Counted = true },
		"reads, without the tool": func(g *Grant) { g.Scope = ScopeReads },
	} {
		g := grantOf(files)
		change(&g)
		r := Evaluate(p, []Grant{g}, call(files), noon).Brief()
		kept := false
		for _, x := range r.Reasons {
			kept = kept || x.Rule == RuleGrant && x.Said == SaidTooLittle
		}
		if r.Verdict != Ask || kept != (name == "reads") {
			t.Errorf("%s: %v, kept: %+v", name, r.Verdict, r.Reasons)
		}
	}
}
