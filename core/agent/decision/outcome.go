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
		switch ev.(type) {
		case turn.Shown: // what they answered, they saw
			continue
		case turn.Ticked:
			if in.Choice == chat.ApproveAll || in.Choice == chat.AllowSession {
				continue // it only went with them
			}
		default:
		}
		o := Outcome{Chat: in.Chat, Choice: in.Choice, By: in.User, Name: in.Name, At: at}
		if err := o.read(s, ev); err != nil {
			refused = err
			continue
		}
		done = append(done, o)
	}
	if len(done) == 0 && refused != nil {
		return nil, refused
	}
	return done, nil
}

// read fills in what an event is about, or says why it has no effect.
func (o *Outcome) read(s turn.Session, ev turn.Event) error {
	about := func(ask turn.AskID) (turn.ToolCall, bool) {
		c, _, found := s.FindAsk(ask)
		o.Ask, o.Call = ask, c.ID
		return c, found
	}
	switch ev := ev.(type) {
	case turn.Amended:
		if c, found := about(ev.Ask); !found || c.Digest != ev.Digest {
			return overtaken(c)
		}
	case turn.Decided:
		c, found := about(ev.Ask)
		if o.Choice = ev.Choice; ev.Channel != "" {
			o.Choice = chat.AllowChannel
		}
		voted := found && ev.Choice == chat.AllowOnce && slices.ContainsFunc(c.Votes, func(v turn.Vote) bool { return v.By == o.By })
		under := found && ev.Under != "" && c.Grant == ev.Under
		if !found || !voted && !under && (c.By != o.By || c.Choice != ev.Choice) {
			return overtaken(c)
		}
	case turn.Ticked:
		about(ev.Ask)
	case turn.Filled:
		if o.Ask = ev.Ask; !fillCounts(s, ev) {
			return refuse(RefusedExpired, text.ElicitationOver)
		}
	case turn.Withdrawn:
		if c, found := about(ev.Next); !found {
			return tooLate(c)
		}
	case turn.Extended:
		if c, found := about(ev.Ask); found && c.Deadline.Before(ev.Until) {
			return overtaken(c)
		}
	case turn.Reopened:
		if _, found := about(ev.Next); !found {
			o.Call = ev.NextCall
			queued := slices.ContainsFunc(s.Waiting, func(w turn.Said) bool { return w.Replay != nil && w.Replay.Call == ev.NextCall })
			if s.Turn.Find(ev.NextCall) < 0 && !queued {
				return notOffered()
			}
		}
	case turn.Resolved:
		if ev.Answer == chat.RunAgain {
			if _, found := about(ev.Next); !found {
				c, _, _ := s.FindAsk(ev.Ask)
				return overtaken(c)
			}
		} else if c, found := about(ev.Ask); !found || c.By != o.By || c.Choice != ev.Answer {
			return overtaken(c)
		}
	default: // a stop, a revocation, a mode: nothing of it can be overtaken
	}
	return nil
}

func fillCounts(s turn.Session, ev turn.Filled) bool {
	c, _, found := s.Find(func(c turn.ToolCall) bool { return c.Elicitation != nil && c.Elicitation.Ask == ev.Ask })
	return !found || c.Elicitation.By == ev.By && c.Elicitation.Fill != nil
}

// Unmask gives what a card masks, for somebody of whom it is on record that they looked.
func Unmask(s turn.Session, in chat.Clicked, at time.Time) ([]Outcome, error) {
	ask := turn.AskID(in.Token)
	c, _, _ := s.FindAsk(ask)
	if !c.Saw(ask, in.User) {
		return nil, overtaken(c)
	}
	d := card.Hidden(c)
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
