package turn

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func (ev Started) apply(s Session, e Entry) Session {
	i := s.Turn.Find(ev.Call)
	if i < 0 || ev.Run == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if !s.Turn.Runnable(i) || c.Ask != ev.Ask || c.Digest != ev.Digest || slices.Contains(c.Runs, ev.Run) {
		return s
	}
	if ev.Grant != "" {
		g := slices.IndexFunc(s.Grants, func(g permission.Grant) bool { return g.ID == ev.Grant })
		if g < 0 || (s.Grants[g].Counted && s.Grants[g].Uses < 1) {
			return s // its cover is gone: it has to be ruled again
		}
		if s.Grants[g].Counted {
			s.Grants = slices.Clone(s.Grants)
			s.Grants[g].Uses--
		}
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.begin(ev.Run, ev.Token)
		c.Status, c.StartedAt = Running, e.At
		if ev.Grant != "" {
			c.Grant, c.Cover = ev.Grant, s.Grant(ev.Grant)
		}
	})
}

// Finished settles the call, or, where something else has settled it, is a note to the model.
func (ev Finished) apply(s Session, e Entry) Session {
	c, t, _ := s.FindCall(ev.Call)
	if t == nil || !slices.Contains(c.Runs, ev.Run) || slices.Contains(c.Heard, ev.Run) {
		return s
	}
	failed := ev.Result.IsError
	if t == s.Turn && c.Run == ev.Run && (c.Status == Running || (c.Status == Unknown && !c.Settled())) {
		return s.editCall(c.ID, func(c *ToolCall) {
			c.Heard = add(c.Heard, ev.Run)
			status := Done
			if failed {
				status = Failed
			}
			c.settle(status, e.At, ev.Result)
		})
	}
	s = s.editTurn(t.ID, func(t *Turn) {
		c := &t.Calls[t.Find(c.ID)]
		c.Heard, c.Late, c.LateFailed = add(c.Heard, ev.Run), true, failed
	})
	return s.note(Note{Kind: NoteLate, Tool: c.Tool.Name, Server: c.Tool.Server, Text: ev.Result.Text, Failed: failed})
}

func (ev Abandoned) apply(s Session, e Entry) Session {
	c := s.Turn.Call(ev.Call)
	if ev.Ask == "" {
		return s
	}
	if ev.Forgotten && (c.Status == Proposed || c.Status == Awaiting || c.Status == Allowed) && !slices.Contains(c.Runs, ev.Run) {
		return ev.apply(s.editCall(c.ID, func(c *ToolCall) {
			c.begin(ev.Run, ev.Token)
			c.Status = Running
		}), e)
	}
	if c.Status != Running || c.Run != ev.Run || slices.Contains(c.Asks, ev.Ask) {
		return s
	}
	if !(ev.Token > c.Token || (ev.Own && ev.Token == c.Token)) {
		return s // an earlier driver has no say over a later one's run
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[t.Find(c.ID)]
		c.Lost, c.Elicitation = ev.Say, nil
		if ev.Repeat != "" && c.Repeats < maxRepeats && t.Stopped == nil {
			c.Repeats++
			c.Status = Allowed
			return
		}
		c.Status = Unknown
		c.ask(ev.Ask)
		c.AskedAt, c.Deadline = e.At, deadline(e.At, ev.Wait)
		if t.Stopped != nil || t.Unattended {
			c.settle(Unknown, e.At, unknownResult(c.Lost))
		}
	})
}

func (ev Resolved) apply(s Session, e Entry) Session {
	c := s.Turn.Asking(ev.Ask)
	if ev.By.IsZero() || c.Status != Unknown || c.Settled() || c.overdue(e.At) {
		return s
	}
	switch ev.Answer {
	case chat.Happened, chat.Leave:
		return s.recordParticipant(ev.By, ev.Name).editCall(c.ID, func(c *ToolCall) {
			c.Choice, c.By, c.Name, c.DecidedAt = ev.Answer, ev.By, ev.Name, e.At
			r := unknownResult(c.Lost)
			if ev.Answer == chat.Happened {
				r = Result{Kind: ResultHappened, IsError: true}
			}
			c.settle(Unknown, e.At, r)
		})
	case chat.RunAgain:
		if ev.Next == "" || slices.Contains(c.Asks, ev.Next) {
			return s
		}
		s = s.recordParticipant(ev.By, ev.Name).askAgain(e, c.ID, ev.Next)
		return s.editCall(c.ID, func(c *ToolCall) { c.Ticked = nil })
	}
	return s
}

// Elicited is what the server of a running call wants of the requester.
func (ev Elicited) apply(s Session, e Entry) Session {
	c := s.Turn.Call(ev.Call)
	if ev.Ask == "" || c.Status != Running || c.Run != ev.Run || c.Elicitation.Open() || slices.Contains(c.Asks, ev.Ask) || s.Turn.Stopped != nil {
		return s
	}
	if c.Elicitation != nil && c.Elicitation.Ask == ev.Ask {
		return s // it was answered: the same once more is not asked once more
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.Elicitation = &ElicitationState{Ask: ev.Ask, Request: ev.Request, At: e.At, Deadline: deadline(e.At, ev.Wait)}
	})
}

// Filled is the requester's answer, and nobody else's: what a server asks of one person only that person can say.
func (ev Filled) apply(s Session, e Entry) Session {
	c, open := s.FindElicitation(ev.Ask)
	if !open || ev.By.IsZero() || ev.By != s.Turn.Requester || overdue(c.Elicitation.Deadline, e.At) {
		return s
	}
	if ev.Fill.Action != FillAccept {
		ev.Fill = Fill{Action: FillDecline}
	}
	want := *c.Elicitation
	want.Fill, want.By, want.Name = &ev.Fill, ev.By, ev.Name
	return s.editCall(c.ID, func(c *ToolCall) { c.Elicitation = &want })
}

// begin makes run the current one, under the lease of that token. Of the times of an earlier run nothing changes.
func (x *Execution) begin(run RunID, token uint64) {
	x.Run, x.Runs, x.Token = run, add(x.Runs, run), token
}

// deadline is when a time that begins at at is over; zero where there is none.
func deadline(at time.Time, wait time.Duration) time.Time {
	if wait > 0 {
		return at.Add(wait)
	}
	return time.Time{}
}

// overdue reports whether a deadline has come. What is parked has none.
func overdue(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }
