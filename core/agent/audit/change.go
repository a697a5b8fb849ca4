package audit

import (
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// changes are the records of a change of settings: one for each that had an effect. before is the fold up to the entry.
func (a *Auditor) changes(before turn.Session, e turn.Entry, ev turn.Changed) []Record {
	var now permission.Settings
	if before.Settings != nil {
		now = *before.Settings
	}
	var out []Record
	for _, c := range ev.Changes {
		next, moved := now.Apply(c, ev.By, ev.Name, e.At)
		if moved {
			r := a.record(e, Setting, Set, turn.Person{User: ev.By, Name: ev.Name})
			if ev.Surface != "" {
				r.Surface = ev.Surface
			}
			r.Note = joined(redacted(c.String()), redacted(ev.Note))
			out = append(out, changed(r, now, c))
		}
		now = next
	}
	return out
}

// changed adds what is particular to a change. was are the settings before it.
func changed(r Record, was permission.Settings, c permission.Change) Record {
	var t permission.Tool
	switch {
	case c.Set != nil:
		t = permission.Tool{Server: c.Set.Server, Name: c.Set.Tool}
		for _, x := range was.Set {
			if x.Server == c.Set.Server && x.Tool == c.Set.Tool && x.Field == c.Set.Field {
				r.Note = joined(r.Note, noteWas(redacted(x.Value)))
			}
		}
	case c.Remember != nil:
		r.Outcome, r.Choice, t = Remembered, c.Remember.Choice.String(), c.Remember.Tool
	case c.Forget != "":
		r.Outcome = Forgot
		for _, x := range was.Remembered {
			if x.ID == c.Forget {
				r.Choice, t = x.Choice.String(), x.Tool
			}
		}
	case c.Seen != nil:
		r.Outcome, t = Seen, c.Seen.Tool
	case c.Accept != nil:
		r.Outcome, t = Accepted, *c.Accept
	case c.Told != nil:
		r.Outcome, t.Server = Told, c.Told.Server
	case c.Halt != nil:
		if r.Outcome = Resumed; *c.Halt {
			r.Outcome = Halted
		}
	case c.Analysis != nil:
		r.Outcome, t = Analysed, c.Analysis.Tool
	}
	r.Server, r.Tool, r.Definition = t.Server, t.Name, t.Definition
	return r
}
