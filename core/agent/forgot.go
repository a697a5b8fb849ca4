package agent

import (
	"context"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// A store may come back older than it was: from an older dump, as a replica that lagged behind. Then a call that ran is Allowed again,
// and its Started is gone. What must never happen is a second run on the first one's approval (docs/decisions/0007).

// ranKept is how many runs a process remembers that it began.
const ranKept = 10_000

// restarted is when the store last became another server than before, or zero.
func (e *Engine) restarted() time.Time {
	if s, ok := e.Log.(Forgetful); ok {
		return s.Restarted()
	}
	return time.Time{}
}

// checkDurable says why these events may not be written now, or nil: what has to survive would not.
func (e *Engine) checkDurable(ctx context.Context, events []Keyed) error {
	c, can := e.Log.(Confirmer)
	if !can || !slices.ContainsFunc(events, func(k Keyed) bool { return turn.MustSurvive(k.Event) }) {
		return nil
	}
	return c.Confirms(ctx)
}

// recheck looks at every chat with an open turn that this process knows, once the store is another one than before.
func (e *Engine) recheck(last time.Time) time.Time {
	at := e.restarted()
	if !at.Equal(last) {
		open := e.sessions.open()
		go func() { // each enters for itself
			for _, id := range open {
				e.touch(id)
			}
		}()
	}
	return at
}

// doubt is before when a decision about this chat may have been used already without the log's knowing: never, if that is zero.
func (d *driver) doubt() decision.Doubt {
	at, _ := d.e.rewound.Peek(d.id)
	return decision.Doubt{Before: slices.MaxFunc([]time.Time{at, d.since}, time.Time.Compare), Fresh: d.fresh}
}

// forgotten settles what the store may have forgotten of the open turn: what ran here is of unknown outcome, a doubtful call is asked.
func (d *driver) forgotten(judge func() (decision.Judge, error), s turn.Session) (out []turn.Event, err error) {
	if s.Turn == nil {
		return nil, nil
	}
	doubt, trusting := d.doubt(), s
	trusting.Grants = doubt.Grants(s)
	for _, c := range s.Turn.Calls {
		run, _ := d.e.ran.Peek(c.ID)
		ran := run != "" && !slices.Contains(c.Runs, run)
		asks := !ran && c.Status == turn.Allowed && s.Turn.Stopped == nil && doubt.Of(s, c)
		if c.Settled() || c.Status == turn.Running || c.Status == turn.Unknown || !ran && !asks {
			continue
		}
		j, err := judge()
		if err != nil {
			return nil, err
		}
		if ran {
			token := d.lease.Load().Token
			out = append(out, turn.Abandoned{Call: c.ID, Run: run, Token: token, Own: true, Forgotten: true, Say: text.StoreForgotRun, Ask: turn.AskID(mint()), Wait: j.Policy.Timeout})
		} else if ev, ok := j.AskAnew(trusting, c); ok {
			out = append(out, ev)
		}
	}
	return out, nil
}
