package settings

import (
	"context"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// grantsView are the standing permissions, here and everywhere.
func (q *request) grantsView(ctx context.Context) (render.Panel, bool, error) {
	p := render.Panel{Title: text.TabGrants}
	if q.hasChat() {
		grants := q.grantsHere()
		here := render.Section{Title: text.PanelGrantsHere, Empty: text.PanelNoGrants}
		var mine []permission.GrantID
		for _, g := range grants {
			here.Rows = append(here.Rows, q.grantRow(q.here, g, ""))
			if q.mayRevoke(g) {
				mine = append(mine, g.ID)
			}
		}
		here.Rows = cut(here.Rows, maxPanelRows)
		if len(mine) > 1 {
			label := text.LabelRevokeAll
			if len(mine) < len(grants) {
				label = text.LabelRevokeMine
			}
			a := q.offer(label, "revoke all", q.env.Chat.String(), fmt.Sprint(mine), revoke{q.env.Chat, mine})
			a.Style, a.Confirm = render.Danger, text.ConfirmRevokeAll(len(mine))
			here.Rows = append(here.Rows, render.PanelRow{Line: words(text.GrantsHere(len(grants))), Acts: []render.Act{a}})
		}
		p.Sections = append(p.Sections, here)
	}
	far, err := q.grantsElsewhere(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	p.Sections = append(p.Sections, far)
	return p, true, nil
}

// grantsHere are those of this chat that still can cover something.
func (q *request) grantsHere() []permission.Grant { return q.liveGrants(q.here) }

func (q *request) liveGrants(s turn.Session) []permission.Grant {
	var out []permission.Grant
	for _, g := range s.Grants {
		switch {
		case !g.Until.IsZero() && !q.now.Before(g.Until), g.Counted && g.Uses <= 0, !q.policy.SurviveRestart && g.Epoch != q.policy.Epoch:
		default:
			out = append(out, g)
		}
	}
	return out
}

// grantsElsewhere are those of other chats: all of them for admins, else those that somebody gave, or that cover what they ask.
func (q *request) grantsElsewhere(ctx context.Context) (render.Section, error) {
	s := render.Section{Title: text.PanelGrantsElsewhere, Empty: text.PanelNoGrantsElsewhere}
	chats, err := q.Index.Granting(ctx)
	if err != nil {
		return s, fmt.Errorf("find the grants: %w", err)
	}
	chats = slices.DeleteFunc(slices.Clone(chats), func(id chat.ID) bool { return id == q.env.Chat })
	slices.SortFunc(chats, compareIDs)
	left := max(len(chats)-maxPanelChats, 0)
	for _, id := range chats[:len(chats)-left] {
		session, err := q.Engine.Session(ctx, id)
		if err != nil {
			return s, fmt.Errorf("read a chat with grants: %w", err)
		}
		for _, g := range q.liveGrants(session) {
			if q.admin || g.By == q.env.User || q.coversMine(session, g) {
				s.Rows = append(s.Rows, q.grantRow(session, g, id.Platform))
			}
		}
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if left > 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(text.ChatsNotLookedAt(left))})
	}
	return s, nil
}

// coversMine reports whether a grant would let a call run that this person asks for, in a chat in which they take part.
func (q *request) coversMine(s turn.Session, g permission.Grant) bool {
	if !slices.ContainsFunc(s.People, func(p turn.Person) bool { return p.User == q.env.User }) {
		return false
	}
	r := turn.Requested(s, turn.ToolCall{Tool: g.Tool})
	r.Requester = q.env.User
	return permission.MayDecide(q.policy, r, permission.LevelUser, g.By) == nil
}

// mayRevoke is the same rule by which the engine takes a revocation.
func (q *request) mayRevoke(g permission.Grant) bool { return q.admin || g.By == q.env.User }

func (q *request) grantRow(s turn.Session, g permission.Grant, platform string) render.PanelRow {
	line := render.Line{render.Plain(text.Clip(card.GrantWhat(g), 400) + text.AllowedBy), q.person(g.By, g.Name), render.Plain(" · "), render.Time{At: g.At}}
	row := render.PanelRow{Line: line, Details: []render.Line{words(text.GrantLimits(platform, g.Counted, g.Uses))}}
	if !g.Until.IsZero() {
		row.Details[0] = append(row.Details[0], render.Plain(text.UntilAt), render.Time{At: g.Until, Until: true})
	}
	if q.mayRevoke(g) {
		a := q.offer(text.LabelRevoke, "revoke", s.Chat.String(), string(g.ID), revoke{s.Chat, []permission.GrantID{g.ID}})
		a.Hint = text.RevokeHint(text.Clip(permission.GrantedWhat(g), 80))
		row.Acts = append(row.Acts, a)
	}
	if platform != "" {
		for _, t := range slices.Backward(s.Turns()) {
			if t.Shown != "" {
				row.Acts = append(row.Acts, linkTo(s.Chat, t.Shown))
				break
			}
		}
	}
	return row
}
