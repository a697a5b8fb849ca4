package permission

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// in is a call in a place.
func in(t testing.TB, where string, tool Tool) Request {
	t.Helper()
	p, err := ParsePlace(where)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Chat: chat.ID{Platform: p.Platform, Workspace: p.Workspace, Key: "any"}, Channel: chat.Channel(where), Requester: ana, Tool: tool}
}

// local says something of places, in the words of the configuration: "files/move_thing ask never".
func local(t testing.TB, where string, says ...string) Local {
	t.Helper()
	var l Local
	for at := range strings.FieldsSeq(where) {
		p, err := ParsePlace(at)
		if err != nil || p.String() != at {
			t.Fatal(at, p, err)
		}
		l.In = append(l.In, p)
	}
	for _, s := range says {
		l.Set = append(l.Set, setting(t, s))
	}
	return l
}

func setting(t testing.TB, says string) Setting {
	t.Helper()
	f := strings.Fields(says)
	at, fields := "", f
	if len(f) == 3 {
		at, fields = f[0], f[1:]
	}
	server, tool, _ := strings.Cut(at, "/")
	s := Setting{Server: server, Tool: tool, Field: fields[0], Value: fields[1]}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

// asSet is the policy once an admin set this from a chat.
func asSet(t testing.TB, p Policy, says ...string) Policy {
	t.Helper()
	var s Settings
	for _, x := range says {
		s, _ = s.Apply(setting(t, x), boss, "Ada", noon)
	}
	return s.Over(p)
}

// What is said of a place holds there and nowhere else, for threads, direct messages and the page as for a channel; the narrower place goes over
// the wider one.
func TestPlaces(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Ask: NeverAsk})})
	p.Locals = []Local{
		local(t, "slack:T1:C1 discord:100:200", "files/move_thing ask never"),
		local(t, "slack:T1 slack:T3", "files ask always", "files approvers anyone"),
		local(t, "slack:T3", "files enabled false"),
		local(t, "slack:T3:C3", "files enabled true"),
		local(t, "discord", "files enabled false"),
		local(t, "web", "reads_only true"),
	}
	elsewhere := in(t, "slack:T1:C1", files)
	elsewhere.Chat.Workspace = "T2" // what says that it is in a channel of another workspace is in neither
	direct := in(t, "slack:T1", files)
	direct.Channel = ""
	for name, c := range map[string]struct {
		req  Request
		want Verdict
		rule string
	}{
		"the channel":                      {in(t, "slack:T1:C1", files), Allow, RuleTool},
		"another of its workspace":         {in(t, "slack:T1:C2", files), Ask, RuleTool},
		"a name that begins like it":       {in(t, "slack:T1:C11", files), Ask, RuleTool},
		"a direct message":                 {direct, Ask, RuleTool},
		"another workspace":                {in(t, "slack:T2:C1", files), Allow, RuleTool},
		"a channel of another workspace":   {elsewhere, Allow, RuleTool},
		"a channel of two":                 {in(t, "discord:100:200", files), Forbid, RuleDisabled},
		"the same IDs on another platform": {in(t, "discord:T1:C1", files), Forbid, RuleDisabled},
		"a workspace without":              {in(t, "slack:T3:C1", files), Forbid, RuleDisabled},
		"and a channel of it with":         {in(t, "slack:T3:C3", files), Ask, RuleTool},
		"the page":                         {in(t, "web", files), Forbid, RuleDisabled},
	} {
		r := Evaluate(p, nil, c.req, noon)
		if r.Verdict != c.want || winner(t, r).Rule != c.rule {
			t.Errorf("%s: %v by %s", name, r.Verdict, r.Winner())
		}
		if again := Evaluate(p.In(c.req.Chat, c.req.Channel), nil, c.req, noon); again.Verdict != r.Verdict || len(again.Reasons) != len(r.Reasons) {
			t.Errorf("%s: looked up before, it comes to %v", name, again.Verdict)
		}
	}
	if err := MayDecide(p, in(t, "slack:T1:C2", files), LevelUser, ben); err != nil {
		t.Error("who decides there:", err)
	}
	if MayDecide(p, in(t, "slack:T2:C2", files), LevelUser, ben) == nil {
		t.Error("who decides elsewhere")
	}
	if set := p.Servers["files"]; set.Ask != Inherit || set.Tools["move_thing"].Ask != NeverAsk {
		t.Errorf("the policy of everywhere was changed: %+v", set)
	}
	p = with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{})})
	p.Locals = []Local{local(t, "slack:T1", "files ask always"), local(t, "slack:T1:C1", "files ask never")}
	if r := Evaluate(p, nil, in(t, "slack:T1:C1", files), noon); r.Verdict != Allow {
		t.Errorf("never in the channel, always in its workspace: %v by %s", r.Verdict, r.Winner())
	}
	p.Locals = []Local{local(t, "slack:T1", "files min_approvals 2"), local(t, "slack:T1:C1", "files min_approvals 1")}
	if r := Evaluate(p, nil, in(t, "slack:T1:C1", files), noon); r.Approvals != 0 {
		t.Errorf("one person in the channel, two in its workspace: %d", r.Approvals)
	}
	p = with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireConfirmation)})})
	p.Locals = []Local{local(t, "slack", "files ask default")}
	p.Remembered = []Remembered{{ID: "r", By: ana, Tool: files, Choice: StandAllow}}
	if r := Evaluate(p, nil, in(t, "slack:T1:C1", files), noon); r.Verdict != Allow {
		t.Errorf("allowed by the person, where a place says no more than the file: %v by %s", r.Verdict, r.Winner())
	}
	for _, bad := range []string{"", "slack:", "slack::C1", "slack:T1:C1:1"} {
		if at, err := ParsePlace(bad); err == nil {
			t.Errorf("%q is read as %v", bad, at)
		}
	}
	p.Locals[0].Set[0].Field = "aks"
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "permissions.channels[0]") {
		t.Error("a setting that there is not:", err)
	}
}

