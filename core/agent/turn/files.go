package turn

import (
	"slices"

	"github.com/nodhq/nod/core/chat"
)

// FileRead is what came of one file that a person attached: its text, or its picture, or why it has neither. It is the person's data: a
// model reads it as such, and nothing in it decides anything.
type FileRead struct {
	Name    string    `json:"name,omitempty"`
	Text    string    `json:"text,omitempty"`
	Chars   int       `json:"chars,omitempty"` // of Text; none and no Why: the file is empty
	Of      int       `json:"of,omitempty"`    // how many characters the file has, where that is more
	Pages   int       `json:"pages,omitempty"` // how many pages of a document Text is of, where that is not all
	Picture *Picture  `json:"picture,omitempty"`
	Why     WhyUnread `json:"why,omitempty"` // it was not read
}

// Picture is one that is kept beside the log, for a while.
type Picture struct {
	Key  string `json:"key"`  // where it is kept: the digest of its bytes
	Type string `json:"type"` // as its bytes say
	Size int    `json:"size,omitempty"`

	Data []byte `json:"-"` // its bytes, on the way from a tool or to a model
}

// WhyUnread is why a file was not read.
type WhyUnread string

// The reasons.
const (
	UnreadKind      WhyUnread = "kind"        // of a kind that nobody here reads
	UnreadPicture   WhyUnread = "picture"     // the model is given no pictures
	UnreadTooBig    WhyUnread = "too_big"     //
	UnreadTooMany   WhyUnread = "too_many"    // others came before it
	UnreadGone      WhyUnread = "gone"        // deleted since, or never there
	UnreadForbidden WhyUnread = "forbidden"   // the bot may not have it
	UnreadScope     WhyUnread = "scope"       // the bot lacks the right to read files at all
	UnreadElsewhere WhyUnread = "elsewhere"   // it is only a link to another site
	UnreadLocked    WhyUnread = "locked"      // it is encrypted
	UnreadTrouble   WhyUnread = "unavailable" // the platform did not give it out
	UnreadBroken    WhyUnread = "broken"      // it is not what it says, or takes too much to read
)

// AllFiles are the files of the turn's messages, in order.
func (t *Turn) AllFiles() (all []chat.File) {
	for _, m := range t.Said {
		all = append(all, m.Files...)
	}
	return all
}

// Unread is what is still to be read before the model is asked: the files that people attached, and what they said before those of its messages.
func (t *Turn) Unread() (files []chat.File, before []Said) {
	if files = t.AllFiles(); len(t.Files) == len(files) {
		files = nil
	}
	for _, m := range t.Said {
		if m.Earlier != nil {
			before = append(before, m)
		}
	}
	return files, before
}

func (t *Turn) bare() bool {
	files, before := t.Unread()
	return len(files)+len(before) > 0
}

func (ev EarlierRead) apply(s Session, _ Entry) Session {
	t := s.Turn
	if t == nil || t.ID != ev.Turn {
		return s
	}
	if _, before := t.Unread(); len(ev.Quotes) != len(before) {
		return s
	}
	return s.edit(func(t *Turn) {
		t.Said, t.Unheard = slices.Clone(t.Said), t.Unheard || ev.Unread
		quotes := ev.Quotes
		for i := range t.Said {
			if m := &t.Said[i]; m.Earlier != nil {
				m.Context, m.Earlier, quotes = slices.Concat(quotes[0], m.Context), nil, quotes[1:]
			}
		}
	})
}

func (ev FilesRead) apply(s Session, _ Entry) Session {
	if t := s.Turn; t == nil || t.ID != ev.Turn || len(t.Files) > 0 || len(ev.Files) != len(t.AllFiles()) {
		return s
	}
	return s.edit(func(t *Turn) { t.Files = ev.Files })
}
