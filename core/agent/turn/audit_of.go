package turn

import (
	"slices"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// subject is a call with the turn it belongs to, as they stand after an entry.
type subject struct {
	turn      TurnID
	requester chat.User
	call      ToolCall
}

// call finds a call wherever the session still holds it.
func (a *Auditor) call(id CallID) (subject, bool) {
	for _, t := range []*Turn{a.s.Turn, a.s.Last} {
		if i := t.find(id); i >= 0 {
			return subject{t.ID, t.Requester, t.Calls[i]}, true
		}
	}
	return subject{}, false
}

// asked is the call that an asking was about before the entry.
func (a *Auditor) asked(before Session, ask AskID) (was ToolCall, now subject, ok bool) {
	i := before.Turn.asking(ask)
	if i < 0 {
		return was, now, false
	}
	was = before.Turn.Calls[i]
	now, ok = a.call(was.ID)
	return was, now, ok
}

func (a *Auditor) one(e Entry, kind, outcome string, by Person, x subject) Record {
	return a.about(a.record(e, kind, outcome, by), x.turn, x.requester, x.call)
}

// main are the records of an entry that had an effect: what it is itself about.
func (a *Auditor) main(before Session, e Entry) []Record {
	var nobody Person
	switch ev := e.Event.(type) {
	case Replied:
		return a.invalid(before, e)
	case Ruled:
		if x, ok := a.call(ev.Call); ok {
			return []Record{a.one(e, AuditRequest, requested(ev.Ruling.Verdict), nobody, x)}
		}
	case Decided:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.decision(e, ev, was, x)}
		}
	case Withdrawn:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, AuditUndo, AuditUndone, Person{ev.By, ev.Name}, x)
			r.Ask, r.Choice, r.Grant, r.MS = ev.Ask, string(was.Choice), was.Grant, since(was.DecidedAt, e.At)
			return []Record{r}
		}
	case Amended:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.one(e, AuditEdit, AuditEdited, Person{ev.By, ev.Name}, x)}
		}
	case Revealed:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			return []Record{a.one(e, AuditReveal, AuditRevealed, Person{ev.By, ev.Name}, x)}
		}
	case Extended:
		if _, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, AuditExtend, AuditExtended, Person{ev.By, ev.Name}, x)
			r.Note = noteUntil(ev.Until)
			return []Record{r}
		}
	case Expired:
		if r := a.filled(before, e, ev.Ask, nobody); r != nil {
			return r
		}
		if was, x, ok := a.asked(before, ev.Ask); ok {
			outcome := AuditTimeout
			if was.Status == Unknown {
				outcome = AuditLost
			}
			r := a.one(e, AuditExpire, outcome, nobody, x)
			r.MS = since(was.AskedAt, e.At)
			return []Record{r}
		}
	case Reopened:
		return a.reopening(before, e, ev)
	case Resolved:
		if was, x, ok := a.asked(before, ev.Ask); ok {
			r := a.one(e, AuditResolve, string(ev.Answer), Person{ev.By, ev.Name}, x)
			r.Ask, r.Choice, r.Run, r.MS = ev.Ask, string(ev.Answer), was.Run, since(was.AskedAt, e.At)
			return []Record{r}
		}
	case Started:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, AuditStart, started(x.call, ev), nobody, x)
			r.Run = ev.Run
			return []Record{r}
		}
	case Finished:
		if x, ok := a.call(ev.Call); ok {
			return []Record{a.finish(before, e, ev, x)}
		}
	case Abandoned:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, AuditUnknown, AuditLost, nobody, x)
			if x.call.Status == Allowed {
				r.Outcome, r.Rule, r.Why = AuditRepeated, ev.Repeat, ""
			}
			r.Run, r.MS, r.Note = ev.Run, since(x.call.StartedAt, e.At), redacted(ev.Say)
			return []Record{r}
		}
	case StopAsked:
		return []Record{a.stopped(before, e, Person{ev.By, ev.Name}, "")}
	case Deleted:
		if before.Turn.Stopped == nil && a.s.Turn.Stopped != nil { // without an open turn it had no effect
			return []Record{a.stopped(before, e, Person{User: ev.By}, noteGone)}
		}
	case ModeSet:
		return []Record{a.record(e, AuditMode, ev.Mode.String(), Person{ev.By, ev.Name})}
	case Reset:
		return []Record{a.record(e, AuditReset, AuditReset, Person{ev.By, ev.Name})}
	case Wanted:
		if x, ok := a.call(ev.Call); ok {
			r := a.one(e, AuditWant, AuditAsked, nobody, x)
			r.Ask, r.Run, r.Note = ev.Ask, ev.Run, joined(string(ev.Want.Kind), redacted(ev.Want.Message))
			return []Record{r}
		}
	case Filled:
		return a.filled(before, e, ev.Ask, Person{ev.By, ev.Name})
	case Changed:
		return a.changes(before, e, ev)
	default: // Said, Edited, Ticked, Shown, Posted, Removed and Ended decide nothing
	}
	return nil
}

func requested(v permission.Verdict) string {
	switch v {
	case permission.Allow:
		return AuditAllowed
	case permission.Forbid:
		return AuditForbidden
	case permission.Ask:
	}
	return AuditAsked
}

// started says what let a call run.
func started(c ToolCall, ev Started) string {
	switch {
	case c.Asked:
		return AuditApproved
	case ev.Grant != "" || c.Ruling.Grant != "":
		return AuditGranted
	}
	return AuditAuto
}

