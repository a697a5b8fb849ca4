package fakeslack_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestUserGroups(t *testing.T) {
	s := start(t, fakeslack.Options{})
	client := api(t, s)
	list := func(o ...slack.GetUserGroupsOption) []slack.UserGroup {
		t.Helper()
		got, err := client.GetUserGroupsContext(t.Context(), o...)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	users := slack.GetUserGroupsOptionIncludeUsers(true)
	if got := list(users); len(got) != 0 {
		t.Errorf("nobody made one: %+v", got)
	}
	people := []string{"U1", "U2"}
	s.AddUserGroup(fakeslack.UserGroup{ID: "S2", Name: "Old Guard", Users: []string{"U2"}, Disabled: true})
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Name: "Marketing Team", Handle: "marketing", Users: people})
	s.AddUserGroup(fakeslack.UserGroup{ID: "S3"})
	people[0] = "U9" // the server's list is its own

	for name, c := range map[string]struct {
		options []slack.GetUserGroupsOption
		users   map[string][]string // those that are listed, with their people
		counts  map[string]int
	}{
		"alone":         {nil, map[string][]string{"S1": nil, "S3": nil}, map[string]int{}},
		"with people":   {[]slack.GetUserGroupsOption{users}, map[string][]string{"S1": {"U1", "U2"}, "S3": {}}, map[string]int{}},
		"with counts":   {[]slack.GetUserGroupsOption{slack.GetUserGroupsOptionIncludeCount(true)}, map[string][]string{"S1": nil, "S3": nil}, map[string]int{"S1": 2}},
		"with disabled": {[]slack.GetUserGroupsOption{users, slack.GetUserGroupsOptionIncludeDisabled(true)}, map[string][]string{"S1": {"U1", "U2"}, "S2": {"U2"}, "S3": {}}, map[string]int{}},
		"of a team":     {[]slack.GetUserGroupsOption{slack.GetUserGroupsOptionTeamID("T9")}, map[string][]string{"S1": nil, "S3": nil}, map[string]int{}}, // ignored
	} {
		gotUsers, gotCounts := map[string][]string{}, map[string]int{}
		for _, g := range list(c.options...) {
			gotUsers[g.ID] = g.Users
			if g.UserCount != 0 {
				gotCounts[g.ID] = g.UserCount
			}
			if g.TeamID != s.Team() || !g.IsUserGroup || (g.DateDelete != 0) != (g.ID == "S2") || (g.DeletedBy != "") != (g.ID == "S2") || g.DateCreate == 0 || g.CreatedBy == "" {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if d := cmp.Diff(c.users, gotUsers) + cmp.Diff(c.counts, gotCounts); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	if g := list()[0]; g.Name != "Marketing Team" || g.Handle != "marketing" {
		t.Errorf("%+v", g)
	}
	if g := list(slack.GetUserGroupsOptionIncludeDisabled(true))[1]; g.Handle != "old-guard" {
		t.Errorf("%+v", g)
	}

	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Name: "Marketing Team", Users: []string{"U1"}}) // Ben left
	if got := list(users); len(got) != 2 || cmp.Diff([]string{"U1"}, got[0].Users) != "" {
		t.Errorf("%+v", got)
	}
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Users: []string{"U1"}, Disabled: true})
	if got := list(users); len(got) != 1 || got[0].ID != "S3" {
		t.Errorf("%+v", got)
	}
	if got := s.UserGroups(); len(got) != 3 || got[0].ID != "S1" || !got[0].Disabled || got[0].Name != "S1" {
		t.Errorf("%+v", got)
	} else if got[0].Users[0] = "U9"; s.UserGroups()[0].Users[0] != "U1" { // what it hands out is the reader's own
		t.Error("a reader changed who is in it")
	}
}

func TestUserGroupsNeedTheirScope(t *testing.T) {
	s := start(t, fakeslack.Options{Scopes: []string{"chat:write", "users:read"}})
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Users: []string{"U1"}})
	var no slack.SlackErrorResponse
	if got, err := api(t, s).GetUserGroupsContext(t.Context()); !errors.As(err, &no) || no.Err != "missing_scope" || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	a, _ := call(t, s, "usergroups.list")
	if a["needed"] != "usergroups:read" || a["provided"] != "chat:write,users:read" {
		t.Errorf("%v", a)
	}
	s = start(t, fakeslack.Options{Scopes: []string{"usergroups:read"}})
	if _, err := api(t, s).GetUserGroupsContext(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUserGroupsHaveATier(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock, Tiers: fakeslack.Floors()})
	client := api(t, s)
	for range 20 { // https://docs.slack.dev/reference/methods/usergroups.list: tier 2
		if _, err := client.GetUserGroupsContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var busy *slack.RateLimitedError
	if _, err := client.GetUserGroupsContext(t.Context()); !errors.As(err, &busy) || busy.RetryAfter != time.Minute {
		t.Errorf("the 21st in a minute: %v", err)
	}
	clock.Advance(time.Minute)
	if _, err := client.GetUserGroupsContext(t.Context()); err != nil {
		t.Error(err)
	}
}
