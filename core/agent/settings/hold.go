package settings

import (
	"context"
	"errors"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// PutHold puts a hold on a chat or a person, or takes it off, on the settings' record, and gives how many chats it concerns now. Log is an
// [agent.Retainer], or it is an error. A repeat with another reason gives it that one, and marks again what there is: a chat that began while
// replicas had not heard of the hold is marked with the next write to it.
func PutHold(ctx context.Context, e Engine, log agent.Log, index agent.Index, by chat.Envelope, c permission.Holding) (chats int, err error) {
	keeps, can := log.(agent.Retainer)
	if !can {
		return 0, errors.New("this store cannot hold anything")
	}
	what, err := chat.ParseID(c.What)
	if err == nil {
		c.What = what.String()
	}
	now, err := e.Change(ctx, by, "", func(_ permission.Policy, now permission.Settings) ([]permission.Change, error) {
		if was, held := now.Held(what); held && c.Why != "" && c.Why != was.Why {
			return []permission.Change{permission.Holding{What: c.What, Off: true}, c}, nil
		}
		return []permission.Change{c}, nil
	})
	if err != nil && !errors.Is(err, agent.ErrUnchanged) {
		return 0, err
	}
	if is := slices.ContainsFunc(now.Holds, func(h permission.Hold) bool { return h.What == c.What }); is == c.Off {
		return 0, &decision.Refusal{Code: decision.RefusedArguments, Say: text.TooManyHolds}
	}
	return chats, index.EachChat(ctx, func(id chat.ID) error {
		if id.Platform == agent.Own {
			return nil
		}
		people, err := everybody(ctx, log, id)
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
func everybody(ctx context.Context, log agent.Log, id chat.ID) (people []chat.User, err error) {
	entries, err := log.History(ctx, id)
	for _, x := range entries {
		if u := turn.By(x.Event).User; !slices.Contains(people, u) {
			people = append(people, u)
		}
	}
	return people, err
}