// A word for more than one tool adds care to all of them, and takes none from what was said of one of them.
func TestWiderWordsOfAPlace(t *testing.T) {
	lets := Rule{When: pin.Condition{"m": {"GET"}}, Ask: NeverAsk, Enabled: true}
	is := func(x ToolSettings) Policy {
		return with(installed(), "files", ServerSettings{Tools: tools("move_thing", x)})
	}
	for name, c := range map[string]struct {
		p    Policy
		says []string
		want Verdict
		n    int // approvals
	}{
		"always, over a tool that never asks":             {is(ToolSettings{Ask: NeverAsk}), []string{"files ask always"}, Ask, 0},
		"always, over a rule that lets run":               {is(ToolSettings{Rules: []Rule{lets}}), []string{"files ask always"}, Ask, 0},
		"never, over a tool that always asks":             {is(ToolSettings{Ask: AlwaysAsk}), []string{"files ask never"}, Ask, 0},
		"never, over a tool that needs a click":           {is(ToolSettings{Approval: new(RequireConfirmation)}), []string{"files ask never"}, Ask, 0},
		"never, over a dangerous tool":                    {is(ToolSettings{Risk: new(Dangerous)}), []string{"files ask never"}, Ask, 0},
		"never, over a tool of admins":                    {is(ToolSettings{Approval: new(RequireAuth)}), []string{"files ask never"}, Ask, 0},
		"never, over one that nobody spoke of":            {is(ToolSettings{}), []string{"files ask never"}, Allow, 0},
		"never, over a rule that lets run":                {is(ToolSettings{Ask: AlwaysAsk, Rules: []Rule{lets}}), []string{"files ask never"}, Allow, 0},
		"two people, over a rule that lets run":           {is(ToolSettings{Rules: []Rule{lets}}), []string{"files min_approvals 2"}, Allow, 2},
		"never, over one that never asks at its level":    {is(ToolSettings{Ask: NeverAsk, Approval: new(RequireConfirmation)}), []string{"files ask never"}, Allow, 0},
		"never, over one that runs by its level":          {is(ToolSettings{Approval: new(AutoApprove)}), []string{"files ask never"}, Allow, 0},
		"never, over a safe one":                          {is(ToolSettings{Risk: new(Safe)}), []string{"files ask never"}, Allow, 0},
		"the level of another server's tool":              {is(ToolSettings{Risk: new(Dangerous)}), []string{"files ask never", "mail/move_thing risk safe"}, Ask, 0},
		"another word of the tool itself":                 {is(ToolSettings{Risk: new(Dangerous)}), []string{"files ask never", "files/move_thing timeout 3m"}, Ask, 0},
		"never of the tool itself":                        {is(ToolSettings{Ask: AlwaysAsk}), []string{"files/move_thing ask never"}, Allow, 0},
		"the level of the tool itself":                    {is(ToolSettings{Risk: new(Dangerous)}), []string{"files ask never", "files/move_thing risk safe"}, Allow, 0},
		"enabled, over a disabled tool":                   {is(ToolSettings{Disabled: true}), []string{"files enabled true"}, Forbid, 0},
		"enabled of the tool itself":                      {is(ToolSettings{Disabled: true}), []string{"files/move_thing enabled true"}, Ask, 0},
		"two people, over one":                            {is(ToolSettings{Rights: Rights{MinApprovals: new(People(1))}}), []string{"files min_approvals 2"}, Ask, 2},
		"two people for everything, over one":             {is(ToolSettings{Rights: Rights{MinApprovals: new(People(1))}}), []string{"min_approvals 2"}, Ask, 2},
		"one person, over three":                          {is(ToolSettings{Rights: Rights{MinApprovals: new(People(3))}}), []string{"files min_approvals 1"}, Ask, 3},
		"two people for everything, over one of a server": {with(installed(), "files", ServerSettings{Rights: Rights{MinApprovals: new(People(1))}}), []string{"min_approvals 2"}, Ask, 2},
		"always of another tool":                          {is(ToolSettings{Ask: NeverAsk}), []string{"files/copy_thing ask always"}, Allow, 0},
		"always of another server":                        {is(ToolSettings{Ask: NeverAsk}), []string{"mail ask always"}, Allow, 0},
		"always, and a rule of the place that lets run":   {is(ToolSettings{}), []string{"files ask always", "rule"}, Allow, 0},
		"only reads, and a tool of which nobody says so":  {is(ToolSettings{Ask: NeverAsk}), []string{"reads_only true"}, Forbid, 0},
		"only reads, and one that reads":                  {is(ToolSettings{Ask: NeverAsk, Access: new(Read)}), []string{"reads_only true"}, Allow, 0},
	} {
		l := Local{In: []Place{{Platform: "slack"}}}
		if c.says[len(c.says)-1] == "rule" {
			l.Rules = []LocalRules{{"files", "move_thing", []Rule{lets}}}
			c.says = c.says[:len(c.says)-1]
		}
		l.Set = local(t, "", c.says...).Set
		c.p.Locals = []Local{l}
		req := in(t, "slack:T1:C1", files)
		req.Args = []byte(`{"m":"GET"}`)
		if r := Evaluate(c.p, nil, req, noon); r.Verdict != c.want || r.Approvals != c.n {
			t.Errorf("%s: %v of %d by %s", name, r.Verdict, r.Approvals, r.Winner())
		}
	}
}

