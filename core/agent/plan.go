package agent

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// plan is what one step records, and what it does once that is recorded.
type plan struct {
	events  []Keyed
	base    OpID
	s       turn.Session // as it will be
	reply   bool         // the reply input is in events
	results int          // so many results are
	shown   int
	acts    []turn.Command
	canWait bool          // it only records what appeared, which the release can bring along
	wait    time.Duration // the policy's timeout: how long people have to answer what comes of a run that this plan starts
}

// maxBarren is how many drivers may die on a chat before its turn is ended instead of killing the next one. Nothing that a chat brings
// is known to kill one; three deaths in a row, without a step forward between them, are its own more likely than its neighbours'.
const maxBarren = 3

func (p plan) urgency() Urgency {
	u := Progress
	for _, k := range p.events {
		switch ev := k.Event.(type) {
		case turn.Ruled:
			if ev.Ruling.Verdict == permission.Ask {
				u = max(u, Decision)
			}
		case turn.Abandoned, turn.Expired, turn.Wanted:
			u = max(u, Decision)
		case turn.Ended:
			u = max(u, Final)
		default: // a step forward; what people chose is drawn by whoever heard of it
		}
	}
	return u
}

// done clears the inputs that are recorded now.
func (p plan) done(d *driver) {
	if p.reply {
		d.reply = nil
	}
	d.results = slices.Clone(d.results[p.results:])
	d.shown = slices.Clone(d.shown[p.shown:])
}

// plan decides, purely but for reading the policy and the tool list, everything that can be decided now. What is
// true together is appended together: a reply, its rulings and the start of a call that needs no asking are one write.
func (d *driver) plan() (plan, error) {
	p := plan{base: OpID("w:" + mint()), s: d.f.s}
	now := d.e.Now()
	add := func(ev turn.Event) {
		op := opPart(p.base, len(p.events))
		p.events = append(p.events, Keyed{op, ev})
		p.s = turn.Apply(p.s, turn.Entry{Seq: d.f.head.Seq + uint64(len(p.events)), Op: string(op), At: now, Event: ev})
	}
	for _, ev := range d.shown {
		add(ev)
		p.shown++
	}
	shows, appeared := d.showing(p.s)
	if appeared {
		add(shows)
	}
	for _, ev := range d.results {
		add(ev)
		p.results++
	}
	unseen := p.s.Turn != nil && p.s.Turn.Shown == "" && p.s.Turn.Stopped == nil
	if d.reply != nil && !(d.reply.err != nil && unseen) { // a failed reply ends its turn, which needs its message first
		p.reply = true
		for _, ev := range d.replied(p.s, *d.reply) {
			add(ev)
		}
	}
	judge := d.judge(&p, now)
	if d.e.halted.Load() != nil && p.s.Turn != nil && turn.EndsNow(p.s) && p.s.Turn.Stopped == nil && p.s.Turn.Shown != "" {
		j, err := judge()
		if err != nil {
			return p, err
		}
		if h := j.Policy.Halted; h != nil { // it may be over since
			add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.IsHalted, Say: text.HaltedBy(h.Name)})
		}
	}
	if l := d.lease.Load(); l.Barren >= maxBarren && !d.worked && p.s.Turn != nil && turn.EndsNow(p.s) {
		add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.NoProgress})
	}
	forgotten, err := d.forgotten(judge, p.s)
	if err != nil {
		return p, err
	}
	for _, ev := range forgotten {
		add(ev)
	}
	stopping := d.e.isStopping()
	for round := 0; round < 64; round++ {
		before := len(p.events)
		p.acts = nil
		for _, c := range turn.Next(p.s, now, d.env()) {
			if _, runs := c.(turn.RunTool); runs && (stopping || d.running != nil) {
				continue
			}
			var j decision.Judge
			switch c.(type) {
			case turn.Rule, turn.Recover, turn.RunTool: // without the policy nothing is decided
				if j, err = judge(); err != nil {
					return p, err
				}
			default:
			}
			s := p.s
			s.Grants = d.trusted(s)
			switch c := c.(type) {
			case turn.Rule:
				d.fresh[c.Call] = true
				add(j.Rule(s, c.Call))
			case turn.Expire:
				add(turn.Expired{Ask: c.Ask})
			case turn.Recover:
				add(j.Recover(s, c, d.lease.Load().Token))
			case turn.End:
				if d.model != nil {
					continue // a stopped turn ends with the words that people saw: the reply is cancelled and about to come
				}
				add(turn.Ended{Turn: p.s.Turn.ID, Why: d.why(p.s, c.Why)})
			case turn.RunTool:
				ev := j.Start(s, c.Call, d.lease.Load().Token)
				add(ev)
				if _, ok := ev.(turn.Started); ok {
					p.acts = append(p.acts, c)
					return p, nil // acts on it come after it is durable
				}
				d.fresh[c.Call] = true
			default:
				p.acts = append(p.acts, c)
			}
		}
		if len(p.events) == before {
			p.canWait = appeared && len(p.events) == 1 && len(p.acts) == 0
			return p, nil
		}
	}
	return p, errors.New("the plan of a turn does not settle")
}

