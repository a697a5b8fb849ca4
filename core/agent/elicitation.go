package agent

import (
	"context"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
)

// elicitation is what a running tool's server asks a person for, on its way to the driver and back.
type elicitation struct {
	event  turn.Elicited
	answer chan turn.Fill // has room for one
}

// elicit puts what a server asks for to the requester, and waits. It is called from the run's own goroutines.
func (d *driver) elicit(ctx context.Context, c turn.ToolCall, w turn.Elicitation, wait time.Duration) (turn.Fill, error) {
	if s := d.session.Load(); s == nil || s.Turn == nil || s.Turn.Unattended || s.Turn.Requester.IsZero() {
		return turn.Fill{}, ErrNobody
	}
	in := elicitation{turn.Elicited{Call: c.ID, Run: c.Run, Ask: turn.AskID(mint()), Request: w, Wait: wait}, make(chan turn.Fill, 1)}
	put := func() {
		if d.ctx.Err() == nil { // it is recorded with the next step
			d.waiting[in.event.Ask] = in
			d.results = append(d.results, in.event)
		}
	}
	select {
	case d.came <- put:
	case <-ctx.Done():
		return turn.Fill{}, ctx.Err()
	}
	select {
	case f := <-in.answer:
		return f, nil
	case <-ctx.Done():
		return turn.Fill{}, ctx.Err()
	}
}

// answerElicitations gives answers on, and ends what nobody will answer any more.
func (d *driver) answerElicitations(s turn.Session) {
	for id, w := range d.waiting {
		c := s.Turn.Call(w.event.Call)
		switch {
		case c.Elicitation != nil && c.Elicitation.Ask == id && c.Elicitation.Fill != nil:
			w.answer <- *c.Elicitation.Fill
			delete(d.waiting, id)
		case c.Status != turn.Running || s.Turn.Stopped != nil, c.Elicitation.Open() && c.Elicitation.Ask != id:
			w.answer <- turn.Fill{Action: turn.FillCancel}
			delete(d.waiting, id)
		}
	}
}
