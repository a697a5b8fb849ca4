package permission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

var (
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	here  = chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1"}
	there = chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/2"}
	ana   = chat.User{Platform: "slack", Workspace: "T1", Key: "UANA"}
	ben   = chat.User{Platform: "slack", Workspace: "T1", Key: "UBEN"}
	boss  = chat.User{Platform: "slack", Workspace: "T1", Key: "UBOSS"}

	files = Tool{Server: "files", Name: "move_thing", Definition: "d1"}
	yes   = new(true)
	no    = new(false)
)

// installed is the least policy that rules anything.
func installed() Policy {
	return Policy{Installed: true, SurviveRestart: true, Timeout: time.Minute, Admins: []chat.User{boss}}
}

func call(t Tool) Request { return Request{Chat: here, Requester: ana, Tool: t} }

// with returns the policy with one server's settings.
func with(p Policy, server string, s ServerSettings) Policy {
	m := map[string]ServerSettings{server: s}
	for k, v := range p.Servers {
		if k != server {
			m[k] = v
		}
	}
	p.Servers = m
	return p
}

func tools(name string, t ToolSettings) map[string]ToolSettings {
	return map[string]ToolSettings{name: t}
}

func grantOf(t Tool) Grant {
	return Grant{ID: "g1", Chat: here, Tool: t, By: ana, Name: "Ana", At: noon.Add(-time.Minute)}
}