// Of what an admin set from a chat for everywhere and what the file says of a place the more careful counts.
func TestAdminsAndPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		set, local string
		want       Verdict
	}{
		"always over never":                           {"files/move_thing ask always", "files/move_thing ask never", Ask},
		"always of the server over never of the tool": {"files ask always", "files/move_thing ask never", Ask},
		"always of the tool over never of the server": {"files/move_thing ask always", "files ask never", Ask},
		"a level over never":                          {"files/move_thing approval RequireConfirmation", "files/move_thing ask never", Ask},
		"disabled over enabled":                       {"files/move_thing enabled false", "files/move_thing enabled true", Forbid},
		"disabled of the server over the tool":        {"files enabled false", "files/move_thing enabled true", Forbid},
		"a mode over a mode":                          {"mode always", "mode never", Ask},
		"only reads":                                  {"reads_only true", "reads_only false", Forbid},
		"a rule that lets run":                        {"files ask always", "rule", Ask},
		"never, where the place says always":          {"files/move_thing ask never", "files ask always", Ask},
		"enabled, where the place says not":           {"files enabled true", "files enabled false", Forbid},
		"about another server":                        {"mail ask always", "files/move_thing ask never", Allow},
		"about something else":                        {"files/move_thing timeout 3m", "files/move_thing ask never", Allow},
		"about another tool":                          {"files/other ask always", "files/move_thing ask never", Allow},
	} {
		p, l := with(installed(), "files", ServerSettings{}), Local{In: []Place{{Platform: "slack"}}}
		if c.local == "rule" {
			l.Rules = []LocalRules{{"files", "move_thing", []Rule{{When: pin.Condition{"m": {"GET"}}, Ask: NeverAsk, Enabled: true}}}}
		} else {
			l.Set = []Setting{setting(t, c.local)}
		}
		p.Locals = []Local{l}
		req := in(t, "slack:T1:C1", files)
		req.Args = []byte(`{"m":"GET"}`)
		if r := Evaluate(asSet(t, p, c.set), nil, req, noon); r.Verdict != c.want {
			t.Errorf("%s: %v by %s", name, r.Verdict, r.Winner())
		}
	}
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{ChatGrant: no})})
	p.Locals = []Local{local(t, "slack", "files/move_thing chat_grant true")}
	if !asSet(t, p, "files/move_thing ask always").In(here, "").Get(files, SourceMCP, Hints{}, Metadata{}).ChatGrant {
		t.Error("an admin's word whether it asks takes what a place says of something else")
	}
	p = installed()
	p.Locals = []Local{local(t, "slack:T1", "timeout 2h", "approvers anyone"), local(t, "slack:T1:C1", "approvers discord:1:&2")}
	if at := p.In(here, "slack:T1:C2"); at.Timeout != 2*time.Hour || at.Approvers.Rule != ApproversAnyone {
		t.Errorf("%v %v", at.Timeout, at.Approvers)
	}
	at := asSet(t, p, "timeout 5m", "approvers requester").In(here, "slack:T1:C2")
	if at.Timeout != 5*time.Minute || at.Approvers.Rule != ApproversRequester {
		t.Errorf("as admins set it: %v %v", at.Timeout, at.Approvers)
	}
	p.Locals = append(p.Locals, local(t, "slack", "files approvers anyone"))
	if MayDecide(asSet(t, p, "approvers requester"), in(t, "slack:T1:C7", files), LevelUser, ben) == nil {
		t.Error("an admin set for everything who decides, and a place's server says otherwise")
	}
	if !p.NamesGroups("discord") || p.NamesGroups("slack") {
		t.Error("a group that decides in a place alone is not looked up")
	}
}

// Whatever stands elsewhere: where an admin added care for a tool or its server, no place takes any, and where a place asks about all tools of a
// server, nothing that an admin allows lets them run there.
func TestCareOfPlacesIsMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, grants, req := drawWorld(rt)
		req.Channel = "slack:T1:C1"
		tool := req.Tool.Server + "/" + req.Tool.Name
		care := rapid.SampledFrom([]string{req.Tool.Server + " ask always", tool + " ask always", tool + " approval RequireConfirmation",
			tool + " approval RequireAuth", tool + " risk dangerous"}).Draw(rt, "care")
		lax := rapid.SampledFrom([]string{req.Tool.Server + " ask never", tool + " ask never", tool + " approval AutoApprove", tool + " risk safe"}).Draw(rt, "lax")
		where := rapid.SampledFrom([]string{"slack", "slack:T1", "slack:T1:C1"}).Draw(rt, "where")

		plain := Evaluate(asSet(t, p, care), grants, req, noon)
		p.Locals = []Local{local(t, where, lax)}
		if r := Evaluate(asSet(t, p, care), grants, req, noon); r.Verdict == Allow && plain.Verdict != Allow || r.Verdict == Ask && plain.Verdict == Forbid {
			rt.Fatalf("%s, and in %s %s: %v by %s, and without %v", care, where, lax, r.Verdict, r.Winner(), plain.Verdict)
		}
		p.Locals = []Local{local(t, where, req.Tool.Server+" ask always")}
		req.Mode, p.Mode = ModeTool, ModeTool
		if r := Evaluate(asSet(t, p, lax), nil, req, noon); r.Verdict == Allow {
			rt.Fatalf("%s, and in %s all of it asks: allowed by %s", lax, where, r.Winner())
		}
	})
}
