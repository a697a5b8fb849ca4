package agent

import (
	"context"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// A hold is a setting. What it means for one chat is a mark of the log's own (Retainer), which what drops and deletes looks at: it is put on
// all chats that there are when the hold is made, and later on by every write to a chat that the hold concerns.

// retain marks a chat that was written to, if there is a hold on it as far as this process knows.
func (e *Engine) retain(ctx context.Context, w Write) {
	holds := e.holds.Load()
	keeps, can := e.Log.(Retainer)
	if !can || holds == nil || len(*holds) == 0 || w.Chat.Platform == Own || e.retained.Contains(w.Chat) {
		return
	}
	var people []chat.User
	for _, k := range w.Events {
		people = append(people, turn.By(k.Event).User)
	}
	if f, known := e.sessions.Peek(w.Chat); known {
		for _, p := range f.s.People {
			people = append(people, p.User)
		}
	}
	if _, held := (permission.Settings{Holds: *holds}).Held(w.Chat, people...); !held {
		return
	}
	if err := keeps.Retain(ctx, w.Chat, true); err != nil {
		e.Logger.Warn("there is a hold on a chat, and it could not be marked so; the next write to it tries again", "chat", w.Chat, "err", err)
		return
	}
	e.retained.Add(w.Chat, true)
}
