package main

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/fakeslack"
)

// The scope of user groups is asked for where one of Slack may decide, wherever that is said; roles of Discord are another matter.
func TestDoctorOfUserGroups(t *testing.T) {
	group, role := chat.User{Platform: "slack", Workspace: "T0FAKE", Key: "&S1"}, chat.User{Platform: "discord", Workspace: "100", Key: "&200"}
	listed := func(u chat.User) permission.Approvers {
		return permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{u}}
	}
	env := workspace(t, fakeslack.Options{})
	for name, tt := range map[string]struct {
		change func(*config.Config)
		wants  bool
	}{
		"nobody":   {func(*config.Config) {}, false},
		"a role":   {func(c *config.Config) { c.Admins = []chat.User{role} }, false},
		"an admin": {func(c *config.Config) { c.Admins = []chat.User{group} }, true},
		"an approver": {func(c *config.Config) {
			who := listed(group)
			c.Approvals.Approvers.Rule, c.Approvals.Approvers.Users = who.Rule, who.Users
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("bot.yaml", nil, func(key string) (string, bool) {
				if v, ok := env[key]; ok {
					return v, true
				}
				return onlyHome(key)
			})
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&c)
			said := ""
			for f := range (&patient{Config: c, policy: c.Policy()}).slack(t.Context()) {
				if f.What == "Slack: scope usergroups:read" {
					said = string(f.Mark) + ": " + f.Do
				}
			}
			if tt.wants != strings.Contains(said, "bot manifest slack -groups") || !tt.wants && said != "" {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// Each kind of admin is counted as what it is.
func TestDoctorCountsAdmins(t *testing.T) {
	person, role, group := chat.User{Platform: "slack", Workspace: "T1", Key: "U1"}, chat.User{Platform: "discord", Workspace: "100", Key: "&200"}, chat.User{Platform: "slack", Workspace: "T1", Key: "&S1"}
	for want, admins := range map[string][]chat.User{
		"0 people": nil, "1 person": {person}, "1 role": {role}, "1 user group": {group}, "1 person, 1 role": {role, person},
		"2 people, 1 role, 2 user groups": {person, group, role, group, person},
	} {
		p := &patient{}
		p.Admins = admins
		if got := p.adminsNamed(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
