package turn

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// WantKind is what a server wants of a person while one of its tools runs.
type WantKind string

// The kinds. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation and …/sampling
const (
	WantForm   WantKind = "form"   // a few values
	WantURL    WantKind = "url"    // that a page is opened
	WantSample WantKind = "sample" // that the model answers something for it
)

// Want is what a server wants. All of it is untrusted.
type Want struct {
	Kind    WantKind        `json:"kind"`
	Message string          `json:"message,omitempty"`
	Fields  []FormField     `json:"fields,omitempty"` // with WantForm
	URL     string          `json:"url,omitempty"`    // with WantURL
	Prompt  json.RawMessage `json:"prompt,omitempty"` // with WantSample: what the model is to read, to be shown in full
}

// FormField is one value of a form, of the kinds that the protocol has.
type FormField struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type"` // string, number, integer, boolean
	Options     []string `json:"options,omitempty"`
	Labels      []string `json:"labels,omitempty"` // of the options, where they have any
	Many        bool     `json:"many,omitempty"`   // several of the options
	Required    bool     `json:"required,omitempty"`
	Default     string   `json:"default,omitempty"`
	Format      string   `json:"format,omitempty"` // email, uri, date, date-time
	Min, Max    *float64 `json:",omitempty"`       // of a number, or of a text's length
}

// Fill is a person's answer.
type Fill struct {
	Action  string          `json:"action"` // accept, decline, cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// The actions of [Fill].
const (
	FillAccept  = "accept"
	FillDecline = "decline"
	FillCancel  = "cancel" // nobody answered
)

// Wanting is a want that waits, or that was answered.
type Wanting struct {
	Ask      AskID     `json:"ask"`
	Want     Want      `json:"want"`
	At       time.Time `json:"at"`
	Deadline time.Time `json:"deadline,omitzero"`
	Seen     *Showing  `json:"seen,omitempty"` // as a call's
	Fill     *Fill     `json:"fill,omitempty"` // nil: it waits
	By       chat.User `json:"by,omitzero"`
	Name     string    `json:"name,omitempty"`
}

// Open reports whether it still waits for an answer.
func (w *Wanting) Open() bool { return w != nil && w.Fill == nil }

// unanswered is the want when nobody answered it.
func (w Wanting) unanswered() *Wanting {
	w.Fill = &Fill{Action: FillCancel}
	return &w
}

// Wanting is the index of the call whose server's open want is id, or -1. Only a running call has one: it goes when the run ends, or is cancelled when the turn is stopped.
func (t *Turn) Wanting(id AskID) int {
	if t == nil {
		return -1
	}
	return slices.IndexFunc(t.Calls, func(c ToolCall) bool { return c.Want.Open() && c.Want.Ask == id })
}

// cancelElicitations ends what is open: nobody is asked for anything after Stop.
func (t *Turn) cancelElicitations() {
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Want.Open() {
			c.Want = c.Want.unanswered()
		}
	}
}

func (s Session) wanted(e Entry, ev Wanted) Session {
	i := s.Turn.Find(ev.Call)
	if i < 0 || ev.Ask == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if c.Status != Running || c.Run != ev.Run || c.Want.Open() || slices.Contains(c.Asks, ev.Ask) || s.Turn.Stopped != nil {
		return s
	}
	if c.Want != nil && c.Want.Ask == ev.Ask {
		return s // it was answered: the same once more is not asked once more
	}
	return s.edit(func(t *Turn) {
		w := &Wanting{Ask: ev.Ask, Want: ev.Want, At: e.At}
		if ev.Wait > 0 {
			w.Deadline = e.At.Add(ev.Wait)
		}
		t.Calls[i].Want = w
	})
}

// filled takes the requester's answer, and nobody else's: what a server asks of one person only that person can say.
func (s Session) filled(e Entry, ev Filled) Session {
	i := s.Turn.Wanting(ev.Ask)
	if i < 0 || ev.By.IsZero() || ev.By != s.Turn.Requester {
		return s
	}
	w := *s.Turn.Calls[i].Want
	if !w.Deadline.IsZero() && !e.At.Before(w.Deadline) {
		return s
	}
	if ev.Fill.Action != FillAccept {
		ev.Fill = Fill{Action: FillDecline}
	}
	w.Fill, w.By, w.Name = &ev.Fill, ev.By, ev.Name
	return s.edit(func(t *Turn) { t.Calls[i].Want = &w })
}

// unfilled settles a want whose deadline has come.
func (s Session) unfilled(e Entry, i int) Session {
	w := *s.Turn.Calls[i].Want
	if w.Deadline.IsZero() || e.At.Before(w.Deadline) {
		return s
	}
	return s.edit(func(t *Turn) { t.Calls[i].Want = w.unanswered() })
}
