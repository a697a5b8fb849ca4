package audit

import (
	"encoding/json"
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// record begins a record by whoever did it.
func (a *Auditor) record(e turn.Entry, kind, outcome string, by turn.Person) Record {
	r := Record{Chat: a.s.Chat.String(), Seq: e.Seq, At: e.At, Kind: kind, Outcome: outcome, By: by.User, Name: by.Name, Surface: by.User.Platform}
	switch {
	case by.User.IsZero():
		r.Name = text.Product
	case by.Name == "":
		r.Name = a.s.Participant(by.User).Name
	}
	return r
}

// ofCall begins a record by whoever the entry is by, with what is known of a call and its turn.
func (a *Auditor) ofCall(e turn.Entry, kind, outcome string, t *turn.Turn, c turn.ToolCall) Record {
	r := a.record(e, kind, outcome, turn.Doer(e.Event))
	r.Turn, r.Call, r.Requester, r.Ask = t.ID, c.ID, t.Requester, c.Ask
	r.Server, r.Tool, r.Definition, r.Digest = c.Tool.Server, c.Tool.Name, c.Tool.Definition, c.Digest
	if c.Ask != "" { // else it was never ruled
		r.Access, r.Risk, r.Level = c.Ruling.Access.String(), c.Ruling.Risk.String(), c.Ruling.Level.String()
		for _, x := range c.Ruling.Reasons {
			if x.Won {
				r.Rule, r.Why = x.Rule, redacted(x.Text)
			}
		}
		if r.Grant = c.Grant; r.Grant == "" {
			r.Grant = c.Ruling.Grant
		}
	}
	r.Args, r.Redacted = a.argsOf(c.Args)
	return r
}

// itself are the records of what an entry that had an effect is about.
func (a *Auditor) itself(before turn.Session, e turn.Entry) []Record {
	by := turn.Doer(e.Event)
	switch ev := e.Event.(type) {
	case turn.Replied:
		return a.invalid(before, e)
	case turn.StopAsked:
		return a.stopped(before, e, by, "")
	case turn.Deleted:
		if before.Turn.Stopped == nil && a.s.Turn.Stopped != nil { // without an open turn it had no effect
			return a.stopped(before, e, turn.Person{User: ev.By}, noteGone)
		}
	case turn.ModeSet:
		return []Record{a.record(e, Mode, ev.Mode.String(), by)}
	case turn.Reset:
		return []Record{a.record(e, Reset, Reset, by)}
	case turn.Changed:
		return a.changes(before, e, ev)
	case turn.Reopened:
		if l, ok := before.FindLapsed(ev.Ask); ok { // of a turn that went on without it
			return []Record{a.ofCall(e, Reopen, Asked, &turn.Turn{ID: a.lapsed[l.Call.ID], Requester: l.Requester}, l.Call)}
		}
		return a.about(before, e)
	default:
		return a.about(before, e)
	}
	return nil
}

// rated is the record of what somebody said of a turn, unless they had said it before.
func (a *Auditor) rated(before turn.Session, e turn.Entry, ev turn.Rated) []Record {
	if before.HasRated(ev) || !a.s.HasRated(ev) {
		return nil
	}
	r := a.record(e, Feedback, Bad, turn.Doer(ev))
	if ev.Good {
		r.Outcome = Good
	}
	if r.Turn = ev.Turn; a.s.TurnOf(ev.Turn) != nil {
		r.Requester = a.s.TurnOf(ev.Turn).Requester
	}
	return []Record{r}
}

// callOf names the call that an event is about, if it is about one; an asking is one of the open turn.
func callOf(before turn.Session, e turn.Event) turn.CallID {
	ask := turn.Answers(e)
	switch ev := e.(type) {
	case turn.Ruled:
		return ev.Call
	case turn.Started:
		return ev.Call
	case turn.Finished:
		return ev.Call
	case turn.Abandoned:
		return ev.Call
	case turn.Elicited:
		return ev.Call
	case turn.PreviewStarted:
		return ev.Call
	case turn.Previewed:
		return ev.Call
	case turn.Withdrawn:
		ask = ev.Ask
	case turn.Revealed:
		ask = ev.Ask
	case turn.Reopened:
		ask = ev.Ask
	case turn.Expired:
		ask = ev.Ask
	default: // it names what it answers, or is about no call
	}
	return before.Turn.Asking(ask).ID
}

// about are the records of an entry that is about one call.
func (a *Auditor) about(before turn.Session, e turn.Entry) []Record {
	id := callOf(before, e.Event)
	now, t, _ := a.s.FindCall(id)
	if t == nil { // of no call, or one of a turn that went on without it: nothing happens to it where it stands
		return nil
	}
	was, r := before.Turn.Call(id), a.ofCall(e, "", "", t, now)
	switch ev := e.Event.(type) {
	case turn.Ruled:
		r.Kind, r.Outcome = Request, requested[ev.Ruling.Verdict]
	case turn.Decided:
		a.decision(&r, ev, now.Status)
		r.MS = since(was.AskedAt, e.At)
	case turn.Withdrawn:
		r.Kind, r.Outcome = Undo, Undone
		r.Ask, r.Choice, r.Grant, r.MS = ev.Ask, string(was.Choice), was.Grant, since(was.DecidedAt, e.At)
	case turn.Amended:
		r.Kind, r.Outcome = Edit, Edited
	case turn.Revealed:
		r.Kind, r.Outcome = Reveal, Revealed
	case turn.Extended:
		r.Kind, r.Outcome, r.Note = Extend, Extended, noteUntil(ev.Until)
	case turn.Expired:
		r.Kind, r.Outcome, r.MS = Expire, Timeout, since(was.AskedAt, e.At)
		if was.Status == turn.Unknown {
			r.Outcome = Lost
		}
	case turn.Reopened:
		r.Kind, r.Outcome = Reopen, Asked
	case turn.Resolved:
		r.Kind, r.Outcome = Resolve, string(ev.Answer)
		r.Ask, r.Choice, r.Run, r.MS = ev.Ask, string(ev.Answer), was.Run, since(was.AskedAt, e.At)
	case turn.Started:
		r.Kind, r.Outcome, r.Run = Start, started(now, ev), ev.Run
	case turn.PreviewStarted, turn.Previewed:
		a.preview(&r, ev, now)
	case turn.Finished:
		finish(&r, ev, was, now)
	case turn.Abandoned:
		r.Kind, r.Outcome = Unknown, Lost
		if now.Status == turn.Allowed {
			r.Outcome, r.Rule, r.Why = Repeated, ev.Repeat, ""
		}
		r.Run, r.MS, r.Note = ev.Run, since(now.StartedAt, e.At), redacted(ev.Say)
	case turn.Elicited:
		r.Kind, r.Outcome = Elicitation, Asked
		r.Ask, r.Run, r.Note = ev.Ask, ev.Run, joined(string(ev.Request.Kind), redacted(ev.Request.Message))
	default: // Ticked decides nothing, Filled is among the elicitations
		return nil
	}
	return []Record{r}
}

var requested = map[permission.Verdict]string{permission.Ask: Asked, permission.Allow: Allowed, permission.Forbid: Forbidden}

// started says what let a call run.
func started(c turn.ToolCall, ev turn.Started) string {
	switch {
	case c.Asked:
		return Approved
	case ev.Grant != "" || c.Ruling.Grant != "":
		return Granted
	}
	return Auto
}

// preview tells of the read: which tool it was, and with which arguments.
func (a *Auditor) preview(r *Record, ev turn.Event, now turn.ToolCall) {
	p := now.Preview
	r.Kind, r.Outcome, r.Run, r.Rule, r.Why = Preview, OK, p.Run, "", ""
	r.Server, r.Tool, r.Definition, r.Access, r.Risk, r.Level = p.Tool.Server, p.Tool.Name, p.Tool.Definition, permission.Read.String(), "", ""
	r.Args, r.Redacted = a.argsOf(p.Args)
	if begun, ok := ev.(turn.PreviewStarted); ok {
		if r.Outcome = Auto; begun.Grant != "" {
			r.Outcome, r.Grant = Granted, begun.Grant
		}
	}
	if done, ok := ev.(turn.Previewed); ok {
		if r.Note = string(done.Why); done.Why == turn.NoDiffFailed {
			r.Outcome = Failed
		}
	}
}

// argsOf are arguments as on the card, and how many secrets are masked in them.
func (a *Auditor) argsOf(args json.RawMessage) (drawn string, masked int) {
	d, known := a.drawn[string(args)]
	if !known {
		d.JSON, d.Redacted = render.OneLine(args)
		d.JSON = text.Shorten(d.JSON, render.MaxArgs) // what a card could hold: the digest names the rest
		a.drawn[string(args)] = d
	}
	return d.JSON, d.Redacted
}

// invalid are the calls of a reply that were refused before policy was asked.
func (a *Auditor) invalid(before turn.Session, e turn.Entry) []Record {
	var out []Record
	for _, c := range a.s.Turn.Calls {
		if c.Settled() && before.Turn.Find(c.ID) < 0 {
			r := a.ofCall(e, Request, Invalid, a.s.Turn, c)
			r.Why = redacted(c.Result.Text)
			out = append(out, r)
		}
	}
	return out
}

func (a *Auditor) decision(r *Record, ev turn.Decided, status turn.Status) {
	r.Kind, r.Outcome = Decision, Voted
	r.Ask, r.Choice, r.Note = ev.Ask, string(ev.Choice), redacted(ev.Reason)
	switch status {
	case turn.Allowed:
		r.Outcome = Approved
	case turn.Denied:
		r.Outcome, r.Choice = Denied, string(chat.Deny) // whatever it was that is no choice
	default: // more votes are needed
	}
	if ev.Surface != "" {
		r.Surface = ev.Surface
	}
	if ev.Channel != "" {
		r.Choice, r.Note = string(chat.AllowChannel), joined(string(ev.Channel), r.Note)
	}
	for _, g := range a.s.Grants {
		if g.ID == ev.Under || ev.Grant != nil && g.ID == ev.Grant.ID {
			r.Grant, r.Note = g.ID, joined(noteGrant(g), r.Note)
		}
	}
}

// finish tells an answer that settled its call from one that came too late for that.
func finish(r *Record, ev turn.Finished, was, now turn.ToolCall) {
	r.Kind, r.Outcome, r.Run = Late, OK, ev.Run
	if was.ID != "" && !was.Settled() && now.Settled() {
		r.Kind = Finish
	}
	if ev.Result.IsError {
		r.Outcome = Failed
	}
	if now.Run == ev.Run {
		r.MS = since(now.StartedAt, r.At)
	}
}

// elicitations are those of servers that an entry answered, or ended with a stop or a run. What was filled in is between the person
// and the server.
func (a *Auditor) elicitations(before turn.Session, e turn.Entry) (out []Record) {
	if before.Turn == nil {
		return nil
	}
	for _, c := range before.Turn.Calls {
		now, _, _ := a.s.FindCall(c.ID)
		if !c.Elicitation.Open() || now.Elicitation.Open() {
			continue
		}
		action := turn.FillCancel
		if now.Elicitation != nil {
			action = now.Elicitation.Fill.Action
		}
		r := a.ofCall(e, Fill, action, before.Turn, c)
		r.Ask, r.Run, r.MS, r.Note = c.Elicitation.Ask, c.Run, since(c.Elicitation.At, e.At), string(c.Elicitation.Request.Kind)
		out = append(out, r)
	}
	return out
}

func (a *Auditor) stopped(before turn.Session, e turn.Entry, by turn.Person, note string) []Record {
	r := a.record(e, Stop, Stopped, by)
	r.Turn, r.Requester, r.Note = before.Turn.ID, before.Turn.Requester, note
	return []Record{r}
}

// cancelled are the calls that an entry ended without being about them: a stop, a reset, the end of the turn.
func (a *Auditor) cancelled(before turn.Session, e turn.Entry, already []Record) []Record {
	if before.Turn == nil || before.Turn == a.s.Turn {
		return nil
	}
	var out []Record
	for _, c := range before.Turn.Calls {
		now, t, _ := a.s.FindCall(c.ID) // of the open turn, or of the one that has just ended
		if c.Settled() || !now.Settled() || slices.ContainsFunc(already, func(r Record) bool { return r.Call == c.ID }) {
			continue
		}
		outcome := Cancelled
		if now.Status == turn.Unknown {
			outcome = Lost
		}
		out = append(out, a.ofCall(e, Cancel, outcome, t, now))
	}
	return out
}

// grants are those that an entry gave or ended.
func (a *Auditor) grants(before turn.Session, e turn.Entry, already []Record) []Record {
	var out []Record
	lacks := func(list []permission.Grant, id permission.GrantID) bool {
		return !slices.ContainsFunc(list, func(g permission.Grant) bool { return g.ID == id })
	}
	add := func(r Record, g permission.Grant) {
		r.Grant, r.Server, r.Tool, r.Definition, r.Note = g.ID, g.Tool.Server, g.Tool.Name, g.Tool.Definition, noteGrant(g)
		out = append(out, r)
	}
	outcome := Ended
	if _, asked := e.Event.(turn.Revoked); asked {
		outcome = Revoked
	}
	for _, g := range before.Grants {
		if lacks(a.s.Grants, g.ID) {
			add(a.record(e, Revoke, outcome, turn.Doer(e.Event)), g)
		}
	}
	for _, g := range a.s.Grants {
		if lacks(before.Grants, g.ID) && !slices.ContainsFunc(already, func(r Record) bool { return r.Kind == Decision && r.Grant == g.ID }) {
			add(a.record(e, Grant, Given, turn.Person{User: g.By, Name: g.Name}), g)
		}
	}
	return out
}