// invalid are the calls of a reply that were refused before policy was asked.
func (a *Auditor) invalid(before Session, e Entry) []Record {
	var out []Record
	for _, c := range a.s.Turn.Calls {
		if c.Settled() && before.Turn.find(c.ID) < 0 {
			r := a.one(e, AuditRequest, AuditInvalid, Person{}, subject{a.s.Turn.ID, a.s.Turn.Requester, c})
			r.Why = redacted(c.Result.Text)
			out = append(out, r)
		}
	}
	return out
}

func (a *Auditor) decision(e Entry, ev Decided, was ToolCall, x subject) Record {
	r := a.one(e, AuditDecision, AuditVoted, Person{ev.By, ev.Name}, x)
	switch x.call.Status {
	case Allowed:
		r.Outcome = AuditApproved
	case Denied:
		r.Outcome = AuditDenied
	default: // more votes are needed
	}
	r.Ask, r.Choice, r.MS, r.Note = ev.Ask, string(ev.Choice), since(was.AskedAt, e.At), redacted(ev.Reason)
	if r.Outcome == AuditDenied { // whatever it was that is no choice
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
func (a *Auditor) finish(before Session, e Entry, ev Finished, x subject) Record {
	outcome := AuditOK
	if ev.Result.IsError {
		outcome = AuditFailed
	}
	kind := AuditLate
	if i := before.Turn.find(ev.Call); i >= 0 && !before.Turn.Calls[i].Settled() && x.call.Settled() {
		kind = AuditFinish
	}
	r := a.one(e, kind, outcome, Person{}, x)
	r.Run = ev.Run
	if x.call.Run == ev.Run {
		r.MS = since(x.call.StartedAt, e.At)
	}
	return r
}

// reopening: the call stands in the open turn, or in one that went on without it.
func (a *Auditor) reopening(before Session, e Entry, ev Reopened) []Record {
	by := Person{ev.By, ev.Name}
	if _, x, ok := a.asked(before, ev.Ask); ok {
		return []Record{a.one(e, AuditReopen, AuditAsked, by, x)}
	}
	for _, l := range before.Lapsed {
		if l.Call.Ask == ev.Ask {
			return []Record{a.one(e, AuditReopen, AuditAsked, by, subject{a.lapsed[l.Call.ID], l.Requester, l.Call})}
		}
	}
	return nil
}

// filled is the answer to what a server wanted. What was filled in is between the person and the server.
func (a *Auditor) filled(before Session, e Entry, ask AskID, by Person) []Record {
	i := before.Turn.wanting(ask)
	if i < 0 {
		return nil
	}
	x, _ := a.call(before.Turn.Calls[i].ID) // the turn is open still, and the entry had an effect: the want is answered
	return []Record{a.fill(e, x.call.Want.Fill.Action, by, x)}
}

func (a *Auditor) fill(e Entry, action string, by Person, x subject) Record {
	w := x.call.Want
	r := a.one(e, AuditFill, action, by, x)
	r.Ask, r.Run, r.MS, r.Note = w.Ask, x.call.Run, since(w.At, e.At), string(w.Want.Kind)
	return r
}

// unanswered are the wants that an entry ended without being an answer: a stop, the end of the run.
func (a *Auditor) unanswered(before Session, e Entry) []Record {
	switch e.Event.(type) {
	case Filled, Expired: // filled has them
		return nil
	default:
	}
	if before.Turn == nil {
		return nil
	}
	var out []Record
	for _, c := range before.Turn.Calls {
		if now, _ := a.call(c.ID); c.Want.Open() && !now.call.Want.Open() {
			out = append(out, a.fill(e, FillCancel, doer(e.Event), subject{before.Turn.ID, before.Turn.Requester, c}))
		}
	}
	return out
}

func (a *Auditor) stopped(before Session, e Entry, by Person, note string) Record {
	r := a.record(e, AuditStop, AuditStopped, by)
	r.Turn, r.Requester, r.Note = before.Turn.ID, before.Turn.Requester, note
	return r
}

// doer is who did what an entry brings along beside what it is about.
func doer(e Event) Person {
	switch ev := e.(type) {
	case StopAsked:
		return Person{ev.By, ev.Name}
	case Reset:
		return Person{ev.By, ev.Name}
	case ModeSet:
		return Person{ev.By, ev.Name}
	case Revoked:
		return Person{ev.By, ev.Name}
	case Withdrawn:
		return Person{ev.By, ev.Name}
	default: // nobody asked for it
		return Person{}
	}
}

// cancelled are the calls that an entry ended without being about them: a stop, a reset, the end of the turn.
func (a *Auditor) cancelled(before Session, e Entry, said []Record) []Record {
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
		outcome := AuditCancelled
		if now.call.Status == Unknown {
			outcome = AuditLost
		}
		out = append(out, a.one(e, AuditCancel, outcome, doer(e.Event), now))
	}
	return out
}

// grants are those that an entry gave or ended.
func (a *Auditor) grants(before Session, e Entry, said []Record) []Record {
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
			outcome := AuditEnded
			if _, asked := e.Event.(Revoked); asked {
				outcome = AuditRevoked
			}
			out = append(out, about(a.record(e, AuditRevoke, outcome, doer(e.Event)), g))
		}
	}
	for _, g := range a.s.Grants {
		if !has(before.Grants, g.ID) && !slices.ContainsFunc(said, func(r Record) bool { return r.Kind == AuditDecision && r.Grant == g.ID }) {
			out = append(out, about(a.record(e, AuditGrant, AuditGiven, Person{g.By, g.Name}), g))
		}
	}
	return out
}
