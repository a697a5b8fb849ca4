package permission

import (
	"slices"
	"testing"
)

// What a tool comes to where two sources say something: each row is one combination that only one of Get's conditions keeps apart.
func TestSourcesOfCaution(t *testing.T) {
	reads := Hints{ReadOnly: yes}
	ours := func(name string) Tool { return Tool{Server: "workbench", Name: name, Definition: "d1"} }
	auto, auth := new(AutoApprove), new(RequireAuth)
	dangerous, safe := new(Dangerous), new(Safe)
	for _, c := range []struct {
		name     string
		tool     Tool
		src      Source
		set      ToolSettings
		trusted  bool
		posture  Posture
		hints    Hints
		meta     Metadata
		approval Approval
		from     Origin
		risk     Risk
	}{
		{name: "trusted and reads", tool: files, trusted: true, hints: reads, approval: AutoApprove, from: FromAnnotations, risk: Safe},
		{name: "trusted, reads, and set to read", tool: files, trusted: true, hints: reads, set: ToolSettings{Access: new(Read)}, approval: AutoApprove, from: FromAnnotations, risk: Safe},
		{name: "trusted, reads, all of ours ask", tool: files, trusted: true, hints: reads, posture: PostureAll, approval: AutoApprove, from: FromAnnotations, risk: Safe},
		{name: "trusted, reads, nobody looked", tool: files, trusted: true, hints: reads, set: ToolSettings{New: true}, approval: RequireConfirmation, from: FromDefault, risk: Moderate},
		{name: "a stranger's read_file", tool: Tool{"files", "read_file", "d1"}, trusted: true, hints: reads, approval: AutoApprove, from: FromAnnotations, risk: Safe},
		{name: "metadata over a name, not ours", tool: Tool{"files", "delete_file", "d1"}, meta: Metadata{Approval: RequireAuth}, approval: RequireAuth, from: FromMetadata, risk: Dangerous},
		{name: "ours reads by its annotations", tool: ours("thing"), src: SourceWorkbench, hints: reads, approval: AutoApprove, from: FromDefault, risk: Moderate},
		{name: "ours, dangerous by metadata, auto by metadata", tool: ours("thing"), src: SourceWorkbench, meta: Metadata{Risk: Dangerous, Approval: AutoApprove}, approval: AutoApprove, from: FromMetadata, risk: Dangerous},
		{name: "ours, set to dangerous", tool: ours("thing"), src: SourceWorkbench, set: ToolSettings{Risk: dangerous}, approval: RequireConfirmation, from: FromTool, risk: Dangerous},
		{name: "ours, set to safe", tool: ours("thing"), src: SourceWorkbench, set: ToolSettings{Risk: safe}, approval: AutoApprove, from: FromDefault, risk: Safe},
		{name: "ours, an admin's, set to dangerous", tool: ours("system_shutdown"), src: SourceWorkbench, set: ToolSettings{Risk: dangerous}, approval: RequireAuth, from: FromNamed, risk: Dangerous},
		{name: "set to an admin, and changed", tool: files, set: ToolSettings{Approval: auth, Accepted: "d0"}, approval: RequireAuth, from: FromTool, risk: Moderate},
		{name: "set to auto, and changed", tool: files, set: ToolSettings{Approval: auto, Accepted: "d0"}, approval: RequireConfirmation, from: FromDefault, risk: Moderate},

		// A model's advice: it raises, and names itself only where it does.
		{name: "advised to read what reads", tool: files, trusted: true, hints: reads, set: ToolSettings{Advice: &Analysis{Access: Read, Risk: Safe}}, approval: AutoApprove, from: FromAnnotations, risk: Safe},
		{name: "advised that it writes", tool: files, trusted: true, hints: reads, set: ToolSettings{Advice: &Analysis{Access: Write, Risk: Safe}}, approval: RequireConfirmation, from: FromAnalysis, risk: Safe},
		{name: "advised that it is dangerous", tool: files, trusted: true, hints: reads, set: ToolSettings{Advice: &Analysis{Access: Read, Risk: Dangerous}}, approval: RequireConfirmation, from: FromAnalysis, risk: Dangerous},
		{name: "advised an admin", tool: files, set: ToolSettings{Advice: &Analysis{Access: Write, Risk: Moderate, Level: true}}, approval: RequireAuth, from: FromAnalysis, risk: Moderate},
		{name: "advised an admin, who is asked already", tool: ours("system_shutdown"), src: SourceWorkbench, set: ToolSettings{Advice: &Analysis{Access: Write, Risk: Dangerous, Level: true}}, approval: RequireAuth, from: FromNamed, risk: Dangerous},
		{name: "advised no admin, who is asked all the same", tool: ours("system_shutdown"), src: SourceWorkbench, set: ToolSettings{Advice: &Analysis{Access: Write, Risk: Dangerous}}, approval: RequireAuth, from: FromNamed, risk: Dangerous},
		{name: "advised that it is safe", tool: files, set: ToolSettings{Advice: &Analysis{Access: Read, Risk: Safe}}, approval: RequireConfirmation, from: FromDefault, risk: Moderate},
	} {
		p := with(installed(), c.tool.Server, ServerSettings{Trusted: c.trusted, Tools: tools(c.tool.Name, c.set)})
		p.Posture = c.posture
		e := p.Get(c.tool, c.src, c.hints, c.meta)
		if e.Approval != c.approval || e.ApprovalFrom != c.from || e.Risk != c.risk {
			t.Errorf("%s: %v (%s), %v (%s); want %v (%s), %v", c.name, e.Approval, e.ApprovalFrom, e.Risk, e.RiskFrom, c.approval, c.from, c.risk)
		}
		if c.set.Advice != nil && c.set.Advice.Access == Read && e.AccessFrom == FromAnalysis {
			t.Errorf("%s: advice to read is named for its access", c.name)
		}
	}
}

