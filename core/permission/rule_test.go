package permission

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

var (
	letsGET   = Rule{When: pin.Condition{"m": {"GET"}}, Ask: NeverAsk, Enabled: true}
	asksPUT   = Rule{When: pin.Condition{"m": {"PUT"}}, Ask: AlwaysAsk, Enabled: true}
	refusesRM = Rule{When: pin.Condition{"m": {"RM"}}}
)

func ruledBy(p Policy, rules ...Rule) Policy {
	return with(p, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Rules: rules})})
}

func callWith(args string) Request {
	r := call(files)
	r.Args = json.RawMessage(args)
	return r
}

// What a rule says goes as far as it may: one that lets run as far as "never" of the tool, one that asks over every allowance, one that refuses
// over all but a halt. The strictest counts, wherever it stands.
// R154 R155
func TestRulesOnArguments(t *testing.T) {
	const get, put, rm, other = `{"m":"GET"}`, `{"m":"PUT"}`, `{"m":"RM"}`, `{"m":"X"}`
	all := []Rule{letsGET, asksPUT, refusesRM}
	p := ruledBy(installed(), all...)
	change := func(f func(*Policy, *ToolSettings)) Policy {
		c := installed()
		x := ToolSettings{Rules: all}
		f(&c, &x)
		return with(c, "files", ServerSettings{Tools: tools("move_thing", x)})
	}
	never := change(func(p *Policy, x *ToolSettings) { p.Mode, x.Ask = ModeNever, NeverAsk })
	of := func(args string, f func(*Request)) Request { r := callWith(args); f(&r); return r }
	granted := []Grant{grantOf(files)}
	for _, c := range []struct {
		name   string
		p      Policy
		grants []Grant
		req    Request
		want   Verdict
		rule   string
	}{
		{"lets run", p, nil, callWith(get), Allow, RuleArguments},
		{"asks", p, nil, callWith(put), Ask, RuleArguments},
		{"refuses", p, nil, callWith(rm), Forbid, RuleArguments},
		{"is about none", p, nil, callWith(other), Ask, RuleSource},
		{"what nobody can judge is refused", p, nil, callWith(`{}`), Forbid, RuleArguments},
		{"or asked about, where nothing refuses", ruledBy(installed(), letsGET, asksPUT), nil, callWith(`{"m":7}`), Ask, RuleArguments},
		{"or as without rules, where nothing asks", ruledBy(installed(), letsGET), nil, callWith(`{"m":7}`), Ask, RuleSource},
		{"the strictest, first", ruledBy(installed(), Rule{When: letsGET.When}, Rule{When: letsGET.When, Ask: AlwaysAsk, Enabled: true}, letsGET), nil, callWith(get), Forbid, RuleArguments},
		{"the strictest, last", ruledBy(installed(), letsGET, Rule{When: letsGET.When, Ask: AlwaysAsk, Enabled: true}), nil, callWith(get), Ask, RuleArguments},
		{"a rule for everything lets nothing run", ruledBy(installed(), Rule{Ask: NeverAsk, Enabled: true}), nil, callWith(get), Ask, RuleSource},
		{"and one that is no setting asks", change(func(_ *Policy, x *ToolSettings) { x.Rules = []Rule{{When: letsGET.When, Ask: 9, Enabled: true}} }), nil, callWith(get), Ask, RuleArguments},

		// Over what lets run.
		{"asks where nothing else would", never, nil, callWith(put), Ask, RuleArguments},
		{"which else does not ask", never, nil, callWith(other), Allow, RuleMode},
		{"asks in spite of a grant", p, granted, callWith(put), Ask, RuleArguments},
		{"which covers others", p, granted, callWith(other), Allow, RuleGrant},
		{"asks in spite of what is remembered", change(func(p *Policy, _ *ToolSettings) {
			p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAllow}}
		}), nil, callWith(put), Ask, RuleArguments},
		{"asks in a chat that never does", p, nil, of(put, func(r *Request) { r.Mode = ModeNever }), Ask, RuleArguments},
		{"lets run no other where nobody can be asked", p, nil, of(other, func(r *Request) { r.Unattended = true }), Forbid, RuleUnattended},
		{"asks whom nobody can ask", p, nil, of(put, func(r *Request) { r.Unattended = true }), Forbid, RuleUnattended},
		{"refuses what needs an admin", change(func(_ *Policy, x *ToolSettings) { x.Approval = new(RequireAuth) }), nil, callWith(rm), Forbid, RuleArguments},
		{"refuses where all is allowed", change(func(p *Policy, _ *ToolSettings) { p.AllowAll = true }), nil, callWith(rm), Forbid, RuleArguments},

		// Under what asks.
		{"lets nothing run that needs an admin", change(func(_ *Policy, x *ToolSettings) { x.Approval = new(RequireAuth) }), nil, callWith(get), Ask, RuleRequireAuth},
		{"nor while halted", change(func(p *Policy, _ *ToolSettings) { p.Halted = &Halt{} }), nil, callWith(get), Forbid, RuleHalted},
		{"nor what is disabled", change(func(_ *Policy, x *ToolSettings) { x.Disabled = true }), nil, callWith(get), Forbid, RuleDisabled},
		{"nor what changed", change(func(_ *Policy, x *ToolSettings) { x.Accepted = "d0" }), nil, callWith(get), Ask, RuleDefinition},
		{"nor for a guest", p, nil, of(get, func(r *Request) { r.Standing = chat.Visitor }), Ask, RuleVisitor},
		{"nor where a chat always asks", p, nil, of(get, func(r *Request) { r.Mode = ModeAlways }), Ask, RuleMode},
		{"nor where every chat does", change(func(p *Policy, _ *ToolSettings) { p.Mode, p.Strict = ModeAlways, true }), nil, callWith(get), Ask, RuleMode},
		{"nor for who wants to be asked", change(func(p *Policy, _ *ToolSettings) {
			p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAsk}}
		}), nil, callWith(get), Ask, RuleRemembered},
		{"nor for who denies it", change(func(p *Policy, _ *ToolSettings) {
			p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandDeny}}
		}), nil, callWith(get), Forbid, RuleRemembered},
		{"until a person there allows it", p, granted, of(get, func(r *Request) { r.Mode, r.ModeAt = ModeAlways, noon.Add(-2*time.Minute) }), Allow, RuleGrant},
		{"but goes over the file's own word for the tool", change(func(_ *Policy, x *ToolSettings) { x.Ask = AlwaysAsk }), nil, callWith(get), Allow, RuleArguments},
		{"and is of use where nobody can be asked", p, nil, of(get, func(r *Request) { r.Unattended = true }), Allow, RuleArguments},
	} {
		r := Evaluate(c.p, c.grants, c.req, noon)
		if w := winner(t, r); r.Verdict != c.want || w.Rule != c.rule {
			t.Errorf("%s: %v by %s (%s), want %v by %s", c.name, r.Verdict, w.Rule, w.Text, c.want, c.rule)
		}
	}
	r := Evaluate(p, nil, callWith(put), noon)
	if r.ChatGrant || r.Remember || len(r.Scopes) > 0 || r.Channel != 0 {
		t.Errorf("a rule that asks each time, and the card offers more than once: %+v", r)
	}
	if r := Evaluate(p, nil, of(get, func(r *Request) { r.Mode = ModeAlways }), noon); !r.ChatGrant {
		t.Errorf("a rule that lets run takes an offer from the card: %+v", r)
	}
	for args, want := range map[string]string{
		get: `move_thing of files never asks where m is "GET" (rule 1 of the configuration).`,
		put: `move_thing of files asks each time where m is "PUT" (rule 2 of the configuration).`,
		rm:  `move_thing of files is refused where m is "RM" (rule 3 of the configuration).`,
	} {
		if got := Evaluate(p, nil, callWith(args), noon).Why(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if lines := strings.Join(Explain(p, nil, callWith(other), noon), "\n"); !strings.Contains(lines, "None of 3 rules on its arguments is about it. (no opinion)") {
		t.Error(lines)
	}
}

// A tool is offered, whatever its rules may come to for a call: also where nobody can be asked, if one of them may let a call run.
func TestRulesAreForCalls(t *testing.T) {
	offered := func(p Policy, unattended bool) Verdict {
		r := callWith(`{}`)
		r.Unwritten, r.Unattended = true, unattended
		return Evaluate(p, nil, r, noon).Verdict
	}
	always := ruledBy(installed(), letsGET)
	always.Mode = ModeAlways
	for name, c := range map[string]struct {
		p          Policy
		unattended bool
		want       Verdict
	}{
		"refuses some":                         {ruledBy(installed(), refusesRM), false, Ask},
		"lets some run":                        {ruledBy(installed(), letsGET, asksPUT), true, Ask},
		"lets none run":                        {ruledBy(installed(), asksPUT), true, Forbid},
		"lets some run, in a mode that asks":   {always, true, Forbid},
		"lets some run, and people can answer": {ruledBy(installed(), letsGET), false, Ask},
	} {
		if got := offered(c.p, c.unattended); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A rule that lets calls run is the file's. Once an admin says that the tool asks, it asks; rules that ask stay, whatever an admin says.
func TestAnAdminsWordEndsARuleThatLetsRun(t *testing.T) {
	base := ruledBy(installed(), letsGET, asksPUT)
	for name, c := range map[string]struct {
		set Setting
		get Verdict
	}{
		"the tool asks":            {Setting{"files", "move_thing", "ask", "always"}, Ask},
		"the tool has its default": {Setting{"files", "move_thing", "ask", "default"}, Ask},
		"the server asks":          {Setting{"files", "", "ask", "always"}, Ask},
		"it needs confirmation":    {Setting{"files", "move_thing", "approval", "RequireConfirmation"}, Ask},
		"it is dangerous":          {Setting{"files", "move_thing", "risk", "dangerous"}, Ask},
		"it is safe":               {Setting{"files", "move_thing", "risk", "safe"}, Ask},
		"all chats ask":            {Setting{"", "", "mode", "always"}, Ask},
		"the tool never asks":      {Setting{"files", "move_thing", "ask", "never"}, Allow},
		"another tool asks":        {Setting{"files", "other", "ask", "always"}, Allow},
		"another server asks":      {Setting{"crm", "", "ask", "always"}, Allow},
		"something else is set":    {Setting{"files", "move_thing", "category", "Mail"}, Allow},
	} {
		s, moved := Settings{}.Apply(c.set, boss, "Boss", noon)
		p := s.Over(base)
		if got := Evaluate(p, nil, callWith(`{"m":"GET"}`), noon).Verdict; !moved || got != c.get {
			t.Errorf("%s: %v, %v", name, moved, got)
		}
		if got := Evaluate(p, nil, callWith(`{"m":"PUT"}`), noon).Verdict; got != Ask {
			t.Errorf("%s, and what a rule asks about: %v", name, got)
		}
	}
	if n := len(base.Servers["files"].Tools["move_thing"].Rules); n != 2 {
		t.Errorf("the file's own policy has %d rules", n)
	}
}

func TestRulesAreChecked(t *testing.T) {
	when := pin.Condition{"m": {"GET"}}
	for _, c := range []struct {
		r     Rule
		field string
	}{
		{letsGET, ""}, {asksPUT, ""}, {refusesRM, ""},
		{Rule{When: pin.Condition{"m": {"RM*"}}}, ""},
		{Rule{}, "when"},
		{Rule{When: when, Enabled: true}, "ask"},
		{Rule{When: when, Ask: 9, Enabled: true}, "ask"},
		{Rule{When: when, Ask: NeverAsk}, "ask"},
		{Rule{When: pin.Condition{"m": {"RM*"}}, Ask: NeverAsk, Enabled: true}, "when.m"},
	} {
		if field, err := c.r.Check(); field != c.field || (err == nil) != (field == "") {
			t.Errorf("%+v: %q, %v", c.r, field, err)
		}
	}
	if err := ruledBy(installed(), letsGET, Rule{}).Validate(); err == nil || !strings.Contains(err.Error(), "permissions.servers.files.tools.move_thing.rules[1].when") {
		t.Errorf("%v", err)
	}
}

// Whatever else is set: a rule that asks or refuses lets nothing run that did not, and one that lets run does so only where "never" of the
// tool would.
func TestRulesOnlyGoSoFar(t *testing.T) {
	drawRule := rapid.Custom(func(t *rapid.T) Rule {
		return Rule{
			When: pin.Condition{"m": {rapid.SampledFrom([]string{"GET", "PUT", "G*", "x/**"}).Draw(t, "value")}},
			Ask:  rapid.SampledFrom([]Prompt{Inherit, AlwaysAsk, NeverAsk}).Draw(t, "ask"), Enabled: rapid.IntRange(0, 3).Draw(t, "enabled") > 0,
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		req.Args = json.RawMessage(rapid.SampledFrom([]string{`{"m":"GET"}`, `{"m":"PUT"}`, `{"m":7}`, `{}`}).Draw(t, "args"))
		set := p.Servers[req.Tool.Server].Tools[req.Tool.Name]
		having := func(ask Prompt, rules ...Rule) Ruling {
			x, server := set, p.Servers[req.Tool.Server]
			x.Rules = rules
			if ask != Inherit {
				x.Ask = ask
			}
			server.Tools = tools(req.Tool.Name, x)
			return Evaluate(with(p, req.Tool.Server, server), grants, req, noon)
		}
		r := drawRule.Draw(t, "rule")
		without, one := having(Inherit), having(Inherit, r)
		switch {
		case !r.lets() && one.Verdict == Allow && without.Verdict != Allow:
			t.Fatalf("%+v lets run what %s does not", r, without.Winner())
		case r.lets() && one.Verdict == Allow && without.Verdict != Allow && having(NeverAsk).Verdict != Allow:
			t.Fatalf("%+v lets run what never asking does not", r)
		case !r.lets() && r.about(req) && one.Verdict == Allow && !p.AllowAll:
			t.Fatalf("%+v is about it, and it runs", r)
		}
		other := drawRule.Draw(t, "another")
		if a, b := having(Inherit, r, other), having(Inherit, other, r); a.Verdict != b.Verdict {
			t.Fatal("the order of two rules counts")
		}
	})
}
