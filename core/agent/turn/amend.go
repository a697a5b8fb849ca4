package turn

import (
	"bytes"
)

// amended makes the call another one: new bytes, new digest. Whatever was asked about the old bytes answers nothing any more.
func (s Session) amended(e Entry, ev Amended) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || ev.By.IsZero() || !bytes.HasPrefix(ev.Args, []byte("{")) || ev.Digest == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if c.Status != Awaiting || c.overdue(e.At) || c.Digest == ev.Digest {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
		c := &t.Calls[i]
		if !c.Edited() {
			c.Wrote = c.Args
		}
		c.Edits = add(c.Edits, Amendment{By: ev.By, Name: ev.Name, At: e.At, From: c.Digest})
		c.Args, c.Digest, c.Unchecked = ev.Args, ev.Digest, ev.Unchecked
		c.propose()
	})
}

// CanEdit reports whether a person may change the call's arguments: it is asked for, all of them can be shown, and none of
// them is masked, because a form would have to show it.
func CanEdit(c ToolCall) bool {
	return c.Status == Awaiting && Showable(c) && !Masked(c)
}
