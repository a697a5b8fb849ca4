package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// waits is one call that waits for somebody.
type waits struct {
	chat     chat.ID
	message  chat.MessageRef
	call     turn.ToolCall
	by       turn.Person // whose message it is about
	mine     bool        // it waits for whoever looks
	deadline time.Time
	note     string
}

// waitings are those that concern one person.
type waitings struct {
	asks []waits
	left int // chats that were not looked into
}

// waiting are the asks that whoever looks may answer, or that their own requests wait for, over all chats.
func (l *looking) waiting(ctx context.Context) (w waitings, err error) {
	var chats []chat.ID
	if a, can := l.Log.(asker); can {
		if chats, err = a.Asking(ctx, nil); err != nil {
			return w, fmt.Errorf("find what waits: %w", err)
		}
	}
	slices.SortFunc(chats, func(a, b chat.ID) int { return compareIDs(a, b) })
	if l.hasChat() && !slices.Contains(chats, l.env.Chat) {
		chats = append([]chat.ID{l.env.Chat}, chats...)
	}
	if len(chats) > maxPanelChats {
		w.left, chats = len(chats)-maxPanelChats, chats[:maxPanelChats]
	}
	for _, id := range chats {
		s, err := l.Session(ctx, id)
		if err != nil {
			return w, fmt.Errorf("read a chat that waits: %w", err)
		}
		w.asks = append(w.asks, l.waitingIn(s)...)
	}
	slices.SortStableFunc(w.asks, func(a, b waits) int { return a.call.AskedAt.Compare(b.call.AskedAt) })
	return w, nil
}

// waitingIn are those of one chat. What somebody may not answer, and did not ask for, they are not told of.
func (l *looking) waitingIn(s turn.Session) []waits {
	t := s.Turn
	if t == nil || t.Stopped != nil {
		return nil
	}
	var out []waits
	own := t.Requester == l.env.User
	add := func(x waits) {
		x.chat, x.message, x.by = s.Chat, t.Shown, turn.Person{User: t.Requester, Name: nameOf(s, t.Requester)}
		out = append(out, x)
	}
	for _, c := range t.Calls {
		switch {
		case c.Want.Open():
			if own {
				add(waits{call: c, mine: true, deadline: c.Want.Deadline, note: render.WaitsForInput(shown(c.Tool.Server))})
			}
		case c.Status == turn.Awaiting, c.Status == turn.Unknown && !c.Settled():
			mine := l.mayDecide(l.policy, s, t, c, l.env.User) == nil
			if !mine && !own {
				continue
			}
			x := waits{call: c, mine: mine, deadline: c.Deadline}
			switch {
			case c.Status == turn.Unknown:
				x.note = render.WaitsForOutcome
			case !mine:
				x.note = render.WaitsForOthers(c.Card.Who)
			case c.Ruling.Level == permission.LevelAdmin:
				x.note = render.WaitsForAdmin
			}
			add(x)
		}
	}
	return out
}

func (w waits) row(l *looking) render.PanelRow {
	line := render.Line{render.Plain(render.RunLine(shown(w.call.Tool.Name), shown(w.call.Tool.Server)) + render.AskedBy), l.person(w.by.User, w.by.Name)}
	if !w.deadline.IsZero() {
		line = append(line, render.Plain(render.ExpiresAt), render.Time{At: w.deadline, Until: true})
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
	return render.Act{Kind: render.ActLink, Label: render.LabelGoToMessage, Link: render.ChatLink{Chat: id.String(), Message: string(m)}}
}

func compareIDs(a, b chat.ID) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
