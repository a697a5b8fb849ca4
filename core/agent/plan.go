package agent

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// plan is what one step records, and what it does once that is recorded.
type plan struct {
	events  []Keyed
	s       turn.Session // as it will be
	judged  *Head        // where the settings stood by which any of it was judged
	reply   bool         // the reply input is in events
	acts    []turn.Command
	canWait bool          // it only records what people see already, which the release can bring along
	carried bool          // it only records what was said before, which the reply that it asks for brings along
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
		case turn.Abandoned, turn.Elicited:
			u = max(u, Decision)
		case turn.Posted:
			if len(ev.Who) > 0 { // others may answer
				u = max(u, Decision)
			}
		case turn.Expired, turn.Ended:
			u = max(u, Final)
		default: // a step forward; what people chose is drawn by whoever heard of it
		}
	}
	return u
}

// planner makes a plan.
type planner struct {
	plan
	d     *driver
	op    OpID
	now   time.Time
	judge func() (decision.Judge, error) // asked only where there is something to judge
}

// add puts an event into the plan, and its effect into the session that the plan goes on from.
func (p *planner) add(events ...turn.Event) {
	for _, ev := range events {
		op := opPart(p.op, len(p.events))
		p.events = append(p.events, Keyed{op, ev})
		p.s = turn.Apply(p.s, turn.Entry{Seq: p.d.f.head.Seq + uint64(len(p.events)), Op: string(op), At: p.now, Event: ev})
	}
}

// plan decides, purely but for reading the policy and the tool list, everything that can be decided now. What is
// true together is appended together: a reply, its rulings and the start of a call that needs no asking are one write.
func (d *driver) plan() (plan, error) {
	p := &planner{plan: plan{s: d.f.s}, d: d, op: OpID("w:" + mint()), now: d.e.Now()}
	p.judge = d.judge(p)
	p.add(d.shown...)
	if shows, appeared := d.showing(p.s); appeared {
		p.add(shows)
	}
	p.add(d.results...)
	unseen := p.s.Turn != nil && p.s.Turn.Shown == "" && p.s.Turn.Stopped == nil
	if d.reply != nil && !(d.reply.err != nil && (unseen || d.owesFormer())) { // a failed reply ends its turn, which needs its message first
		p.reply = true
		p.add(d.replied(p.s, *d.reply)...)
	}
	if err := p.endings(); err != nil {
		return p.plan, err
	}
	if p.deadly() && p.showsFirst() {
		p.acts = []turn.Command{turn.Show{Turn: p.s.Turn.ID}}
		return p.plan, nil
	}
	forgotten, err := d.forgotten(p.judge, p.s)
	if err != nil {
		return p.plan, err
	}
	p.add(forgotten...)
	for range 64 {
		before := len(p.events)
		p.acts = nil
		for _, c := range turn.Next(p.s, p.now, d.env()) {
			if started, err := p.do(c); started || err != nil {
				return p.plan, err // acts on a start come after it is durable
			}
		}
		if len(p.events) == before {
			// While a model or a tool is at work it may be long until the release, and whoever takes over has to know where the message stands.
			p.canWait = len(p.events) > 0 && len(p.acts) == 0 && d.model == nil && d.running == nil && d.onlyShows(p.plan)
			p.carried = len(p.events) > 0 && p.asks() && !slices.ContainsFunc(p.events, func(k Keyed) bool { _, read := k.Event.(turn.EarlierRead); return !read })
			return p.plan, nil
		}
	}
	return p.plan, errors.New("the plan of a turn does not settle")
}

// asks reports whether the plan asks the model.
func (p plan) asks() bool {
	return slices.ContainsFunc(p.acts, func(c turn.Command) bool { _, asks := c.(turn.AskModel); return asks })
}

// onlyShows reports whether a plan records nothing but what stands there, as it should stand: then nothing has to be drawn once it is recorded.
func (d *driver) onlyShows(p plan) bool {
	if slices.ContainsFunc(p.events, func(k Keyed) bool { _, shows := k.Event.(turn.Shown); return !shows }) {
		return false
	}
	return !slices.ContainsFunc(d.shown, func(ev turn.Event) bool {
		id := ev.(turn.Shown).Turn
		return d.last.turn != id || !d.last.sure || !reflect.DeepEqual(d.last.view, render.Fit(d.viewOf(p.s, id), d.platform().Limits()))
	})
}

// endings ends a turn that a halt forbids, or on which drivers die.
func (p *planner) endings() error {
	d := p.d
	if d.e.halted.Load() != nil && p.s.Turn != nil && turn.EndsNow(p.s) && p.s.Turn.Stopped == nil && p.s.Turn.Shown != "" {
		j, err := p.judge()
		if err != nil {
			return err
		}
		switch h := j.Policy.Halted; {
		case h == nil: // it is over since
		case p.s.Turn.At.After(h.At) && d.owesFormer(): // as with every other end
		case p.s.Turn.At.After(h.At):
			p.add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.IsHalted, Say: text.HaltedBy(h.Name)})
		default: // as stopAll does, whichever comes first
			p.add(turn.StopAsked{Turn: p.s.Turn.ID, By: h.By, Name: h.Name})
		}
	}
	if p.deadly() && !p.showsFirst() {
		p.add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.NoProgress})
	}
	return nil
}

