package slack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

var (
	_ agent.Groups     = (*Adapter)(nil)
	_ agent.GroupNames = (*Adapter)(nil)
)

// How long what Slack says of user groups is believed. Somebody who left a group can decide because of it that much longer. The method is
// of tier 2, 20 calls a minute, which all replicas of a workspace share: https://docs.slack.dev/reference/methods/usergroups.list
const (
	groupsFresh  = 30 * time.Second
	groupsFailed = 2 * time.Second // a failure is kept as long, so that a burst of clicks does not become a burst of calls
	groupsWithin = 1500 * time.Millisecond
)

// userGroups remembers who belongs to what. The zero value is ready.
type userGroups struct {
	asking sync.Mutex // held for one call, which groupsWithin bounds

	mu    sync.Mutex
	of    map[string][]string // groups by user ID
	names map[string]string   // handles by group ID: kept when a later call fails
	err   error
	until time.Time
}

// Groups are the user groups that somebody belongs to now; people of other workspaces have none. It asks Slack for all groups at once,
// with the scope usergroups:read. The engine asks where groups may decide at all.
func (a *Adapter) Groups(ctx context.Context, _ chat.ID, u chat.User) ([]chat.User, error) {
	if u.Platform != Platform || u.IsGroup() || u.Workspace != a.self.Team && (a.self.Enterprise == "" || u.Workspace != a.self.Enterprise) {
		return nil, nil
	}
	ids, err := a.groupsOf(ctx, u.Key)
	if err != nil {
		return nil, err
	}
	groups := []chat.User{} // known, and none
	for _, id := range ids {
		groups = append(groups, person(u.Workspace, chat.GroupPrefix+id))
	}
	return groups, nil
}

func (a *Adapter) groupsOf(ctx context.Context, userID string) ([]string, error) {
	g := &a.in.groups
	if ids, fresh, err := g.known(userID, a.now()); fresh {
		return ids, err
	}
	g.asking.Lock()
	defer g.asking.Unlock()
	if ids, fresh, err := g.known(userID, a.now()); fresh { // somebody else asked meanwhile
		return ids, err
	}
	ctx, cancel := context.WithTimeout(ctx, groupsWithin)
	defer cancel()
	asked := a.now() // what was read is as old as the question
	list, err := a.api.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil {
		err = fmt.Errorf("slack: usergroups.list: %w", faultOf(a.doubt(err)))
	}
	g.learn(list, err, asked)
	ids, _, err := g.known(userID, asked)
	return ids, err
}

// known are somebody's groups as they were read, while that is fresh.
func (g *userGroups) known(userID string, now time.Time) (ids []string, fresh bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[userID], now.Before(g.until), g.err
}

func (g *userGroups) learn(list []slack.UserGroup, err error, asked time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of, g.err, g.until = nil, err, asked.Add(groupsFailed); err != nil {
		return
	}
	g.of, g.names, g.until = map[string][]string{}, map[string]string{}, asked.Add(groupsFresh)
	for _, x := range list {
		if x.ID == "" || x.DateDelete != 0 { // one that is disabled stands for nobody
			continue
		}
		g.names[x.ID] = x.Handle
		for _, u := range x.Users {
			g.of[u] = append(g.of[u], x.ID)
		}
	}
}

// GroupName is the handle of a user group, as far as it was read. It asks nobody.
func (a *Adapter) GroupName(_ chat.ID, group chat.User) string {
	if group.Platform != Platform || !group.IsGroup() {
		return ""
	}
	g := &a.in.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.names[strings.TrimPrefix(group.Key, chat.GroupPrefix)]
}
