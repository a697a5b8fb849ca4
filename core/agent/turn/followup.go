package turn

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Slots of messages beside the turn's one. A part of a long answer has the slot "rest-0", "rest-1" and so on; RestDone says that there
// are no more.
const (
	nudgeSlot    = "nudge-"     // + the first ask it was made for
	escalateSlot = "escalated-" // + the ask
	formerSlot   = "left-"      // + the turn's message before, in place of which another was posted
	endSlot      = "end"
	RestDone     = "rest"
)

type (
	// Nudge: tell those who may decide that an ask has come: edits notify nobody, and posts only whoever asked.
	Nudge struct {
		Turn TurnID
		Slot string
		Ask  AskID
	}
	// Escalate: nobody answered an ask in time, so let others answer it, too, and tell them.
	Escalate struct {
		Turn TurnID
		Slot string
		Ask  AskID
	}
	// Point: let the turn's former message say that it goes on in another.
	Point struct {
		Turn    TurnID
		Slot    string
		Message chat.MessageRef
	}
	// Remove: take a message beside the turn's one away.
	Remove struct {
		Turn    TurnID
		Slot    string
		Message chat.MessageRef
	}
	// TellEnd: tell whoever asked that a long turn is over.
	TellEnd struct {
		Turn TurnID
		Slot string
	}
	// Continue: post what of a long answer the turn's message has no room for.
	Continue struct{ Turn TurnID }
)

func (Nudge) isCommand()    {}
func (Escalate) isCommand() {}
func (Point) isCommand()    {}
func (Remove) isCommand()   {}
func (TellEnd) isCommand()  {}
func (Continue) isCommand() {}

// followUps is what is owed beside the turns' messages.
func followUps(s Session, now time.Time, env Env) []Command {
	var do []Command
	for _, t := range s.Turns() {
		if t.Shown == "" || (env.Nudge == 0 && env.Room == 0 && env.Long == 0 && env.Escalate == 0) {
			continue
		}
		waits := len(t.waiting()) > 0 // never so in a turn that is stopped or over
		for _, b := range t.Beside {
			switch {
			case b.Message == "" || b.Gone:
			case strings.HasPrefix(b.Slot, formerSlot):
				do = append(do, Point{t.ID, b.Slot, b.Message})
			case b.goes() && !waits:
				do = append(do, Remove{t.ID, b.Slot, b.Message})
			}
		}
		if ask, due := t.nudge(env.Nudge); ask != "" && !now.Before(due) {
			do = append(do, Nudge{t.ID, nudgeSlot + string(ask), ask})
		}
		if ask, due := t.escalation(env.Escalate); ask != "" && !now.Before(due) {
			do = append(do, Escalate{t.ID, escalateSlot + string(ask), ask})
		}
		if !t.hasFollowUp(endSlot) && t.endsUnnoticed(now, env.Long) {
			do = append(do, TellEnd{t.ID, endSlot})
		}
		if t.End != "" && env.Room > 0 && !t.hasFollowUp(RestDone) && utf8.RuneCountInString(t.Answer()) > env.Room {
			do = append(do, Continue{t.ID})
		}
	}
	return do
}

// nudge is the ask that has to be announced next, and from when on. Where others than the requester have to answer, nobody has told
// them: at once. The requester heard of a card that was posted; one that an edit brought is announced once, while none else is. Nothing
// is announced before it can be seen, and what could be seen when a nudge was posted was announced by it.
func (t *Turn) nudge(after time.Duration) (ask AskID, due time.Time) {
	if after <= 0 {
		return "", time.Time{}
	}
	nudged := func(f func(Beside) bool) bool {
		return slices.ContainsFunc(t.Beside, func(b Beside) bool { return strings.HasPrefix(b.Slot, nudgeSlot) && f(b) })
	}
	stands := nudged(func(b Beside) bool { return b.Message != "" && !b.Gone })
	for _, w := range t.waiting() {
		if w.Seen == nil || nudged(func(b Beside) bool { return !b.At.Before(w.Seen.At) || b.Slot == nudgeSlot+string(w.Ask) }) {
			continue
		}
		at := w.Seen.At
		if !w.Others {
			if stands || !w.Seen.Silent {
				continue
			}
			at = at.Add(after)
		}
		if ask == "" || at.Before(due) {
			ask, due = w.Ask, at
		}
	}
	return ask, due
}