func winner(t *testing.T, r Ruling) Reason {
	t.Helper()
	var won []Reason
	for _, x := range r.Reasons {
		if x.Won {
			won = append(won, x)
		}
		if x.Rule == "" || x.Said == "" || !strings.HasSuffix(x.Text, ".") {
			t.Errorf("not a whole reason: %+v", x)
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d winners in %+v", len(won), r.Reasons)
	}
	return won[0]
}

// Document 000's resolution, all 18 rows, on a tool that asks by default. For whoever sets these settings, an admin, they hold to the
// letter; for anybody else the three in which a chat that never asks meets an admin's always ask.
// R2 R3 R4 R5 R6 R7
func TestResolutionOf000(t *testing.T) {
	const ask, run = Ask, Allow
	rows := []struct {
		session Mode
		server  Prompt
		tool    Prompt
		want    Verdict
		rule    string
	}{
		{ModeAlways, AlwaysAsk, Inherit, ask, RuleMode},
		{ModeAlways, AlwaysAsk, AlwaysAsk, ask, RuleMode},
		{ModeAlways, AlwaysAsk, NeverAsk, ask, RuleMode},
		{ModeAlways, NeverAsk, Inherit, ask, RuleMode},
		{ModeAlways, NeverAsk, AlwaysAsk, ask, RuleMode},
		{ModeAlways, NeverAsk, NeverAsk, ask, RuleMode},
		{ModeNever, AlwaysAsk, Inherit, run, RuleMode},
		{ModeNever, AlwaysAsk, AlwaysAsk, run, RuleMode},
		{ModeNever, AlwaysAsk, NeverAsk, run, RuleMode},
		{ModeNever, NeverAsk, Inherit, run, RuleMode},
		{ModeNever, NeverAsk, AlwaysAsk, run, RuleMode},
		{ModeNever, NeverAsk, NeverAsk, run, RuleMode},
		{ModeTool, AlwaysAsk, Inherit, ask, RuleServer},
		{ModeTool, AlwaysAsk, AlwaysAsk, ask, RuleTool},
		{ModeTool, AlwaysAsk, NeverAsk, run, RuleTool},
		{ModeTool, NeverAsk, Inherit, run, RuleServer},
		{ModeTool, NeverAsk, AlwaysAsk, ask, RuleTool},
		{ModeTool, NeverAsk, NeverAsk, run, RuleTool},
	}
	for _, row := range rows {
		name := fmt.Sprintf("%v %v %v", row.session, row.server, row.tool)
		p := with(installed(), "files", ServerSettings{Ask: row.server, Tools: tools("move_thing", ToolSettings{Ask: row.tool})})
		for _, who := range []chat.User{boss, ana} {
			want := row.want
			if always := row.tool == AlwaysAsk || row.tool == Inherit && row.server == AlwaysAsk; who == ana && row.session == ModeNever && always {
				want = ask
			}
			for _, byPolicy := range []bool{false, true} { // the mode of the session, and the same as the policy's default
				req := call(files)
				p.Mode, req.Requester = ModeTool, who
				if byPolicy {
					p.Mode = row.session
				} else {
					req.Mode = row.session
				}
				r := Evaluate(p, nil, req, noon)
				said := map[Verdict]string{ask: SaidRequired, run: SaidNotRequired}[want]
				if w := winner(t, r); r.Verdict != want || w.Rule != row.rule || w.Said != said {
					t.Errorf("%s: got %v by %s (%s), want %v by %s", name, r.Verdict, w.Rule, w.Said, want, row.rule)
				}
			}
		}
	}
}

// The session's mode wins over the policy's default, whichever way.
func TestModeOfSessionBeatsDefault(t *testing.T) {
	p := installed()
	p.Mode = ModeNever
	req := call(files)
	req.Mode = ModeAlways
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask {
		t.Errorf("session always under policy never: %v", r.Verdict)
	}
	p.Mode, req.Mode = ModeAlways, ModeNever
	if r := Evaluate(p, nil, req, noon); r.Verdict != Allow {
		t.Errorf("session never under policy always: %v", r.Verdict)
	}
}

// Each rule beats all that come after it. Every case sets everything below it to the opposite.
// R62 C3 C4
func TestOrder(t *testing.T) {
	loose := installed()
	loose.Mode = ModeNever
	loose = with(loose, "files", ServerSettings{Ask: NeverAsk, Trusted: true, Tools: tools("move_thing", ToolSettings{Ask: NeverAsk})})
	reads := call(files)
	reads.Hints = Hints{ReadOnly: yes}
	set := func(f func(*ServerSettings, *ToolSettings)) Policy {
		s := loose.Servers["files"]
		x := s.Tools["move_thing"]
		f(&s, &x)
		s.Tools = tools("move_thing", x)
		return with(loose, "files", s)
	}
	bare := loose
	bare.Installed = false
	all := bare
	all.AllowAll = true
	always := reads
	always.Mode = ModeAlways
	for _, c := range []struct {
		name  string
		p     Policy
		req   Request
		want  Verdict
		level Level
		rule  string
	}{
		{"no policy", bare, reads, Forbid, LevelUser, RulePolicy},
		{"allow all", all, always, Allow, LevelUser, RuleAllowAll},
		{"server disabled", set(func(s *ServerSettings, _ *ToolSettings) { s.Disabled = true }), reads, Forbid, LevelUser, RuleDisabled},
		{"tool disabled", set(func(_ *ServerSettings, x *ToolSettings) { x.Disabled = true }), reads, Forbid, LevelUser, RuleDisabled},
		{"disabled beats RequireAuth", set(func(_ *ServerSettings, x *ToolSettings) { x.Disabled, x.Approval = true, new(RequireAuth) }), reads, Forbid, LevelUser, RuleDisabled},
		{"RequireAuth", set(func(_ *ServerSettings, x *ToolSettings) { x.Approval = new(RequireAuth) }), reads, Ask, LevelAdmin, RuleRequireAuth},
		{"changed definition", set(func(_ *ServerSettings, x *ToolSettings) { x.Accepted = "d0" }), reads, Ask, LevelUser, RuleDefinition},
		{"accepted definition", set(func(_ *ServerSettings, x *ToolSettings) { x.Accepted = "d1" }), reads, Allow, LevelUser, RuleMode},
		{"session", loose, always, Ask, LevelUser, RuleMode},
	} {
		r := Evaluate(c.p, nil, c.req, noon)
		if w := winner(t, r); r.Verdict != c.want || r.Level != c.level || w.Rule != c.rule {
			t.Errorf("%s: got %v %v by %s, want %v %v by %s", c.name, r.Verdict, r.Level, w.Rule, c.want, c.level, c.rule)
		}
	}
}

// AllowAll answers a person's prompts; it does not bypass what is disabled or what needs an admin (R62, R113).
// R62 R113
func TestAllowAllKeepsDisabledAndAdmin(t *testing.T) {
	p := with(Policy{AllowAll: true}, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Disabled: true})})
	if r := Evaluate(p, nil, call(files), noon); r.Verdict != Forbid {
		t.Errorf("disabled: %v", r.Verdict)
	}
	p = with(Policy{AllowAll: true}, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireAuth)})})
	if r := Evaluate(p, nil, call(files), noon); r.Verdict != Ask || r.Level != LevelAdmin {
		t.Errorf("admin: %v %v", r.Verdict, r.Level)
	}
}

