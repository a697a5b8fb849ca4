package permission

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// scene is one row of the exhaustive product, in the words of the documents and none of the package's own helpers.
type scene struct {
	session, deflt  Mode
	server, tool    Prompt
	approval        string // the tool's approval setting: "", "auto", "confirm", "auth"
	disabled        bool
	trusted         bool
	builtin         bool
	name            string // "plain", "read_file", "delete_file", "system_shutdown"
	readOnly        bool   // annotation
	destroys        bool   // annotation
	meta            string // built-in only: "", "auto", "confirm"
	postureAll      bool
	grant           string // "", "good", "before Always", "of another definition"
	nobody          bool   // unattended
	noPolicy, allow bool
}

// second is a deliberately dumb reading of C4, one sentence after the other.
func second(s scene) (Verdict, Level) {
	if s.noPolicy && !s.allow {
		return Forbid, LevelUser
	}
	if s.disabled {
		return Forbid, LevelUser
	}

	// RequireAuth → Ask (admin), final.
	auth := s.approval == "auth"
	if s.name == "system_shutdown" && s.approval == "" {
		auth = true
	}
	if auth {
		if s.nobody {
			return Forbid, LevelAdmin
		}
		return Ask, LevelAdmin
	}
	if s.allow {
		return Allow, LevelUser
	}

	adminsAlways := s.tool == AlwaysAsk || s.tool == Inherit && s.server == AlwaysAsk
	required := func() bool {
		// session mode
		if s.session == ModeAlways {
			return true
		}
		if s.session == ModeNever {
			return adminsAlways
		}
		if s.deflt == ModeAlways {
			return true
		}
		if s.deflt == ModeNever {
			return adminsAlways
		}
		// tool setting
		if s.tool == AlwaysAsk {
			return true
		}
		if s.tool == NeverAsk {
			return false
		}
		// server setting
		if s.server == AlwaysAsk {
			return true
		}
		if s.server == NeverAsk {
			return false
		}
		// what the operator says the tool needs
		if s.approval == "auto" {
			return false
		}
		if s.approval == "confirm" {
			return true
		}
		// named table: lowers for the workbench, raises for everybody
		if s.name == "delete_file" {
			return true
		}
		if s.name == "read_file" && s.builtin && !s.postureAll {
			return false
		}
		// source default
		if s.builtin {
			if s.postureAll {
				return true
			}
			if s.meta == "auto" {
				return false
			}
			if s.meta == "confirm" {
				return true
			}
			return s.destroys // R15, unless it says itself that it destroys
		}
		if s.trusted && s.readOnly && !s.destroys {
			return false
		}
		return true
	}
	if !required() {
		return Allow, LevelUser
	}
	if s.nobody {
		return Forbid, LevelUser
	}
	always := s.session == ModeAlways || s.session == ModeTool && s.deflt == ModeAlways
	if s.grant == "good" || s.grant == "before Always" && !always {
		return Allow, LevelUser
	}
	return Ask, LevelUser
}

// build turns a scene into what Evaluate takes.
func (s scene) build() (Policy, []Grant, Request) {
	tool := Tool{Server: "srv", Name: s.name, Definition: "d"}
	set := ToolSettings{Ask: s.tool, Disabled: s.disabled}
	switch s.approval {
	case "auto":
		set.Approval = new(AutoApprove)
	case "confirm":
		set.Approval = new(RequireConfirmation)
	case "auth":
		set.Approval = new(RequireAuth)
	}
	p := Policy{Installed: !s.noPolicy, AllowAll: s.allow, Mode: s.deflt, SurviveRestart: true,
		Servers: map[string]ServerSettings{"srv": {Ask: s.server, Trusted: s.trusted, Tools: tools(s.name, set)}}}
	if s.postureAll {
		p.Posture = PostureAll
	}
	req := Request{Chat: here, Requester: ana, Mode: s.session, ModeAt: noon, Tool: tool, Unattended: s.nobody}
	if s.builtin {
		req.Source = SourceWorkbench
	}
	if s.readOnly {
		req.Hints.ReadOnly = yes
	}
	if s.destroys {
		req.Hints.Destructive = yes
	}
	switch s.meta {
	case "auto":
		req.Metadata = Metadata{Access: Read, Risk: Safe, Approval: AutoApprove}
	case "confirm":
		req.Metadata = Metadata{Access: Write, Approval: RequireConfirmation}
	}
	g := Grant{ID: "g", Chat: here, Tool: tool, By: ana, At: noon.Add(time.Second)}
	switch s.grant {
	case "":
		return p, nil, req
	case "before Always":
		g.At = noon.Add(-time.Second)
	case "of another definition":
		g.Tool.Definition = "d0"
	}
	return p, []Grant{g}, req
}

