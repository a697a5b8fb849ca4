package permission

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// What a card may offer beside "Allow once", by what policy says of the tool and of the chat.
func TestOffersOfACard(t *testing.T) {
	quorum := with(installed(), "files", ServerSettings{Rights: Rights{MinApprovals: new(People(2))}})
	strict := installed()
	strict.Strict = true
	for _, c := range []struct {
		name            string
		p               Policy
		mode            Mode
		grant, remember bool
	}{
		{"nothing set", installed(), ModeTool, true, true},
		{"this chat always asks", installed(), ModeAlways, true, true},
		{"strict, but this chat does not always ask", strict, ModeTool, true, true},
		{"strict, and this chat always asks", strict, ModeAlways, false, true},
		{"two people", quorum, ModeTool, false, false},
	} {
		req := call(files)
		req.Mode = c.mode
		r := Evaluate(c.p, nil, req, noon)
		if r.Verdict != Ask || r.ChatGrant != c.grant || r.Remember != c.remember {
			t.Errorf("%s: %v, chat %v, remember %v", c.name, r.Verdict, r.ChatGrant, r.Remember)
		}
	}
}

// The wider scopes of a card: each once, however many people may give it, and never the tool itself, which is another button.
func TestScopesOfACardAreOnce(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Access: new(Read)})})
	r := Evaluate(p, nil, call(files), noon)
	if want := []Scope{ScopeReads, ScopeWrites, ScopeServer}; !slices.Equal(r.Scopes, want) {
		t.Errorf("%v, want %v", r.Scopes, want)
	}
}

// An admin's word that a tool always asks is named before a person's own, which says the same.
func TestAnAdminsAlwaysIsNamed(t *testing.T) {
	for ask, rule := range map[Prompt]string{AlwaysAsk: RuleTool, NeverAsk: RuleRemembered, Inherit: RuleRemembered} {
		p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Ask: ask})})
		p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAsk}}
		if r := Evaluate(p, nil, call(files), noon); r.Verdict != Ask || r.Winner() != rule {
			t.Errorf("%v: %v by %s", ask, r.Verdict, r.Winner())
		}
	}
}

// Of several grants an unlimited one is taken before one whose uses are counted, and the first of the same kind; what covers is not
// named among what does not.
func TestWhichGrantIsTaken(t *testing.T) {
	free := func(id GrantID) Grant { g := grantOf(files); g.ID = id; return g }
	counted := func(id GrantID) Grant { g := free(id); g.Counted, g.Uses = true, 3; return g }
	for _, c := range []struct {
		name   string
		grants []Grant
		want   GrantID
	}{
		{"two free ones", []Grant{free("a"), free("b")}, "a"},
		{"two counted ones", []Grant{counted("a"), counted("b")}, "a"},
		{"a counted one first", []Grant{counted("a"), free("b")}, "b"},
		{"a free one first", []Grant{free("a"), counted("b")}, "a"},
	} {
		r := Evaluate(installed(), c.grants, call(files), noon)
		if r.Verdict != Allow || r.Grant != c.want {
			t.Errorf("%s: %v by %q, want %q", c.name, r.Verdict, r.Grant, c.want)
		}
		for _, x := range r.Reasons {
			if strings.Contains(x.Text, "does not cover") || x.Text == sayNoGrant {
				t.Errorf("%s: %q", c.name, x.Text)
			}
		}
	}
	wide := Grant{ID: "w", Chat: here, Scope: ScopeReads, Tool: Tool{Server: "files"}, By: ana, At: noon}
	r := Evaluate(installed(), []Grant{wide}, call(files), noon)
	if !slices.ContainsFunc(r.Reasons, func(x Reason) bool { return x.Ref == "w" && strings.Contains(x.Text, "does not cover") }) {
		t.Errorf("a wide grant that misses is not named: %+v", r.Reasons)
	}
}

