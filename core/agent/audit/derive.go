package audit

import (
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// subject is a call with the turn it belongs to, as they stand after an entry.
type subject struct {
	turn      turn.TurnID
	requester chat.User
	call      turn.ToolCall
}

// call finds a call in the turns that the session still holds.
func (a *Auditor) call(id turn.CallID) (subject, bool) {
	c, t, found := a.s.FindCall(id)
	if t == nil { // of a turn that went on without it: nothing happens to it where it stands
		return subject{}, false
	}
	return subject{t.ID, t.Requester, c}, found
}

// asked is the call that an asking was about before the entry.
func (a *Auditor) asked(before turn.Session, ask turn.AskID) (was turn.ToolCall, now subject, ok bool) {
	i := before.Turn.Asking(ask)
	if i < 0 {
		return was, now, false
	}
	was = before.Turn.Calls[i]
	now, ok = a.call(was.ID)
	return was, now, ok
}

func (a *Auditor) one(e turn.Entry, kind, outcome string, by turn.Person, x subject) Record {
	return a.about(a.record(e, kind, outcome, by), x.turn, x.requester, x.call)
}

// main are the records of an entry that had an effect: what it is itself about.
func (a *Auditor) main(before turn.Session, e turn.Entry) []Record {
	var nobody turn.Person
	switch ev := e.Event.(type) {
	case turn.Replied:
		return a.invalid(before, e)
	case turn.Ruled:
		if x, ok := a.call(ev.Call); ok {
			return []Record{a.one(e, Request, requested(ev.Ruling.Verdict), nobody, x)}
		}
	case turn.Decided:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.decision(e, ev, was, x)}
		}
	case turn.Withdrawn:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, Undo, Undone, turn.Person{User: ev.By, Name: ev.Name}, x)
			r.Ask, r.Choice, r.Grant, r.MS = ev.Ask, string(was.Choice), was.Grant, since(was.DecidedAt, e.At)
			return []Record{r}
		}
	case turn.Amended:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.one(e, Edit, Edited, turn.Person{User: ev.By, Name: ev.Name}, x)}
		}
	case turn.Revealed:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.one(e, Reveal, Revealed, turn.Person{User: ev.By, Name: ev.Name}, x)}
		}
	case turn.Extended:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, Extend, Extended, turn.Person{User: ev.By, Name: ev.Name}, x)
			r.Note = noteUntil(ev.Until)
			return []Record{r}
		}
	case turn.Expired:
		if r := a.filled(before, e, ev.Ask, nobody); r != nil {
			return r
		}
		if was, x, ok := a.asked(before, ev.Ask); ok {
			outcome := Timeout
			if was.Status == turn.Unknown {
				outcome = Lost
			}
			r := a.one(e, Expire, outcome, nobody, x)
			r.MS = since(was.AskedAt, e.At)
			return []Record{r}
		}
	case turn.Reopened:
		return a.reopening(before, e, ev)
	case turn.Resolved:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, Resolve, string(ev.Answer), turn.Person{User: ev.By, Name: ev.Name}, x)
			r.Ask, r.Choice, r.Run, r.MS = ev.Ask, string(ev.Answer), was.Run, since(was.AskedAt, e.At)
			return []Record{r}
		}
	case turn.Started:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, Start, started(x.call, ev), nobody, x)
			r.Run = ev.Run
			return []Record{r}
		}
	case turn.Finished:
		if x, ok := a.call(ev.Call); ok {
			return []Record{a.finish(before, e, ev, x)}
		}
	case turn.Abandoned:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, Unknown, Lost, nobody, x)
			if x.call.Status == turn.Allowed {
				r.Outcome, r.Rule, r.Why = Repeated, ev.Repeat, ""
			}
			r.Run, r.MS, r.Note = ev.Run, since(x.call.StartedAt, e.At), redacted(ev.Say)
			return []Record{r}
		}
	case turn.StopAsked:
		return []Record{a.stopped(before, e, turn.Person{User: ev.By, Name: ev.Name}, "")}
	case turn.Deleted:
		if before.Turn.Stopped == nil && a.s.Turn.Stopped != nil { // without an open turn it had no effect
			return []Record{a.stopped(before, e, turn.Person{User: ev.By}, noteGone)}
		}
	case turn.ModeSet:
		return []Record{a.record(e, Mode, ev.Mode.String(), turn.Person{User: ev.By, Name: ev.Name})}
	case turn.Reset:
		return []Record{a.record(e, Reset, Reset, turn.Person{User: ev.By, Name: ev.Name})}
	case turn.Wanted:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, Want, Asked, nobody, x)
			r.Ask, r.Run, r.Note = ev.Ask, ev.Run, joined(string(ev.Want.Kind), redacted(ev.Want.Message))
			return []Record{r}
		}
	case turn.Filled:
		return a.filled(before, e, ev.Ask, turn.Person{User: ev.By, Name: ev.Name})
	case turn.Changed:
		return a.changes(before, e, ev)
	default: // Said, Edited, Ticked, Shown, Posted, Removed and Ended decide nothing
	}
	return nil
}

