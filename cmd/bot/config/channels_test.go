package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
)

// What the file says of places is all of it, and no more: enabled: true counts there, and a field that is not named does not.
func TestChannels(t *testing.T) {
	c := mustParse(t, `
slack: {bot_token: xoxb-1, app_token: xapp-1}
permissions:
  servers: {workbench: {enabled: false}}
  channels:
    - in: slack:T1:C1
      mode: tool
      strict: true
      timeout: park
      approvers: [slack:T1:U1, slack:T1:&S1]
      servers:
        workbench:
          enabled: true
          min_approvals: 2
          requester_may_approve: false
          tools:
            write_file: {ask: never, access: write, message: "Write?", chat_grant: false, rules: [{when: {path: /srv/**}, enabled: false}]}
    - {in: [slack:T2, discord:100], reads_only: true}
`, env())
	roundTrip(t, c, env())
	set := func(server, tool, field, value string) permission.Setting {
		return permission.Setting{Server: server, Tool: tool, Field: field, Value: value}
	}
	of := func(field, value string) permission.Setting { return set(Workbench, "write_file", field, value) }
	want := []permission.Local{{
		In: []permission.Place{{Platform: "slack", Workspace: "T1", Key: "C1"}},
		Set: []permission.Setting{
			set("", "", "mode", "tool"), set("", "", "strict", "true"), set("", "", "timeout", "park"), set("", "", "approvers", "slack:T1:U1,slack:T1:&S1"),
			set(Workbench, "", "enabled", "true"), set(Workbench, "", "min_approvals", "2"), set(Workbench, "", "requester_may_approve", "false"),
			of("ask", "never"), of("access", "write"), of("message", "Write?"), of("chat_grant", "false"),
		},
		Rules: []permission.LocalRules{{Server: Workbench, Tool: "write_file", Rules: []permission.Rule{{When: pin.Condition{"path": {"/srv/**"}}}}}},
	}, {
		In:  []permission.Place{{Platform: "slack", Workspace: "T2"}, {Platform: "discord", Workspace: "100"}},
		Set: []permission.Setting{set("", "", "reads_only", "true")},
	}}
	p := c.Policy()
	if d := cmp.Diff(want, p.Locals); d != "" {
		t.Error(d)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if at := p.In(chat.ID{Platform: "slack", Workspace: "T1"}, "slack:T1:C1"); !p.Servers[Workbench].Disabled || at.Servers[Workbench].Disabled {
		t.Error("the server is there everywhere, or nowhere")
	}
	if other := mustParse(t, "permissions: {servers: {workbench: {enabled: false}}}", env()).Policy(); other.Revision == p.Revision {
		t.Error("the revision does not tell policies apart that differ in a place")
	}
	if w := c.Warnings(); !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "nobody talks in discord:100") }) || strings.Contains(strings.Join(w, "\n"), "in slack:T2") {
		t.Error(w)
	}
	// Where people are not told apart several cannot be asked for: that is the page, also for what is said of it alone.
	if _, err := Parse("nod.yaml", []byte("permissions: {channels: [{in: web, min_approvals: 2, approvers: anyone}]}"), env()); err == nil || !strings.Contains(err.Error(), "channels[0].min_approvals") {
		t.Error(err)
	}
	// Each tool's own deciders count, also those that stand elsewhere in the file.
	mustParse(t, `
permissions:
  servers: {workbench: {approvers: anyone}}
  channels: [{in: slack:T1:C1, servers: {workbench: {min_approvals: 2}}}]
`, env())
}
