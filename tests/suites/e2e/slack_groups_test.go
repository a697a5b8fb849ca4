package e2e

import (
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// A user group decides: its members by their click, nobody else, and the card calls it by its handle.
// R110
func TestSlackUserGroupDecides(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "approvals: {approvers: ['slack:T0FAKE:&S0ONCALL']}\n"})
	o.AddUserGroup(fakeslack.UserGroup{ID: "S0ONCALL", Handle: "oncall", Users: []string{ben}})
	order, args := write(t)
	th := o.mention(t, order)
	first := th.asking(1)
	th.click(ana, first, "Allow once")
	th.told(ana, "Only @oncall or an admin can decide this.")
	th.insist(ben, first, "Allow once")
	th.done(first, "gave: written", "allowed once by")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// Members of a user group that stands among the admins are admins.
// R110
func TestSlackUserGroupOfAdmins(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{env: map[string]string{"ADMIN_SESSION_KEYS": "slack:T0FAKE:&S0OPS"}})
	o.AddUserGroup(fakeslack.UserGroup{ID: "S0OPS", Handle: "ops", Users: []string{ben}})
	order, args := write(t)
	th := o.mention(t, order)
	first := th.asking(1)
	th.insist(ben, first, "Allow once")
	th.done(first, "gave: written", "allowed once by")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