func requested(v permission.Verdict) string {
	switch v {
	case permission.Allow:
		return Allowed
	case permission.Forbid:
		return Forbidden
	case permission.Ask:
	}
	return Asked
}

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

// invalid are the calls of a reply that were refused before policy was asked.
func (a *Auditor) invalid(before turn.Session, e turn.Entry) []Record {
	var out []Record
	for _, c := range a.s.Turn.Calls {
		if c.Settled() && before.Turn.Find(c.ID) < 0 {
			r := a.one(e, Request, Invalid, turn.Person{}, subject{a.s.Turn.ID, a.s.Turn.Requester, c})
			r.Why = redacted(c.Result.Text)
			out = append(out, r)
		}
	}
	return out
}

func (a *Auditor) decision(e turn.Entry, ev turn.Decided, was turn.ToolCall, x subject) Record {
	r := a.one(e, Decision, Voted, turn.Person{User: ev.By, Name: ev.Name}, x)
	switch x.call.Status {
	case turn.Allowed:
		r.Outcome = Approved
	case turn.Denied:
		r.Outcome = Denied
	default: // more votes are needed
	}
	r.Ask, r.Choice, r.MS, r.Note = ev.Ask, string(ev.Choice), since(was.AskedAt, e.At), redacted(ev.Reason)
	if r.Outcome == Denied { // whatever it was that is no choice
		r.Choice = string(chat.Deny)
	}
	if ev.Surface != "" {
		r.Surface = ev.Surface
	}
	for _, g := range a.s.Grants {
		if g.ID == ev.Under || ev.Grant != nil && g.ID == ev.Grant.ID {
			r.Grant, r.Note = g.ID, joined(noteGrant(g), r.Note)
		}
	}
	return r
}

// finish tells an answer that settled its call from one that came too late for that.
func (a *Auditor) finish(before turn.Session, e turn.Entry, ev turn.Finished, x subject) Record {
	outcome := OK
	if ev.Result.IsError {
		outcome = Failed
	}
	kind := Late
	if i := before.Turn.Find(ev.Call); i >= 0 && !before.Turn.Calls[i].Settled() && x.call.Settled() {
		kind = Finish
	}
	r := a.one(e, kind, outcome, turn.Person{}, x)
	r.Run = ev.Run
	if x.call.Run == ev.Run {
		r.MS = since(x.call.StartedAt, e.At)
	}
	return r
}

// reopening: the call stands in the open turn, or in one that went on without it.
func (a *Auditor) reopening(before turn.Session, e turn.Entry, ev turn.Reopened) []Record {
	by := turn.Person{User: ev.By, Name: ev.Name}
	if _, x, ok := a.asked(before, ev.Ask); ok {
		return []Record{a.one(e, Reopen, Asked, by, x)}
	}
	if l, ok := before.FindLapsed(ev.Ask); ok {
		return []Record{a.one(e, Reopen, Asked, by, subject{a.lapsed[l.Call.ID], l.Requester, l.Call})}
	}
	return nil
}

// filled is the answer to what a server wanted. What was filled in is between the person and the server.
func (a *Auditor) filled(before turn.Session, e turn.Entry, ask turn.AskID, by turn.Person) []Record {
	i := before.Turn.Wanting(ask)
	if i < 0 {
		return nil
	}
	x, _ := a.call(before.Turn.Calls[i].ID) // the turn is open still, and the entry had an effect: the want is answered
	return []Record{a.fill(e, x.call.Want.Fill.Action, by, x)}
}

