package turn

import (
	"bytes"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func (ev Ruled) apply(s Session, e Entry) Session {
	c := s.Turn.Call(ev.Call)
	tightens := c.Status == Allowed && ev.Ruling.Verdict != permission.Allow // before the start a ruling may only tighten
	if ev.Ask == "" || c.Status != Proposed && !tightens || s.Turn.Stopped != nil || slices.Contains(c.Asks, ev.Ask) {
		return s
	}
	if ev.Ruling.Verdict == permission.Ask {
		s = s.asks(c, ev.Ruling)
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.ask(ev.Ask)
		c.Ruling, c.Card = ev.Ruling, ev.Card
		c.Decision, c.Votes, c.Ticked = Decision{}, nil, nil
		switch ev.Ruling.Verdict {
		case permission.Allow:
			c.Status, c.Asked, c.Grant, c.Cover = Allowed, false, ev.Ruling.Grant, s.Grant(ev.Ruling.Grant)
		case permission.Forbid:
			c.Asked = false
			c.settle(Denied, e.At, Result{Text: ev.Say, IsError: true})
		default:
			c.await(e.At)
		}
	})
}

func (ev Decided) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if c.Status != Awaiting || ev.By.IsZero() || c.Digest != ev.Digest || c.overdue(e.At) {
		return s
	}
	if ev.Under != "" {
		return s.covered(c, ev)
	}
	g, once, standing := ev.Grant, ev.Choice == chat.AllowOnce, Grants(ev.Choice)
	switch {
	case standing:
		if g = s.granted(c, ev, e.At); g == nil {
			return s
		}
	case once && !Showable(c): // what nobody could read nobody can allow
		return s
	case once && c.Ruling.Masked && !c.Saw(ev.Ask, ev.By):
		return s
	case once && slices.ContainsFunc(c.Votes, func(v Vote) bool { return v.By == ev.By }): // two clicks are not two people
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	vote := Vote{ev.By, ev.Name, ev.Surface, e.At}
	if once && len(c.Votes)+1 < c.Ruling.Approvals {
		return s.editCall(c.ID, func(c *ToolCall) { c.Votes = add(c.Votes, vote) })
	}
	s = s.editCall(c.ID, func(c *ToolCall) {
		c.Decision = Decision{Choice: ev.Choice, By: ev.By, Name: ev.Name, Surface: ev.Surface, Reason: ev.Reason, DecidedAt: e.At}
		c.Deadline = time.Time{}
		switch {
		case once:
			c.Status = Allowed
			if ev.Channel == s.Channel && Offers(*c, chat.AllowChannel) {
				c.Channel = ev.Channel
			}
			if c.Ruling.Approvals > 1 {
				c.Votes = add(c.Votes, vote)
			}
		case standing:
			c.Status, c.Grant = Allowed, g.ID
		default:
			c.Choice = chat.Deny
			c.settle(Denied, e.At, Result{Kind: ResultDenied, Reason: ev.Reason, By: ev.Name, IsError: true})
		}
	})
	if standing {
		s.Grants = add(s.Grants, *g)
	}
	return s
}

func (ev Withdrawn) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if ev.By.IsZero() || ev.Next == "" || !CanUndo(s, c) || slices.Contains(c.Asks, ev.Next) {
		return s
	}
	if Grants(c.Choice) {
		s = s.dropGrants([]permission.GrantID{c.Grant})
	}
	return s.recordParticipant(ev.By, ev.Name).askAgain(e, c.ID, ev.Next)
}

// askAgain puts a call to people once more, under its new asking.
func (s Session) askAgain(e Entry, id CallID, next AskID) Session {
	return s.editCall(id, func(c *ToolCall) {
		c.ask(next)
		c.Result = nil
		c.await(e.At)
	})
}

// Amended makes the call another one: new bytes, new digest. Whatever was asked about the old bytes answers nothing any more.
func (ev Amended) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if ev.By.IsZero() || !bytes.HasPrefix(ev.Args, []byte("{")) || ev.Digest == "" || c.Status != Awaiting || c.overdue(e.At) || c.Digest == ev.Digest {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).editCall(c.ID, func(c *ToolCall) {
		if !c.Edited() {
			c.Wrote = c.Args
		}
		c.Edits = add(c.Edits, Amendment{By: ev.By, Name: ev.Name, At: e.At, From: c.Digest})
		c.Args, c.Digest, c.Unchecked = ev.Args, ev.Digest, ev.Unchecked
		c.propose()
	})
}

func (ev Ticked) apply(s Session, _ Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if ev.By.IsZero() || !CanRemember(c) || ev.On == Remembers(c, ev.By) { // only who ticked it unticks it
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).editCall(c.ID, func(c *ToolCall) {
		c.Ticked = nil
		if ev.On {
			c.Ticked = &Person{ev.By, ev.Name}
		}
	})
}

func (ev Revealed) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if c.Status != Awaiting {
		c, _ = s.FindElicitation(ev.Ask)
	}
	if c.ID == "" || ev.By.IsZero() || c.Saw(ev.Ask, ev.By) {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).editCall(c.ID, func(c *ToolCall) {
		c.Revealed = add(c.Revealed, Reveal{Ask: ev.Ask, By: ev.By, Name: ev.Name, At: e.At})
	})
}

