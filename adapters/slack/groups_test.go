package slack

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func groupsOf(t *testing.T, a *Adapter, u chat.User) []string {
	t.Helper()
	groups, err := a.Groups(t.Context(), chat.ID{}, u)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range groups {
		out = append(out, g.String())
	}
	slices.Sort(out)
	return out
}

// Somebody's groups are those that Slack lists them in: no disabled one, and none of another workspace's people.
func TestGroupsOfSomebody(t *testing.T) {
	a, s := parlour(t)
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall", Users: []string{"UANA", "UBEN"}})
	s.AddUserGroup(fakeslack.UserGroup{ID: "S2", Handle: "leads", Users: []string{"UANA"}})
	s.AddUserGroup(fakeslack.UserGroup{ID: "S3", Handle: "old", Users: []string{"UANA"}, Disabled: true})
	if name := a.GroupName(chat.ID{}, userOf("T1", "&S1")); name != "" {
		t.Errorf("before it was asked S1 is called %q", name)
	}
	for u, want := range map[chat.User][]string{
		ana: {"slack:T1:&S1", "slack:T1:&S2"}, userOf("T1", "UBEN"): {"slack:T1:&S1"}, userOf("T1", "UXAN"): nil,
		userOf("T9", "UANA"): nil, userOf("E1", "UANA"): nil, {Platform: "discord", Workspace: "T1", Key: "UANA"}: nil, userOf("T1", "&S1"): nil,
	} {
		if got := groupsOf(t, a, u); !slices.Equal(got, want) {
			t.Errorf("%s is in %v, want %v", u, got, want)
		}
	}
	for g, want := range map[chat.User]string{userOf("T1", "&S1"): "oncall", userOf("T1", "&S9"): "", userOf("T1", "S1"): "", {Platform: "discord", Key: "&S1"}: ""} {
		if got := a.GroupName(chat.ID{}, g); got != want {
			t.Errorf("%s is called %q", g, got)
		}
	}
	listed, _ := answers(t, `{"ok":true,"usergroups":[{"id":"S3","handle":"old","date_delete":1446748865,"users":["UANA"]}]}`)
	other := newAdapter(t, Config{APIURL: listed})
	other.self = testSelf
	if list, err := other.listGroups(t.Context()); err != nil || len(list.of) > 0 {
		t.Error("somebody is in a group that is disabled, where Slack lists it all the same")
	}
	a.self.Enterprise = "E1" // there a user's ID is the organisation's
	if got := groupsOf(t, a, userOf("E1", "UBEN")); !slices.Equal(got, []string{"slack:E1:&S1"}) {
		t.Errorf("in an organisation Ben is in %v", got)
	}
}

// All groups are asked for at once, by one of those who ask at the same time, and again after a while: who leaves a group is out by then.
func TestGroupsAreRememberedForAWhile(t *testing.T) {
	a, s := parlour(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall", Users: []string{"UANA"}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := a.Groups(t.Context(), chat.ID{}, ana); err != nil || len(got) != 1 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	all.Wait()
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall"})
	now = now.Add(groupsFresh - time.Second)
	if got := groupsOf(t, a, ana); len(got) != 1 || s.Count("usergroups.list") != 1 {
		t.Errorf("in %v after %d calls", got, s.Count("usergroups.list"))
	}
	now = now.Add(time.Second)
	if got := groupsOf(t, a, ana); len(got) != 0 || s.Count("usergroups.list") != 2 {
		t.Errorf("in %v after %d calls", got, s.Count("usergroups.list"))
	}
}

// Nobody is in a group that could not be asked for, and the next who asks does not wait for long; its name stays known.
func TestGroupsThatCannotBeRead(t *testing.T) {
	a, s := parlour(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall", Users: []string{"UANA"}})
	groupsOf(t, a, ana)
	now = now.Add(groupsFresh)
	s.Fail("usergroups.list", 1, fakeslack.Fault{Error: "missing_scope"})
	for range 2 {
		if got, err := a.Groups(t.Context(), chat.ID{}, ana); err == nil || len(got) != 0 { // a second call would be answered
			t.Errorf("%v, %v", got, err)
		}
	}
	if s.Count("usergroups.list") != 1 || a.GroupName(chat.ID{}, userOf("T1", "&S1")) != "oncall" {
		t.Errorf("%d calls, called %q", s.Count("usergroups.list"), a.GroupName(chat.ID{}, userOf("T1", "&S1")))
	}
	now = now.Add(groupsFailed)
	if got := groupsOf(t, a, ana); len(got) != 1 {
		t.Errorf("afterwards in %v", got)
	}
}
