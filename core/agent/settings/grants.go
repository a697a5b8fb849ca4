package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// grantsView are the standing permissions, here and everywhere.
func (p *page) grantsView(ctx context.Context) render.Panel {
	var here render.Section
	if p.hasChat() {
		grants, mine := p.grantsHere()
		rows := rowsFor(grants, func(g permission.Grant) render.PanelRow { return p.grantRow(p.here, g, "") })
		here = render.Section{Title: text.PanelGrantsHere, Empty: text.PanelNoGrants, Rows: rows}
		if len(mine) > 1 {
			label := text.LabelRevokeAll
			if len(mine) < len(grants) {
				label = text.LabelRevokeMine
			}
			a := p.offerDangerous(label, text.ConfirmRevokeAll(len(mine)), "", revoke(p.env.Chat, mine...))
			here.Rows = append(here.Rows, row(text.GrantsHere(len(grants)), a))
		}
	}
	kept := rowsFor(p.inChannels(), func(r permission.Remembered) render.PanelRow {
		line, limits := p.channelSays(r)
		out := render.PanelRow{Line: line, Details: []render.Line{limits}}
		if p.mayEnd(r) {
			a := p.offer(text.LabelRevoke, r.ID, p.end(r))
			a.Hint = text.RevokeHint(text.Clip(r.What(), 80))
			out.Acts = append(out.Acts, a)
		}
		return out
	})
	channels := render.Section{Title: text.PanelGrantsChannel, Rows: kept}
	if len(kept) == 0 {
		channels.Title = ""
	} else if !p.policy.ChannelGrants {
		channels.Note = text.ChannelGrantsOff
	}
	return drawing(text.TabGrants, here, channels, p.grantsElsewhere(ctx))
}

// inChannels is what was allowed for this chat's channel and still counts, and for others what the person allowed there; for admins all.
func (q *request) inChannels() []permission.Remembered {
	return slices.DeleteFunc(slices.Clone(q.settings.Remembered), func(r permission.Remembered) bool {
		return r.Channel == "" || !q.now.Before(r.Until) || r.Channel != q.here.Channel && !q.mayEnd(r)
	})
}

func (q *request) mayEnd(r permission.Remembered) bool { return q.admin || r.By == q.env.User }

// end ends what was allowed for a channel.
func (q *request) end(r permission.Remembered) action {
	a := forget(viewGrants, r.ID)
	a.own, a.say = r.By == q.env.User, text.Revoked
	return a
}

func (q *request) channelSays(r permission.Remembered) (line, limits render.Line) {
	line = render.Line{render.Plain(text.Clip(r.What(), 400) + text.AllowedBy), q.person(r.By, r.Name), render.Plain(" · "), render.Time{At: r.At}}
	limits = plainLine(text.InThisChannel)
	if r.Channel != q.here.Channel {
		limits = render.Line{render.Plain(text.InAllChatsOf), render.Channel(r.Channel)}
	}
	return line, append(limits, render.Plain(text.UntilAt), render.Time{At: r.Until, Until: true})
}

// grantsHere are those of this chat that still can cover something, and the IDs of those that the person may revoke.
func (q *request) grantsHere() (grants []permission.Grant, mine []permission.GrantID) {
	grants = q.liveGrants(q.here)
	for _, g := range grants {
		if q.mayRevoke(g) {
			mine = append(mine, g.ID)
		}
	}
	return grants, mine
}

func (q *request) liveGrants(s turn.Session) []permission.Grant {
	return slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool {
		return !g.Until.IsZero() && !q.now.Before(g.Until) || g.Counted && g.Uses <= 0 || !q.policy.SurviveRestart && g.Epoch != q.policy.Epoch
	})
}