// Nothing that a person can set or click runs a RequireAuth tool, and the zero policy runs nothing.
// R39 R113 C3 C10
func TestRequireAuthIsFinal(t *testing.T) {
	for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
		for _, server := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
			for _, tool := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
				for _, scope := range []Scope{ScopeTool, ScopeReads, ScopeWrites, ScopeServer} {
					p := with(installed(), "files", ServerSettings{Ask: server, Trusted: true, Tools: tools("move_thing", ToolSettings{Ask: tool, Approval: new(RequireAuth), ChatGrant: yes})})
					req := call(files)
					req.Mode, req.Hints = mode, Hints{ReadOnly: yes}
					g := grantOf(files)
					g.Scope, g.Tools, g.By = scope, []Tool{files}, boss
					r := Evaluate(p, []Grant{g}, req, noon)
					if r.Verdict != Ask || r.Level != LevelAdmin || r.ChatGrant || r.Approval != RequireAuth {
						t.Fatalf("%v %v %v %v: %+v", mode, server, tool, scope, r)
					}
					winner(t, r)
				}
			}
		}
	}
	g := grantOf(files)
	if r := Evaluate(Policy{}, []Grant{g}, call(files), noon); r.Verdict != Forbid {
		t.Errorf("zero policy: %v", r.Verdict)
	}
}

// 5.15: whatever would ask is forbidden where nobody can be asked; what needs nobody runs.
// R175
func TestUnattended(t *testing.T) {
	req := call(files)
	req.Unattended = true
	r := Evaluate(installed(), []Grant{grantOf(files)}, req, noon) // 5.10: it inherits no grant
	if w := winner(t, r); r.Verdict != Forbid || w.Rule != RuleUnattended || r.ChatGrant {
		t.Errorf("user level: %+v", r)
	}
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireAuth)})})
	if r := Evaluate(p, nil, req, noon); r.Verdict != Forbid || winner(t, r).Rule != RuleUnattended {
		t.Errorf("admin level: %+v", r)
	}
	p = with(installed(), "files", ServerSettings{Ask: NeverAsk})
	if r := Evaluate(p, nil, req, noon); r.Verdict != Allow {
		t.Errorf("never asks: %+v", r)
	}
}

func TestChatGrantIsOffered(t *testing.T) {
	if r := Evaluate(installed(), nil, call(files), noon); !r.ChatGrant {
		t.Error("not offered")
	}
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{ChatGrant: no})})
	r := Evaluate(p, []Grant{grantOf(files)}, call(files), noon)
	if r.ChatGrant || r.Verdict != Ask {
		t.Errorf("withheld: %+v", r)
	}
}

// Tool, then server, then policy; 0 parks at each of them.
// R114 R115 R116 R151 C9
func TestTimeout(t *testing.T) {
	d := func(s int) *time.Duration { x := time.Duration(s) * time.Second; return &x }
	for _, c := range []struct {
		server, tool *time.Duration
		want         time.Duration
		from         Origin
	}{
		{nil, nil, time.Minute, FromDefault},
		{d(120), nil, 120 * time.Second, FromServer},
		{d(120), d(5), 5 * time.Second, FromTool},
		{nil, d(0), 0, FromTool},
		{d(0), nil, 0, FromServer},
	} {
		p := with(installed(), "files", ServerSettings{Timeout: c.server, Tools: tools("move_thing", ToolSettings{Timeout: c.tool})})
		req := call(files)
		r, from := Evaluate(p, nil, req, noon), p.Get(req.Tool, req.Source, req.Hints, req.Metadata).TimeoutFrom
		if r.Timeout != c.want || from != c.from {
			t.Errorf("got %v from %v, want %v from %v", r.Timeout, from, c.want, c.from)
		}
		lines := Explain(p, nil, req, noon)
		if last := lines[len(lines)-1]; !strings.Contains(last, string(c.from)) {
			t.Errorf("explanation: %q", last)
		}
	}
}

// The sentences of a ruling are what a card and /permissions why print.
// R150
func TestReasonsAndExplain(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Ask: AlwaysAsk})
	other := grantOf(Tool{Server: "files", Name: "move_thing", Definition: "d0"})
	got := strings.Join(Explain(p, []Grant{other}, call(files), noon), "\n")
	want := `move_thing of files asks first.
  1. disabled: It is not disabled. (no opinion)
  2. require_auth: It does not need an admin. (no opinion)
  3. mode: This chat uses each tool's setting. (no opinion)
  4. tool: The tool has no setting of its own. (no opinion)
→ 5. server: files asks before every call (server setting). (required)
  6. grant: The grant of move_thing of files does not cover this: the tool's definition changed since. (no opinion)
access: write, unclassified (default)
risk: moderate (default)
approval: RequireConfirmation (default)
timeout: 1m0s (default)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p2 := with(Policy{Installed: true}, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Access: new(Read), Approval: new(RequireAuth)})})
	got = strings.Join(Explain(p2, nil, call(files), noon), "\n")
	want = `move_thing of files asks an admin first.
  1. disabled: It is not disabled. (no opinion)
