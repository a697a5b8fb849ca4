package config

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/core/permission"
)

// An operator's template is offered beside nod's, and sets what it says and nothing else.
func TestOwnTemplates(t *testing.T) {
	p := mustParse(t, `
mcp: {servers: {deploys: {command: [deploys]}}}
permissions:
  templates:
    release-week:
      says: Two people.
      approvers: anyone
      servers: {deploys: {ask: always, min_approvals: 2, tools: {rollback: {approval: RequireAuth}}}}
    weekend: {timeout: park}
`, env()).Policy()
	own, ok := permission.FindTemplate("release-week", p.Templates...)
	if _, other := permission.FindTemplate("weekend", p.Templates...); !ok || !other || own.Says != "Two people." || len(permission.Templates(p.Templates...)) != len(permission.Templates())+2 {
		t.Fatalf("%+v", p.Templates)
	}
	var got []string
	for _, c := range own.Changes(p, nil) {
		got = append(got, c.(permission.Setting).String())
	}
	want := []string{"everything: approvers = anyone", "deploys: ask = always", "deploys: min_approvals = 2", "deploys/rollback: approval = RequireAuth"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("it would change %q, want %q", got, want)
	}
}