// R165 C4
func TestAgainstTheSecondImplementation(t *testing.T) {
	rows, verdicts := 0, map[Verdict]int{}
	check := func(s scene) {
		p, grants, req := s.build()
		r := Evaluate(p, grants, req, noon.Add(time.Minute))
		rows++
		verdicts[r.Verdict]++
		if v, l := second(s); r.Verdict != v || r.Level != l {
			t.Fatalf("%+v\ngot %v %v, the second implementation says %v %v\n%+v", s, r.Verdict, r.Level, v, l, r.Reasons)
		}
		won := 0
		for _, x := range r.Reasons {
			if x.Won {
				won++
			}
		}
		if won != 1 || (r.Grant != "") != (r.Verdict == Allow && s.grant != "" && r.Why() != "" && r.Reasons[len(r.Reasons)-1].Rule == RuleGrant) {
			t.Fatalf("%+v\n%+v", s, r)
		}
	}
	bools := []bool{false, true}
	each := func(s scene) {
		for _, s.approval = range []string{"", "auto", "confirm", "auth"} {
			for _, s.disabled = range bools {
				for _, s.grant = range []string{"", "good", "before Always", "of another definition"} {
					for _, s.nobody = range bools {
						check(s)
					}
				}
			}
		}
	}
	kinds := func(s scene, do func(scene)) {
		for _, s.name = range []string{"plain", "read_file", "delete_file", "system_shutdown"} {
			for _, s.readOnly = range bools {
				for _, s.destroys = range bools {
					s.builtin, s.meta, s.postureAll = false, "", false
					for _, s.trusted = range bools {
						do(s)
					}
					s.builtin, s.trusted = true, false
					for _, s.meta = range []string{"", "auto", "confirm"} {
						for _, s.postureAll = range bools {
							do(s)
						}
					}
				}
			}
		}
	}
	for _, session := range []Mode{ModeTool, ModeAlways, ModeNever} {
		for _, deflt := range []Mode{ModeTool, ModeAlways, ModeNever} {
			for _, server := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
				for _, tool := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
					s := scene{session: session, deflt: deflt, server: server, tool: tool}
					if session != ModeTool && deflt != ModeTool || testing.Short() && deflt != ModeTool {
						continue // the session's mode hides the default: one row is enough
					}
					kinds(s, each)
				}
			}
		}
	}
	kinds(scene{noPolicy: true}, each)
	kinds(scene{noPolicy: true, allow: true, session: ModeAlways, server: AlwaysAsk}, each)
	kinds(scene{allow: true}, each)
	t.Logf("%d rows: %v", rows, verdicts)
	for _, v := range []Verdict{Ask, Allow, Forbid} {
		if verdicts[v] < rows/20 {
			t.Errorf("only %d rows are %v", verdicts[v], v)
		}
	}
}

// Nobody alone turns off that others have to look, that an admin asks, or that a tool is looked at first.
func TestNeverAskIsAboutOnesOwnQuestionsAlone(t *testing.T) {
	t.Parallel()
	two, no := People(2), false
	tool := func(set ToolSettings) func(*Policy, *Request) {
		return func(p *Policy, _ *Request) { *p = with(*p, "files", ServerSettings{Tools: tools("move_thing", set)}) }
	}
	listed := Approvers{Rule: ApproversListed, Users: []chat.User{ben}}
	for name, x := range map[string]struct {
		change func(*Policy, *Request)
		want   Verdict
		says   string
	}{
		"nothing of that":             {func(*Policy, *Request) {}, Allow, "never asks"},
		"several":                     {func(p *Policy, _ *Request) { p.Rights.MinApprovals = &two }, Ask, "several people"},
		"others":                      {func(p *Policy, _ *Request) { p.Rights.RequesterMayApprove = &no }, Ask, "somebody else"},
		"a list":                      {func(p *Policy, _ *Request) { p.Approvers = listed }, Ask, "somebody else"},
		"a list for the tool":         {tool(ToolSettings{Rights: Rights{Approvers: &listed}}), Ask, "somebody else"},
		"a list that names who asks":  {func(p *Policy, r *Request) { p.Approvers = listed; r.Requester = ben }, Allow, "never asks"},
		"an admin who asks":           {func(p *Policy, r *Request) { p.Approvers = listed; r.Requester = boss }, Allow, "never asks"},
		"an admin's always":           {tool(ToolSettings{Ask: AlwaysAsk}), Ask, "an admin set"},
		"an admin's own always":       {func(p *Policy, r *Request) { tool(ToolSettings{Ask: AlwaysAsk})(p, r); r.Requester = boss }, Allow, "never asks"},
		"the server's always":         {func(p *Policy, _ *Request) { *p = with(*p, "files", ServerSettings{Ask: AlwaysAsk}) }, Ask, "an admin set"},
		"a new tool":                  {tool(ToolSettings{New: true}), Ask, "no admin has accepted"},
		"a new tool, asked by admins": {func(p *Policy, r *Request) { tool(ToolSettings{New: true})(p, r); r.Requester = boss }, Ask, "no admin has accepted"},
		"a new tool without admins":   {func(p *Policy, r *Request) { tool(ToolSettings{New: true})(p, r); p.Admins = nil }, Allow, "never asks"},
		"others, of what runs anyway": {func(p *Policy, r *Request) { tool(ToolSettings{Ask: NeverAsk})(p, r); p.Approvers = listed }, Allow, "tool setting"},
	} {
		for _, ofSession := range []bool{true, false} { // set in the chat, and configured for every chat
			p, req := installed(), call(files)
			p.Mode = ModeNever
			if ofSession {
				p.Mode, req.Mode = ModeTool, ModeNever
			}
			x.change(&p, &req)
			if r := Evaluate(p, nil, req, noon); r.Verdict != x.want || !strings.Contains(r.Why(), x.says) {
				t.Errorf("%s (session %v): %v, %s", name, ofSession, r.Verdict, r.Why())
			}
		}
	}
}
