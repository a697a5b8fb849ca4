package permission

import (
	"slices"
	"testing"
)

// The documents' names, for the workbench and for a stranger's server.
// R14 R15 R24 R26 R30 R31 R32 R33 R36 R37 R46 R165 C6 C7
func TestNamedTable(t *testing.T) {
	for _, c := range []struct {
		name     string
		access   Access
		risk     Risk
		approval Approval // of the workbench's tool of that name
		stranger Approval
	}{
		// R24 and R30
		{"web_search", Read, Safe, AutoApprove, RequireConfirmation},
		{"calculator", Read, Safe, AutoApprove, RequireConfirmation},
		{"datetime", Read, Safe, AutoApprove, RequireConfirmation},
		{"file_read", Read, Safe, AutoApprove, RequireConfirmation},
		{"read_file", Read, Safe, AutoApprove, RequireConfirmation},
		{"write_file", Write, Moderate, RequireConfirmation, RequireConfirmation},
		{"run_command", Write, Dangerous, RequireConfirmation, RequireConfirmation},
		{"delete_file", Write, Dangerous, RequireConfirmation, RequireConfirmation},
		// R31 and C7
		{"gmail_send", Write, Moderate, RequireConfirmation, RequireConfirmation},
		{"file_write", Write, Moderate, RequireConfirmation, RequireConfirmation},
		{"code_execute", Write, Dangerous, RequireConfirmation, RequireConfirmation},
		{"phone_call", Write, Moderate, RequireConfirmation, RequireConfirmation},
		{"execute_command", Write, Dangerous, RequireConfirmation, RequireConfirmation},
		// R32
		{"github_create_or_update_file", Write, Moderate, RequireAuth, RequireAuth},
		{"github_create_pr", Write, Moderate, RequireAuth, RequireAuth},
		{"system_shutdown", Write, Dangerous, RequireAuth, RequireAuth},
		// R36 and R37; access does not decide approval (C5): without metadata a built-in runs unasked (R15)
		{"list_directory", Read, Moderate, AutoApprove, RequireConfirmation},
		{"get_information", Read, Moderate, AutoApprove, RequireConfirmation},
		{"create_directory", Write, Moderate, RequireConfirmation, RequireConfirmation},
		// R15, R18, R26, R33: no name at all
		{"frobnicate", Write, Moderate, AutoApprove, RequireConfirmation},
	} {
		own := installed().Get(Tool{Server: "workbench", Name: c.name}, SourceWorkbench, Hints{}, Metadata{})
		if own.Access != c.access || own.Risk != c.risk || own.Approval != c.approval {
			t.Errorf("workbench %s: %v %v %v", c.name, own.Access, own.Risk, own.Approval)
		}
		theirs := installed().Get(Tool{Server: "stranger", Name: c.name}, SourceMCP, Hints{}, Metadata{})
		risk := c.risk
		if risk == Safe {
			risk = Moderate // R26
		}
		if theirs.Access != Write || theirs.Classified || theirs.Risk != risk || theirs.Approval != c.stranger {
			t.Errorf("stranger %s: %v %v %v %v", c.name, theirs.Access, theirs.Classified, theirs.Risk, theirs.Approval)
		}
		req := call(theirs.Tool)
		if r := Evaluate(installed(), nil, req, noon); r.Verdict != Ask {
			t.Errorf("stranger %s: %v", c.name, r.Verdict)
		}
		req = call(own.Tool)
		req.Source = SourceWorkbench
		r := Evaluate(installed(), nil, req, noon)
		if (r.Verdict == Allow) != (c.approval == AutoApprove) || (r.Level == LevelAdmin) != (c.approval == RequireAuth) {
			t.Errorf("workbench %s: %+v", c.name, r)
		}
		p := installed()
		p.Posture = PostureAll
		if r := Evaluate(p, nil, req, noon); r.Verdict != Ask {
			t.Errorf("posture all, workbench %s: %v", c.name, r.Verdict)
		}
	}
}

