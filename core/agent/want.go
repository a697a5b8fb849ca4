package agent

import (
	"context"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
)

// wantInput is what a running tool's server wants, on its way to the driver and back.
type wantInput struct {
	event  turn.Wanted
	answer chan turn.Fill // has room for one
}

// want puts what a server wants to the requester, and waits. It is called from the run's own goroutines.
func (d *driver) want(ctx context.Context, c turn.ToolCall, w turn.Want, wait time.Duration) (turn.Fill, error) {
	if s := d.session.Load(); s == nil || s.Turn == nil || s.Turn.Unattended || s.Turn.Requester.IsZero() {
		return turn.Fill{}, ErrNobody
	}
	one := d.wanting(c.Run)
	one.Lock()
	defer one.Unlock()
	in := wantInput{turn.Wanted{Call: c.ID, Run: c.Run, Ask: turn.AskID(mint()), Want: w, Wait: wait}, make(chan turn.Fill, 1)}
	select {
	case d.wants <- in:
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

// wanting is the lock of one run: its server's wants come one after the other.
func (d *driver) wanting(run turn.RunID) *sync.Mutex {
	m, _ := d.locks.LoadOrStore(run, &sync.Mutex{})
	return m.(*sync.Mutex)
}

// tookWant records what a server wants with the next step.
func (d *driver) tookWant(w wantInput) {
	d.waiting[w.event.Ask] = w
	d.results = append(d.results, w.event)
}

// answerWants gives answers on, and ends what nobody will answer any more.
func (d *driver) answerWants(s turn.Session) {
	for id, w := range d.waiting {
		c := s.Turn.Call(w.event.Call)
		switch {
		case c.Want != nil && c.Want.Ask == id && c.Want.Fill != nil:
			w.answer <- *c.Want.Fill
			delete(d.waiting, id)
		case c.Status != turn.Running || s.Turn.Stopped != nil, c.Want.Open() && c.Want.Ask != id:
			w.answer <- turn.Fill{Action: turn.FillCancel}
			delete(d.waiting, id)
		}
	}
}
