package permission

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Groups: "slack:T1:&G" stands for everybody whom the platform says to be in it.
func TestMembersOfAGroup(t *testing.T) {
	group := chat.User{Platform: "slack", Workspace: "T1", Key: "&G"}
	foreign, other := group, group
	foreign.Workspace, other.Platform = "T2", "discord"
	visitor := ana
	visitor.Workspace = "T2"
	for _, c := range []struct {
		name   string
		listed bool // the group is an approver, else an admin
		level  Level
		u      chat.User
		groups []chat.User
		want   bool
	}{
		{"approver", true, LevelUser, ana, []chat.User{group}, true},
		{"approver, admin level", true, LevelAdmin, ana, []chat.User{group}, false},
		{"admin", false, LevelAdmin, ana, []chat.User{group}, true},
		{"admin, in another group as well", false, LevelAdmin, ana, []chat.User{{Platform: "slack", Workspace: "T1", Key: "&H"}, group}, true},
		{"not a member", true, LevelUser, ana, nil, false},
		{"of another group", true, LevelUser, ana, []chat.User{{Platform: "slack", Workspace: "T1", Key: "&H"}}, false},
		{"the same name in another workspace", true, LevelUser, ana, []chat.User{foreign}, false},
		{"the same name on another platform", true, LevelUser, ana, []chat.User{other}, false},
		{"somebody of another workspace, said to be in ours", true, LevelUser, visitor, []chat.User{group}, false},
		{"the group itself, as approver", true, LevelUser, group, []chat.User{group}, false},
		{"the group itself, as admin", false, LevelAdmin, group, []chat.User{group}, false},
		{"a person is no group", true, LevelUser, ana, []chat.User{{Platform: "slack", Workspace: "T1", Key: "G"}}, false},
	} {
		p := installed()
		p.Approvers = Approvers{Rule: ApproversListed, Users: []chat.User{{Platform: "slack", Workspace: "T1", Key: "G"}, foreign, other}}
		if c.listed {
			p.Approvers.Users = append(p.Approvers.Users, group)
		} else {
			p.Admins = append(p.Admins, group)
		}
		if got := MayDecide(p.Knowing(c.u, c.groups), call(files), c.level, c.u) == nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	p := installed()
	if p.NamesGroups("slack") {
		t.Error("no group is named")
	}
	p.Approvers.Users = []chat.User{group}
	if p.NamesGroups("slack") {
		t.Error("a list that is not in force names a group")
	}
	p.Approvers.Rule = ApproversListed
	if !p.NamesGroups("slack") || p.NamesGroups("discord") {
		t.Error("a listed group is not told apart by its platform")
	}
	p = installed()
	p.Admins = []chat.User{group}
	if !p.NamesGroups("slack") {
		t.Error("a group of admins is not named")
	}
}

// What is known of one person is neither known of another nor kept when it changes, and the policy that it was asked of stays as it is.
func TestKnowingIsOfOnePersonNow(t *testing.T) {
	p := installed()
	group := chat.User{Platform: "slack", Workspace: "T1", Key: "&G"}
	p.Admins = []chat.User{group}
	with := p.Knowing(ana, []chat.User{group})
	if !with.IsAdmin(ana) || with.IsAdmin(ben) || p.IsAdmin(ana) {
		t.Error("membership is of one person, in one value")
	}
	if both := with.Knowing(ben, []chat.User{group}); !both.IsAdmin(ana) || !both.IsAdmin(ben) || with.IsAdmin(ben) {
		t.Error("a second person's groups")
	}
	if lost := with.Knowing(ana, nil); lost.IsAdmin(ana) || !with.IsAdmin(ana) {
		t.Error("who lost the role still has it")
	}
}

// A grant is a standing click: it ends with the role that its giver decided by.
func TestAGrantEndsWithTheRole(t *testing.T) {
	p, now := installed(), time.Unix(1000, 0)
	group := chat.User{Platform: "slack", Workspace: "T1", Key: "&G"}
	p.Approvers, p.SurviveRestart = Approvers{Rule: ApproversListed, Users: []chat.User{group}}, true
	req := call(files)
	g := Grant{Chat: req.Chat, Tool: req.Tool, By: ben, At: now}
	if ok, why := Covers(p.Knowing(ben, []chat.User{group}), g, req, now); !ok {
		t.Error(why)
	}
	if ok, _ := Covers(p, g, req, now); ok {
		t.Error("it covers without the role")
	}
}
