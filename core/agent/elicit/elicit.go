// Package elicit is how what a running tool's server asks a person for waits for the answer, which comes by the chat's log: any replica may
// have recorded it. Who may answer is package decision's, and what the question looks like package card's.
//
// A run waits in [Question.Wait]; the driver, which alone has the [Open] ones, gives the answers on that a session holds.
package elicit

import (
	"context"

	"github.com/nodhq/nod/core/agent/turn"
)

// Question is one. Make it with [New].
type Question struct {
	Event  turn.Elicited
	answer chan turn.Fill // has room for one
}

func New(event turn.Elicited) Question { return Question{event, make(chan turn.Fill, 1)} }

// Wait waits for the answer, or until nobody gives one, or ctx ends.
func (q Question) Wait(ctx context.Context) (turn.Fill, error) {
	select {
	case f := <-q.answer:
		return f, nil
	case <-ctx.Done():
		return turn.Fill{}, ctx.Err()
	}
}

// Open are the questions that wait.
type Open map[turn.AskID]Question

// Answer gives on the answers that a session holds, and ends what nobody will answer any more.
func (o Open) Answer(s turn.Session) {
	for id, q := range o {
		c := s.Turn.Call(q.Event.Call)
		switch {
		case c.Elicitation != nil && c.Elicitation.Ask == id && c.Elicitation.Fill != nil:
			q.answer <- *c.Elicitation.Fill
			delete(o, id)
		case c.Status != turn.Running || s.Turn.Stopped != nil, c.Elicitation.Open() && c.Elicitation.Ask != id:
			q.answer <- turn.Fill{Action: turn.FillCancel}
			delete(o, id)
		}
	}
}