→ 2. require_auth: move_thing of files needs an admin for each call (tool setting). (ask)
access: read (tool setting)
risk: moderate (default)
approval: RequireAuth (tool setting)
timeout: none: it waits until somebody answers (default)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p3 := installed()
	p3.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAllow, Until: noon}}
	got = strings.Join(Explain(p3, nil, call(files), noon), "\n")
	want = `move_thing of files asks first.
  1. disabled: It is not disabled. (no opinion)
  2. require_auth: It does not need an admin. (no opinion)
  3. mode: This chat uses each tool's setting. (no opinion)
  4. tool: The tool has no setting of its own. (no opinion)
  5. server: The server has no setting of its own. (no opinion)
  6. approval: No approval is set for the tool. (no opinion)
  7. named: Its name decides nothing. (no opinion)
→ 8. source: Tools of MCP servers ask unless a setting says otherwise. (required)
  9. grant: No grant of this chat is for it. (no opinion)
  10. remembered: The remembered choice about move_thing of files does not satisfy this: it has run out. (no opinion)
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r := Evaluate(p, []Grant{grantOf(files)}, call(files), noon)
	if r.Verdict != Allow || r.Grant != "g1" || r.Why() != "Ana allowed move_thing of files in this chat." {
		t.Errorf("granted: %+v", r)
	}
	if b := r.Brief(); len(b.Reasons) != 2 || b.Reasons[0].Rule != RuleServer || b.Why() != r.Why() {
		t.Errorf("brief: %+v", b.Reasons)
	}
}

// An unlimited grant is used before one whose uses are counted; many that do not cover are summed up.
func TestChoiceOfGrant(t *testing.T) {
	counted, free := grantOf(files), grantOf(files)
	counted.ID, counted.Counted, counted.Uses = "counted", true, 2
	free.ID = "free"
	if r := Evaluate(installed(), []Grant{counted, free}, call(files), noon); r.Grant != "free" {
		t.Errorf("used %q", r.Grant)
	}
	if r := Evaluate(installed(), []Grant{counted}, call(files), noon); r.Grant != "counted" {
		t.Errorf("used %q", r.Grant)
	}
	old := grantOf(Tool{Server: "files", Name: "move_thing", Definition: "d0"})
	r := Evaluate(installed(), []Grant{old, old, old, old, old, old, old}, call(files), noon)
	if n := len(r.Reasons); r.Verdict != Ask || r.Reasons[n-1].Text != "3 more grants do not cover this either." {
		t.Errorf("%+v", r.Reasons[n-1])
	}
}

// Values that are none of the constants are taken for the careful one.
func TestUnknownValuesAreCareful(t *testing.T) {
	set := func(s ToolSettings) Policy {
		return with(installed(), "files", ServerSettings{Ask: NeverAsk, Trusted: true, Tools: tools("move_thing", s)})
	}
	req := call(files)
	if r := Evaluate(set(ToolSettings{Ask: 9}), nil, req, noon); r.Verdict != Ask {
		t.Error("prompt", r.Verdict)
	}
	if r := Evaluate(set(ToolSettings{Approval: new(Approval(9))}), nil, req, noon); r.Level != LevelAdmin {
		t.Error("approval", r.Level)
	}
	if r := Evaluate(set(ToolSettings{Risk: new(Risk(9))}), nil, req, noon); r.Risk != Dangerous {
		t.Error("risk", r.Risk)
	}
	if e := set(ToolSettings{Access: new(All)}).Get(files, SourceMCP, Hints{}, Metadata{}); e.Access != Write || e.Classified {
		t.Error("access", e.Access)
	}
	req.Mode, req.ModeAt = 9, noon
	if r := Evaluate(set(ToolSettings{}), []Grant{grantOf(files)}, req, noon); r.Verdict != Ask {
		t.Error("mode", r.Verdict)
	}
	req = call(Tool{Server: "x", Name: "read_file"})
	req.Source = 9
	if r := Evaluate(installed(), nil, req, noon); r.Verdict != Ask {
		t.Error("source", r.Verdict)
	}
	if e := installed().Get(req.Tool, 9, Hints{}, Metadata{}); e.Source != SourceMCP {
		t.Error("source", e.Source)
	}
	p := installed()
	p.Posture = 9
	req.Source = SourceWorkbench
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask {
		t.Error("posture", r.Verdict)
	}
}

// The last rules of C4, each with the sentence that people read.
func TestWhoDecidedByDefault(t *testing.T) {
	trusted := with(installed(), "files", ServerSettings{Trusted: true})
	approved := func(a Approval) Policy {
		return with(installed(), "files", ServerSettings{Tools: tools("delete_file", ToolSettings{Approval: new(a)})})
	}
	posture := installed()
	posture.Posture = PostureAll
	for _, c := range []struct {
		p    Policy
		src  Source
		name string
		h    Hints
		m    Metadata
		rule string
		text string
	}{
		{approved(AutoApprove), SourceMCP, "delete_file", Hints{}, Metadata{}, RuleApproval, "delete_file of files needs no confirmation (tool setting)."},
		{approved(RequireConfirmation), SourceMCP, "delete_file", Hints{}, Metadata{}, RuleApproval, "delete_file of files needs confirmation (tool setting)."},
		{installed(), SourceMCP, "delete_file", Hints{}, Metadata{}, RuleNamed, "Tools called delete_file need confirmation (nod's list of well-known tools)."},
		{installed(), SourceWorkbench, "delete_file", Hints{}, Metadata{}, RuleNamed, "Tools called delete_file need confirmation (nod's list of well-known tools)."},
		{installed(), SourceWorkbench, "read_file", Hints{}, Metadata{}, RuleNamed, "The built-in read_file needs no confirmation (nod's list of well-known tools)."},
		{posture, SourceWorkbench, "read_file", Hints{}, Metadata{}, RuleSource, "Built-in tools ask, too (posture: all)."},
		{installed(), SourceWorkbench, "x", Hints{}, Metadata{Access: Write}, RuleSource, "The built-in x needs confirmation (the tool's metadata)."},
		{installed(), SourceWorkbench, "x", Hints{}, Metadata{Approval: AutoApprove}, RuleSource, "The built-in x needs no confirmation (the tool's metadata)."},
		{installed(), SourceWorkbench, "x", Hints{}, Metadata{}, RuleSource, "The built-in x needs no confirmation (default)."},
		{installed(), SourceMCP, "read_file", Hints{}, Metadata{}, RuleSource, "Tools of MCP servers ask unless a setting says otherwise."},
		{installed(), SourceMCP, "x", Hints{ReadOnly: yes}, Metadata{}, RuleSource, "files says that x only reads, but is not marked trusted."},
		{trusted, SourceMCP, "x", Hints{ReadOnly: yes, Destructive: yes}, Metadata{}, RuleSource, "files says both that x only reads and that it destroys."},
		{trusted, SourceMCP, "x", Hints{ReadOnly: yes}, Metadata{}, RuleSource, "files is marked trusted and says that x only reads."},
		{trusted, SourceMCP, "x", Hints{}, Metadata{}, RuleSource, "Tools of MCP servers ask unless a setting says otherwise."},
	} {
		req := call(Tool{"files", c.name, "d1"})
		req.Source, req.Hints, req.Metadata = c.src, c.h, c.m
		if w := winner(t, Evaluate(c.p, nil, req, noon)); w.Rule != c.rule || w.Text != c.text {
			t.Errorf("got  %s %s\nwant %s %s", w.Rule, w.Text, c.rule, c.text)
		}
	}
}

// Grants that are about something else are not worth a word in a ruling that is stored.
func TestReasonsNameOnlyNearGrants(t *testing.T) {
	elsewhere, otherServer, otherTool := grantOf(files), grantOf(Tool{"x", "move_thing", "d1"}), grantOf(Tool{"files", "x", "d1"})
	elsewhere.Chat = there
	r := Evaluate(installed(), []Grant{elsewhere, otherServer, otherTool}, call(files), noon)
	var said []string
	for _, x := range r.Reasons {
		if x.Rule == RuleGrant {
			said = append(said, x.Text)
		}
	}
	if len(said) != 1 || said[0] != "No grant of this chat is for it." {
		t.Errorf("%q", said)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p := with(installed(), "files", ServerSettings{Ask: AlwaysAsk})
	grants := []Grant{grantOf(Tool{"files", "move_thing", "d0"}), grantOf(files)}
	req := call(files)
	b.ReportAllocs()
	for b.Loop() {
		Evaluate(p, grants, req, noon)
	}
}
