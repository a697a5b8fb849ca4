package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// Command is one thing the world still owes a session. The set is closed.
//
//sumtype:decl
type Command interface{ isCommand() }

type (
	// Show: post the turn's one message.
	Show struct{ Turn TurnID }
	// AskModel for the reply of step Step.
	AskModel struct{ Step int }
	// Gather: read what people attached to the turn's messages, and what they said before.
	Gather struct{ Turn TurnID }
	// Rule: put the call to the policy.
	Rule struct{ Call CallID }
	// RunTool: start and run the call.
	RunTool struct{ Call CallID }
	// Recover: a run that is not the driver's own is on record as running.
	Recover struct {
		Call CallID
		Run  RunID
	}
	// Cancel the driver's own run at its server.
	Cancel struct{ Run RunID }
	// Expire: the asking's deadline has come.
	Expire struct{ Ask AskID }
	// End the turn.
	End struct{ Why Why }
)

func (Show) isCommand()     {}
func (AskModel) isCommand() {}
func (Gather) isCommand()   {}
func (Rule) isCommand()     {}
func (RunTool) isCommand()  {}
func (Recover) isCommand()  {}
func (Cancel) isCommand()   {}
func (Expire) isCommand()   {}
func (End) isCommand()      {}

// Env is what Next needs to know beyond the session.
type Env struct {
	Live       RunID // the driver's own run in flight, or ""
	MaxSteps   int   // replies in one turn; 0: no limit
	MaxDenials int   // replies of which something was denied, before the turn stops to ask the person; 0: no limit
	Sequential bool  // rule and ask one call at a time (002, 004)
	// Nudge is how long a card stands that came by an edit before it is announced beside the message, and Room how many characters of
	// an answer certainly fit into it. Zero, all: the platform has nothing beside a message.
	Nudge time.Duration
	Room  int
	Long  time.Duration // the end of a turn that took longer is announced; 0: never
	// Escalate is how long an ask is seen and not answered before others may answer it, too; 0: never.
	Escalate time.Duration
}

// Next is what the world still owes the session at now: derived, never stored. An empty answer means that the
// session is finished, waits for a person (see [Waits]) or for the driver's own run.
func Next(s Session, now time.Time, env Env) []Command {
	return append(next(s, now, env), followUps(s, now, env)...)
}

func next(s Session, now time.Time, env Env) []Command {
	t := s.Turn
	if t == nil {
		return nil
	}
	var do []Command
	if t.Shown == "" {
		do = append(do, Show{t.ID})
	}
	if live := t.live(); live != nil {
		switch {
		case live.Run != env.Live:
			do = append(do, Recover{live.ID, live.Run})
		case t.Stopped != nil:
			do = append(do, Cancel{live.Run})
		}
	}
	for i, c := range t.Calls {
		if c.Status == Proposed && !(env.Sequential && unsettled(t.Calls[:i])) {
			do = append(do, Rule{c.ID})
		}
		if end := c.Wait().ends(); !end.IsZero() && !now.Before(end) {
			do = append(do, Expire{c.Wait().Ask})
		}
	}
	if n := len(do); n > 1 || n == 1 && t.Shown != "" { // more than its message
		return do
	}
	for i, c := range t.Calls {
		if t.Runnable(i) {
			return append(do, RunTool{c.ID})
		}
	}
	denied := env.MaxDenials > 0 && t.denials() >= env.MaxDenials
	long := env.MaxSteps > 0 && t.Step >= env.MaxSteps
	switch {
	case !t.settled():
		return do
	case t.Stopped != nil:
		return append(do, End{WasStopped})
	case t.wantsReply() && t.bare():
		return append(do, Gather{t.ID})
	case t.wantsReply() && !denied && !long:
		return append(do, AskModel{t.Step})
	case t.Shown == "": // its message first: the session keeps only the turn that ended last
		return do
	case !t.wantsReply():
		return append(do, End{Answered})
	case denied:
		return append(do, End{TooManyDenials})
	default:
		return append(do, End{TooManySteps})
	}
}

// Pressing reports whether there is something that a turn's message has to show at once: a question, or that it is over.
func Pressing(s Session) bool {
	return s.Turn != nil && (s.Turn.Stopped != nil || len(Waits(s)) > 0 || s.Turn.settled() && !s.Turn.wantsReply())
}

// EndsNow reports whether the turn could be ended at once: nothing of it runs.
func EndsNow(s Session) bool { return s.Turn != nil && s.Turn.live() == nil }

// Wait is one thing a session waits for a person to answer.
type Wait struct {
	Ask      AskID
	Call     CallID
	Asked    time.Time
	Deadline time.Time // zero: parked
	Seen     *Showing  // nil: nobody has seen it yet
	Others   bool      // the requester's answer does not do
}

// unseenFor is how much longer than its time an ask is kept open that could not be shown to anybody: then its turn goes on.
const unseenFor = 10 * time.Minute