// Whoever asked may not decide, where policy says so, also as an admin; others may.
func TestOthersOnly(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Rights: Rights{RequesterMayApprove: new(false)}})
	p.Approvers = Approvers{Rule: ApproversAnyone}
	for _, c := range []struct {
		requester, u chat.User
		may          bool
	}{{ana, ana, false}, {ana, ben, true}, {ana, boss, true}, {boss, boss, false}, {boss, ben, true}} {
		req := call(files)
		req.Requester = c.requester
		err := MayDecide(p, req, LevelUser, c.u)
		if (err == nil) != c.may {
			t.Errorf("%v asked, %v decides: %v", c.requester, c.u, err)
		}
		if err != nil && err.Error() != sayOthersOnly {
			t.Errorf("it says %q", err)
		}
	}
	if got := Deciders(p, call(files), LevelUser, nil); !slices.Equal(got, []string{sayAnyone}) {
		t.Errorf("anyone, but not themselves: %v", got)
	}
	// A name that somebody gave themselves is nobody else, whoever asked.
	eve, adam := chat.User{Platform: ana.Platform, Workspace: ana.Workspace, Key: "u-1"}, chat.User{Platform: ana.Platform, Workspace: ana.Workspace, Key: "u-2"}
	for _, c := range []struct {
		requester, u chat.User
		say          string
	}{{eve, eve, sayOthersOnly}, {eve, adam, saySelfNamed}, {ana, eve, saySelfNamed}, {eve, ana, ""}, {eve, boss, ""}} {
		req := call(files)
		req.Requester = c.requester
		if err := MayDecide(p, req, LevelUser, c.u); (err == nil) != (c.say == "") || err != nil && err.Error() != c.say {
			t.Errorf("%v asked, %v decides: %v, want %q", c.requester, c.u, err, c.say)
		}
		if err := MayDecide(with(installed(), "files", ServerSettings{Rights: Rights{Approvers: &Approvers{Rule: ApproversAnyone}}}), req, LevelUser, c.u); err != nil {
			t.Errorf("where it need be nobody else, %v may not: %v", c.u, err)
		}
	}
	p.Approvers = Approvers{}
	if got := Deciders(p, call(files), LevelUser, nil); !slices.Equal(got, []string{sayAnotherAdmin}) {
		t.Errorf("the requester, but not themselves: %v", got)
	}
}

// What a grant does not cover, one circumstance at a time: the grant covers without it, and the sentence names it.
func TestWhatEndsAGrant(t *testing.T) {
	always := call(files)
	always.Mode, always.ModeAt = ModeAlways, noon.Add(-2*noon.Sub(noon.Add(-1)))
	strict, quorum, halted := installed(), with(installed(), "files", ServerSettings{Rights: Rights{MinApprovals: new(People(2))}}), installed()
	strict.Strict, halted.Halted = true, &Halt{By: boss, At: noon}
	older := always
	older.ModeAt = noon
	for _, c := range []struct {
		name string
		p    Policy
		req  Request
		want string // "" covers
	}{
		{"nothing", installed(), call(files), ""},
		{"strict alone", strict, call(files), ""},
		{"halted", halted, call(files), "everything is halted"},
		{"several people", quorum, call(files), "several people must allow each call"},
		{"strict, always", strict, always, "this chat asks before every call"},
		{"always, set since", installed(), older, "it is older than this chat's setting to always ask"},
	} {
		g := grantOf(files)
		if c.want == "this chat asks before every call" {
			g.At = noon.Add(1) // given since: it is strictness that ends it
		}
		covers, why := Covers(c.p, g, c.req, noon)
		if covers != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %v, %q", c.name, covers, why)
		}
	}
}

// A choice that nobody made is nobody's: where the platform does not say who asks, nothing that was remembered counts.
func TestNobodyRemembers(t *testing.T) {
	p := installed()
	p.Remembered = []Remembered{{ID: "r1", Tool: files, Choice: StandDeny}}
	req := call(files)
	req.Requester = chat.User{}
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask {
		t.Errorf("%v: %s", r.Verdict, r.Why())
	}
}

// A person's allowance of just this definition satisfies what a change requires, unless an admin said that the tool, or its server
// where the tool has no setting of its own, always asks.
func TestAnAdminsAlwaysIsNotUndone(t *testing.T) {
	for _, c := range []struct {
		server, tool Prompt
		want         Verdict
	}{
		{Inherit, Inherit, Allow}, {Inherit, NeverAsk, Allow}, {Inherit, AlwaysAsk, Ask},
		{AlwaysAsk, Inherit, Ask}, {AlwaysAsk, NeverAsk, Allow}, {AlwaysAsk, AlwaysAsk, Ask},
		{NeverAsk, Inherit, Allow}, {NeverAsk, NeverAsk, Allow}, {NeverAsk, AlwaysAsk, Ask},
	} {
		p := with(installed(), "files", ServerSettings{Ask: c.server, Tools: tools("move_thing", ToolSettings{Ask: c.tool, Accepted: "d0"})})
		p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAllow}}
		if r := Evaluate(p, nil, call(files), noon); r.Verdict != c.want {
			t.Errorf("server %v, tool %v: %v, want %v (%s)", c.server, c.tool, r.Verdict, c.want, r.Why())
		}
	}
}

// A library user's AllowAll holds for running again, too; no definition at all is none to run again.
func TestRepeatAtTheEdges(t *testing.T) {
	always := ToolSettings{Repeat: RepeatAlways}
	p := with(Policy{AllowAll: true}, "files", ServerSettings{Tools: tools("move_thing", always)})
	if why, ok := MayRepeat(p, call(files), files.Definition); !ok {
		t.Errorf("allow all: %s", why)
	}
	nameless := files
	nameless.Definition = ""
	if why, ok := MayRepeat(with(installed(), "files", ServerSettings{Tools: tools("move_thing", always)}), call(nameless), ""); ok {
		t.Errorf("no definition: %s", why)
	}
	req := call(files)
	req.Hints = Hints{Destructive: yes}
	why, ok := MayRepeat(with(installed(), "files", ServerSettings{Trusted: true}), req, files.Definition)
	if ok || why != "nothing says that running it twice does no harm" {
		t.Errorf("destructive alone contradicts nothing: %v, %s", ok, why)
	}
}

