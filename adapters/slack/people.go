package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// How long what Slack says of people is believed. Somebody who was made a guest or deactivated can decide that much longer.
const (
	peopleFresh  = 5 * time.Minute
	peopleFailed = 2 * time.Second // a failure is kept as long, so that a burst of messages does not become a burst of calls
	peopleWithin = 2 * time.Second
	askedWithin  = 10 * time.Second // Slack, also where nobody waits for it any more
)

type Person struct {
	User     chat.User
	Name     string
	Guest    bool // of this workspace, for some channels
	External bool // of another organisation
	Bot      bool
	Gone     bool // deactivated
	Untold   bool // Slack did not tell: the envelope's word alone says who it is
}

// question is one to Slack, and the answer for as long as it is believed. Who waits for it may give up; it is asked to its end for whoever
// comes next: else nobody would ever hear a Slack that takes longer than a click may wait.
type question[T any] struct {
	came  chan struct{} // closed when the others are there
	is    T
	err   error
	until time.Time
}

// ask begins to ask Slack. What it answers is believed for as long as fresh says, and that it did not for as long as failed.
func ask[T any](a *Adapter, fresh, failed time.Duration, call func(context.Context) (T, error)) *question[T] {
	q := &question[T]{came: make(chan struct{})}
	go func() {
		defer close(q.came)
		ctx, cancel := context.WithTimeout(a.life, askedWithin)
		defer cancel()
		q.until = a.now().Add(fresh) // what was read is as old as the question
		if q.is, q.err = call(ctx); q.err != nil {
			q.until = a.now().Add(failed)
		}
	}()
	return q
}

// stands reports whether it need not be asked again: nobody knows the answer yet, or it is still believed.
func (q *question[T]) stands(now time.Time) bool {
	return q != nil && (!isClosed(q.came) || now.Before(q.until))
}

func (q *question[T]) wait(ctx context.Context) (is T, err error) {
	select {
	case <-q.came:
	case <-ctx.Done():
		if !isClosed(q.came) { // what is known needs no time
			return is, fmt.Errorf("slack did not tell: %w", ctx.Err())
		}
	}
	return q.is, q.err
}

// people remembers who is who. The zero value is ready.
type people struct {
	mu     sync.Mutex
	recent surface.Cache[*question[Person]]
}

// lookUp finds the person with a user ID, by users.info. Several that ask for the same one at once make one call.
func (a *Adapter) lookUp(ctx context.Context, userID string) (Person, error) {
	if userID == "" {
		return Person{}, errors.New("slack: no user is named")
	}
	ctx, cancel := context.WithTimeout(ctx, peopleWithin)
	defer cancel()
	return a.in.people.find(userID, a.now(), func() *question[Person] {
		return ask(a, peopleFresh, peopleFailed, func(ctx context.Context) (who Person, err error) {
			u, err := a.api.GetUserInfoContext(ctx, userID) // https://docs.slack.dev/reference/methods/users.info
			if err != nil {
				return who, fmt.Errorf("slack: users.info: %w", calls.FaultOf(a.doubt(err)))
			}
			return PersonOf(u, a.self.Team, a.self.Enterprise), nil
		})
	}).wait(ctx)
}

// find is the question after a person that stands, or a new one.
func (p *people) find(id string, now time.Time, ask func() *question[Person]) *question[Person] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q, _ := p.recent.Get(id, now); q.stands(now) {
		return q
	}
	q := ask()
	p.recent.Put(id, q, now)
	return q
}

// nameOf is what somebody who was met is called, or "". It asks nobody.
func (a *Adapter) nameOf(userID string) string {
	if userID == a.self.User {
		return botName
	}
	p := &a.in.people
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.recent.Get(userID, a.now()); ok && isClosed(one.came) {
		return one.is.Name
	}
	return ""
}

// PersonOf reads a user object, as the bot of a workspace, and maybe of an Enterprise Grid organisation, sees it.
// https://docs.slack.dev/reference/objects/user-object
func PersonOf(u *slack.User, team, enterprise string) Person {
	home := cmp.Or(u.Enterprise.EnterpriseID, u.TeamID)
	ours := u.TeamID == team || enterprise != "" && (u.Enterprise.EnterpriseID == enterprise || u.TeamID == enterprise)
	return Person{
		User: userOf(home, u.ID), Name: cmp.Or(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name),
		Guest: u.IsRestricted || u.IsUltraRestricted, External: u.IsStranger || !ours, Gone: u.Deleted,
		Bot: u.IsBot || u.IsWorkflowBot || u.IsConnectorBot || u.ID == inbound.Slackbot || u.ID == inbound.SlackSystem,
	}
}

// identifyAuthor finds out who wrote a message. Where Slack does not tell, the signed envelope has to do: a message is not lost for that,
// but nothing runs unasked for it. Who decides is looked up again.
func (a *Adapter) identifyAuthor(ctx context.Context, userID, home string) Person {
	by, err := a.lookUp(ctx, userID)
	if err == nil {
		return by
	}
	if calls.CodeOf(err) == "user_not_found" {
		return Person{Bot: true} // Slack speaks: whoever can be seen in a channel, it knows
	}
	if userID != "" {
		a.Logger.Info("slack: who wrote is taken from the envelope alone", "user", userID, "err", err)
	}
	return Person{User: a.userAt(home, userID), Untold: true}
}

// userAt is somebody whom the envelope alone says to be at home there: of this workspace where it does not say.
func (a *Adapter) userAt(home, userID string) chat.User {
	if home == "" || home == a.self.Team {
		home = cmp.Or(a.self.Enterprise, a.self.Team)
	}
	return userOf(home, userID)
}