// deadly reports whether the open turn is to be ended because its drivers die on it.
func (p *planner) deadly() bool {
	return p.d.lease.Load().Barren >= maxBarren && !p.d.worked && p.s.Turn != nil && turn.EndsNow(p.s)
}

// showsFirst reports whether a deadly turn has no message on record yet: one that a driver posted and died over would say for ever that
// the turn is under way. It is looked for or posted before anything else. Where drivers die over that, too, the turn ends without.
func (p *planner) showsFirst() bool {
	return p.s.Turn.Shown == "" && p.d.lease.Load().Barren < 2*maxBarren
}

// mayStand reports whether the open turn may have a message that is not on record: it is looked for before the turn ends, as a deadly one's is.
func (p *planner) mayStand() bool {
	d, t := p.d, p.s.Turn
	return p.showsFirst() && d.refused != t.ID && (d.posting == t.ID || t.Seq() < d.firstOwn)
}

// do decides one thing that is owed, or leaves it to act. started: a call starts with this plan.
func (p *planner) do(c turn.Command) (started bool, err error) {
	d, token := p.d, p.d.lease.Load().Token
	if _, runs := c.(turn.RunTool); runs && (d.e.isStopping() || d.running != nil) {
		return false, nil
	}
	var j decision.Judge
	switch c.(type) {
	case turn.Rule, turn.Recover, turn.RunTool: // without the policy nothing is decided
		if j, err = p.judge(); err != nil {
			return false, err
		}
	default:
	}
	s := p.s
	s.Grants = d.doubt().Grants(s)
	switch c := c.(type) {
	case turn.Rule:
		ruled := j.Rule(s, c.Call)
		if p.looksFirst(j, s, ruled) {
			p.acts = append(p.acts, c)
			break
		}
		d.fresh[c.Call] = true
		p.add(ruled)
	case turn.Expire:
		p.add(turn.Expired{Ask: c.Ask})
	case turn.Recover:
		p.add(j.Recover(s, c, token))
	case turn.End:
		if p.mayStand() || d.owesFormer() {
			return false, nil
		}
		why := c.Why
		if stopped := p.s.Turn.Stopped; why == turn.WasStopped && stopped != nil && stopped.User.IsZero() {
			why = turn.MessageGone // nobody stopped it
		}
		if d.model == nil { // else it ends with the words that people saw: the reply is cancelled and about to come
			p.add(turn.Ended{Turn: p.s.Turn.ID, Why: why})
		}
	case turn.RunTool:
		ev := j.Start(s, c.Call, token)
		p.add(ev)
		if _, started = ev.(turn.Started); started {
			p.acts = append(p.acts, c)
		} else {
			d.fresh[c.Call] = true
		}
	default:
		p.acts = append(p.acts, c)
	}
	return started, nil
}

// judge gives what one plan judges by: the same policy, moment and tools for every call, read once, and only if there is a call to judge.
func (d *driver) judge(p *planner) func() (decision.Judge, error) {
	return sync.OnceValues(func() (decision.Judge, error) {
		specs, _ := d.e.list(d.ctx)
		rules, err := d.e.knownRules(d.ctx, specs)
		if err != nil {
			return decision.Judge{}, err
		}
		j, tools := d.e.judge(d.ctx, p.s, d.e.groups().Deciding(d.ctx, d.id, rules.Policy, p.s)), judged(specs)
		p.wait, p.judged = j.Policy.Timeout, &rules.head
		j.Now, j.Settings, j.Tools = p.now, rules.Settings, func() ([]decision.Tool, error) { return tools, nil }
		return j, nil
	})
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
		var out []turn.Event
		if in.streamed != "" { // the words that people saw stay
			rep.Text, rep.Cut = in.streamed, true
			out = append(out, rep)
		}
		if s.Turn.Stopped == nil {
			ended := turn.Ended{Turn: in.turn, Why: turn.ModelFailed}
			if me, ok := errors.AsType[*ModelError](in.err); ok {
				ended.Say, ended.Why = me.Say, cmp.Or(me.Why, ended.Why)
			}
			out = append(out, ended)
		}
		return out
	}
	if s.Turn.Stopped != nil {
		rep.Cut = rep.Cut || len(in.reply.Calls) > 0
		return []turn.Event{rep}
	}
	take := in.reply.Calls[:min(len(in.reply.Calls), turn.MaxCalls)]
	rep.More = len(in.reply.Calls) - len(take)
	j, tools := d.e.judge(d.ctx, s, permission.Policy{}), judged(in.offered)
	for _, c := range take {
		p := turn.Proposal{ID: turn.CallID("call_" + mint()), ModelID: c.ModelID, Extra: c.Extra, Tool: permission.Tool{Server: c.Server, Name: c.Name}}
		if p = j.Propose(d.id, p, c.Args, tools); p.Unchecked {
			d.e.Logger.Warn("arguments were not checked: somebody is asked", "server", p.Tool.Server, "tool", p.Tool.Name)
		}
		rep.Calls = append(rep.Calls, p)
	}
	return []turn.Event{rep}
}
