package turn

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
)

// Slots of messages beside the turn's one. A part of a long answer has the slot "rest-0", "rest-1" and so on; RestDone says that there
// are no more.
const (
	nudgeSlot = "nudge-" // + the first ask it was made for
	RestDone  = "rest"
)

type (
	// Nudge: tell those who may decide that an ask has come long after the turn's message: edits notify nobody.
	Nudge struct {
		Turn TurnID
		Slot string
	}
	// Remove: take a message beside the turn's one away.
	Remove struct {
		Turn    TurnID
		Slot    string
		Message chat.MessageRef
	}
	// Continue: post what of a long answer the turn's message has no room for.
	Continue struct{ Turn TurnID }
)

func (Nudge) isCommand()    {}
func (Remove) isCommand()   {}
func (Continue) isCommand() {}

// beside is what is owed beside the turns' messages.
func beside(s Session, env Env) []Command {
	var do []Command
	for _, t := range []*Turn{s.Last, s.Turn} {
		if t == nil || t.Shown == "" || (env.Nudge == 0 && env.Room == 0) {
			continue
		}
		waits := slices.ContainsFunc(t.Calls, ToolCall.waits) // never so in a turn that is stopped or over
		stands := false
		for _, b := range t.Beside {
			if !strings.HasPrefix(b.Slot, nudgeSlot) || b.Message == "" || b.Gone {
				continue
			}
			if stands = true; !waits {
				do = append(do, Remove{t.ID, b.Slot, b.Message})
			}
		}
		if slot := t.nudge(env.Nudge); !stands && slot != "" {
			do = append(do, Nudge{t.ID, slot})
		}
		if t.End != "" && env.Room > 0 && !t.hasBeside(RestDone) && utf8.RuneCountInString(t.Answer()) > env.Room {
			do = append(do, Continue{t.ID})
		}
	}
	return do
}

// nudge is the slot of a nudge that is owed now, or empty: an ask opened so long after the message was posted that nobody
// looks at it any more.
func (t *Turn) nudge(after time.Duration) string {
	if after <= 0 {
		return ""
	}
	for _, c := range t.Calls {
		if c.waits() && c.AskedAt.Sub(t.ShownAt) > after {
			if slot := nudgeSlot + string(c.Ask); !t.hasBeside(slot) {
				return slot
			}
			return ""
		}
	}
	return ""
}

func (t *Turn) hasBeside(slot string) bool {
	return slices.ContainsFunc(t.Beside, func(b Beside) bool { return b.Slot == slot })
}

// Answer is the turn's last words, as the model wrote them.
func (t *Turn) Answer() string {
	if len(t.Replies) == 0 {
		return ""
	}
	return t.Replies[len(t.Replies)-1].Text
}

// besides edits the list of whichever remembered turn is meant.
func (s Session) besides(id TurnID, f func([]Beside) []Beside) Session {
	switch {
	case s.Turn != nil && s.Turn.ID == id:
		return s.edit(func(t *Turn) { t.Beside = f(slices.Clone(t.Beside)) })
	case s.Last != nil && s.Last.ID == id:
		t := *s.Last
		t.Beside = f(slices.Clone(t.Beside))
		s.Last = &t
	}
	return s
}

func (s Session) posted(ev Posted) Session {
	if ev.Slot == "" {
		return s
	}
	return s.besides(ev.Turn, func(list []Beside) []Beside {
		if slices.ContainsFunc(list, func(b Beside) bool { return b.Slot == ev.Slot }) {
			return list
		}
		return append(list, Beside{Slot: ev.Slot, Message: ev.Message})
	})
}

func (s Session) removed(ev Removed) Session {
	return s.besides(ev.Turn, func(list []Beside) []Beside {
		for i := range list {
			if list[i].Slot == ev.Slot {
				list[i].Gone = true
			}
		}
		return list
	})
}
