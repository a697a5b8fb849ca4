package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Verify walks a chat's log from its first entry and returns the head up to which it holds; it has to go through every anchor of this chat.
// The error names the chat and the first entry that does not hold: one that was changed, dropped, swapped or added behind the back of the
// scripts, or a head that says otherwise. Replicas begin at the snapshot, so what that allows is compared with what the log allows.
//
// What only an [Anchor] shows: that the end of a log was cut off together with its head, that the last entries were changed before any
// later one was written, or that somebody computed the whole chain anew.
func (s *Store) Verify(ctx context.Context, id chat.ID, anchors ...Anchor) (agent.Head, error) {
	head, _, err := s.through(ctx, id, anchors)
	return head, err
}

// verify is Verify without anchors. It shows every entry on the way, with the head after it.
func (s *Store) verify(ctx context.Context, id chat.ID, visit func(turn.Entry, agent.Head)) (agent.Head, error) {
	// Read before the log: a snapshot that is written meanwhile could be ahead of what is walked.
	snap, from, err := s.snapshot(ctx, id)
	if err != nil {
		return agent.Head{}, err
	}
	fold := turn.New(id)
	head, err := s.Walk(ctx, id, func(e turn.Entry, h agent.Head) error {
		fold = turn.Apply(fold, e)
		visit(e, h)
		if h.Seq == from.Seq && from.Roll != "" && h.Roll != from.Roll || h.Seq == snap.Head.Seq && h.Tip != snap.Head.Tip {
			return fmt.Errorf("chat %s: entry %d: %w: the snapshot was folded from another history", id, h.Seq, ErrBroken)
		}
		if h.Seq == snap.Head.Seq {
			if what := allowsOther(snap.Session, fold); what != "" {
				return fmt.Errorf("chat %s: entry %d: %w: the snapshot has %s that the log up to it does not give", id, h.Seq, ErrBroken, what)
			}
		}
		return nil
	})
	if err == nil && snap.Head.Seq > head.Seq {
		err = fmt.Errorf("chat %s: entry %d: %w: the snapshot was folded up to entry %d, and the log ends before it", id, head.Seq+1, ErrBroken, snap.Head.Seq)
	}
	return head, err
}

func (s *Store) snapshot(ctx context.Context, id chat.ID) (agent.Snapshot, agent.Head, error) {
	stored, err := read(ctx, func(ctx context.Context) (string, error) { return s.rdb.Get(ctx, keysOf(id).snap).Result() })
	if err != nil && !errors.Is(err, redis.Nil) {
		return agent.Snapshot{}, agent.Head{}, ofChat(id, err)
	}
	return parseSnapshot(id, stored)
}

// allowsOther names what a session allows and another does not, or the other way round.
func allowsOther(a, b turn.Session) string {
	type call struct {
		ID     turn.CallID
		Digest permission.Digest
		Status turn.Status
		Ask    turn.AskID
		Grant  permission.GrantID
	}
	calls := func(s turn.Session) (out []call) {
		if s.Turn != nil {
			for _, c := range s.Turn.Calls {
				out = append(out, call{c.ID, c.Digest, c.Status, c.Ask, c.Grant})
			}
		}
		return out
	}
	for _, x := range []struct {
		what string
		a, b any
	}{
		{"grants", a.Grants, b.Grants},
		{"a mode", []any{a.Mode, a.ModeAt, a.ModeRev, a.ResetRev}, []any{b.Mode, b.ModeAt, b.ModeRev, b.ResetRev}},
		{"settings", a.Settings, b.Settings},
		{"calls", calls(a), calls(b)},
	} {
		if !sameJSON(x.a, x.b) {
			return x.what
		}
	}
	return ""
}

// sameJSON compares as stored: what went through storage has no empty lists and no clock of its own.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && (string(x) == string(y) || isEmptyJSON(x) && isEmptyJSON(y))
}

func isEmptyJSON(b []byte) bool { return string(b) == "null" || string(b) == "[]" }