// grantsElsewhere are those of other chats: all of them for admins, else those that somebody gave, or that cover what they ask.
func (p *page) grantsElsewhere(ctx context.Context) render.Section {
	out := render.Section{Title: text.PanelGrantsElsewhere, Empty: text.PanelNoGrantsElsewhere}
	chats, err := p.Index.Granting(ctx)
	if p.failed("find the grants", err) {
		return out
	}
	chats = slices.DeleteFunc(slices.Clone(chats), func(id chat.ID) bool { return id == p.env.Chat })
	slices.SortFunc(chats, compareIDs)
	sessions, left := p.sessions(ctx, "read a chat with grants", chats)
	var rows []render.PanelRow
	for _, s := range sessions {
		for _, g := range p.liveGrants(s) {
			if p.mayRevoke(g) || p.coversMine(s, g) {
				rows = append(rows, p.grantRow(s, g, s.Chat.Platform))
			}
		}
	}
	rows = rowsFor(rows, func(r render.PanelRow) render.PanelRow { return r })
	out.Rows = append(rows, rowsOf(notLookedAt(left)...)...)
	return out
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

// grantSays is a grant in words, and what it is limited to. The platform is empty where it is of this chat.
func (q *request) grantSays(g permission.Grant, platform string) (line, limits render.Line) {
	what := render.Plain(text.Clip(card.GrantWhat(g), 400) + text.AllowedBy)
	line = render.Line{what, q.person(g.By, g.Name), render.Plain(" · "), render.Time{At: g.At}}
	limits = plainLine(text.GrantLimits(platform, g.Counted, g.Uses))
	if !g.Until.IsZero() {
		limits = append(limits, render.Plain(text.UntilAt), render.Time{At: g.Until, Until: true})
	}
	return line, limits
}

func (p *page) grantRow(s turn.Session, g permission.Grant, platform string) render.PanelRow {
	line, limits := p.grantSays(g, platform)
	r := render.PanelRow{Line: line, Details: []render.Line{limits}}
	if p.mayRevoke(g) {
		a := p.offer(text.LabelRevoke, "", revoke(s.Chat, g.ID))
		a.Hint = text.RevokeHint(text.Clip(permission.GrantedWhat(g), 80))
		r.Acts = append(r.Acts, a)
	}
	if platform != "" {
		var last chat.MessageRef
		for _, t := range s.Turns() {
			last = cmp.Or(t.Shown, last)
		}
		r.Acts = append(r.Acts, p.linkTo(s, last)...)
	}
	return r
}

// mineView are the choices that the person told nod to remember.
func (p *page) mineView(ctx context.Context) render.Panel {
	p.servers(ctx)
	mine := p.settings.Of(p.env.User)
	rows := rowsFor(mine, func(r permission.Remembered) render.PanelRow {
		choice := row(rememberedLine(r)+" · ", p.offer(text.LabelForget, r.Choice.String(), forget(viewMine, r.ID)))
		choice.Line = append(choice.Line, render.Time{At: r.At})
		choice.Details = p.stale(r)
		return choice
	})
	if len(mine) > 1 {
		a := p.offerDangerous(text.LabelForgetAll, text.ConfirmForgetAll(len(mine)), "", forget(viewMine, idsOf(mine)...))
		rows = append(rows, row(text.RememberedCount(len(mine)), a))
	}
	return drawing(text.TabMine, render.Section{Title: text.TabMine, Note: text.PanelMineNote, Empty: text.PanelMineNone, Rows: rows})
}

// stale says of an allowance that its tool is another one now.
func (q *request) stale(r permission.Remembered) []render.Line {
	if sp, there := findTool(q.specs, r.Tool.Server, r.Tool.Name); there && r.Choice == permission.StandAllow && sp.Tool != r.Tool {
		return linesOf(text.RememberedStale)
	}
	return nil
}

func rememberedLine(r permission.Remembered) string {
	return text.RememberedLine(r.Choice.String(), text.Clip(r.What(), 170), text.Clip(r.Limits(), 300))
}

func idsOf(choices []permission.Remembered) (ids []string) {
	for _, r := range choices {
		ids = append(ids, r.ID)
	}
	return ids
}

// mayRemember says why a choice is not kept, or nil. A person may always ask for more care of nod; to be spared the question is theirs
// only where they may answer it alone, and where nothing takes that from them.
func (q *request) mayRemember(p permission.Policy, k toolEntry, choice permission.Standing) error {
	if choice != permission.StandAllow {
		return nil
	}
	req := q.callOf(k)
	p = p.In(req.Chat, req.Channel)
	is := p.Get(k.tool(), req.Source, req.Hints, req.Metadata)
	say := ""
	switch err := permission.MayDecide(p, req, permission.LevelUser, q.env.User); {
	case !k.offered:
		say = text.ToolNotThere
	case is.Disabled != "":
		say = text.ToolIsDisabled
	case is.Approval == permission.RequireAuth:
		say = text.AdminEachCall
	case is.Changed:
		say = text.LookFirst
	case is.New && len(p.Admins) > 0:
		say = text.AcceptFirst
	case !is.ChatGrant:
		say = text.StandingWithheld
	case is.Approvals > 1:
		say = text.SeveralMust
	case err != nil:
		say = err.Error()
		if no, ok := errors.AsType[*permission.NotAllowed](err); ok {
			say = no.Say(func(u chat.User) string { return q.Engine.NameOf(q.here, u) })
		}
	default:
		return nil
	}
	return &decision.Refusal{Code: decision.RefusedNotYours, Say: say}
}
