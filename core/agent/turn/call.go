package turn

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached}
}

// MayHaveRun reports whether a run of the call is on record whose outcome nobody knows.
func (c ToolCall) MayHaveRun() bool { return len(c.Runs) > len(c.Heard) }

// settle gives the call its one result. A call that was to be run again, and is not, may still have happened: its result never
// says the contrary.
func (c *ToolCall) settle(status Status, at time.Time, r Result) {
	if c.MayHaveRun() {
		switch status {
		case Lapsed, Cancelled:
			r = unknownResult(c.Lost)
		case Denied:
			r.Reran = true
		default: // its run has just answered, or its result says that nobody knows
		}
	}
	c.Status, c.EndedAt, c.Result, c.Elicitation = status, at, &r, nil
	if status != Lapsed {
		c.Deadline = time.Time{}
	}
}

// ask makes id the asking in force. An id is never used twice, so a repeated event finds nothing to do.
func (c *ToolCall) ask(id AskID) { c.Ask, c.Asks, c.Seen = id, add(c.Asks, id), nil }

// await puts the call to people. What was answered or ran before is not of this asking.
func (c *ToolCall) await(at time.Time) {
	c.Status, c.Asked, c.AskedAt, c.Deadline = Awaiting, true, at, deadline(at, c.Ruling.Timeout)
	c.Decision, c.Votes, c.Result = Decision{}, nil, nil
	c.StartedAt, c.EndedAt = time.Time{}, time.Time{}
}

// propose sends a call back to be ruled again.
func (c *ToolCall) propose() {
	c.Decision = Decision{}
	c.Status, c.Asked, c.Deadline = Proposed, false, time.Time{}
}

// Edited reports whether a person changed the arguments.
func (c ToolCall) Edited() bool { return len(c.Edits) > 0 }

// Waited is how long people had for the asking that expired.
func (c ToolCall) Waited() time.Duration {
	if c.Seen != nil {
		return c.Deadline.Sub(c.Seen.At)
	}
	return c.Deadline.Sub(c.AskedAt)
}

func (c ToolCall) overdue(now time.Time) bool { return overdue(c.Deadline, now) }

// Waits reports whether the call waits for a person: for a decision, or for word on an unknown outcome.
func (c ToolCall) Waits() bool { return c.Status == Awaiting || (c.Status == Unknown && !c.Settled()) }

// Find is the index of a call, or -1. A nil turn has none.
func (t *Turn) Find(id CallID) int { return t.index(func(c ToolCall) bool { return c.ID == id }) }

// Call is the call of that ID; the zero call where the turn has none.
func (t *Turn) Call(id CallID) ToolCall { return t.first(func(c ToolCall) bool { return c.ID == id }) }

// Asking is the call whose asking in force is id; the zero call where the turn has none.
func (t *Turn) Asking(id AskID) ToolCall {
	return t.first(func(c ToolCall) bool { return c.Ask == id && id != "" })
}

func (t *Turn) index(is func(ToolCall) bool) int {
	if t == nil {
		return -1
	}
	return slices.IndexFunc(t.Calls, is)
}

func (t *Turn) first(is func(ToolCall) bool) ToolCall {
	if i := t.index(is); i >= 0 {
		return t.Calls[i]
	}
	return ToolCall{}
}

// settled reports whether every call has its one result.
func (t *Turn) settled() bool { return !unsettled(t.Calls) }

func unsettled(calls []ToolCall) bool {
	return slices.ContainsFunc(calls, func(c ToolCall) bool { return !c.Settled() })
}

// Batch are the calls of the latest reply.
func (t *Turn) Batch() []ToolCall {
	if i := t.index(func(c ToolCall) bool { return c.Step == t.Step-1 }); i >= 0 {
		return t.Calls[i:]
	}
	return nil
}

// wantsReply reports whether the model is to be asked: nothing was asked yet, or the last reply's calls all
// have their result. A stopped turn takes one more reply: the words that were already shown.
func (t *Turn) wantsReply() bool { return t.settled() && (t.Step == 0 || len(t.Batch()) > 0) }

// live is the call that runs, or nil.
func (t *Turn) live() *ToolCall {
	if i := t.index(func(c ToolCall) bool { return c.Status == Running }); i >= 0 {
		return &t.Calls[i]
	}
	return nil
}

