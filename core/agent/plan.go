package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
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
	wait    time.Duration // how long an outcome nobody knows, and what a server wants, waits for a person's word
}

// basis is what one plan judges by: the same policy, moment and tools for every call of it.
type basis struct {
	policy func() permission.Policy // with the groups of whose decisions count; like tools, asked for once and only if a call has to be looked at
	now    time.Time
	tools  func() []ToolSpec
	pin    func(permission.Tool) permission.Pinned // from the settings that the policy was made with, and after it; zero where a tool is not known
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
	now := d.e.now()
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
	b, failed := d.basis(&p, now)
	if d.e.halted.Load() != nil && p.s.Turn != nil && turn.EndsNow(p.s) && p.s.Turn.Stopped == nil && p.s.Turn.Shown != "" {
		if h := b.policy().Halted; h != nil && failed() == nil { // it may be over since
			add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.IsHalted, Say: render.HaltedBy(h.Name)})
		}
	}
	if l := d.lease.Load(); l.Barren >= maxBarren && !d.worked && p.s.Turn != nil && turn.EndsNow(p.s) {
		add(turn.Ended{Turn: p.s.Turn.ID, Why: turn.NoProgress})
	}
	for _, ev := range d.forgotten(b, p.s) {
		add(ev)
	}
	stopping := d.e.isStopping()
	for round := 0; round < 64; round++ {
		before := len(p.events)
		p.acts = nil
		for _, c := range turn.Next(p.s, now, d.env()) {
			switch c := c.(type) {
			case turn.Rule:
				add(d.rule(b, p.s, c.Call))
			case turn.Expire:
				add(turn.Expired{Ask: c.Ask})
			case turn.Recover:
				add(d.recoverRun(b, p.s, c))
			case turn.End:
				if d.model != nil {
					continue // a stopped turn ends with the words that people saw: the reply is cancelled and about to come
				}
				add(turn.Ended{Turn: p.s.Turn.ID, Why: d.why(p.s, c.Why)})
			case turn.RunTool:
				if stopping || d.running != nil {
					continue
				}
				ev := d.start(b, p.s, c.Call)
				if err := failed(); err != nil {
					return p, err
				}
				add(ev)
				if _, ok := ev.(turn.Started); ok {
					p.acts = append(p.acts, c)
					return p, nil // acts on it come after it is durable
				}
			default:
				p.acts = append(p.acts, c)
			}
		}
		if err := failed(); err != nil {
			return p, err // what was decided without the policy was decided without reason
		}
		if len(p.events) == before {
			p.canWait = appeared && len(p.events) == 1 && len(p.acts) == 0
			return p, nil
		}
	}
	return p, errors.New("the plan of a turn does not settle")
}

