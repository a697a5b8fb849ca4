package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// granting tells which chats hold grants.
type granting interface {
	Granting(ctx context.Context) ([]chat.ID, error)
}

// grantsView are the standing permissions, here and everywhere.
func (l *looking) grantsView(ctx context.Context) (render.Panel, bool, error) {
	p := render.Panel{Title: render.TabGrants}
	if l.hasChat() {
		grants := l.grantsHere()
		here := render.Section{Title: render.PanelGrantsHere, Empty: render.PanelNoGrants}
		var mine []permission.GrantID
		for _, g := range grants {
			here.Rows = append(here.Rows, l.grantRow(l.here, g, ""))
			if l.mayRevoke(g) {
				mine = append(mine, g.ID)
			}
		}
		here.Rows = cut(here.Rows, maxPanelRows)
		if len(mine) > 1 {
			label := render.LabelRevokeAll
			if len(mine) < len(grants) {
				label = render.LabelRevokeMine
			}
			a := l.act(label, "revoke all", l.env.Chat.String(), fmt.Sprint(mine), l.revoking(l.env.Chat, mine))
			a.Style, a.Confirm = render.Danger, render.ConfirmRevokeAll(len(mine))
			here.Rows = append(here.Rows, render.PanelRow{Line: words(render.GrantsHere(len(grants))), Acts: []render.Act{a}})
		}
		p.Sections = append(p.Sections, here)
	}
	far, known, err := l.grantsElsewhere(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	if known || !l.hasChat() {
		p.Sections = append(p.Sections, far)
	}
	return p, true, nil
}

// grantsHere are those of this chat that still can cover something.
func (l *looking) grantsHere() []permission.Grant { return l.liveGrants(l.here) }

func (l *looking) liveGrants(s turn.Session) []permission.Grant {
	var out []permission.Grant
	for _, g := range s.Grants {
		switch {
		case !g.Until.IsZero() && !l.now.Before(g.Until), g.Counted && g.Uses <= 0, !l.policy.SurviveRestart && g.Epoch != l.policy.Epoch:
		default:
			out = append(out, g)
		}
	}
	return out
}

// grantsElsewhere are those of other chats: all of them for admins, else those that somebody gave, or that cover what they ask.
func (l *looking) grantsElsewhere(ctx context.Context) (render.Section, bool, error) {
	s := render.Section{Title: render.PanelGrantsElsewhere, Empty: render.PanelNoGrantsElsewhere}
	index, can := l.Log.(granting)
	if !can {
		return s, false, nil
	}
	chats, err := index.Granting(ctx)
	if err != nil {
		return s, true, fmt.Errorf("find the grants: %w", err)
	}
	chats = slices.DeleteFunc(slices.Clone(chats), func(id chat.ID) bool { return id == l.env.Chat })
	slices.SortFunc(chats, compareIDs)
	left := max(len(chats)-maxPanelChats, 0)
	for _, id := range chats[:len(chats)-left] {
		session, err := l.Session(ctx, id)
		if err != nil {
			return s, true, fmt.Errorf("read a chat with grants: %w", err)
		}
		for _, g := range l.liveGrants(session) {
			if l.admin || g.By == l.env.User || l.coversMine(session, g) {
				s.Rows = append(s.Rows, l.grantRow(session, g, id.Platform))
			}
		}
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if left > 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(render.ChatsNotLookedAt(left))})
	}
	return s, true, nil
}

// coversMine reports whether a grant is for what whoever looks asks in a chat in which they take part.
func (l *looking) coversMine(s turn.Session, g permission.Grant) bool {
	if !slices.ContainsFunc(s.People, func(p turn.Person) bool { return p.User == l.env.User }) {
		return false
	}
	r := turn.Requested(s, turn.ToolCall{Tool: g.Tool})
	r.Requester = l.env.User
	return permission.MayDecide(l.policy, r, permission.LevelUser, g.By) == nil
}

// mayRevoke is the same rule by which the engine takes a revocation.
func (l *looking) mayRevoke(g permission.Grant) bool { return l.admin || g.By == l.env.User }

func (l *looking) grantRow(s turn.Session, g permission.Grant, platform string) render.PanelRow {
	line := render.Line{render.Plain(clipped(turn.GrantWhat(g), 400) + render.AllowedBy), l.person(g.By, g.Name), render.Plain(" · "), render.Time{At: g.At}}
	row := render.PanelRow{Line: line, Details: []render.Line{words(render.GrantLimits(platform, g.Counted, g.Uses))}}
	if !g.Until.IsZero() {
		row.Details[0] = append(row.Details[0], render.Plain(render.UntilAt), render.Time{At: g.Until, Until: true})
	}
	if l.mayRevoke(g) {
		a := l.act(render.LabelRevoke, "revoke", s.Chat.String(), string(g.ID), l.revoking(s.Chat, []permission.GrantID{g.ID}))
		a.Hint = render.RevokeHint(clipped(permission.GrantedWhat(g), 80))
		row.Acts = append(row.Acts, a)
	}
	if platform != "" {
		for _, t := range []*turn.Turn{s.Turn, s.Last} {
			if t != nil && t.Shown != "" {
				row.Acts = append(row.Acts, linkTo(s.Chat, t.Shown))
				break
			}
		}
	}
	return row
}

// revoking ends grants of one chat through the one way in which anybody's choice enters its log.
func (l *looking) revoking(id chat.ID, grants []permission.GrantID) deed {
	return func(ctx context.Context, _ string) (Done, error) {
		for _, g := range grants {
			env := apart(l.env, string(g))
			env.Chat = id
			if _, err := l.Decide(ctx, chat.Clicked{Envelope: env, Choice: chat.Revoke, Token: string(g)}); err != nil {
				return Done{}, err
			}
		}
		return Done{Say: render.Revoked(), View: viewGrants}, nil
	}
}
