package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
)

// What a driver left behind that lost its chat, or that another one overtook: facts that only it knows, and messages that nobody draws.

// recordLate records, without a lease, the facts that a driver that is over still knows, and then takes away what it posted anew that is not
// on record.
func (e *Engine) recordLate(id chat.ID, known Head, events []turn.Event, anew stray) {
	w := Write{Chat: id, Known: known}
	op := OpID("w:" + mint())
	for _, ev := range events {
		if turn.ClassOf(ev) == turn.Fact {
			w.Events = append(w.Events, Keyed{opPart(op, len(w.Events)), ev})
		}
	}
	if len(w.Events) == 0 && anew.none() {
		return
	}
	e.wg.Go(func() {
		if len(w.Events) > 0 {
			e.insist(id, "could not record what came late", func(ctx context.Context) error {
				_, err := e.append(ctx, w)
				return err
			})
		}
		e.removeStray(id, anew)
	})
}

// insist does what only this process knows is to be done, while it lives, until it is done or never can be.
func (e *Engine) insist(id chat.ID, failed string, do func(context.Context) error) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.work), e.Lease)
		err := do(ctx)
		cancel()
		if err == nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrVersion) {
			return
		}
		e.Logger.Warn(failed, "chat", id, "err", err)
		pe, _ := errors.AsType[*PlatformError](err)
		if pe.Refuses() || backoff.Wait(e.work, min(time.Duration(try)*200*time.Millisecond, 5*time.Second)) != nil {
			return
		}
	}
}

// stray is what was posted for a turn and nobody draws, where the log has that message elsewhere. What it says stays.
type stray struct {
	of   turn.TurnID
	slot string // of a message beside the turn's; empty: the turn's own
	ref  chat.MessageRef
	keys []string // what it may have been posted under, where nobody answered
	told OpID     // the write that told of it; empty: none did
}

// placeOf is where an event says that a message stands; nothing where it says no such thing.
func placeOf(ev turn.Event) stray {
	switch ev := ev.(type) {
	case turn.Shown:
		return stray{of: ev.Turn, ref: ev.Message}
	case turn.Posted:
		return stray{of: ev.Turn, slot: ev.Slot, ref: ev.Message}
	default:
		return stray{}
	}
}

func (s stray) none() bool { return s.ref == "" && len(s.keys) == 0 }

// overtakenBy reports whether an event may be why nobody draws it.
func (s stray) overtakenBy(ev turn.Event) bool {
	if end, is := ev.(turn.Ended); is {
		return end.Turn == s.of && s.slot == ""
	}
	other := placeOf(ev)
	return other.of == s.of && other.slot == s.slot && other.ref != "" && other.ref != s.ref
}

// instead is the message that stands in place of it; empty where none does.
func (s stray) instead(known turn.Session) (stands chat.MessageRef) {
	if t := known.TurnOf(s.of); t != nil {
		stands = t.MessageIn(s.slot)
	}
	if stands == s.ref {
		return ""
	}
	return stands
}

// removeOvertaken takes away what a write tells of, where the same is on record elsewhere among what others recorded meanwhile: facts are taken
// after that, too.
func (e *Engine) removeOvertaken(w Write, got Written) {
	if got.Head.Seq <= w.Known.Seq+uint64(len(w.Events)) {
		return
	}
	for _, k := range w.Events {
		late := placeOf(k.Event)
		if late.ref != "" && (got.Missing || slices.ContainsFunc(got.Entries, func(x turn.Entry) bool { return late.overtakenBy(x.Event) })) {
			late.told = k.Op
			e.wg.Go(func() { e.removeStray(w.Chat, late) })
		}
	}
}

// removeStray takes away a message that was posted while another driver posted the same, or ended the turn where it stood.
func (e *Engine) removeStray(id chat.ID, s stray) {
	if s.none() {
		return
	}
	e.insist(id, "a message in place of which another one stands could not be taken away", func(ctx context.Context) error {
		known, err := e.whenKnown(ctx, id, s.of, s.told) // the turn may be long over
		if stands := s.instead(known); err == nil && stands != "" {
			err = e.remove(ctx, id, stands, s.ref, s.keys...)
		}
		return err
	})
}

// remove takes away a message, and whatever was posted under keys, but for the one that stands.
func (e *Engine) remove(ctx context.Context, id chat.ID, stands, ref chat.MessageRef, keys ...string) error {
	a, can := e.Platforms[id.Platform].(Annotator)
	if !can {
		return nil
	}
	refs := []chat.MessageRef{ref}
	if s, seeks := a.(Seeker); seeks {
		for _, key := range keys {
			found, _, err := s.Seek(ctx, id, PostKey(id, key))
			if err != nil {
				return err
			}
			refs = append(refs, found)
		}
	}
	for _, ref := range refs {
		if ref == "" || ref == stands {
			continue
		}
		if err := a.Remove(ctx, id, ref); err != nil {
			return err
		}
	}
	return nil
}

// whenKnown is the session as it last knew a turn, up to what an operation brought.
func (e *Engine) whenKnown(ctx context.Context, id chat.ID, of turn.TurnID, last OpID) (known turn.Session, err error) {
	entries, err := e.Log.History(ctx, id)
	s := turn.New(id)
	for _, x := range entries {
		if s = turn.Apply(s, x); s.TurnOf(of) != nil {
			known = s
		}
		if x.Op == string(last) {
			break
		}
	}
	return known, err
}

// takeBack takes away messages that were posted for a question which is over, or which is drawn where it stood after all: at ref, or whatever
// was posted under these keys.
func (d *driver) takeBack(ref, stands chat.MessageRef, keys ...string) {
	ctx := d.ctx
	d.takingBack++
	d.begin(func() func() {
		_, err := d.trying(ctx, "take away a question that is over", maxNoteTries, func(ctx context.Context) (chat.MessageRef, error) {
			return "", d.e.remove(ctx, d.id, stands, ref, keys...)
		})
		return func() {
			d.takingBack--
			if err != nil {
				d.e.Logger.Warn("a question that is over still stands below its answer", "chat", d.id, "message", ref, "err", err)
			}
		}
	})
}

// withdraw takes away what was posted that is on record elsewhere by now: who drove before said so late. Of what the log learns only as it
// takes ours, [Engine.removeOvertaken] does.
func (d *driver) withdraw() {
	d.shown = slices.DeleteFunc(d.shown, func(ev turn.Event) bool {
		late := placeOf(ev)
		if p, is := ev.(turn.Posted); is && p.Goes() && d.f.s.TurnOf(p.Turn) == nil { // the next turn is over, too: the log knows no more of it
			d.takeBack(p.Message, "")
			return true
		}
		if late.ref == "" || late.instead(d.f.s) == "" {
			return false
		}
		d.e.wg.Go(func() { d.e.removeStray(d.id, late) })
		return true
	})
}
