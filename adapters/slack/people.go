package slack

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// How long what Slack says of people is believed. Somebody who was made a guest or deactivated can decide that much longer.
const (
	peopleFresh  = 5 * time.Minute
	peopleFailed = 2 * time.Second // a failure is kept as long, so that a burst of messages does not become a burst of calls
	peopleWithin = 1500 * time.Millisecond
	maxPeople    = 4096
)

// somebody is a person as Slack knows them.
type somebody struct {
	User     chat.User
	Name     string
	Guest    bool // of this workspace, for some channels
	External bool // of another organisation
	Bot      bool
	Gone     bool // deactivated
	Untold   bool // Slack did not tell: the envelope's word alone says who it is
}

// people remembers who is who. The zero value is ready.
type people struct {
	mu     sync.Mutex
	byID   map[string]*list.Element
	recent *list.List // of *acquaintance, the one looked at last in front
}

type acquaintance struct {
	id    string
	asked chan struct{} // closed when who, err and until are there
	who   somebody
	err   error
	until time.Time
}

// who is the person with a user ID, by users.info. Several that ask for the same one at once make one call.
func (a *Adapter) who(ctx context.Context, userID string) (somebody, error) {
	if userID == "" {
		return somebody{}, errors.New("slack: no user is named")
	}
	ctx, cancel := context.WithTimeout(ctx, peopleWithin)
	defer cancel()
	for {
		one, first := a.in.people.meet(userID, a.now())
		if first {
			one.who, one.err = a.ask(ctx, userID)
			a.in.people.met(one, ctx.Err() != nil, a.now())
			return one.who, one.err
		}
		select {
		case <-one.asked:
		case <-ctx.Done():
			return somebody{}, fmt.Errorf("slack: users.info: %w", ctx.Err())
		}
		if !errors.Is(one.err, context.Canceled) && !errors.Is(one.err, context.DeadlineExceeded) {
			return one.who, one.err
		}
		if ctx.Err() != nil {
			return somebody{}, one.err
		} // else it was the other's time that ran out, not ours
	}
}

// meet returns what is known or being asked, or an entry for the caller to fill in.
func (p *people) meet(id string, now time.Time) (one *acquaintance, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID, p.recent = map[string]*list.Element{}, list.New()
	}
	if e, ok := p.byID[id]; ok {
		one = e.Value.(*acquaintance)
		select {
		case <-one.asked:
			if now.Before(one.until) {
				p.recent.MoveToFront(e)
				return one, false
			}
			p.forget(e)
		default:
			return one, false
		}
	}
	for p.recent.Len() >= maxPeople {
		p.forget(p.recent.Back())
	}
	one = &acquaintance{id: id, asked: make(chan struct{})}
	p.byID[id] = p.recent.PushFront(one)
	return one, true
}

func (p *people) forget(e *list.Element) {
	delete(p.byID, e.Value.(*acquaintance).id)
	p.recent.Remove(e)
}

// met says that an entry is filled in. cut: the asking was given up, which says nothing about the person.
func (p *people) met(one *acquaintance, cut bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case one.err == nil:
		one.until = now.Add(peopleFresh)
	case !cut:
		one.until = now.Add(peopleFailed)
	}
	close(one.asked)
}

// nameOf is what somebody who was met is called, or "". It asks nobody.
func (a *Adapter) nameOf(userID string) string {
	if userID == a.self.User {
		return botName
	}
	p := &a.in.people
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byID[userID]
	if !ok {
		return ""
	}
	one := e.Value.(*acquaintance)
	select {
	case <-one.asked:
		return one.who.Name
	default:
		return ""
	}
}

// ask calls users.info. https://docs.slack.dev/reference/methods/users.info
func (a *Adapter) ask(ctx context.Context, userID string) (somebody, error) {
	u, err := a.api.GetUserInfoContext(ctx, userID)
	if err != nil {
		return somebody{}, fmt.Errorf("slack: users.info: %w", faultOf(a.doubt(err)))
	}
	return somebodyOf(u, a.self), nil
}

// somebodyOf reads a user object. On Enterprise Grid the organisation is where user IDs are unique; elsewhere the workspace is, which
// for somebody from another organisation is theirs. https://docs.slack.dev/reference/objects/user-object
func somebodyOf(u *slack.User, me self) somebody {
	home := u.Enterprise.EnterpriseID
	if home == "" {
		home = u.TeamID
	}
	who := somebody{
		User: person(home, u.ID), Guest: u.IsRestricted || u.IsUltraRestricted, Gone: u.Deleted,
		Bot: u.IsBot || u.IsWorkflowBot || u.IsConnectorBot || u.ID == slackbot || u.ID == slackSystem,
	}
	ours := u.TeamID == me.Team || me.Enterprise != "" && (u.Enterprise.EnterpriseID == me.Enterprise || u.TeamID == me.Enterprise)
	who.External = u.IsStranger || !ours
	for _, name := range []string{u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name} {
		if name != "" {
			who.Name = name
			break
		}
	}
	return who
}

// speaker is the author of a message. Where Slack does not tell, the signed envelope's word for where they are at home has to do:
// a message is not lost for that, but nothing runs unasked for it. Who decides is looked up again.
func (a *Adapter) speaker(ctx context.Context, userID, home string) somebody {
	by, err := a.who(ctx, userID)
	if err == nil {
		return by
	}
	if no, ok := errors.AsType[slack.SlackErrorResponse](err); ok && no.Err == "user_not_found" {
		return somebody{Bot: true} // Slack speaks: whoever can be seen in a channel, it knows
	}
	if userID != "" {
		a.Logger.Info("slack: who wrote is taken from the envelope alone", "user", userID, "err", err)
	}
	switch {
	case home != "" && home != a.self.Team:
	case a.self.Enterprise != "":
		home = a.self.Enterprise
	default:
		home = a.self.Team
	}
	return somebody{User: person(home, userID), Untold: true}
}

// standing is what the author of a message is here.
func (a *Adapter) standing(by somebody) chat.Standing {
	switch {
	case by.Untold:
		return chat.Untold
	case by.External && !a.External, by.Guest && !a.Guests:
		return chat.Visitor
	}
	return chat.Member
}

// decider is who decides, or a sentence for them that says why they may not here. The engine then asks whether the policy lets them.
func (a *Adapter) decider(ctx context.Context, userID string, choice chat.Choice) (by somebody, no string) {
	by, err := a.who(ctx, userID)
	switch {
	case err != nil:
		a.Logger.Warn("slack: who clicked could not be looked up", "user", userID, "err", err)
		return by, sayWhoUnknown
	case by.Bot, by.Gone, by.User.IsZero():
		return by, surface.SayNotAPerson
	case choice == chat.Stop: // it can only end things
		return by, ""
	case by.External && !a.External:
		return by, sayExternal
	case by.Guest && !a.Guests:
		return by, sayGuest
	}
	return by, ""
}