// maxRatings bounds what a session keeps to tell a rating from the one before it.
const maxRatings = 100

func (ev Rated) apply(s Session, _ Entry) Session {
	if t := s.TurnOf(ev.Turn); ev.By.IsZero() || ev.Turn == "" || t != nil && t.End == "" || s.HasRated(ev) {
		return s
	}
	kept := slices.DeleteFunc(slices.Clone(s.Ratings), func(r Rated) bool { return r.Turn == ev.Turn && r.By == ev.By })
	s.Ratings = append(kept[max(0, len(kept)-maxRatings+1):], ev)
	return s.recordParticipant(ev.By, ev.Name)
}

// HasRated reports whether somebody said just that of a turn last.
func (s Session) HasRated(r Rated) bool {
	return slices.ContainsFunc(s.Ratings, func(x Rated) bool { return x.Turn == r.Turn && x.By == r.By && x.Good == r.Good })
}

func (ev Extended) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if ev.By.IsZero() || !c.Waits() || c.Deadline.IsZero() || c.overdue(e.At) || !ev.Until.After(c.Deadline) {
		return s
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.Deadline = ev.Until
		if c.Seen != nil { // what the card said of its end: that is another now
			c.Seen = &Showing{At: c.Seen.At, Silent: c.Seen.Silent}
		}
	})
}

func (ev Expired) apply(s Session, e Entry) Session {
	if c, open := s.FindElicitation(ev.Ask); open {
		if !overdue(c.Elicitation.Deadline, e.At) {
			return s
		}
		return s.editCall(c.ID, func(c *ToolCall) { c.Elicitation = c.Elicitation.unanswered() })
	}
	c := s.Turn.Asking(ev.Ask)
	if !c.Waits() || !c.overdue(e.At) {
		return s
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		if c.Status == Unknown {
			c.settle(Unknown, e.At, unknownResult(c.Lost))
			return
		}
		c.settle(Lapsed, e.At, Result{Kind: ResultTimedOut, Waited: c.Waited(), IsError: true})
	})
}

func (ev Reopened) apply(s Session, e Entry) Session {
	if ev.By.IsZero() || ev.Next == "" || ev.NextCall == "" {
		return s
	}
	c := s.Turn.Asking(ev.Ask)
	if c.ID == "" {
		return ev.ofEnded(s, e)
	}
	if c.Status != Lapsed || c.Reasked || s.Turn.Stopped != nil || slices.Contains(c.Asks, ev.Next) {
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	if c.Step == s.Turn.Step-1 && !s.Turn.settled() { // its batch is open still
		s = s.askAgain(e, c.ID, ev.Next)
		return s.editCall(c.ID, func(c *ToolCall) { c.Ticked = nil })
	}
	return s.editCall(c.ID, func(c *ToolCall) { c.Reasked = true }).replay(e, ev, c, s.Turn.Requester)
}

// ofEnded asks again for a call of a turn that has ended.
func (ev Reopened) ofEnded(s Session, e Entry) Session {
	l, ok := s.FindLapsed(ev.Ask)
	if !ok {
		return s
	}
	s.Lapsed = slices.DeleteFunc(slices.Clone(s.Lapsed), func(x LapsedCall) bool { return x.Call.Ask == ev.Ask })
	if s.Last.Find(l.Call.ID) >= 0 {
		s = s.editTurn(s.Last.ID, func(t *Turn) { t.Calls[t.Find(l.Call.ID)].Reasked = true })
	}
	return s.recordParticipant(ev.By, ev.Name).replay(e, ev, l.Call, l.Requester)
}

// replay queues a turn for the same requester with the same bytes as a new call.
func (s Session) replay(e Entry, ev Reopened, c ToolCall, requester chat.User) Session {
	return s.queue(e, Said{
		Delivery: chat.Delivery("again:" + string(ev.Next)), By: requester, Name: s.Participant(requester).Name,
		Replay: &Replay{Call: ev.NextCall, Tool: c.Tool, Args: c.Args, Digest: c.Digest, Unchecked: c.Unchecked},
	})
}

func (ev Revoked) apply(s Session, _ Entry) Session {
	if ev.By.IsZero() || !slices.ContainsFunc(s.Grants, func(g permission.Grant) bool { return slices.Contains(ev.Grants, g.ID) }) {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).dropGrants(ev.Grants)
}

// dropGrants ends grants; calls that they covered and that have not started go back to be ruled again.
func (s Session) dropGrants(ids []permission.GrantID) Session {
	gone := func(g permission.GrantID) bool { return g != "" && slices.Contains(ids, g) }
	s.Grants = slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool { return gone(g.ID) })
	return s.repropose(func(c ToolCall) bool { return gone(c.Grant) })
}

// repropose sends calls back to be ruled again that are allowed and have not started, where what allowed them is stale.
func (s Session) repropose(stale func(ToolCall) bool) Session {
	if s.Turn == nil {
		return s
	}
	return s.edit(func(t *Turn) {
		for i := range t.Calls {
			if c := &t.Calls[i]; c.Status == Allowed && stale(*c) {
				c.propose()
			}
		}
	})
}