// ends is when it expires, or zero.
func (w Wait) ends() time.Time {
	if w.Seen == nil && !w.Deadline.IsZero() {
		return w.Deadline.Add(unseenFor)
	}
	return w.Deadline
}

// Wait is what a call waits for a person to answer; the zero value where it does not.
func (c ToolCall) Wait() Wait {
	switch {
	case c.Waits():
		return Wait{c.Ask, c.ID, c.AskedAt, c.Deadline, c.Seen, c.Card.Others}
	case c.Elicitation.Open():
		return Wait{c.Elicitation.Ask, c.ID, c.Elicitation.At, c.Elicitation.Deadline, c.Elicitation.Seen, false}
	}
	return Wait{}
}

// Waits lists what the session waits for people to answer.
func Waits(s Session) []Wait { return s.Turn.waiting() }

func (t *Turn) waiting() (out []Wait) {
	if t == nil {
		return nil
	}
	for _, c := range t.Calls {
		if w := c.Wait(); w.Ask != "" {
			out = append(out, w)
		}
	}
	return out
}

// Unseen reports whether something waits of which it is not on record yet that it was shown, and where.
func (t *Turn) Unseen() bool {
	return slices.ContainsFunc(t.waiting(), func(w Wait) bool { return w.Seen == nil })
}

// WakeAt is when the session next owes something by itself, or zero.
func WakeAt(s Session, now time.Time, env Env) time.Time {
	var at time.Time
	soonest := func(x time.Time) {
		if !x.IsZero() && (at.IsZero() || x.Before(at)) {
			at = x
		}
	}
	for _, w := range Waits(s) {
		soonest(w.ends())
	}
	if s.Turn != nil && s.Turn.Shown != "" {
		if _, due := s.Turn.nudge(env.Nudge); due.After(now) {
			soonest(due)
		}
		if _, due := s.Turn.escalation(env.Escalate); due.After(now) {
			soonest(due)
		}
	}
	return at
}

// OpenAsks are the calls that wait for a decision, in order.
func OpenAsks(s Session) []ToolCall {
	if s.Turn == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Turn.Calls), func(c ToolCall) bool { return c.Status != Awaiting })
}

// BatchToken names exactly these asks: it answers those, or nothing.
func BatchToken(asks []ToolCall) string {
	h := sha256.New()
	for _, c := range asks {
		h.Write([]byte(c.Ask))
		h.Write([]byte{0})
	}
	return "all-" + hex.EncodeToString(h.Sum(nil)[:20])
}

// Batch are the open asks that a token answers together: all of them, or some of those that [Together] puts side by side. nil: none.
func Batch(s Session, token string) []ToolCall {
	for _, asks := range append(Together(s), OpenAsks(s)) {
		if len(asks) > 0 && BatchToken(asks) == token {
			return asks
		}
	}
	return nil
}

// Together are the open asks in order, those side by side that can be answered as one: calls of one tool that reads, or says so, about
// which the same people are asked in the same way.
func Together(s Session) (out [][]ToolCall) {
	for _, c := range OpenAsks(s) {
		i := slices.IndexFunc(out, func(asks []ToolCall) bool { return alike(asks[0], c) })
		if i < 0 {
			out = append(out, []ToolCall{c})
			continue
		}
		out[i] = append(out[i], c)
	}
	return out
}

func alike(a, b ToolCall) bool {
	plain := func(c ToolCall) bool {
		return (c.Ruling.Access == permission.Read || c.Ruling.SaysReads) && c.Ruling.Risk != permission.Dangerous && c.Ruling.Approvals < 2 &&
			Showable(c) && !Masked(c) && !c.Edited() && !c.Unchecked && !c.MayHaveRun() && !c.Late && c.Ticked == nil
	}
	return plain(a) && plain(b) && a.Tool == b.Tool && a.Step == b.Step && a.Ruling.Access == b.Ruling.Access && a.Ruling.Level == b.Ruling.Level &&
		a.Ruling.Message == "" && b.Ruling.Message == "" && slices.Equal(a.Card.Who, b.Card.Who)
}

// AsksDiffer reports whether what people may or did decide is another than before: that is what they look at.
func AsksDiffer(before, now Session) bool {
	b, n := before.Turn, now.Turn
	return b == nil || n == nil || b.ID != n.ID || (b.Stopped == nil) != (n.Stopped == nil) || len(before.Grants) != len(now.Grants) ||
		!slices.EqualFunc(b.Calls, n.Calls, func(b, c ToolCall) bool {
			return b.Ask == c.Ask && b.Status == c.Status && b.Choice == c.Choice && b.Deadline.Equal(c.Deadline) &&
				len(b.Votes) == len(c.Votes) && (b.Ticked == nil) == (c.Ticked == nil) && b.Elicitation == c.Elicitation
		})
}