func (a *Auditor) fill(e turn.Entry, action string, by turn.Person, x subject) Record {
	w := x.call.Want
	r := a.one(e, Fill, action, by, x)
	r.Ask, r.Run, r.MS, r.Note = w.Ask, x.call.Run, since(w.At, e.At), string(w.Want.Kind)
	return r
}

// unanswered are the wants that an entry ended without being an answer: a stop, the end of the run.
func (a *Auditor) unanswered(before turn.Session, e turn.Entry) []Record {
	switch e.Event.(type) {
	case turn.Filled, turn.Expired: // filled has them
		return nil
	default:
	}
	if before.Turn == nil {
		return nil
	}
	var out []Record
	for _, c := range before.Turn.Calls {
		if now, _ := a.call(c.ID); c.Want.Open() && !now.call.Want.Open() {
			out = append(out, a.fill(e, turn.FillCancel, doer(e.Event), subject{before.Turn.ID, before.Turn.Requester, c}))
		}
	}
	return out
}

func (a *Auditor) stopped(before turn.Session, e turn.Entry, by turn.Person, note string) Record {
	r := a.record(e, Stop, Stopped, by)
	r.Turn, r.Requester, r.Note = before.Turn.ID, before.Turn.Requester, note
	return r
}

// doer is who did what an entry brings along beside what it is about.
func doer(e turn.Event) turn.Person {
	switch ev := e.(type) {
	case turn.StopAsked:
		return turn.Person{User: ev.By, Name: ev.Name}
	case turn.Reset:
		return turn.Person{User: ev.By, Name: ev.Name}
	case turn.ModeSet:
		return turn.Person{User: ev.By, Name: ev.Name}
	case turn.Revoked:
		return turn.Person{User: ev.By, Name: ev.Name}
	case turn.Withdrawn:
		return turn.Person{User: ev.By, Name: ev.Name}
	default: // nobody asked for it
		return turn.Person{}
	}
}

// cancelled are the calls that an entry ended without being about them: a stop, a reset, the end of the turn.
func (a *Auditor) cancelled(before turn.Session, e turn.Entry, said []Record) []Record {
	if before.Turn == nil || before.Turn == a.s.Turn {
		return nil
	}
	var out []Record
	for _, c := range before.Turn.Calls {
		if c.Settled() || slices.ContainsFunc(said, func(r Record) bool { return r.Call == c.ID }) {
			continue
		}
		now, _ := a.call(c.ID) // of the open turn, or of the one that has just ended
		if !now.call.Settled() {
			continue
		}
		outcome := Cancelled
		if now.call.Status == turn.Unknown {
			outcome = Lost
		}
		out = append(out, a.one(e, Cancel, outcome, doer(e.Event), now))
	}
	return out
}

// grants are those that an entry gave or ended.
func (a *Auditor) grants(before turn.Session, e turn.Entry, said []Record) []Record {
	var out []Record
	has := func(list []permission.Grant, id permission.GrantID) bool {
		return slices.ContainsFunc(list, func(g permission.Grant) bool { return g.ID == id })
	}
	about := func(r Record, g permission.Grant) Record {
		r.Grant, r.Server, r.Tool, r.Definition, r.Note = g.ID, g.Tool.Server, g.Tool.Name, g.Tool.Definition, noteGrant(g)
		return r
	}
	for _, g := range before.Grants {
		if !has(a.s.Grants, g.ID) {
			outcome := Ended
			if _, asked := e.Event.(turn.Revoked); asked {
				outcome = Revoked
			}
			out = append(out, about(a.record(e, Revoke, outcome, doer(e.Event)), g))
		}
	}
	for _, g := range a.s.Grants {
		if !has(before.Grants, g.ID) && !slices.ContainsFunc(said, func(r Record) bool { return r.Kind == Decision && r.Grant == g.ID }) {
			out = append(out, about(a.record(e, Grant, Given, turn.Person{User: g.By, Name: g.Name}), g))
		}
	}
	return out
}