// escalation is the ask that others may answer next, and from when on. What only an admin may decide, or its own requester may fill in,
// stays theirs.
func (t *Turn) escalation(after time.Duration) (ask AskID, due time.Time) {
	for _, c := range t.Calls {
		if after <= 0 || c.Status != Awaiting || !c.Waits() || c.Seen == nil || c.Ruling.Level != permission.LevelUser || t.hasFollowUp(escalateSlot+string(c.Ask)) {
			continue
		}
		if at := c.Seen.At.Add(after); ask == "" || at.Before(due) {
			ask, due = c.Ask, at
		}
	}
	return ask, due
}

// Escalated are those who may answer an ask because nobody did in time, as they are written in [Card.Who]; ok is whether there was such a time.
func (t *Turn) Escalated(ask AskID) (who []string, ok bool) {
	i := slices.IndexFunc(t.Beside, func(b Beside) bool { return b.Slot == escalateSlot+string(ask) })
	if i < 0 {
		return nil, false
	}
	return t.Beside[i].Who, true
}

// endIsNews is how long the end of a turn is worth telling: an outage may have been in between.
const endIsNews = 10 * time.Minute

// endsUnnoticed reports whether a turn has just ended of which its requester looks elsewhere by now: for so long nothing notified them of
// it, and they did nothing about it.
func (t *Turn) endsUnnoticed(now time.Time, long time.Duration) bool {
	if long <= 0 || t.End == "" || t.End == MessageGone || t.Unattended || t.Stopped != nil && t.Stopped.User == t.Requester {
		return false
	}
	lately := func(at time.Time) bool { return t.EndAt.Sub(at) <= long }
	if lately(t.At) || lately(t.ShownAt) || now.Sub(t.EndAt) > endIsNews {
		return false
	}
	return !slices.ContainsFunc(t.Beside, func(b Beside) bool { return strings.HasPrefix(b.Slot, formerSlot) && lately(b.At) }) &&
		!slices.ContainsFunc(t.Calls, func(c ToolCall) bool {
			return c.Asked && c.By == t.Requester && lately(c.DecidedAt) ||
				slices.ContainsFunc(c.Votes, func(v Vote) bool { return v.By == t.Requester && lately(v.At) })
		})
}

func (t *Turn) hasFollowUp(slot string) bool {
	return slices.ContainsFunc(t.Beside, func(b Beside) bool { return b.Slot == slot })
}

// MessageIn is the message in a slot beside the turn's, also where it is gone; of no slot the turn's own. Empty: there is none yet.
func (t *Turn) MessageIn(slot string) (ref chat.MessageRef) {
	if slot == "" {
		return t.Shown
	}
	for _, b := range t.Beside {
		if b.Slot == slot {
			ref = b.Message
		}
	}
	return ref
}

// Answer is the turn's last words, as the model wrote them.
func (t *Turn) Answer() string {
	if len(t.Replies) == 0 {
		return ""
	}
	return t.Replies[len(t.Replies)-1].Text
}

// Goes reports whether it is a message that is taken away once nothing waits for an answer: a notification.
func (ev Posted) Goes() bool { return Beside{Slot: ev.Slot, Message: ev.Message}.goes() }

func (b Beside) goes() bool {
	return b.Message != "" && !b.Gone && (strings.HasPrefix(b.Slot, nudgeSlot) || strings.HasPrefix(b.Slot, escalateSlot))
}

func (ev Posted) apply(s Session, e Entry) Session {
	if ev.Slot == "" {
		return s
	}
	return s.editTurn(ev.Turn, func(t *Turn) {
		if !t.hasFollowUp(ev.Slot) {
			t.Beside = append(t.Beside, Beside{Slot: ev.Slot, Message: ev.Message, Who: ev.Who, At: e.At})
		}
	})
}

func (ev Removed) apply(s Session, _ Entry) Session {
	return s.editTurn(ev.Turn, func(t *Turn) {
		for i := range t.Beside {
			t.Beside[i].Gone = t.Beside[i].Gone || t.Beside[i].Slot == ev.Slot
		}
	})
}
