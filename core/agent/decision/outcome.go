package decision

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// ReadOutcomes reads from the log's answer what became of a click: recorded, or overtaken at the very deadline.
func ReadOutcomes(s turn.Session, in chat.Clicked, made []turn.Event, at time.Time) ([]Outcome, error) {
	var done []Outcome
	var refused error
	for _, ev := range made {
		o := Outcome{Chat: in.Chat, Choice: in.Choice, By: in.User, Name: in.Name, At: at}
		switch ev := ev.(type) {
		case turn.Shown: // what they answered, they saw
			continue
		case turn.Amended:
			o.Ask = ev.Ask
			c, _, found := s.FindAsk(ev.Ask)
			if o.Call = c.ID; !found || c.Digest != ev.Digest {
				refused = overtaken(c)
				continue
			}
		case turn.Decided:
			o.Ask, o.Choice = ev.Ask, ev.Choice
			c, _, found := s.FindAsk(ev.Ask)
			voted := found && ev.Choice == chat.AllowOnce && slices.ContainsFunc(c.Votes, func(v turn.Vote) bool { return v.By == in.User })
			under := found && ev.Under != "" && c.Grant == ev.Under
			if !found || !voted && !under && (c.By != in.User || c.Choice != ev.Choice) {
				refused = overtaken(c)
				continue
			}
			o.Call = c.ID
		case turn.Ticked:
			if in.Choice == chat.ApproveAll || in.Choice == chat.AllowSession {
				continue // it only went with them
			}
			o.Ask = ev.Ask
			if c, _, found := s.FindAsk(ev.Ask); found {
				o.Call = c.ID
			}
		case turn.Filled:
			o.Ask = ev.Ask
			if !fillCounts(s, ev) {
				refused = &Refusal{Code: RefusedExpired, Say: text.WantOver()}
				continue
			}
		case turn.Withdrawn:
			o.Ask = ev.Next
			c, _, found := s.FindAsk(ev.Next)
			if !found {
				refused = tooLate(c)
				continue
			}
			o.Call = c.ID
		case turn.Extended:
			o.Ask = ev.Ask
			if c, _, found := s.FindAsk(ev.Ask); found {
				o.Call = c.ID
				if c.Deadline.Before(ev.Until) {
					refused = overtaken(c)
					continue
				}
			}
		case turn.Reopened:
			o.Ask = ev.Next
			if c, _, found := s.FindAsk(ev.Next); found {
				o.Call = c.ID
			} else if o.Call = ev.NextCall; !replays(s, ev.NextCall) {
				refused = notOffered()
				continue
			}
		case turn.Resolved:
			o.Ask = ev.Ask
			if ev.Answer == chat.RunAgain {
				o.Ask = ev.Next
			}
			c, _, found := s.FindAsk(o.Ask)
			if !found || (ev.Answer != chat.RunAgain && (c.By != in.User || c.Choice != ev.Answer)) {
				if !found { // run again, and its new asking is not there
					c, _, _ = s.FindAsk(ev.Ask)
				}
				refused = overtaken(c)
				continue
			}
			o.Call = c.ID
		default: // a stop, a revocation, a mode: nothing of it can be overtaken
		}
		done = append(done, o)
	}
	if len(done) == 0 && refused != nil {
		return nil, refused
	}
	return done, nil
}

func fillCounts(s turn.Session, ev turn.Filled) bool {
	c, _, found := s.Find(func(c turn.ToolCall) bool { return c.Want != nil && c.Want.Ask == ev.Ask })
	return !found || c.Want.By == ev.By && c.Want.Fill != nil
}

// Unmask gives what a card masks, for somebody of whom it is on record that they looked.
func Unmask(s turn.Session, in chat.Clicked, at time.Time) ([]Outcome, error) {
	ask := turn.AskID(in.Token)
	c, open := s.FindElicitation(ask)
	if !open {
		c, _, _ = s.FindAsk(ask)
	}
	if !c.Saw(ask, in.User) {
		return nil, overtaken(c)
	}
	d := card.Hidden(c, ask)
	return []Outcome{{Chat: in.Chat, Ask: ask, Call: c.ID, Choice: in.Choice, By: in.User, Name: in.Name, At: at, Hidden: &d}}, nil
}

// Outcome is one decision (or undo, extension, answer) that is recorded.
type Outcome struct {
	// Hidden is, with [chat.Reveal], what the card masks: for whoever clicked, and for nobody else.
	Hidden *render.Details
	Chat   chat.ID
	Ask    turn.AskID
	Call   turn.CallID
	Choice chat.Choice
	By     chat.User
	Name   string
	At     time.Time
}

// replays reports whether a call stands, or is queued, to be asked for again.
func replays(s turn.Session, id turn.CallID) bool {
	if s.Turn.Find(id) >= 0 {
		return true
	}
	return slices.ContainsFunc(s.Waiting, func(w turn.Said) bool { return w.Replay != nil && w.Replay.Call == id })
}
