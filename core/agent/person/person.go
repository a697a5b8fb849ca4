// Package person tells what the log of a chat holds about one person: what they said, attached, filled in and decided there, and what was done
// for them. Like package audit, from which it takes the records, it derives everything from the log and is pure.
//
// Start with [Reader]. Fields of [Chat] are what `nod person export` prints; docs/privacy.md explains them. A new event that holds words of a
// person is a case in [Reader.Take].
package person

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Chat is what one chat holds about a person.
type Chat struct {
	Chat  string    `json:"chat"` // [chat.ID.String]
	Began bool      `json:"began,omitempty"`
	Alone bool      `json:"alone,omitempty"` // nobody else spoke, decided or is quoted in it
	First time.Time `json:"first"`           // their first trace, and the last
	Last  time.Time `json:"last"`

	Said       []Words                 `json:"said,omitempty"`   // what they wrote, or filled in
	Quoted     []Words                 `json:"quoted,omitempty"` // what others' messages brought along of theirs
	Files      []File                  `json:"files,omitempty"`
	Answers    []Words                 `json:"answers,omitempty"`    // what the model answered them
	Records    []audit.Record          `json:"records,omitempty"`    // of the audit: what they did, and what was done for them
	Grants     []permission.Grant      `json:"grants,omitempty"`     // what they allowed and still stands
	Remembered []permission.Remembered `json:"remembered,omitempty"` // of the settings' log: what they chose for themselves
}

// Words are words, in their place of the log.
type Words struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// File is one that they attached. Its bytes are not in the log.
type File struct {
	Seq  uint64 `json:"seq"`
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Size int    `json:"size,omitempty"`
	Text string `json:"text,omitempty"` // what was read of it
}

// Reader takes a chat's log entry by entry from the first. It is not safe for concurrent use.
type Reader struct {
	// Names are what people were called, the latest of each.
	Names map[chat.User]string

	who    chat.User
	audit  *audit.Auditor
	out    Chat
	others bool
	called map[string]bool
}

// NewReader stands before the first entry of a chat.
func NewReader(id chat.ID, who chat.User) *Reader {
	return &Reader{Names: map[chat.User]string{}, who: who, audit: audit.NewAuditor(id), out: Chat{Chat: id.String()}, called: map[string]bool{}}
}

// Take reads the next entry.
func (r *Reader) Take(e turn.Entry) {
	before := r.audit.Session()
	traces := false
	for _, rec := range r.audit.Take(e) {
		if rec.By == r.who || rec.Requester == r.who {
			r.out.Records, traces = append(r.out.Records, rec), true
		}
	}
	by := turn.By(e.Event)
	if r.meets(by.User, by.Name) {
		traces = true
	}
	words := func(text string) Words { return Words{e.Seq, e.At, text} }
	switch ev := e.Event.(type) {
	case turn.Said:
		traces = r.quoted(e, ev.Context) || traces
		if ev.By == r.who {
			r.out.Said = append(r.out.Said, words(ev.Text))
			for _, f := range ev.Files {
				r.out.Files = append(r.out.Files, File{Seq: e.Seq, Name: f.Name, Type: f.Type, Size: f.Size})
			}
		}
	case turn.Edited:
		if ev.By == r.who {
			r.out.Said = append(r.out.Said, words(ev.Text))
		}
	case turn.Filled:
		if ev.By == r.who && len(ev.Fill.Content) > 0 {
			r.out.Said = append(r.out.Said, words(string(ev.Fill.Content)))
		}
	case turn.Replied:
		if t := before.Turn; t != nil && t.ID == ev.Turn && t.Requester == r.who && ev.Text != "" {
			r.out.Answers, traces = append(r.out.Answers, words(ev.Text)), true
		}
	case turn.EarlierRead:
		traces = r.quoted(e, slices.Concat(ev.Quotes...)) || traces
	case turn.FilesRead:
		traces = r.read(before.Turn, e.Seq, ev) || traces
	default: // by its records alone
	}
	if traces {
		if r.out.First.IsZero() {
			r.out.First = e.At
		}
		r.out.Last = e.At
	}
}

// commands is the platform of whoever types commands: an operator who ends a question has not joined the chat.
const commands = "cli"

// meets notes that somebody is in the chat, and reports whether it is who this is about.
func (r *Reader) meets(u chat.User, name string) bool {
	if u.IsZero() || u.Platform == commands {
		return false
	}
	if name != "" || r.Names[u] == "" {
		r.Names[u] = name
	}
	if u != r.who {
		r.others = true
		return false
	}
	r.called[name] = name != ""
	return true
}

// quoted takes what is theirs of what people said before a message.
func (r *Reader) quoted(e turn.Entry, quotes []chat.Quote) (theirs bool) {
	for _, q := range quotes {
		if r.meets(q.By, q.Name) {
			r.out.Quoted, theirs = append(r.out.Quoted, Words{e.Seq, e.At, q.Text}), true
		}
	}
	return theirs
}

// read takes what was read of the files that are theirs.
func (r *Reader) read(t *turn.Turn, seq uint64, ev turn.FilesRead) (theirs bool) {
	if t == nil || t.ID != ev.Turn {
		return false
	}
	i := 0
	for _, m := range t.Said {
		for range m.Files {
			if i < len(ev.Files) && m.By == r.who && ev.Files[i].Text != "" {
				r.out.Files, theirs = append(r.out.Files, File{Seq: seq, Name: ev.Files[i].Name, Text: ev.Files[i].Text}), true
			}
			i++
		}
	}
	return theirs
}

// Chat is what was read, with the names under which they were seen; ok is false where nothing is theirs.
func (r *Reader) Chat(now time.Time) (c Chat, names []string, ok bool) {
	s := r.audit.Session()
	c = r.out
	c.Began = s.Began == r.who && !r.who.IsZero()
	c.Alone = !r.others
	for _, g := range s.Grants {
		if g.By == r.who && (g.Until.IsZero() || now.Before(g.Until)) {
			c.Grants = append(c.Grants, g)
		}
	}
	if s.Settings != nil {
		for _, x := range s.Settings.Remembered {
			if x.By == r.who {
				c.Remembered = append(c.Remembered, x)
			}
		}
	}
	for name, named := range r.called {
		if named {
			names = append(names, name)
		}
	}
	return c, names, !c.First.IsZero()
}
