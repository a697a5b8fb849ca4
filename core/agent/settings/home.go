package settings

import (
	"context"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// homeView is what is open, and what is set for the person.
func (p *page) homeView(ctx context.Context) render.Panel {
	pending, left := p.pendingSection(ctx)
	pending.Note = text.PanelPendingNote
	pending.Rows = append(pending.Rows, rowsOf(notLookedAt(left)...)...)
	you := render.Section{Title: text.PanelYou, Rows: rowsOf(p.whoami()...)}
	you.Rows = append(you.Rows, row(text.RememberedCount(len(p.settings.Of(p.env.User))), goTo(text.TabMine, viewMine)))
	var about, here, halt render.Section
	if p.hasChat() {
		here = p.chatSection()
	} else {
		about = p.aboutSection(ctx)
	}
	if p.admin {
		halt = render.Section{Title: text.PanelHalt, Rows: []render.PanelRow{p.haltRow()}}
	}
	return drawing(text.PanelTitle, pending, about, here, p.review, you, halt)
}

// aboutSection is for whoever sees nod for the first time.
func (p *page) aboutSection(ctx context.Context) render.Section {
	tools, servers := 0, 0
	for _, s := range p.servers(ctx) {
		if n := s.offered(); n > 0 && !s.set.Disabled {
			tools, servers = tools+n, servers+1
		}
	}
	return render.Section{Title: text.PanelAbout, Rows: []render.PanelRow{row(text.About + " " + text.TryAsking), row(text.ToolsHere(tools, servers))}}
}

// modeLines are how this chat asks.
func (q *request) modeLines() []string {
	out := []string{text.ModeIs(q.here.Mode.Label())}
	if of := q.policy.In(q.here.Chat, q.here.Channel).Mode; q.here.Mode == permission.ModeTool && of != permission.ModeTool {
		out = append(out, text.ModeFromDefault(of.Label()))
	}
	return out
}

// chatSection is how this chat asks, and what was allowed in it.
func (p *page) chatSection() render.Section {
	says := p.modeLines()
	mode := row(says[0])
	mode.Details = linesOf(says[1:]...)
	var options []option
	for _, m := range []permission.Mode{permission.ModeTool, permission.ModeAlways, permission.ModeNever} {
		o := option{label: m.Label(), current: m == p.here.Mode, action: setMode(m)}
		if m == permission.ModeNever {
			if !o.current && !decision.MayRelax(p.policy, p.here, p.env.User) {
				continue
			}
			o.confirm = text.ConfirmNeverMode
		}
		options = append(options, o)
	}
	mode.Acts = p.pick(text.LabelMode, p.here.Mode.String(), options)
	grants, _ := p.grantsHere()
	allowed := row(text.GrantsHere(len(grants)), goTo(text.TabGrants, viewGrants))
	return render.Section{Title: text.PanelHere, Rows: []render.PanelRow{mode, allowed}}
}

// haltRow stops everything, or lets it go on: for admins.
func (p *page) haltRow() render.PanelRow {
	h := p.settings.Halted
	if h == nil {
		return row(text.NotHalted, p.offerDangerous(text.LabelHalt, text.ConfirmHalt, "", setHalt(true)))
	}
	return render.PanelRow{
		Line: render.Line{render.Plain(text.HaltedSince), p.person(h.By, h.Name), render.Plain(" "), render.Time{At: h.At}},
		Acts: []render.Act{p.offer(text.LabelResume, "", setHalt(false))},
	}
}

// toReview are the servers with tools that nobody looked at yet, or that changed, and how many tools those are.
func (q *request) toReview(ctx context.Context) (s render.Section, count int) {
	var unreviewed []server
	for _, srv := range q.servers(ctx) {
		if n := srv.unreviewed(); n > 0 {
			count, unreviewed = count+n, append(unreviewed, srv)
		}
	}
	if count > 0 {
		s.Title = text.PanelNews
	}
	s.Rows = rowsFor(unreviewed, func(s server) render.PanelRow {
		says := text.NewsOf(sanitize(s.name), s.count(toolEntry.isNew), s.count(toolEntry.changed))
		return row(says, goTo(text.LabelLook, viewOf(viewInstall, s.name)))
	})
	return s, count
}

// openAsk is one call that waits for somebody.
type openAsk struct {
	at  time.Time
	row render.PanelRow
}

// pendingSection are the asks that the person may answer, or that their own requests wait for.
func (q *request) pendingSection(ctx context.Context) (s render.Section, left int) {
	asks, left := q.openAsks(ctx)
	rows := rowsFor(asks, func(x openAsk) render.PanelRow { return x.row })
	return render.Section{Title: text.PanelPending, Empty: text.PanelPendingNone, Rows: rows}, left
}

// openAsks are those asks over all chats, the oldest first, and how many chats were not looked into.
func (q *request) openAsks(ctx context.Context) (asks []openAsk, left int) {
	chats, err := q.Index.Asking(ctx, nil)
	if q.failed("find what waits", err) {
		return nil, 0
	}
	slices.SortFunc(chats, compareIDs)
	sessions, left := q.sessions(ctx, "read a chat that waits", chats)
	for _, s := range sessions {
		asks = append(asks, q.openAsksIn(s)...)
	}
	slices.SortStableFunc(asks, func(a, b openAsk) int { return a.at.Compare(b.at) })
	return asks, left
}

// openAsksIn gives those of one chat that somebody may answer and be shown, or asked for: they are told of no others. Who may read a chat
// knows who is in it; elsewhere it is as in the inbox.
func (q *request) openAsksIn(s turn.Session) (out []openAsk) {
	for _, w := range turn.Waits(s) {
		c, note := s.Turn.Call(w.Call), ""
		own, mine := s.Turn.Requester == q.env.User, decision.MaySee(q.policy, s, c, q.env.User)
		if s.Chat == q.env.Chat && !c.Elicitation.Open() {
			mine = decision.MayDecide(q.policy, s, c, q.env.User) == nil
		}
		switch {
		case !mine && !own:
			continue
		case c.Elicitation.Open():
			note = text.WaitsForInput(sanitize(c.Tool.Server))
		case c.Status == turn.Unknown:
			note = text.WaitsForOutcome
		case !mine:
			note = text.WaitsForOthers(q.called(s, c.Card.Who))
		case c.Ruling.Level == permission.LevelAdmin:
			note = text.WaitsForAdmin
		}
		out = append(out, openAsk{w.Asked, q.askRow(s, c, w.Deadline, note)})
	}
	return out
}

// called are the names of those who can answer a call, as its card has them.
func (q *request) called(s turn.Session, who []string) []string {
	who = slices.Clone(who)
	for i, x := range who {
		if u, err := chat.ParseUser(x); err == nil {
			who[i] = sanitize(q.Engine.NameOf(s, u))
		}
	}
	return who
}

func (q *request) askRow(s turn.Session, c turn.ToolCall, deadline time.Time, note string) render.PanelRow {
	by := s.Turn.Requester
	r := row(text.RunLine(sanitize(c.Tool.Name), sanitize(c.Tool.Server)) + text.AskedBy)
	r.Line = append(r.Line, q.person(by, q.Engine.NameOf(s, by)))
	if !deadline.IsZero() {
		r.Line = append(r.Line, render.Plain(text.ExpiresAt), render.Time{At: deadline, Until: true})
	}
	r.Details = linesOf(note)
	r.Acts = q.linkTo(s, s.Turn.Shown)
	return r
}

// linkTo leads to a message, where what is asked can be read and answered; nowhere where there is none. Whoever has the address of a page's
// chat may read and write there, so it goes only to who was in it.
func (q *request) linkTo(s turn.Session, m chat.MessageRef) []render.Act {
	if m == "" || s.Chat.Platform == webPlatform && s.Participant(q.env.User).User != q.env.User {
		return nil
	}
	return []render.Act{{Kind: render.ActLink, Label: text.LabelGoToMessage, Link: render.ChatLink{Chat: s.Chat.String(), Message: string(m)}}}
}