func (a *Adapter) standing(by Person) chat.Standing {
	switch {
	case by.Untold:
		return chat.Untold
	case by.User.IsZero(), by.External && !a.External, by.Guest && !a.Guests:
		return chat.Visitor
	}
	return chat.Member
}

// identifyDecider finds out who decides; no is a sentence for them that says why they may not here. The engine then asks whether the policy lets them.
func (a *Adapter) identifyDecider(ctx context.Context, userID string, choice chat.Choice) (by Person, no string) {
	by, err := a.lookUp(ctx, userID)
	switch {
	case err != nil:
		a.Logger.Warn("slack: who clicked could not be looked up", "user", userID, "err", err)
		return by, sayWhoUnknown
	case by.Bot, by.Gone, by.User.IsZero():
		return by, surface.SayNotAPerson
	case choice == chat.Stop, choice == chat.Good, choice == chat.Bad: // nothing runs because of them
		return by, ""
	case by.External && !a.External:
		return by, sayExternal
	case by.Guest && !a.Guests:
		return by, sayGuest
	}
	return by, ""
}

// userOf is a user of a workspace. On Enterprise Grid home is the enterprise, where user IDs are unique; else it is the user's own
// workspace, which for somebody from another organisation is not the one the bot is installed in.
func userOf(home, user string) chat.User {
	if home == "" || user == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Workspace: home, Key: user}
}

// How long what Slack says of user groups is believed. Somebody who left a group can decide because of it that much longer. The method is
// of tier 2, 20 calls a minute, which all replicas of a workspace share: https://docs.slack.dev/reference/methods/usergroups.list
const (
	groupsFresh  = 30 * time.Second
	groupsFailed = 2 * time.Second // a failure is kept as long, so that a burst of clicks does not become a burst of calls
	groupsWithin = 1500 * time.Millisecond
)

// userGroups remembers who belongs to what. The zero value is ready.
type userGroups struct {
	mu     sync.Mutex
	latest *question[*groupList]
	told   atomic.Pointer[groupList] // the last that Slack told
}

type groupList struct {
	of    map[string][]string // groups by user ID
	names map[string]string   // handles by group ID
}

// Groups are the user groups that somebody of this workspace belongs to now. It takes the scope usergroups:read.
func (a *Adapter) Groups(ctx context.Context, id chat.ID, u chat.User) ([]chat.User, error) {
	a, err := a.home(ctx, homeOf(id, u))
	if err != nil || !isOurs(a.self, u) {
		return nil, err
	}
	list, err := a.listGroups(ctx)
	if err != nil {
		return nil, err
	}
	groups := []chat.User{} // known, and none
	for _, id := range list.of[u.Key] {
		groups = append(groups, userOf(u.Workspace, chat.GroupPrefix+id))
	}
	return groups, nil
}

// isOurs reports whether u is of this workspace, or of its organisation.
func isOurs(self inbound.Self, u chat.User) bool {
	return u.Platform == Platform && u.Workspace != "" && (u.Workspace == self.Team || u.Workspace == self.Enterprise)
}

// Member is who somebody is who signed in on the page by Slack. no says to them why they may do nothing there: what they may here, as
// [Adapter.identifyDecider] has it, they may there.
func (a *Adapter) Member(ctx context.Context, _ chat.ID, u chat.User) (is chat.User, name, no string) {
	ctx, cancel := context.WithTimeout(ctx, peopleWithin)
	defer cancel()
	a, err := a.home(ctx, u.Workspace)
	switch {
	case err != nil && !calls.FaultOf(err).Refuses():
		return is, "", sayWhoUnknown
	case err != nil || !isOurs(a.self, u):
		return is, "", sayOtherWorkspace
	}
	by, no := a.identifyDecider(ctx, u.Key, chat.AllowOnce)
	if by.External { // somebody else may have the same ID there
		no = sayExternal
	}
	return by.User, by.Name, no
}

func (a *Adapter) listGroups(ctx context.Context) (*groupList, error) {
	ctx, cancel := context.WithTimeout(ctx, groupsWithin)
	defer cancel()
	g := &a.in.groups
	g.mu.Lock()
	if !g.latest.stands(a.now()) {
		g.latest = ask(a, groupsFresh, groupsFailed, a.readGroups)
	}
	q := g.latest
	g.mu.Unlock()
	return q.wait(ctx)
}

func (a *Adapter) readGroups(ctx context.Context) (*groupList, error) {
	all, err := a.api.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil {
		return nil, fmt.Errorf("slack: usergroups.list: %w", calls.FaultOf(a.doubt(err)))
	}
	list := &groupList{of: map[string][]string{}, names: map[string]string{}}
	for _, x := range all {
		if x.DateDelete != 0 { // one that is disabled stands for nobody
			continue
		}
		list.names[x.ID] = x.Handle
		for _, u := range x.Users {
			list.of[u] = append(list.of[u], x.ID)
		}
	}
	a.in.groups.told.Store(list)
	return list, nil
}

// GroupName is the handle of a user group, as far as it was read. It asks nobody.
func (a *Adapter) GroupName(id chat.ID, group chat.User) string {
	if a = a.known(homeOf(id, group)); a == nil {
		return ""
	}
	last := a.in.groups.told.Load()
	if last == nil || group.Platform != Platform || !group.IsGroup() {
		return ""
	}
	return last.names[strings.TrimPrefix(group.Key, chat.GroupPrefix)]
}