// judge gives what one plan judges by: the same policy, moment and tools for every call of it, read once, and only if there is a call to
// judge. What servers say about their tools is recorded before anything is asked.
func (d *driver) judge(p *plan, now time.Time) func() (decision.Judge, error) {
	return sync.OnceValues(func() (decision.Judge, error) {
		specs := d.specs()
		policy, set, err := d.e.policyFor(d.ctx, specs)
		if err != nil {
			return decision.Judge{}, err
		}
		p.wait = policy.Timeout
		j, tools := d.e.judge(d.ctx, d.withDecidersGroups(policy, p.s)), judged(specs)
		j.Now, j.Settings, j.Tools = now, set, func() ([]decision.Tool, error) { return tools, nil }
		return j, nil
	})
}

// why refines how a turn ends by what the driver knows.
func (d *driver) why(s turn.Session, why turn.Why) turn.Why {
	if why == turn.WasStopped && s.Turn.Stopped != nil && s.Turn.Stopped.User.IsZero() {
		return turn.MessageGone
	}
	return why
}

func (d *driver) specs() []ToolSpec {
	specs, _, err := d.e.Tools.List(d.ctx)
	if err != nil {
		d.e.Logger.Warn("could not list the tools", "err", err)
	} else {
		d.e.seen.Store(&specs)
	}
	return specs
}

// FindTool finds a tool of a server by their names.
func FindTool(specs []ToolSpec, server, name string) (ToolSpec, bool) {
	for _, sp := range specs {
		if sp.Tool.Server == server && sp.Tool.Name == name {
			return sp, true
		}
	}
	return ToolSpec{}, false
}

// replied turns the model's answer into events: the reply with its calls checked, or the end of the turn.
func (d *driver) replied(s turn.Session, in replyInput) []turn.Event {
	if s.Turn == nil || s.Turn.ID != in.turn || s.Turn.Step != in.step {
		return nil
	}
	rep := turn.Replied{
		Turn: in.turn, Step: in.step, Text: in.reply.Text, Usage: in.reply.Usage, Cut: in.reply.Cut, Extra: in.reply.Extra,
		Model: d.e.Model.Name(), Left: in.left, Faults: slices.Concat(in.faults, in.reply.Faults),
	}
	if in.err != nil {
		if s.Turn.Stopped != nil { // the words that people saw stay
			if in.shown == "" {
				return nil
			}
			rep.Text, rep.Cut = in.shown, true
			return []turn.Event{rep}
		}
		var out []turn.Event
		if in.shown != "" {
			rep.Text, rep.Cut = in.shown, true
			out = append(out, rep)
		}
		say := ""
		var me *ModelError
		if errors.As(in.err, &me) {
			say = me.Say
		}
		return append(out, turn.Ended{Turn: in.turn, Why: turn.ModelFailed, Say: say})
	}
	if s.Turn.Stopped != nil {
		rep.Cut = rep.Cut || len(in.reply.Calls) > 0
		return []turn.Event{rep}
	}
	take := in.reply.Calls[:min(len(in.reply.Calls), turn.MaxCalls)]
	rep.More = len(in.reply.Calls) - len(take)
	j, tools := d.e.judge(d.ctx, permission.Policy{}), judged(in.offered)
	for _, c := range take {
		p := turn.Proposal{ID: turn.CallID("call_" + mint()), ModelID: c.ModelID, Extra: c.Extra, Tool: permission.Tool{Server: c.Server, Name: c.Name}}
		if p = j.Propose(d.id, p, c.Args, tools); p.Unchecked {
			d.e.Logger.Warn("arguments were not checked: somebody is asked", "server", p.Tool.Server, "tool", p.Tool.Name)
		}
		rep.Calls = append(rep.Calls, p)
	}
	return []turn.Event{rep}
}