// The sentences of a ruling, where two circumstances have sentences of their own.
func TestSentencesTellApart(t *testing.T) {
	reads := Hints{ReadOnly: yes}
	for _, c := range []struct {
		name  string
		p     Policy
		mode  Mode
		hints Hints
		want  string
	}{
		{"server disabled", with(installed(), "files", ServerSettings{Disabled: true}), ModeTool, Hints{}, "The server files is disabled (server setting)."},
		{"tool disabled", with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Disabled: true})}), ModeTool, Hints{}, "move_thing of files is disabled (tool setting)."},
		{"never", installed(), ModeNever, Hints{}, "This chat never asks (session setting)."},
		{"always", installed(), ModeAlways, Hints{}, "This chat asks before every call (session setting)."},
		{"tool never", with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Ask: NeverAsk})}), ModeTool, Hints{}, "move_thing of files never asks (tool setting)."},
		{"tool always", with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Ask: AlwaysAsk})}), ModeTool, Hints{}, "move_thing of files asks before every call (tool setting)."},
		{"server never", with(installed(), "files", ServerSettings{Ask: NeverAsk}), ModeTool, Hints{}, "files never asks (server setting)."},
		{"server always", with(installed(), "files", ServerSettings{Ask: AlwaysAsk}), ModeTool, Hints{}, "files asks before every call (server setting)."},
		{"not trusted", installed(), ModeTool, reads, "files says that move_thing only reads, but is not marked trusted."},
		{"believed", with(installed(), "files", ServerSettings{Trusted: true}), ModeTool, reads, "files is marked trusted and says that move_thing only reads."},
		{"contradicts itself", with(installed(), "files", ServerSettings{Trusted: true}), ModeTool, Hints{ReadOnly: yes, Destructive: yes}, "files says both that move_thing only reads and that it destroys."},
		{"set to write", with(installed(), "files", ServerSettings{Trusted: true, Tools: tools("move_thing", ToolSettings{Access: new(Write)})}), ModeTool, reads, "Tools of MCP servers ask unless a setting says otherwise."},
	} {
		req := call(files)
		req.Mode, req.Hints = c.mode, c.hints
		if got := Evaluate(c.p, nil, req, noon).Why(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An explanation says that an admin is asked only where somebody is asked at all, and what is stored keeps the reason that won.
func TestExplanationOfWhatIsForbidden(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireAuth)})})
	req := call(files)
	if got := Explain(p, nil, req, noon)[0]; got != "move_thing of files asks an admin first." {
		t.Error(got)
	}
	req.Unattended = true
	if got := Explain(p, nil, req, noon)[0]; got != "move_thing of files does not run." {
		t.Error(got)
	}
	silent := Ruling{Reasons: []Reason{{Rule: "a", Said: SaidNothing}, {Rule: "b", Said: SaidNothing, Won: true}, {Rule: "c", Said: SaidAsk}}}
	if got := silent.Brief().Reasons; len(got) != 2 || got[0].Rule != "b" || got[1].Rule != "c" {
		t.Errorf("%+v", got)
	}
}

// Groups that anything names, wherever it stands.
func TestNamesGroupsEverywhere(t *testing.T) {
	group := chat.User{Platform: "slack", Workspace: "T1", Key: "&G"}
	listed := &Approvers{Rule: ApproversListed, Users: []chat.User{ana, group}}
	unused := &Approvers{Rule: ApproversAnyone, Users: []chat.User{group}}
	for _, c := range []struct {
		name string
		p    Policy
		want bool
	}{
		{"none", with(Policy{}, "files", ServerSettings{Tools: tools("go", ToolSettings{})}), false},
		{"a server's", with(Policy{}, "files", ServerSettings{Rights: Rights{Approvers: listed}}), true},
		{"a tool's", with(Policy{}, "files", ServerSettings{Tools: tools("go", ToolSettings{Rights: Rights{Approvers: listed}})}), true},
		{"a rule that lists nobody", with(Policy{}, "files", ServerSettings{Rights: Rights{Approvers: unused}}), false},
		{"an admin's", Policy{Admins: []chat.User{group}}, true},
	} {
		if got := c.p.NamesGroups("slack"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.p.NamesGroups("discord") {
			t.Errorf("%s: on another platform", c.name)
		}
	}
}

// People without a key or a platform are nobody, wherever a policy lists them.
func TestValidateHalfPeople(t *testing.T) {
	for _, half := range []chat.User{{Platform: "slack"}, {Key: "U1"}} {
		p := Policy{Admins: []chat.User{half}}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "admins") {
			t.Errorf("admin %+v: %v", half, err)
		}
		p = Policy{Approvers: Approvers{Rule: ApproversListed, Users: []chat.User{half}}}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "approvers") {
			t.Errorf("approver %+v: %v", half, err)
		}
	}
}