func TestChatGrantSetting(t *testing.T) {
	for _, c := range []struct {
		set  *bool
		want bool
	}{{nil, true}, {yes, true}, {no, false}} {
		e := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{ChatGrant: c.set})}).Get(files, SourceMCP, Hints{}, Metadata{})
		if e.ChatGrant != c.want {
			t.Errorf("%v: %v", c.set, e.ChatGrant)
		}
	}
}

func TestOpenWorldHint(t *testing.T) {
	for _, c := range []struct {
		h    Hints
		want bool
	}{{Hints{}, true}, {Hints{OpenWorld: yes}, true}, {Hints{OpenWorld: no}, false}} {
		if got := c.h.IsOpenWorld(); got != c.want {
			t.Errorf("%+v: %v", c.h, got)
		}
	}
}

// What a template sets for servers and tools, by what is known of them.
func TestTemplatesByTool(t *testing.T) {
	known := []Known{
		{Tool: Tool{"files", "list", "d1"}, Hints: Hints{ReadOnly: yes}},
		{Tool: Tool{"files", "say", "d1"}},
		{Tool: Tool{"mail", "look", "d1"}, Hints: Hints{ReadOnly: yes}},
		{Tool: Tool{"web", "get", "d1"}, Hints: Hints{ReadOnly: yes}},
	}
	p := with(with(installed(), "files", ServerSettings{Trusted: true, Ask: NeverAsk}), "mail", ServerSettings{Ask: AlwaysAsk})
	p = with(p, "web", ServerSettings{Trusted: true, Ask: NeverAsk})
	said := func(name string) (out []string) {
		tmpl, ok := FindTemplate(name)
		if !ok {
			t.Fatal(name)
		}
		for _, c := range tmpl.Changes(p, known) {
			if c.Set.Server != "" {
				out = append(out, c.Set.String())
			}
		}
		return out
	}
	for name, want := range map[string][]string{
		"read-only": {"files: ask = default", "web: ask = default", "files/say: approval = RequireAuth", "mail/look: approval = RequireAuth"},
		"careful":   {"files: ask = always", "web: ask = always", "files/list: ask = always", "files/say: ask = always", "mail/look: ask = always", "web/get: ask = always"},
		"team":      nil,
	} {
		if got := said(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, tmpl := range Templates() { // a server that said nothing yet has a setting of its own, and none of its tools is known
		if tmpl.servers == nil {
			continue
		}
		if got := tmpl.Changes(with(installed(), "quiet", ServerSettings{Ask: NeverAsk, Trusted: true}), nil); slices.ContainsFunc(got, func(c Change) bool { return c.Set.Server != "" }) {
			t.Errorf("%s: %v", tmpl.Name, got)
		}
	}
}

// A tool that no server stands for can be set nothing for.
func TestTemplatesLeaveOutWhatHasNoServer(t *testing.T) {
	for _, tmpl := range Templates() {
		for _, c := range tmpl.Changes(installed(), []Known{{Tool: Tool{"", "go", "d1"}, Hints: Hints{Destructive: yes}}}) {
			if c.Set.Tool != "" || c.Set.Field == "ask" {
				t.Errorf("%s: %s", tmpl.Name, c)
			}
		}
	}
}
