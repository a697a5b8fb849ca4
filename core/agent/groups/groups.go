// Package groups asks platforms which groups people belong to, as roles and user groups, so that the policy can go by it. Whom a platform
// does not place belongs to none: nobody decides because of a group while that is not known.
package groups

import (
	"context"
	"log/slog"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Groups is an optional extra of a platform on which people have roles: the groups that a person belongs to now. An error means none.
type Groups interface {
	Groups(context.Context, chat.ID, chat.User) ([]chat.User, error)
}

// Names is an optional extra of a platform: what people call a group. Empty where that is not known without asking anybody.
type Names interface {
	GroupName(chat.ID, chat.User) string
}

// within bounds how long a platform may take to say who belongs to what: the turn waits for it.
const within = 3 * time.Second

// Asker asks the platforms.
type Asker struct {
	On     func(platform string) any // a [Groups] and a [Names], where it can
	Logger *slog.Logger
}

// Deciding gives the policy with the groups of the people whose earlier decisions count in a chat, as their platform says now: a grant is a
// standing click, and a click by somebody who lost a role is not accepted.
func (a Asker) Deciding(ctx context.Context, id chat.ID, policy permission.Policy, s turn.Session) permission.Policy {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := map[chat.User]bool{}
	for _, u := range decision.Deciding(policy, s) {
		groups, can := a.On(u.Platform).(Groups)
		if asked[u] || !can || !policy.NamesGroups(u.Platform) {
			continue
		}
		asked[u] = true
		of, err := groups.Groups(ctx, id, u)
		if err != nil {
			a.Logger.Warn("it is not known which groups a person belongs to; what they decided because of one does not count now", "chat", id, "err", err)
			continue
		}
		policy = policy.Knowing(u, of)
	}
	return policy
}

// Acting is the policy with the groups of whoever acts. Where the surface does not say with what they do which they are (Slack never does),
// the platform is asked, if groups count for anything. unsure: it does not answer, and they count as belonging to none.
func (a Asker) Acting(ctx context.Context, policy permission.Policy, by chat.Envelope) (_ permission.Policy, unsure bool) {
	groups, can := a.On(by.User.Platform).(Groups)
	if by.Groups != nil || !can || !policy.NamesGroups(by.User.Platform) {
		return policy.Knowing(by.User, by.Groups), false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	of, err := groups.Groups(ctx, by.Chat, by.User)
	if err != nil {
		a.Logger.Warn("it is not known which groups a person belongs to; they may not decide because of one now", "chat", by.Chat, "err", err)
		of = nil
	}
	return policy.Knowing(by.User, of), err != nil
}

// NameOf is what people call somebody, or a group, in a chat.
func (a Asker) NameOf(s turn.Session, u chat.User) string {
	if p, ok := a.On(u.Platform).(Names); ok && u.IsGroup() {
		if name := p.GroupName(s.Chat, u); name != "" {
			return "@" + name
		}
	}
	return s.NameOf(u)
}
