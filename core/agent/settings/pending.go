package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// openAsk is one call that waits for somebody.
type openAsk struct {
	chat     chat.ID
	message  chat.MessageRef
	call     turn.ToolCall
	by       turn.Person // whose message it is about
	mine     bool        // it waits for this person
	deadline time.Time
	note     string
}

// openAsks are those that concern one person.
type openAsks struct {
	asks []openAsk
	left int // chats that were not looked into
}

// openAsks are the asks that the person may answer, or that their own requests wait for, over all chats.
func (q *request) openAsks(ctx context.Context) (w openAsks, err error) {
	chats, err := q.Index.Asking(ctx, nil)
	if err != nil {
		return w, fmt.Errorf("find what waits: %w", err)
	}
	slices.SortFunc(chats, compareIDs)
	if q.hasChat() && !slices.Contains(chats, q.env.Chat) {
		chats = append([]chat.ID{q.env.Chat}, chats...)
	}
	if len(chats) > maxPanelChats {
		w.left, chats = len(chats)-maxPanelChats, chats[:maxPanelChats]
	}
	for _, id := range chats {
		s, err := q.Engine.Session(ctx, id)
		if err != nil {
			return w, fmt.Errorf("read a chat that waits: %w", err)
		}
		w.asks = append(w.asks, q.openAsksIn(s)...)
	}
	slices.SortStableFunc(w.asks, func(a, b openAsk) int { return a.call.AskedAt.Compare(b.call.AskedAt) })
	return w, nil
}

// openAsksIn gives those of one chat that somebody may answer, or asked for: they are told of no others.
func (q *request) openAsksIn(s turn.Session) []openAsk {
	t := s.Turn
	if t == nil || t.Stopped != nil {
		return nil
	}
	var out []openAsk
	own := t.Requester == q.env.User
	add := func(x openAsk) {
		x.chat, x.message, x.by = s.Chat, t.Shown, turn.Person{User: t.Requester, Name: q.Engine.NameOf(s, t.Requester)}
		out = append(out, x)
	}
	for _, c := range t.Calls {
		switch {
		case c.Want.Open():
			if own {
				add(openAsk{call: c, mine: true, deadline: c.Want.Deadline, note: text.WaitsForInput(shown(c.Tool.Server))})
			}
		case c.Status == turn.Awaiting, c.Status == turn.Unknown && !c.Settled():
			mine := decision.MayDecide(q.policy, s, c, q.env.User) == nil
			if !mine && !own {
				continue
			}
			x := openAsk{call: c, mine: mine, deadline: c.Deadline}
			switch {
			case c.Status == turn.Unknown:
				x.note = text.WaitsForOutcome
			case !mine:
				x.note = text.WaitsForOthers(c.Card.Who)
			case c.Ruling.Level == permission.LevelAdmin:
				x.note = text.WaitsForAdmin
			}
			add(x)
		}
	}
	return out
}

func (w openAsk) row(q *request) render.PanelRow {
	line := render.Line{render.Plain(text.RunLine(shown(w.call.Tool.Name), shown(w.call.Tool.Server)) + text.AskedBy), q.person(w.by.User, w.by.Name)}
	if !w.deadline.IsZero() {
		line = append(line, render.Plain(text.ExpiresAt), render.Time{At: w.deadline, Until: true})
	}
	row := render.PanelRow{Line: line}
	if w.note != "" {
		row.Details = append(row.Details, words(w.note))
	}
	if w.message != "" {
		row.Acts = append(row.Acts, linkTo(w.chat, w.message))
	}
	return row
}

// linkTo leads to a message, where what is asked can be read and answered.
func linkTo(id chat.ID, m chat.MessageRef) render.Act {
	return render.Act{Kind: render.ActLink, Label: text.LabelGoToMessage, Link: render.ChatLink{Chat: id.String(), Message: string(m)}}
}

func compareIDs(a, b chat.ID) int { return strings.Compare(a.String(), b.String()) }