// basis is what the plan judges by. failed tells why the policy or what servers say could not be read; without them nothing counts.
func (d *driver) basis(p *plan, now time.Time) (b basis, failed func() error) {
	var err error
	var set permission.Settings
	specs := sync.OnceValue(d.specs)
	policy := sync.OnceValue(func() (now permission.Policy) {
		if now, set, err = d.e.policyFor(d.ctx, specs()); err != nil { // what servers say, before anything is asked
			return permission.Policy{}
		}
		p.wait = now.Timeout
		return d.knowing(now, p.s)
	})
	pin := func(t permission.Tool) permission.Pinned {
		known, _ := set.Pin(t)
		return known
	}
	return basis{policy, now, specs, pin}, func() error { return err }
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

func specOf(specs []ToolSpec, server, name string) (ToolSpec, bool) {
	for _, sp := range specs {
		if sp.Tool.Server == server && sp.Tool.Name == name {
			return sp, true
		}
	}
	return ToolSpec{}, false
}

func (d *driver) request(s turn.Session, c turn.ToolCall, sp ToolSpec) permission.Request {
	r := turn.Requested(s, c)
	r.Source, r.Hints, r.Metadata = sp.Source, sp.Hints, sp.Metadata
	return r
}

// others are the names of tools that can be offered beside the one that cannot.
func others(specs []ToolSpec, not string) []string {
	var names []string
	for _, sp := range specs {
		if sp.Tool.Name != not {
			names = append(names, sp.Tool.Name+" ("+sp.Tool.Server+")")
		}
	}
	return names
}

// rule puts one call to the policy.
func (d *driver) rule(b basis, s turn.Session, id turn.CallID) turn.Event {
	c := callOf(s, id)
	forbid := func(rule, why, say string) turn.Event {
		return turn.Ruled{Call: id, Ask: turn.AskID(mint()), Say: say, Ruling: permission.Ruling{
			Verdict: permission.Forbid, Reasons: []permission.Reason{{Rule: rule, Text: why, Won: true, Said: "forbid"}},
		}}
	}
	specs := b.tools()
	sp, ok := specOf(specs, c.Tool.Server, c.Tool.Name)
	switch {
	case !ok:
		return forbid("unavailable", "The tool is not available now.", render.ResultUnavailable(c.Tool.Name, c.Tool.Server, others(offer(b.policy(), s, specs, b.now), c.Tool.Name)))
	case sp.Tool != c.Tool:
		return forbid("changed", "The tool changed after it was offered.", render.ResultChanged(c.Tool.Name, c.Tool.Server))
	case turn.DeniedBefore(s.Turn, c.Digest):
		return forbid("denied_before", "A person denied this very call in this turn.", render.ResultDeniedBefore())
	}
	req := d.request(s, c, sp)
	policy := b.policy()
	d.fresh[id] = true
	r := onlyAsk(c, permission.Evaluate(policy, d.trusted(s), req, b.now))
	if r.Verdict == permission.Ask && turn.AskedWith(s.Turn, c) >= turn.MaxAsks {
		return forbid("too_many", render.TooManyAsks(turn.MaxAsks), render.ResultTooManyAsks(turn.MaxAsks))
	}
	return d.ruled(b, policy, s, req, c, sp, r)
}

func (d *driver) ruled(b basis, policy permission.Policy, s turn.Session, req permission.Request, c turn.ToolCall, sp ToolSpec, r permission.Ruling) turn.Event {
	// What had no opinion is not recorded: it can be worked out again, and the log is kept for long.
	ev := turn.Ruled{Call: c.ID, Ask: turn.AskID(mint()), Ruling: r.Brief()}
	switch r.Verdict {
	case permission.Forbid:
		ev.Say = render.ResultNotAllowed(r.Why())
	case permission.Ask:
		ev.Card = turn.Card{Title: sp.Title, Describes: sp.Description, Server: sp.Server.Description, Icon: sp.Server.Icon}
		ev.Card.Others = r.Approvals > 1 || permission.MayDecide(policy, req, r.Level, req.Requester) != nil
		ev.Card.Who = permission.Deciders(policy, req, r.Level, func(u chat.User) string { return d.e.nameOf(s, u) })
		if r.Level == permission.LevelAdmin && len(policy.Admins) == 0 {
			ev.Card.Notice = permission.NoAdminsNotice
		}
		for _, x := range b.pin(c.Tool).Differences() { // none unless the ruling says that it changed
			ev.Card.Changes = append(ev.Card.Changes, x.Clipped())
		}
	}
	return ev
}

func callOf(s turn.Session, id turn.CallID) turn.ToolCall {
	for _, c := range s.Turn.Calls {
		if c.ID == id {
			return c
		}
	}
	return turn.ToolCall{}
}

// start evaluates the policy again, which may only tighten, and starts the call or sends it back.
func (d *driver) start(b basis, s turn.Session, id turn.CallID) turn.Event {
	c := callOf(s, id)
	sp, _ := specOf(b.tools(), c.Tool.Server, c.Tool.Name)
	if sp.Tool != c.Tool { // it is another now, or gone
		return d.rule(b, s, id)
	}
	req, policy := d.request(s, c, sp), b.policy()
	r := permission.Evaluate(policy, d.trusted(s), req, b.now)
	if c.Asked {
		level := max(r.Level, c.Ruling.Level)
		switch {
		case r.Verdict == permission.Forbid:
			return d.ruled(b, policy, s, req, c, sp, r)
		case !stillAllowed(policy, req, level, c):
			r.Verdict, r.Level = permission.Ask, level // who allowed it may not any more, or more people have to
			return d.ruled(b, policy, s, req, c, sp, r)
		}
		r.Grant = ""
	} else if r.Verdict != permission.Allow {
		return d.ruled(b, policy, s, req, c, sp, r)
	}
	return turn.Started{
		Call: c.ID, Run: turn.RunID(mint()), Ask: c.Ask, Digest: c.Digest, Grant: r.Grant, Token: d.lease.Load().Token,
	}
}

// stillAllowed reports whether those who allowed a call may still, and are as many as it needs now.
func stillAllowed(p permission.Policy, req permission.Request, level permission.Level, c turn.ToolCall) bool {
	if permission.MayDecide(p, req, level, c.By) != nil {
		return false
	}
	people := map[chat.User]bool{c.By.Person(): true}
	for _, v := range c.Votes {
		if permission.MayDecide(p, req, level, v.By) == nil {
			people[v.By.Person()] = true
		}
	}
	return len(people) >= p.Get(req.Tool, req.Source, req.Hints, req.Metadata).Approvals
}

// recoverRun settles a run that this driver did not start: by the recovery rule, or by asking what happened.
func (d *driver) recoverRun(b basis, s turn.Session, c turn.Recover) turn.Event {
	call := callOf(s, c.Call)
	policy := b.policy()
	ev := turn.Abandoned{
		Call: c.Call, Run: c.Run, Token: d.lease.Load().Token, Own: d.lease.Load().Token == call.Token,
		Ask: turn.AskID(mint()), Wait: policy.Timeout,
	}
	if sp, ok := specOf(b.tools(), call.Tool.Server, call.Tool.Name); ok && sp.Tool == call.Tool {
		if rule, may := permission.MayRepeat(policy, d.request(s, call, sp), call.Tool.Definition); may {
			ev.Repeat = rule
		}
	}
	return ev
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
	for _, c := range take {
		rep.Calls = append(rep.Calls, d.propose(in.offered, c))
	}
	return []turn.Event{rep}
}

// properties are the names of a schema's properties, in the order that their server wrote them in.
func properties(schema json.RawMessage) []string {
	var s struct{ Properties json.RawMessage }
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return keys(s.Properties)
}

// keys are the keys of an object as they stand.
func keys(object json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	for open, err := d.Token(); err == nil && open == json.Delim('{') && d.More(); {
		var value json.RawMessage
		name, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		if name, ok := name.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// propose checks a call as the model wrote it. What fails is settled at once: nobody is asked.
func (d *driver) propose(offered []ToolSpec, c ReplyCall) turn.Proposal {
	p := turn.Proposal{ID: turn.CallID("call_" + mint()), ModelID: c.ModelID, Extra: c.Extra, Tool: permission.Tool{Server: c.Server, Name: c.Name}}
	sp, ok := specOf(offered, c.Server, c.Name)
	args, err := permission.Written(c.Args, properties(sp.InputSchema))
	if err == nil {
		p.Args = args
	} else {
		p.Args = quoted(c.Args)
	}
	switch {
	case !ok || c.Server == "":
		p.Tool.Name = render.ShortName(c.Name)
		p.Problem = render.ResultNoSuchTool(p.Tool.Name, others(offered, ""))
	case err != nil:
		p.Problem = render.ResultBadArguments(err.Error())
	default:
		p.Tool = sp.Tool
		p.Digest = permission.CallDigest(d.id, sp.Tool, args)
		err := d.e.Tools.Check(d.ctx, sp.Tool, args)
		switch {
		case errors.Is(err, ErrUnchecked):
			p.Unchecked = true
			d.e.Logger.Warn("arguments were not checked: somebody is asked", "server", sp.Tool.Server, "tool", sp.Tool.Name)
		case err != nil:
			p.Problem = render.ResultBadArguments(err.Error())
		}
	}
	return p
}
