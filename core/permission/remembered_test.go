package permission

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// A box that would stand for nothing is not offered: what an admin always asks about, nobody's allowance answers, and of what others decide
// nobody's own does. A channel's is a click of others, too.
// R83
func TestWhatCannotBeRememberedIsNotOffered(t *testing.T) {
	req := call(files)
	req.Channel = "slack/T1/C1"
	no := false
	for name, x := range map[string]struct {
		set               ToolSettings
		remember, channel bool
	}{
		"usual":                  {ToolSettings{}, true, true},
		"an admin says always":   {ToolSettings{Ask: AlwaysAsk}, false, false},
		"whoever asks may not":   {ToolSettings{Rights: Rights{RequesterMayApprove: &no}}, false, true},
		"an admin's own setting": {ToolSettings{Ask: NeverAsk}, true, true},
	} {
		p := with(installed(), "files", ServerSettings{Tools: tools(files.Name, x.set)})
		p.ChannelGrants, p.Mode = true, ModeTool
		if x.set.Ask == NeverAsk {
			p = with(installed(), "files", ServerSettings{})
			p.ChannelGrants = true
		}
		if r := Evaluate(p, nil, req, noon); r.Verdict != Ask || r.Remember != x.remember || (r.Channel > 0) != x.channel {
			t.Errorf("%s: %v, remember %v, channel %v", name, r.Verdict, r.Remember, r.Channel)
		}
	}
}

// What a person remembered, against every mode, server setting, tool setting and level. What is expected is
// worked out here from the documents' sentences: a person's own denial forbids; RequireAuth asks an admin whatever else there is; the mode
// comes next; an admin's Always is not undone by a person; a person's "always ask me" is; an allowance satisfies what policy requires, but
// not under Always; and nobody's choice is another's.
// R43 R45 R109 R113 R153 R162 C2 C3 C4
func TestRememberedChoices(t *testing.T) {
	elsewhere := ana
	elsewhere.Workspace = "T2"
	was := files
	was.Definition = "d0"
	other, abroad := files, files
	other.Name, abroad.Server = "other", "elsewhere"
	type choice struct {
		name  string
		own   []Remembered
		means string // "", allow, ask or deny: for ana's calls of files
	}
	one := func(name string, by chat.User, tool Tool, c Standing, means string) choice {
		return choice{name, []Remembered{{ID: "r1", By: by, Tool: tool, Choice: c}}, means}
	}
	choices := []choice{
		{name: "nothing"},
		one("allow", ana, files, StandAllow, "allow"),
		one("ask", ana, files, StandAsk, "ask"),
		one("deny", ana, files, StandDeny, "deny"),
		one("another's allow", ben, files, StandAllow, ""),
		one("another's deny", ben, files, StandDeny, ""),
		one("an admin's allow", boss, files, StandAllow, ""),
		one("a namesake's allow", elsewhere, files, StandAllow, ""),
		one("a group's allow", chat.User{Platform: "slack", Workspace: "T1", Key: "&G"}, files, StandAllow, ""),
		one("allow of another tool", ana, other, StandAllow, ""),
		one("deny of another tool", ana, other, StandDeny, ""),
		one("deny of another server", ana, abroad, StandDeny, ""),
		one("allow of what it was before", ana, was, StandAllow, ""),
		one("ask of what it was before", ana, was, StandAsk, "ask"),
		one("deny of what it was before", ana, was, StandDeny, "deny"),
		{"allow, then deny", []Remembered{{By: ana, Tool: files, Choice: StandAllow}, {By: ana, Tool: files, Choice: StandDeny}}, "deny"},
		{"deny, then allow", []Remembered{{By: ana, Tool: files, Choice: StandDeny}, {By: ana, Tool: files, Choice: StandAllow}}, "deny"},
		{"allow, then ask", []Remembered{{By: ana, Tool: files, Choice: StandAllow}, {By: ana, Tool: files, Choice: StandAsk}}, "ask"},
	}
	cells := 0
	for _, x := range choices {
		for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
			for _, server := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
				for _, tool := range []Prompt{Inherit, AlwaysAsk, NeverAsk} {
					for _, auth := range []bool{false, true} {
						cells++
						name := fmt.Sprintf("%s, mode %v, server %v, tool %v, auth %v", x.name, mode, server, tool, auth)
						admins := tool == AlwaysAsk || tool == Inherit && server == AlwaysAsk
						required := admins || x.means == "ask" || tool == Inherit && server == Inherit
						switch mode {
						case ModeAlways:
							required = true
						case ModeNever: // no way around an admin's word
							required = admins
						case ModeTool:
						}
						want, level := Allow, LevelUser
						switch {
						case x.means == "deny":
							want = Forbid
						case auth:
							want, level = Ask, LevelAdmin
						case required && (x.means != "allow" || mode == ModeAlways || admins):
							want = Ask
						}
						set := ToolSettings{Ask: tool}
						if auth {
							set.Approval = new(RequireAuth)
						}
						p := with(installed(), "files", ServerSettings{Ask: server, Tools: tools("move_thing", set)})
						p.Remembered = x.own
						req := call(files)
						req.Mode, req.Chat = mode, there // a chat in which nothing was ever chosen
						r := Evaluate(p, nil, req, noon)
						if r.Verdict != want || want == Ask && r.Level != level {
							t.Errorf("%s: %v at level %v, want %v at %v", name, r.Verdict, r.Level, want, level)
						}
						w := winner(t, r)
						byChoice := x.means == "deny" || want == Allow && required
						if byChoice != (w.Rule == RuleRemembered) && x.means != "ask" {
							t.Errorf("%s: won by %s", name, w.Rule)
						}
						if r.Remember && (auth || want != Ask) {
							t.Errorf("%s: it offers to remember", name)
						}
					}
				}
			}
		}
	}
	if cells != 18*3*3*3*2 {
		t.Errorf("%d cells", cells)
	}
}

