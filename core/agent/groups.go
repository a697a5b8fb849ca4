package agent

import (
	"context"
	"errors"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// groupsWithin bounds how long a platform may take to say who belongs to what: the turn waits for it.
const groupsWithin = 3 * time.Second

// withDecidersGroups gives the policy with the groups of the people whose earlier decisions count in a chat, as its platform says now: a grant is a
// standing click, and a click by somebody who lost a role is not accepted.
func (d *driver) withDecidersGroups(policy permission.Policy, s turn.Session) permission.Policy {
	groups, can := d.e.Platforms[d.id.Platform].(Groups)
	if !can || !policy.NamesGroups(d.id.Platform) {
		return policy
	}
	ctx, cancel := context.WithTimeout(d.ctx, groupsWithin)
	defer cancel()
	asked := map[chat.User]bool{}
	for _, u := range decision.Deciding(policy, s) {
		if asked[u] || u.Platform != d.id.Platform {
			continue
		}
		asked[u] = true
		of, err := groups.Groups(ctx, d.id, u)
		if err != nil {
			d.e.Logger.Warn("it is not known which groups a person belongs to; what they decided because of one does not count now", "chat", d.id, "err", err)
			continue
		}
		policy = policy.Knowing(u, of)
	}
	return policy
}

// WithGroups is the policy with the groups of whoever acts. Where the surface does not say with what they do which they are (Slack never does),
// the platform is asked, if groups count for anything. unsure: it does not answer, and they count as belonging to none.
func (e *Engine) WithGroups(ctx context.Context, policy permission.Policy, by chat.Envelope) (_ permission.Policy, unsure bool) {
	groups, can := e.Platforms[by.User.Platform].(Groups)
	if by.Groups != nil || !can || !policy.NamesGroups(by.User.Platform) {
		return policy.Knowing(by.User, by.Groups), false
	}
	ctx, cancel := context.WithTimeout(ctx, groupsWithin)
	defer cancel()
	of, err := groups.Groups(ctx, by.Chat, by.User)
	if err != nil {
		e.Logger.Warn("it is not known which groups a person belongs to; they may not decide because of one now", "chat", by.Chat, "err", err)
		of = nil
	}
	return policy.Knowing(by.User, of), err != nil
}

// whileUnsure adds to a refusal of somebody that it may be wrong: they may belong to a group that may.
func whileUnsure(err error, unsure bool) error {
	if no, ok := errors.AsType[*decision.Refusal](err); unsure && ok && no.Code == decision.RefusedNotYours {
		return &decision.Refusal{Code: no.Code, Say: no.Say + " " + text.GroupsUnknown}
	}
	return err
}

// NameOf is what people call somebody, or a group, in a chat.
func (e *Engine) NameOf(s turn.Session, u chat.User) string {
	if p, ok := e.Platforms[u.Platform].(GroupNames); ok && u.IsGroup() {
		if name := p.GroupName(s.Chat, u); name != "" {
			return "@" + name
		}
	}
	return s.NameOf(u)
}
