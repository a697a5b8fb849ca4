package agent

import (
	"context"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
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

// confirms reports whether these events may be written now.
func (e *Engine) confirms(ctx context.Context, events []Keyed) error {
	c, can := e.Log.(Confirmer)
	sure := slices.ContainsFunc(events, func(k Keyed) bool {
		switch k.Event.(type) {
		case turn.Started, turn.Decided:
			return true
		default:
			return false
		}
	})
	if !can || !sure {
		return nil
	}
	return c.Confirms(ctx)
}

// rewinds marks a chat whose log turned out to be older than what this process knows of it.
func (e *Engine) rewinds(id chat.ID, f fold) {
	at := e.now()
	if f.at.After(at) {
		at = f.at
	}
	e.rewound.put(id, at.Add(time.Millisecond))
	e.Logger.Error("the store came back older than it was: what was decided in this chat before, and has not started by its log, is asked anew; what ran and is forgotten is shown as of unknown outcome", "chat", id, "entries", f.head.Seq)
}

// recheck looks at every chat with an open turn that this process knows, once the store is another one than before.
func (e *Engine) recheck(last time.Time) time.Time {
	at := e.restarted()
	if !at.Equal(last) {
		open := e.folds.open()
		go func() { // each enters for itself
			for _, id := range open {
				e.touch(id)
			}
		}()
	}
	return at
}

// doubt is before when a decision about this chat may have been used already without the log's knowing: never, if that is zero.
func (d *driver) doubt() time.Time {
	if at := d.e.rewound.get(d.id); at.After(d.since) {
		return at
	}
	return d.since
}

// trusted are the grants that count for a turn: one that was given before the doubt does not, in a turn that is older, too: the
// model may propose again what it had run.
func (d *driver) trusted(s turn.Session) []permission.Grant {
	at := d.doubt()
	if s.Turn == nil || !s.Turn.At.Before(at) {
		return s.Grants
	}
	return slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool { return g.At.Before(at) })
}

// forgotten settles with the open turn what the store may have forgotten of it: a call that this process ran is of unknown outcome,
// and one that was allowed before the doubt is asked anew.
func (d *driver) forgotten(b basis, s turn.Session) (out []turn.Event) {
	if s.Turn == nil {
		return nil
	}
	for _, c := range s.Turn.Calls {
		run := d.e.ran.get(c.ID)
		switch {
		case c.Settled() || c.Status == turn.Running || c.Status == turn.Unknown:
		case run != "" && !slices.Contains(c.Runs, run):
			token := d.lease.Load().Token
			out = append(out, turn.Abandoned{Call: c.ID, Run: run, Token: token, Own: true, Forgotten: true, Say: render.StoreForgotRun(), Ask: turn.AskID(mint()), Wait: b.policy().Timeout})
		case c.Status == turn.Allowed && s.Turn.Stopped == nil && d.doubts(s, c):
			if ev, ok := d.askAnew(b, s, c); ok {
				out = append(out, ev)
			}
		}
	}
	return out
}

// doubts reports whether what allowed a call is from before the doubt.
func (d *driver) doubts(s turn.Session, c turn.ToolCall) bool {
	at := d.doubt()
	switch {
	case !s.Turn.At.Before(at):
		return false
	case c.Asked:
		return c.DecidedAt.Before(at)
	}
	return !d.fresh[c.ID] // by a grant that counts, or by the policy: ruled by this driver
}

// askAnew sends an allowed call back to be asked, with the reason; a call that may be repeated without harm goes on.
func (d *driver) askAnew(b basis, s turn.Session, c turn.ToolCall) (turn.Event, bool) {
	sp, ok := specOf(b.tools(), c.Tool.Server, c.Tool.Name)
	if !ok || sp.Tool != c.Tool {
		return nil, false // it is ruled anew before it starts
	}
	req, policy := d.request(s, c, sp), b.policy()
	if _, may := permission.MayRepeat(policy, req, c.Tool.Definition); may {
		return nil, false
	}
	r := permission.Evaluate(policy, d.trusted(s), req, b.now)
	if r.Verdict == permission.Forbid {
		return d.ruled(b, policy, s, req, c, sp, r), true
	}
	r.Level, r.Grant = max(r.Level, c.Ruling.Level), ""
	if r.Verdict == permission.Allow {
		for i := range r.Reasons {
			r.Reasons[i].Won = false
		}
		r.Reasons = append(r.Reasons, permission.Reason{Rule: "store", Text: render.StoreForgot(), Won: true, Said: permission.SaidAsk})
	}
	if r.Verdict = permission.Ask; s.Turn.Unattended { // nobody could be asked
		r.Verdict = permission.Forbid
	}
	ev, _ := d.ruled(b, policy, s, req, c, sp, r).(turn.Ruled)
	ev.Card.Notice = joinedSay(render.StoreForgot(), ev.Card.Notice)
	return ev, true
}

func joinedSay(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

// from is a fold, brought up to where the log stands now.
func (e *Engine) from(ctx context.Context, id chat.ID, f fold) (fold, error) {
	entries, head, err := e.Log.Tail(ctx, id, f.head)
	if err != nil {
		return fold{}, err
	}
	f = f.over(entries, head)
	e.folds.put(id, f)
	return f, nil
}