// A remembered allowance is a standing click: it counts where its person's click would be accepted now, and where standing permissions are
// not withheld.
// R43
func TestRememberedAllowanceIsAStandingClick(t *testing.T) {
	two := People(2)
	for _, x := range []struct {
		name   string
		change func(*Policy, *Request)
		want   Verdict
	}{
		{"as it is", func(*Policy, *Request) {}, Allow},
		{"nobody's", func(p *Policy, r *Request) { p.Remembered[0].By, r.Requester = chat.User{}, chat.User{} }, Ask},
		{"unattended", func(_ *Policy, r *Request) { r.Unattended = true }, Forbid},
		{"withheld", func(p *Policy, _ *Request) {
			*p = with(*p, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{ChatGrant: no})})
		}, Ask},
		{"several must allow", func(p *Policy, _ *Request) { p.Rights.MinApprovals = &two }, Ask},
		{"not the requester", func(p *Policy, _ *Request) { p.Rights.RequesterMayApprove = no }, Ask},
		{"only those listed", func(p *Policy, _ *Request) { p.Approvers = Approvers{Rule: ApproversListed, Users: []chat.User{ben}} }, Ask},
		{"disabled", func(p *Policy, _ *Request) { *p = with(*p, "files", ServerSettings{Disabled: true}) }, Forbid},
		{"halted", func(p *Policy, _ *Request) { p.Halted = &Halt{} }, Forbid},
		{"no policy", func(p *Policy, _ *Request) { p.Installed = false }, Forbid},
	} {
		p, req := installed(), call(files)
		p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAllow}}
		x.change(&p, &req)
		if r := Evaluate(p, nil, req, noon); r.Verdict != x.want {
			t.Errorf("%s: %v by %s, want %v", x.name, r.Verdict, winner(t, r).Rule, x.want)
		}
	}
}

// What a person chose in words that this build does not know is taken for the most careful: it denies, whatever else is set.
func TestUnknownStandingDenies(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Ask: NeverAsk})
	p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: 9}}
	for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
		req := call(files)
		req.Mode = mode
		if r := Evaluate(p, nil, req, noon); r.Verdict != Forbid {
			t.Errorf("mode %v: %v by %s", mode, r.Verdict, winner(t, r).Rule)
		}
	}
}

// A policy may hold several choices of one person for one tool: the most careful counts, wherever it stands.
func TestTheMostCarefulChoiceCounts(t *testing.T) {
	p := installed()
	for _, order := range [][]Standing{{StandAsk, StandDeny}, {StandDeny, StandAsk}} {
		p.Remembered = nil
		for i, c := range order {
			p.Remembered = append(p.Remembered, Remembered{ID: fmt.Sprint(i), By: ana, Tool: files, Choice: c})
		}
		if r := Evaluate(p, nil, call(files), noon); r.Verdict != Forbid {
			t.Errorf("%v: %v", order, r.Verdict)
		}
	}
}
