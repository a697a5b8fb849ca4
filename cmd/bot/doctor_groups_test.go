package main

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// The scope of user groups is asked for where one of Slack may decide, wherever that is said; roles of Discord are another matter.
func TestDoctorOfUserGroups(t *testing.T) {
	env := workspace(t, fakeslack.Options{})
	const group, scope = "['slack:T0FAKE:&S0123ABCD']", "Slack: scope usergroups:read"
	for yaml, wants := range map[string]bool{
		"":                                      false,
		"admins: ['slack:T0FAKE:U1']":           false,
		"admins: ['discord:100:&200']":          false,
		"admins: " + group:                      true,
		"approvals: {approvers: " + group + "}": true,
		"permissions: {servers: {workbench: {approvers: " + group + "}}}":                    true,
		"permissions: {servers: {workbench: {tools: {delete: {approvers: " + group + "}}}}}": true,
	} {
		code, report := visit(t, yaml, env)
		if !wants {
			if code != 0 || strings.Contains(report, "usergroups:read") {
				t.Errorf("%q: exit code %d:\n%s", yaml, code, report)
			}
			continue
		}
		says(t, report, "✗ "+scope, "nod manifest slack -groups", "reinstall the app")
		if code != 1 {
			t.Errorf("%q: exit code %d", yaml, code)
		}
	}
	_, report := visit(t, "admins: "+group, workspace(t, fakeslack.Options{Scopes: asked(t, "-groups")}))
	says(t, report, "✓ Slack: scopes", "all 14")
	says(t, report, "✓ admins", "1 user group and 0 keys")
}
