package settings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// PutHold puts a hold on a chat or a person, or takes it off, on the settings' record, and gives what to say: nothing where there was none to take
// off, and no chat of it. Log is an [agent.Retainer], or it is an error. A repeat with another reason gives it that one, and marks again what there
// is: a chat that began while replicas had not heard of the hold is marked with the next write to it. A chat that alone cannot be read or marked is
// given to unread, stays as it was, and is named in left; a repeat, of a release too, finds it again.
func PutHold(ctx context.Context, e Engine, log agent.Log, index agent.Index, by chat.Envelope, c permission.Holding, unread func(chat.ID, error)) (said, left string, err error) {
	keeps, can := log.(agent.Retainer)
	if !can {
		return "", "", errors.New("this store cannot hold anything")
	}
	what, _ := chat.ParseID(c.What) // the caller has looked that it is one
	c.What = what.String()
	now, err := e.Change(ctx, by, "", func(_ permission.Policy, now permission.Settings) ([]permission.Change, error) {
		if was, held := now.Held(what); held && c.Why != "" && c.Why != was.Why {
			return []permission.Change{permission.Holding{What: c.What, Off: true}, c}, nil
		}
		return []permission.Change{c}, nil
	})
	same := errors.Is(err, agent.ErrUnchanged)
	if err != nil && !same {
		return "", "", err
	}
	if is := slices.ContainsFunc(now.Holds, func(h permission.Hold) bool { return h.What == c.What }); is == c.Off {
		return "", "", &decision.Refusal{Code: decision.RefusedArguments, Say: text.TooManyHolds}
	}
	this := permission.Settings{Holds: []permission.Hold{{What: c.What}}}
	chats, names := 0, []string(nil)
	err = index.EachChat(ctx, func(id chat.ID) error {
		if id.Platform == agent.Own {
			return nil
		}
		people, err := everybody(ctx, log, id)
		_, concerned := this.Held(id, people...)
		if concerned && (err == nil || !c.Off) { // what is held by its own name need not be read
			_, held := now.Held(id, people...)
			if err = keeps.Retain(ctx, id, held); err == nil {
				chats++
			}
		}
		if err == nil {
			return nil
		}
		if _, _, _, gone := log.Load(ctx, agent.SettingsChat); gone != nil { // nothing can be read
			return fmt.Errorf("it is on record, and not all chats are marked yet; do it again: %w", err)
		}
		unread(id, err)
		names = append(names, text.Inline(id.String()))
		return nil
	})
	if shown := text.Inline(c.What); !same || !c.Off {
		said = text.NowHeld(shown, chats, c.Off)
	} else if chats+len(names) > 0 {
		said = text.HeldNoMore(shown, chats)
	}
	if len(names) > 0 {
		left = text.HeldInPart(names, c.Off)
	}
	return said, left, err
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
