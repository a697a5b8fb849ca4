package fakeslack

import (
	"cmp"
	"slices"
	"strings"
)

// UserGroup is a group of people that can be mentioned, and named where a person can be.
type UserGroup struct {
	ID, Name string
	Handle   string   // without "@"
	Users    []string // who is in it
	Disabled bool     // its list of people stays
}

// The times of user groups. They tell nothing but whether a group is disabled.
const groupMade, groupDisabled = 1_446_746_793, 1_446_748_865

// AddUserGroup adds a user group, or replaces it. Empty fields get their defaults.
func (s *Server) AddUserGroup(g UserGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.Name = cmp.Or(g.Name, g.ID)
	g.Handle, g.Users = cmp.Or(g.Handle, strings.ReplaceAll(strings.ToLower(g.Name), " ", "-")), slices.Clone(g.Users)
	s.groups[g.ID] = &g
	s.Fire()
}

// UserGroups are all user groups, by ID, disabled ones too.
func (s *Server) UserGroups() []UserGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []UserGroup
	for _, g := range s.groups {
		one := *g
		one.Users = slices.Clone(g.Users)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b UserGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// listUserGroups answers in the order of the IDs, where Slack promises none. A team_id is ignored, as with any token of one workspace.
// https://docs.slack.dev/reference/methods/usergroups.list
func listUserGroups(s *Server, v values) (map[string]any, *refusal) {
	out := []any{}
	for _, g := range s.UserGroups() {
		if g.Disabled && !isTrue(v.Get("include_disabled")) {
			continue
		}
		w := map[string]any{"id": g.ID, "team_id": s.opt.Team, "is_usergroup": true, "is_external": false, "name": g.Name, "handle": g.Handle, "description": "",
			"date_create": groupMade, "date_update": groupMade, "date_delete": 0, "auto_type": nil, "created_by": "USLACKBOT", "updated_by": "USLACKBOT", "deleted_by": nil,
			"prefs": map[string]any{"channels": []string{}, "groups": []string{}}}
		if g.Disabled {
			w["date_update"], w["date_delete"], w["deleted_by"] = groupDisabled, groupDisabled, "USLACKBOT"
		}
		if isTrue(v.Get("include_users")) {
			w["users"] = append([]string{}, g.Users...) // a list, even where nobody is in it
		}
		if isTrue(v.Get("include_count")) {
			w["user_count"] = len(g.Users)
		}
		out = append(out, w)
	}
	return map[string]any{"usergroups": out}, nil
}
