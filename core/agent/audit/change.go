package audit

import (
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// changes are the records of a change of settings: one for each that had an effect. before is the fold up to the entry.
func (a *Auditor) changes(before turn.Session, e turn.Entry, ev turn.Changed) []Record {
	var out []Record
	for _, x := range ev.Effects(before.Settings, e.At) {
		r := a.record(e, Setting, Set, turn.Doer(ev))
		if ev.Surface != "" {
			r.Surface = ev.Surface
		}
		r.Note = joined(redacted(x.Change.String()), redacted(ev.Note))
		out = append(out, changed(r, x.Was, x.Change))
	}
	return out
}

// changed adds what is particular to a change. was are the settings before it.
func changed(r Record, was permission.Settings, c permission.Change) Record {
	var t permission.Tool
	switch c := c.(type) {
	case permission.Setting:
		t = permission.Tool{Server: c.Server, Name: c.Tool}
		for _, x := range was.Set {
			if x.Server == c.Server && x.Tool == c.Tool && x.Field == c.Field {
				r.Note = joined(r.Note, "it was "+redacted(x.Value))
			}
		}
	case permission.Remembered:
		r.Outcome, r.Choice, t = Remembered, c.Choice.String(), c.Tool
	case permission.Forget:
		r.Outcome = Forgot
		for _, x := range was.Remembered {
			if x.ID == string(c) {
				r.Choice, t = x.Choice.String(), x.Tool
			}
		}
	case permission.Seen:
		r.Outcome, t = Seen, c.Tool
	case permission.Accept:
		r.Outcome, t = Accepted, permission.Tool(c)
	case permission.AcceptReads:
		r.Outcome, t = Accepted, c.Tool
		if c.Off {
			r.Outcome = Set
		}
	case permission.Told:
		r.Outcome, t.Server = Told, c.Server
	case permission.Halting:
		if r.Outcome = Resumed; c {
			r.Outcome = Halted
		}
	case permission.Holding:
		if r.Outcome = Held; c.Off {
			r.Outcome = Released
		}
	case permission.Erased:
		r.Outcome = Erased
	case permission.Analysis:
		r.Outcome, t = Analysed, c.Tool
	default: // only a permission.Set, which holds a Setting, is left
	}
	r.Server, r.Tool, r.Definition = t.Server, t.Name, t.Definition
	return r
}