// Runnable reports whether a call may start now. Calls run one at a time. What people were asked about runs in order once
// nothing of the batch waits any more; what needed no asking runs at once while nothing before it waits, and
// behind something that waits only if it reads.
func (t *Turn) Runnable(i int) bool {
	if t.Stopped != nil || t.Calls[i].Status != Allowed || t.live() != nil {
		return false
	}
	// A proposed call behind i does not hold it up: Next rules all of them first, unless they are asked one at a time.
	open := slices.ContainsFunc(t.Calls, ToolCall.Waits) || slices.ContainsFunc(t.Calls[:i], func(c ToolCall) bool { return c.Status == Proposed })
	if t.Calls[i].Asked && open {
		return false
	}
	return !unsettled(t.Calls[:i]) || (open && !t.Calls[i].Asked && t.Calls[i].Ruling.Access == permission.Read)
}

// cancel settles everything that has not started and does not run.
func (t *Turn) cancel(at time.Time) {
	for i := range t.Calls {
		c := &t.Calls[i]
		switch {
		case c.Settled() || c.Status == Running:
		case c.Status == Unknown:
			c.settle(Unknown, at, unknownResult(c.Lost))
		default:
			c.settle(Cancelled, at, Result{Kind: ResultCancelled, IsError: true})
		}
	}
}

// denials counts the replies of this turn of which a person denied a call.
func (t *Turn) denials() int {
	steps := map[int]bool{}
	for _, c := range t.Calls {
		if c.Choice == chat.Deny {
			steps[c.Step] = true
		}
	}
	return len(steps)
}

// DeniedBefore reports whether a person denied the very same call earlier in this turn: it is then denied
// again without another card.
func DeniedBefore(t *Turn, digest permission.Digest) bool {
	return t.index(func(c ToolCall) bool { return c.Digest == digest && c.Choice == chat.Deny }) >= 0
}

// OffersGrant reports whether "Allow for this chat" stands on the call's card.
func OffersGrant(c ToolCall) bool {
	return c.Ruling.ChatGrant && c.Ruling.Level == permission.LevelUser && !c.Ruling.Masked && Showable(c)
}

// Showable reports whether the call's arguments can be shown in full, to somebody who decides what is [Masked], too. Where they cannot,
// nothing can be allowed.
func Showable(c ToolCall) bool { return !render.TooBig(c.Args) }

// Masked reports whether the card masks part of the call's arguments. A ruling from before this was recorded does not say.
func Masked(c ToolCall) bool { return c.Ruling.Masked || render.MaskedJSON(c.Args) != nil }

// Saw reports whether somebody looked at what the card of an asking masks.
func (c ToolCall) Saw(ask AskID, u chat.User) bool {
	return slices.ContainsFunc(c.Revealed, func(r Reveal) bool { return r.Ask == ask && r.By == u })
}

// CanEdit reports whether a person may change the call's arguments: it is asked for, all of them can be shown, and none of
// them is masked, because a form would have to show it.
func CanEdit(c ToolCall) bool {
	return c.Status == Awaiting && Showable(c) && !Masked(c)
}

// Bounds of one reply of the model. What is over them is said to the model, which may go on after the answers; people cannot look at more.
const (
	MaxAsks  = 20  // calls that people are asked about
	MaxCalls = 128 // calls that are taken
)

// AskedWith is about how many other calls of a call's reply people were asked.
func AskedWith(t *Turn, c ToolCall) (n int) {
	for _, x := range t.Calls {
		if x.Asked && x.Step == c.Step && x.ID != c.ID {
			n++
		}
	}
	return n
}

// CanUndo reports whether the decision on c can still be taken back: its call has not started and, if it was
// denied, its batch is still open, so the model has not heard of it.
func CanUndo(s Session, c ToolCall) bool {
	t := s.Turn
	if t == nil || t.Stopped != nil || !c.Asked || c.Choice == "" {
		return false
	}
	return c.Status == Allowed || (c.Status == Denied && c.Step == t.Step-1 && !t.settled())
}

// Requested is the permission request of a call as the session knows it; the caller adds what only the tool's
// current definition tells.
func Requested(s Session, c ToolCall) permission.Request {
	r := permission.Request{Chat: s.Chat, Channel: s.Channel, Mode: s.Mode, ModeAt: s.ModeAt, Tool: c.Tool, Args: c.Args, Masked: render.MaskedJSON(c.Args)}
	if s.Turn != nil {
		r.Requester, r.Unattended, r.Standing = s.Turn.Requester, s.Turn.Unattended, s.Turn.Standing
		_, r.Escalated = s.Turn.Escalated(c.Ask)
	}
	for _, p := range s.People {
		r.Present = append(r.Present, p.User)
	}
	return r
}

// Reasked is how many of a turn's calls were asked for again in turns of their own: each had a button for that. A nil turn has none.
func (t *Turn) Reasked() (n int) {
	if t == nil {
		return 0
	}
	for _, c := range t.Calls {
		if c.Reasked {
			n++
		}
	}
	return n
}
