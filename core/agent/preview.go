package agent

import (
	"context"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// previewWithin bounds all looks of one reply at what its calls replace: their questions wait for them.
const previewWithin = time.Second

// looksFirst reports whether people are asked about a call only after a look at what it replaces, which the plan then records.
func (p *planner) looksFirst(j decision.Judge, s turn.Session, r turn.Ruled) bool {
	d, c := p.d, s.Turn.Call(r.Call)
	if r.Ruling.Verdict != permission.Ask {
		return false
	}
	token := d.lease.Load().Token
	if p := c.Preview; p != nil && p.Of == c.Digest {
		return c.Looks(token) // one that another driver began came to nothing
	}
	ev, may := j.Preview(s, c, token)
	if may {
		p.add(ev)
	}
	return may
}

// preview takes the looks that the log knows of. They count as the model's work: what stops that stops them.
func (d *driver) preview() bool {
	if d.model != nil { // with the first of them all are taken
		return false
	}
	s, token := d.f.s, d.lease.Load().Token
	ctx, cancel := context.WithTimeout(d.ctx, previewWithin)
	d.model = cancel
	d.begin(func() func() {
		defer cancel()
		var looked []turn.Event
		for _, c := range s.Turn.Calls {
			if c.Looks(token) {
				looked = append(looked, d.look(ctx, s, c))
			}
		}
		return func() {
			d.model = nil
			d.results = append(d.results, looked...)
		}
	})
	return true
}

// look reads what a call replaces, and compares.
func (d *driver) look(ctx context.Context, s turn.Session, c turn.ToolCall) (ev turn.Previewed) {
	ev = turn.Previewed{Call: c.ID, Run: c.Preview.Run, Why: turn.NoDiffFailed}
	defer d.survive("looking at what a call replaces", func() {})
	res, err := d.e.Tools.Call(InTurn(ctx, d.id, s.Turn.ID), consumePreview(s, c), func(turn.Progress) {})
	if err == nil && !res.IsError {
		ev.Diff, ev.Why = decision.Difference(c.Args, res)
	}
	return ev
}
