package permission

import (
	"errors"
	"slices"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

func names(u chat.User) string {
	return map[chat.User]string{ana: "Ana", ben: "Ben"}[u]
}

func TestMayDecide(t *testing.T) {
	elsewhere, otherTeam := ana, ana
	elsewhere.Platform, otherTeam.Workspace = "discord", "T2"
	type rule = ApproverRule
	for _, c := range []struct {
		name  string
		rule  rule
		level Level
		u     chat.User
		want  bool
	}{
		{"requester", ApproversRequester, LevelUser, ana, true},
		{"requester: another", ApproversRequester, LevelUser, ben, false},
		{"requester: same key, another platform", ApproversRequester, LevelUser, elsewhere, false},
		{"requester: same key, another workspace", ApproversRequester, LevelUser, otherTeam, false},
		{"requester: admin", ApproversRequester, LevelUser, boss, true},
		{"requester: nobody", ApproversRequester, LevelUser, chat.User{}, false},
		{"requester: half a user", ApproversRequester, LevelUser, chat.User{Platform: "slack", Workspace: "T1"}, false},
		{"participants", ApproversParticipants, LevelUser, ben, true},
		{"participants: absent", ApproversParticipants, LevelUser, chat.User{Platform: "slack", Workspace: "T1", Key: "UX"}, false},
		{"participants: of another workspace", ApproversParticipants, LevelUser, otherTeam, false},
		{"anyone", ApproversAnyone, LevelUser, chat.User{Platform: "slack", Workspace: "T1", Key: "UX"}, true},
		{"anyone: of another workspace", ApproversAnyone, LevelUser, otherTeam, false},
		{"anyone: of another platform", ApproversAnyone, LevelUser, elsewhere, false},
		{"anyone: nobody", ApproversAnyone, LevelUser, chat.User{}, false},
		{"listed", ApproversListed, LevelUser, ben, true},
		{"listed: requester is not", ApproversListed, LevelUser, ana, false},
		{"listed: admin", ApproversListed, LevelUser, boss, true},
		{"listed: of no platform", ApproversListed, LevelUser, chat.User{Workspace: "T1", Key: "UX"}, false},
		{"unknown rule", 9, LevelUser, ana, false},
		{"unknown rule: admin", 9, LevelUser, boss, true},
		{"admin level: requester", ApproversAnyone, LevelAdmin, ana, false},
		{"admin level: admin", ApproversRequester, LevelAdmin, boss, true},
		{"unknown level", ApproversAnyone, 9, ana, false},
	} {
		p := installed()
		p.Approvers = Approvers{Rule: c.rule, Users: []chat.User{ben, {}, {Workspace: "T1", Key: "UX"}}}
		req := call(files)
		req.Present = []chat.User{ana, ben, otherTeam, {}}
		err := MayDecide(p, req, c.level, c.u)
		if (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if na := (*NotAllowed)(nil); err != nil && !errors.As(err, &na) {
			t.Errorf("%s: %T", c.name, err)
		}
	}
}

// Away from its chat a call is shown to those who may decide it and have to do with it by name: a rule about everybody does not say who may
// read a channel.
func TestMaySee(t *testing.T) {
	stranger := chat.User{Platform: "slack", Workspace: "T1", Key: "UX"}
	for _, c := range []struct {
		name  string
		rule  ApproverRule
		level Level
		u     chat.User
		want  bool
	}{
		{"anyone: who never was there", ApproversAnyone, LevelUser, stranger, false},
		{"anyone: who asked", ApproversAnyone, LevelUser, ana, true},
		{"anyone: who took part", ApproversAnyone, LevelUser, ben, true},
		{"anyone: admin", ApproversAnyone, LevelUser, boss, true},
		{"anyone: who took part, of what needs an admin", ApproversAnyone, LevelAdmin, ben, false},
		{"requester: who asked", ApproversRequester, LevelUser, ana, true},
		{"requester: who took part", ApproversRequester, LevelUser, ben, false},
		{"participants: who took part", ApproversParticipants, LevelUser, ben, true},
		{"participants: who never was there", ApproversParticipants, LevelUser, stranger, false},
		{"listed", ApproversListed, LevelUser, stranger, true},
		{"listed: who asked is not", ApproversListed, LevelUser, ana, false},
	} {
		p := installed()
		p.Approvers = Approvers{Rule: c.rule, Users: []chat.User{stranger}}
		req := call(files)
		req.Present = []chat.User{ben} // of many people a chat forgets some, also who asks
		if got := MaySee(p, req, c.level, c.u); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// An ask at a person's level needs an admin once policy says so; without a policy nobody decides.
func TestMayDecideByPolicyNow(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireAuth)})})
	if MayDecide(p, call(files), LevelUser, ana) == nil || MayDecide(p, call(files), LevelUser, boss) != nil {
		t.Error("raised to RequireAuth since")
	}
	p.Installed = false
	if MayDecide(p, call(files), LevelAdmin, boss) == nil {
		t.Error("no policy")
	}
	if MayDecide(Policy{AllowAll: true}, call(files), LevelUser, ana) != nil {
		t.Error("a library's AllowAll")
	}
}