// Everything in the table that writes asks.
// R46
func TestWritesAsk(t *testing.T) {
	for name, n := range namedTable {
		if n.access == Write && (!n.levels || n.approval == AutoApprove) {
			t.Errorf("%s writes and does not ask", name)
		}
	}
}

// The documents write names flat; the server's own name counts, too, and only ever raises.
// R32
func TestJoinedNames(t *testing.T) {
	get := func(server, name string, src Source) Approval {
		return installed().Get(Tool{Server: server, Name: name}, src, Hints{}, Metadata{}).Approval
	}
	if got := get("github", "create_pr", SourceMCP); got != RequireAuth {
		t.Error(got)
	}
	if got := get("web", "search", SourceMCP); got != RequireConfirmation {
		t.Error(got)
	}
	if got := get("github", "create_pr", SourceWorkbench); got != AutoApprove {
		t.Error("the workbench's tools go by their own name:", got)
	}
}

// Where each value comes from, first answer first.
// R12 R13 R14 R15 R16 R17 R18 R19 R23 R26 C4 C5
func TestEffective(t *testing.T) {
	own := Tool{Server: "workbench", Name: "thing"}
	mcp := Tool{Server: "files", Name: "thing"}
	trusted := with(installed(), "files", ServerSettings{Trusted: true})
	tooled := func(p Policy, server, tool string, s ToolSettings) Policy {
		x := p.Servers[server]
		x.Tools = tools(tool, s)
		return with(p, server, x)
	}
	type want struct {
		access   Access
		known    bool
		risk     Risk
		approval Approval
	}
	for _, c := range []struct {
		name string
		p    Policy
		tool Tool
		src  Source
		h    Hints
		m    Metadata
		want want
	}{
		{"R15 built-in, nothing declared", installed(), own, SourceWorkbench, Hints{}, Metadata{}, want{Write, false, Moderate, AutoApprove}},
		{"built-in, nothing declared, says it writes", installed(), own, SourceWorkbench, Hints{ReadOnly: no}, Metadata{}, want{Write, true, Moderate, RequireConfirmation}},
		{"built-in, nothing declared, says it destroys", installed(), own, SourceWorkbench, Hints{Destructive: yes}, Metadata{}, want{Write, true, Dangerous, RequireConfirmation}},
		{"built-in, declared safe", installed(), own, SourceWorkbench, Hints{}, Metadata{Access: Read, Risk: Safe, Approval: AutoApprove}, want{Read, true, Safe, AutoApprove}},
		{"built-in, declared to confirm", installed(), own, SourceWorkbench, Hints{}, Metadata{Category: "files"}, want{Write, false, Moderate, RequireConfirmation}},
		{"built-in, declared admin", installed(), own, SourceWorkbench, Hints{}, Metadata{Approval: RequireAuth}, want{Write, false, Moderate, RequireAuth}},
		{"no name lowers a declared admin", installed(), Tool{Server: "workbench", Name: "read_file"}, SourceWorkbench, Hints{}, Metadata{Approval: RequireAuth}, want{Read, true, Safe, RequireAuth}},
		{"built-in, declared to read", installed(), own, SourceWorkbench, Hints{}, Metadata{Access: Read, Approval: AutoApprove}, want{Read, true, Moderate, AutoApprove}},
		{"the name beats what is declared", installed(), Tool{Server: "workbench", Name: "delete_file"}, SourceWorkbench, Hints{}, Metadata{Access: Read, Risk: Safe, Approval: AutoApprove}, want{Write, true, Dangerous, RequireConfirmation}},

		{"R18, R26 fresh server", installed(), mcp, SourceMCP, Hints{}, Metadata{}, want{Write, false, Moderate, RequireConfirmation}},
		{"R16 untrusted read-only", installed(), mcp, SourceMCP, Hints{ReadOnly: yes, Destructive: no}, Metadata{}, want{Write, false, Moderate, RequireConfirmation}},
		{"untrusted destructive", installed(), mcp, SourceMCP, Hints{Destructive: yes}, Metadata{}, want{Write, false, Dangerous, RequireConfirmation}},
		{"metadata of a stranger only raises", installed(), mcp, SourceMCP, Hints{}, Metadata{Access: Read, Risk: Safe, Approval: AutoApprove}, want{Write, false, Moderate, RequireConfirmation}},
		{"metadata of a stranger raises", installed(), mcp, SourceMCP, Hints{}, Metadata{Risk: Dangerous, Approval: RequireAuth}, want{Write, false, Dangerous, RequireAuth}},
		{"R16 trusted read-only", trusted, mcp, SourceMCP, Hints{ReadOnly: yes}, Metadata{}, want{Read, true, Safe, AutoApprove}},
		{"trusted read-only of the open world", trusted, mcp, SourceMCP, Hints{ReadOnly: yes, OpenWorld: yes}, Metadata{}, want{Read, true, Moderate, RequireConfirmation}},
		{"trusted, contradicting itself", trusted, mcp, SourceMCP, Hints{ReadOnly: yes, Destructive: yes}, Metadata{}, want{Write, false, Dangerous, RequireConfirmation}},
		{"R17 trusted write", trusted, mcp, SourceMCP, Hints{ReadOnly: no, Destructive: no}, Metadata{}, want{Write, true, Moderate, RequireConfirmation}},
		{"trusted, silent", trusted, mcp, SourceMCP, Hints{}, Metadata{}, want{Write, false, Moderate, RequireConfirmation}},
		{"trusted read-only with a writer's name", trusted, Tool{Server: "files", Name: "delete_file"}, SourceMCP, Hints{ReadOnly: yes}, Metadata{}, want{Write, true, Dangerous, RequireConfirmation}},
		{"trusted read-only, operator says it writes", tooled(trusted, "files", "thing", ToolSettings{Access: new(Write)}), mcp, SourceMCP, Hints{ReadOnly: yes}, Metadata{}, want{Write, true, Moderate, RequireConfirmation}},
		{"trusted read-only, operator says dangerous", tooled(trusted, "files", "thing", ToolSettings{Risk: new(Dangerous)}), mcp, SourceMCP, Hints{ReadOnly: yes}, Metadata{}, want{Read, true, Dangerous, RequireConfirmation}},
		{"trusted read-only, changed", tooled(trusted, "files", "thing", ToolSettings{Accepted: "d0"}), mcp, SourceMCP, Hints{ReadOnly: yes}, Metadata{}, want{Write, false, Moderate, RequireConfirmation}},

		{"R19 operator's word, looser", tooled(installed(), "files", "delete_file", ToolSettings{Access: new(Read), Risk: new(Safe), Approval: new(AutoApprove)}), Tool{Server: "files", Name: "delete_file"}, SourceMCP, Hints{Destructive: yes}, Metadata{}, want{Read, true, Safe, AutoApprove}},
		{"R19 operator's word, stricter", tooled(installed(), "workbench", "read_file", ToolSettings{Access: new(Write), Risk: new(Dangerous), Approval: new(RequireAuth)}), Tool{Server: "workbench", Name: "read_file"}, SourceWorkbench, Hints{}, Metadata{}, want{Write, true, Dangerous, RequireAuth}},
		{"C5 safe does not mean unasked", tooled(installed(), "files", "thing", ToolSettings{Access: new(Read), Risk: new(Safe)}), mcp, SourceMCP, Hints{}, Metadata{}, want{Read, true, Safe, RequireConfirmation}},
		{"the operator's word was about another definition", tooled(installed(), "files", "thing", ToolSettings{Approval: new(AutoApprove), Accepted: "d0"}), mcp, SourceMCP, Hints{}, Metadata{}, want{Write, false, Moderate, RequireConfirmation}},
	} {
		e := c.p.Get(c.tool, c.src, c.h, c.m)
		if got := (want{e.Access, e.Classified, e.Risk, e.Approval}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if e.ConfirmationRequired() != (c.want.approval != AutoApprove) {
			t.Errorf("%s: confirmation required is %v", c.name, e.ConfirmationRequired())
		}
		req := call(c.tool)
		req.Source, req.Hints, req.Metadata = c.src, c.h, c.m
		if r := Evaluate(c.p, nil, req, noon); (r.Verdict == Allow) != (c.want.approval == AutoApprove) {
			t.Errorf("%s: rules %v by %s", c.name, r.Verdict, winner(t, r).Rule)
		}
	}
}

// What people read about a tool: the operator's words before the tool's own.
// R13 R21 R22 R23
func TestWordsOfATool(t *testing.T) {
	m := Metadata{Impact: "changes files", Category: "files", Message: "Write {{.args.path}}?"}
	req := call(files)
	req.Metadata, req.Args = m, []byte(`{"path":"a.txt"}`)
	r := Evaluate(installed(), nil, req, noon)
	if r.Impact != "changes files" || r.Category != "files" || r.Message != "Write a.txt?" {
		t.Errorf("%+v", r)
	}
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Message: "Sure about {{.args.path}}?", Impact: "i", Category: "c"})})
	r = Evaluate(p, nil, req, noon)
	if r.Impact != "i" || r.Category != "c" || r.Message != "Sure about a.txt?" {
		t.Errorf("%+v", r)
	}
	req.Metadata = Metadata{}
	if e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata); e.Metadata != nil {
		t.Error("metadata where there is none")
	}
	if e := p.Get(req.Tool, req.Source, req.Hints, m); e.Metadata == nil || *e.Metadata != m {
		t.Error("no metadata")
	}
	if r := Evaluate(installed(), nil, req, noon); r.Message != "" {
		t.Errorf("default message %q", r.Message)
	}
}

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
		{name: "trusted, set to read, and says nothing", tool: files, trusted: true, set: ToolSettings{Access: new(Read)}, approval: RequireConfirmation, from: FromDefault, risk: Moderate},
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
	if e := with(installed(), "files", ServerSettings{Trusted: true}).Get(files, SourceMCP, Hints{}, Metadata{}); e.AccessFrom != FromDefault {
		t.Errorf("trusted, and says nothing: access by %s", e.AccessFrom)
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
			if at, ok := c.(Setting); ok && at.Server != "" {
				out = append(out, at.String())
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
		if got := tmpl.Changes(with(installed(), "quiet", ServerSettings{Ask: NeverAsk, Trusted: true}), nil); slices.ContainsFunc(got, func(c Change) bool { at, ok := c.(Setting); return !ok || at.Server != "" }) {
			t.Errorf("%s: %v", tmpl.Name, got)
		}
	}
}

