package agent

import (
	"context"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// groupsWithin bounds how long a platform may take to say who belongs to what: the turn waits for it.
const groupsWithin = 3 * time.Second

// knowing is the policy with the groups of the people whose earlier decisions count in a chat, as its platform says now: a grant is a
// standing click, and a click by somebody who lost a role is not accepted.
func (d *driver) knowing(policy permission.Policy, s turn.Session) permission.Policy {
	groups, can := d.e.Platforms[d.id.Platform].(Groups)
	if !can || !policy.NamesGroups(d.id.Platform) {
		return policy
	}
	ctx, cancel := context.WithTimeout(d.ctx, groupsWithin)
	defer cancel()
	asked := map[chat.User]bool{}
	for _, u := range deciding(s) {
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

// deciding are the people whose decisions may count for a call that is to run: who gave a grant, who allowed a call, and who asks.
func deciding(s turn.Session) []chat.User {
	var out []chat.User
	for _, g := range s.Grants {
		out = append(out, g.By)
	}
	if s.Turn == nil {
		return out
	}
	for _, c := range s.Turn.Calls {
		if !c.By.IsZero() && !c.Settled() {
			out = append(out, c.By)
		}
	}
	return append(out, s.Turn.Requester)
}

// nameOf is what people call somebody, or a group, in a chat.
func (e *Engine) nameOf(s turn.Session, u chat.User) string {
	if u.IsGroup() {
		if p, ok := e.Platforms[u.Platform].(GroupNames); ok {
			if name := p.GroupName(s.Chat, u); name != "" {
				return "@" + name
			}
		}
	}
	return nameOf(s, u)
}