// Guests and people of other organisations: what runs unasked for a member asks for somebody else.
func TestVisitors(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Ask: NeverAsk})
	req := call(files)
	if r := Evaluate(p, nil, req, noon); r.Verdict != Allow {
		t.Fatal("the control:", r)
	}
	req.Standing = chat.Visitor
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask || r.Winner() != RuleVisitor {
		t.Error(r)
	}
	called := func(chat.User) string { return "Ana" }
	err := MayDecide(p, req, LevelUser, req.Requester)
	if no, ok := errors.AsType[*NotAllowed](err); !ok || no.Say(called) != sayAdminOnly || MayDecide(p, req, LevelUser, boss) != nil {
		t.Error(err)
	}
	if who := Deciders(p, req, LevelUser, called); !slices.Equal(who, []string{sayAnAdmin}) {
		t.Error(who)
	}
	req.Standing = chat.Untold
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask || r.Winner() != RuleVisitor || MayDecide(p, req, LevelUser, req.Requester) != nil {
		t.Error("whom the platform does not tell just now:", r)
	}
	p.Mode = ModeNever
	if r := Evaluate(p, nil, req, noon); r.Verdict != Ask {
		t.Error("where nothing asks:", r)
	}
}

// An empty entry never makes anybody an admin.
// R110 C18
func TestIsAdmin(t *testing.T) {
	p := Policy{Admins: []chat.User{{}, {Platform: "slack"}, boss}}
	other := boss
	other.Workspace = "T2"
	for u, want := range map[chat.User]bool{boss: true, {}: false, {Platform: "slack"}: false, ana: false, other: false} {
		if p.IsAdmin(u) != want {
			t.Errorf("%v: %v", u, !want)
		}
	}
	p.Admins = append(p.Admins, boss) // listed twice is listed
	if !p.IsAdmin(boss) {
		t.Error("listed twice")
	}
}

// UX.md's words, and R111's.
// R111
func TestRefusalWords(t *testing.T) {
	say := func(p Policy, level Level, u chat.User) string {
		var na *NotAllowed
		if !errors.As(MayDecide(p, call(files), level, u), &na) {
			t.Fatal("allowed")
		}
		return na.Say(names)
	}
	p := installed()
	for _, c := range []struct{ got, want string }{
		{say(p, LevelUser, ben), "Only Ana (who asked) or an admin can decide this."},
		{MayDecide(p, call(files), LevelUser, ben).Error(), "Only the person who asked or an admin can decide this."},
		{say(p, LevelUser, chat.User{}), "I could not tell who you are, so your answer does not count."},
		{say(p, LevelAdmin, ana), "Only an admin can decide this."},
		{say(Policy{Installed: true}, LevelAdmin, ana), "Only an admin can decide this. No admin is configured: set ADMIN_SESSION_KEYS, or list people under `admins:` in the configuration."},
		{say(Policy{Installed: true}, LevelUser, ben), "Only Ana (who asked) or an admin can decide this."},
		{say(Policy{}, LevelUser, ana), "No one can approve here: no permission policy is installed."},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
	for rule, want := range map[ApproverRule]string{
		ApproversParticipants: "Only people who take part in this chat or an admin can decide this.",
		ApproversAnyone:       "Only people of this team or an admin can decide this.",
		ApproversListed:       "Only Ben, slack:T1:UBOSS or an admin can decide this.",
		9:                     "Only an admin can decide this.",
	} {
		p.Approvers = Approvers{Rule: rule, Users: []chat.User{ben, boss}}
		if got := say(p, LevelUser, chat.User{Platform: "web", Key: "x"}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	p = installed()
	if got := Deciders(p, call(files), LevelUser, names); !slices.Equal(got, []string{"Ana"}) {
		t.Error(got)
	}
	if got := Deciders(p, call(files), LevelAdmin, names); !slices.Equal(got, []string{"an admin"}) {
		t.Error(got)
	}
	if got := Deciders(p, Request{}, LevelUser, names); !slices.Equal(got, []string{"an admin"}) {
		t.Error("nobody asked:", got)
	}
}