// A tool that no server stands for can be set nothing for.
func TestTemplatesLeaveOutWhatHasNoServer(t *testing.T) {
	for _, tmpl := range Templates() {
		for _, c := range tmpl.Changes(installed(), []Known{{Tool: Tool{"", "go", "d1"}, Hints: Hints{Destructive: yes}}}) {
			if at, ok := c.(Setting); !ok || at.Tool != "" || at.Field == "ask" {
				t.Errorf("%s: %s", tmpl.Name, c)
			}
		}
	}
}

// Where only what reads may run, the rest is disabled by that, and what is disabled otherwise says so.
func TestOnlyWhatReadsIsEnabled(t *testing.T) {
	for name, c := range map[string]struct {
		set  ToolSettings
		off  bool
		want Origin
	}{
		"reads":             {ToolSettings{Access: new(Read)}, false, ""},
		"writes":            {ToolSettings{Access: new(Write)}, false, FromReadsOnly},
		"nobody says":       {ToolSettings{}, false, FromReadsOnly},
		"disabled":          {ToolSettings{Disabled: true}, false, FromTool},
		"its server is off": {ToolSettings{}, true, FromServer},
	} {
		p := with(installed(), "files", ServerSettings{Disabled: c.off, Tools: tools("move_thing", c.set)})
		p.ReadsOnly = true
		if got := p.Get(files, SourceMCP, Hints{}, Metadata{}).Disabled; got != c.want {
			t.Errorf("%s: disabled by %q, want %q", name, got, c.want)
		}
	}
}
