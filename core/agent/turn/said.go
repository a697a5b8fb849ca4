package turn

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/chat"
)

func (ev Said) apply(s Session, e Entry) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok {
		return s
	}
	s.At = e.At
	if s.Began.IsZero() {
		s.Began = ev.By
	}
	if s.Channel == "" {
		s.Channel = ev.Channel
	}
	return s.recordParticipant(ev.By, ev.Name).queue(e, ev)
}

func (s Session) queue(e Entry, ev Said) Session {
	s.Waiting = add(s.Waiting, ev)
	if s.Turn == nil {
		return s.open(e)
	}
	return s
}

// open begins the next turn with the first waiting message and those that follow it from the same person.
func (s Session) open(e Entry) Session {
	if len(s.Waiting) == 0 {
		return s
	}
	first := s.Waiting[0]
	n := 1 + slices.IndexFunc(s.Waiting[1:], func(w Said) bool {
		return first.Replay != nil || w.Replay != nil || w.By != first.By || w.Unattended != first.Unattended || w.Standing != first.Standing
	})
	if n == 0 {
		n = len(s.Waiting)
	}
	t := &Turn{
		ID: turnID(e), At: e.At, Requester: first.By, Unattended: first.Unattended, Standing: first.Standing,
		Said: slices.Clone(s.Waiting[:n]), Notes: s.Notes,
	}
	if r := first.Replay; r != nil {
		t.Step, t.Replies = 1, []Reply{{}}
		t.Calls = []ToolCall{{ID: r.Call, Tool: r.Tool, Args: r.Args, Digest: r.Digest, Unchecked: r.Unchecked, Status: Proposed}}
	}
	s.Turn, s.Waiting, s.Notes = t, slices.Clone(s.Waiting[n:]), nil
	return s
}

// turnID names the turn that an entry opened. Its place alone would not do: a log that was lost counts from the start again, and an
// answer would be drawn over the message of another turn.
func turnID(e Entry) TurnID {
	if e.Op == "" {
		return TurnID(fmt.Sprintf("t%d", e.Seq))
	}
	h := sha256.Sum256([]byte(e.Op))
	return TurnID(fmt.Sprintf("t%d-%x", e.Seq, h[:5]))
}

func (ev Edited) apply(s Session, _ Entry) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok || ev.Message == "" {
		return s
	}
	i := slices.IndexFunc(s.Waiting, func(w Said) bool { return w.Message == ev.Message && w.By == ev.By })
	if i < 0 {
		return s.ignore(ev.Message, ev.By)
	}
	s.Waiting = slices.Clone(s.Waiting)
	s.Waiting[i].Text = ev.Text
	return s
}

func (ev Deleted) apply(s Session, e Entry) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok {
		return s
	}
	if s.Turn != nil && (ev.All || (ev.Message != "" && ev.Message == s.Turn.Shown)) { // what people cannot see they cannot answer
		if ev.All {
			s.Waiting = nil
		}
		if s.Turn.Stopped == nil {
			s = s.stop(e, Person{})
		}
		return s
	}
	if ev.Message == "" {
		return s
	}
	i := slices.IndexFunc(s.Waiting, func(w Said) bool { return w.Message == ev.Message }) // whoever wrote it: moderators delete, too
	if i < 0 {
		if s = s.ignore(ev.Message, chat.User{}); s.Turn != nil && s.Turn.Shown == "" {
			s = s.edit(func(t *Turn) { t.Gone = ev.Message })
		}
		return s
	}
	s.Waiting = slices.Delete(slices.Clone(s.Waiting), i, i+1)
	return s
}

// ignore counts a change to a message that its turn has already read.
func (s Session) ignore(m chat.MessageRef, by chat.User) Session {
	if s.Turn == nil || !slices.ContainsFunc(s.Turn.Said, func(x Said) bool { return x.Message == m && (by.IsZero() || x.By == by) }) {
		return s
	}
	return s.edit(func(t *Turn) { t.Ignored++ })
}

func (ev Shown) apply(s Session, e Entry) Session {
	if s.Turn != nil && s.Turn.ID == ev.Turn {
		return s.appeared(e, ev)
	}
	if ev.Message == "" || s.Last == nil || s.Last.Shown != "" {
		return s
	}
	return s.editTurn(ev.Turn, func(t *Turn) { t.Shown, t.ShownAt = ev.Message, e.At })
}

// appeared is what the open turn's message is, and which cards stand in it. The clock of an ask starts with its card.
func (s Session) appeared(e Entry, ev Shown) Session {
	first := ev.Message != "" && s.Turn.Shown == ""
	reposted := ev.Message != "" && s.Turn.Shown == ev.From && ev.Message != ev.From && !first
	fresh := slices.DeleteFunc(Waits(s), func(w Wait) bool {
		return w.Seen != nil || !slices.ContainsFunc(ev.Asks, func(a Appeared) bool { return a.Ask == w.Ask })
	})
	if !first && !reposted && len(fresh) == 0 {
		return s
	}
	s = s.edit(func(t *Turn) {
		switch {
		case first:
			t.Shown, t.ShownAt = ev.Message, e.At
		case reposted:
			t.Shown = ev.Message
			t.Beside = append(t.Beside, Beside{Slot: formerSlot + string(ev.From), Message: ev.From, At: e.At})
		}
		for _, w := range fresh {
			seen := &Showing{At: e.At, Silent: !first && !reposted}
			if wait := w.Deadline.Sub(w.Asked); !w.Deadline.IsZero() {
				w.Deadline = e.At.Add(wait)
				for _, a := range ev.Asks {
					if early := w.Deadline.Sub(a.Until); a.Ask == w.Ask && early >= 0 && early <= wait/4 {
						seen.Says = a.Until
					}
				}
			}
			c := &t.Calls[t.Find(w.Call)]
			if !c.Elicitation.Open() {
				c.Seen, c.Deadline = seen, w.Deadline
				continue
			}
			want := *c.Elicitation
			want.Seen, want.Deadline = seen, w.Deadline
			c.Elicitation = &want
		}
	})
	if first && ev.Message == s.Turn.Gone && s.Turn.Stopped == nil { // it was deleted before its post was recorded
		s = s.stop(e, Person{})
	}
	return s
}

// Full reports whether as many messages wait, or as many bytes of them, as may.
func (s Session) Full(messages, bytes int) bool {
	size := 0
	for _, w := range s.Waiting {
		size += len(w.Text)
		for _, q := range w.Context {
			size += len(q.Text)
		}
	}
	return len(s.Waiting) >= messages || size >= bytes
}
