package agent

import (
	"context"
	"errors"
	"slices"

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

// PutHold puts a hold on a chat or a person, or takes it off, on the settings' record, and gives how many chats it concerns now. A repeat marks
// again what there is: a chat that began while replicas had not heard of the hold is marked with the next write to it.
func (e *Engine) PutHold(ctx context.Context, by chat.Envelope, c permission.Holding) (chats int, err error) {
	keeps, can := e.Log.(Retainer)
	if !can {
		return 0, errors.New("this store cannot hold anything")
	}
	now, err := e.Change(ctx, by, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{c}, nil
	})
	if err != nil && !errors.Is(err, ErrUnchanged) {
		return 0, err
	}
	return chats, e.Index.EachChat(ctx, func(id chat.ID) error {
		if id.Platform == Own {
			return nil
		}
		people, err := e.everybody(ctx, id)
		if err != nil {
			return err
		}
		if _, concerned := (permission.Settings{Holds: []permission.Hold{{What: c.What}}}).Held(id, people...); !concerned {
			return nil
		}
		chats++
		_, held := now.Held(id, people...)
		return keeps.Retain(ctx, id, held)
	})
}

// everybody is who took part in a chat: the fold forgets the oldest of many.
func (e *Engine) everybody(ctx context.Context, id chat.ID) (people []chat.User, err error) {
	entries, err := e.Log.History(ctx, id)
	for _, x := range entries {
		if u := turn.By(x.Event).User; !u.IsZero() && !slices.Contains(people, u) {
			people = append(people, u)
		}
	}
	return people, err
}
