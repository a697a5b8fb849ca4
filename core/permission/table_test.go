package permission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// The 18 rows of document 000, each with every approval level a tool may have and with every kind of
// grant a chat may hold. What is expected is worked out here from the documents' sentences, and not by the code under test.
// R5 R6 R7 R29 R98 R99 R113 R165 C2 C6
func TestResolutionTimesLevelsTimesGrants(t *testing.T) {
	before, after := noon.Add(-time.Hour), noon.Add(-time.Minute)
	all := []Tool{files, {Server: "files", Name: "other", Definition: "d1"}}
	grant := func(change func(*Grant)) *Grant {
		g := grantOf(files)
		change(&g)
		return &g
	}
	grants := []struct {
		name   string
		g      *Grant
		covers bool // in a chat whose mode was never set to always
		always bool // in one where it was, between before and after
	}{
		{"none", nil, false, false},
		{"for the tool", grant(func(g *Grant) { g.At = after }), true, true},
		{"for the tool, from before Always", grant(func(g *Grant) { g.At = before.Add(-1) }), true, false},
		{"an admin's", grant(func(g *Grant) { g.By = boss }), true, true},
		{"another person's", grant(func(g *Grant) { g.By = ben }), false, false},
		{"nobody's", grant(func(g *Grant) { g.By = chat.User{} }), false, false},
		{"of another tool", grant(func(g *Grant) { g.Tool.Name = "other" }), false, false},
		{"of another server", grant(func(g *Grant) { g.Tool.Server = "elsewhere" }), false, false},
		{"of another definition", grant(func(g *Grant) { g.Tool.Definition = "d0" }), false, false},
		{"of another chat", grant(func(g *Grant) { g.Chat = there }), false, false},
		{"for an hour that is over", grant(func(g *Grant) { g.Until = noon }), false, false},
		{"for an hour that is not", grant(func(g *Grant) { g.Until = noon.Add(1) }), true, true},
		{"used up", grant(func(g *Grant) { g.Counted = true }), false, false},
		{"good once more", grant(func(g *Grant) { g.Counted, g.Uses = true, 1 }), true, true},
		{"pinned to these values", grant(func(g *Grant) { g.Pins = []pin.Pin{{Path: "path", Value: json.RawMessage(`"a"`)}} }), true, true},
		{"pinned to others", grant(func(g *Grant) { g.Pins = []pin.Pin{{Path: "path", Value: json.RawMessage(`"b"`)}} }), false, false},
		{"reads of the server", grant(func(g *Grant) { g.Scope, g.Tools = ScopeReads, all }), false, false}, // the tool writes
		{"writes of the server", grant(func(g *Grant) { g.Scope, g.Tools = ScopeWrites, all }), true, true},
		{"all of the server", grant(func(g *Grant) { g.Scope, g.Tools = ScopeServer, all }), true, true},
		{"all of the server as it was before this tool", grant(func(g *Grant) { g.Scope, g.Tools = ScopeServer, all[1:] }), false, false},
	}
	levels := map[string]*Approval{"no level": nil, "auto": new(AutoApprove), "confirm": new(RequireConfirmation), "auth": new(RequireAuth)}
	cells := 0
	for _, session := range []Mode{ModeAlways, ModeNever, ModeTool} {
		for _, server := range []Prompt{AlwaysAsk, NeverAsk} {
			for _, tool := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
				required := session == ModeAlways
				if session != ModeAlways { // to never ask is no way around what an admin set to always ask
					required = tool == AlwaysAsk || tool == Inherit && server == AlwaysAsk
				}
				for level, approval := range levels {
					p := with(installed(), "files", ServerSettings{Ask: server, Tools: tools("move_thing", ToolSettings{Ask: tool, Approval: approval, Access: new(Write)})})
					req := call(files)
					req.Mode, req.Args = session, json.RawMessage(`{"path":"a"}`)
					if session == ModeAlways {
						req.ModeAt = before
					}
					for _, x := range grants {
						cells++
						name := fmt.Sprintf("session %v, server %v, tool %v, %s, grant %s", session, server, tool, level, x.name)
						covers := x.covers
						if session == ModeAlways {
							covers = x.always
						}
						want := Allow
						switch {
						case level == "auth", required && !covers:
							want = Ask
						}
						var held []Grant
						if x.g != nil {
							held = []Grant{*x.g}
						}
						r := Evaluate(p, held, req, noon)
						if r.Verdict != want || (r.Level == LevelAdmin) != (level == "auth") {
							t.Errorf("%s: %v at level %v, want %v", name, r.Verdict, r.Level, want)
						}
						if used := r.Grant != ""; used != (level != "auth" && required && covers) {
							t.Errorf("%s: it says that it used %q", name, r.Grant)
						}
						if level == "auth" && r.ChatGrant {
							t.Errorf("%s: a grant is offered for what an admin decides each time", name)
						}
						winner(t, r)
					}
				}
			}
		}
	}
	if cells != 18*4*20 {
		t.Errorf("%d cells", cells)
	}
}

// The documents' own sentences, from arguments as a model writes them.
// R34 R92
func TestMessageOfAnEmail(t *testing.T) {
	for _, x := range []struct{ template, args, want string }{
		{"Send email to {{.args.to}}?", `{"to":"user@example.com","body":"hello"}`, "Send email to user@example.com?"},
		{"Send email to {{.args.to}}?", `{"body":"hello"}`, "Send email to unknown?"},
		{"Execute my_tool on target: {{.args.target}}?", `{"target":"X"}`, "Execute my_tool on target: X?"},
		{"Execute my_tool on target: {{.args.target}}?", `{}`, "Execute my_tool on target: unknown?"},
	} {
		p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Message: x.template})})
		req := call(files)
		req.Args = json.RawMessage(x.args)
		if got := Evaluate(p, nil, req, noon).Message; got != x.want {
			t.Errorf("%s with %s: %q, want %q", x.template, x.args, got, x.want)
		}
	}
}
