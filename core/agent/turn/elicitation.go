package turn

import (
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// WantKind is what a server wants of a person while one of its tools runs.
type WantKind string

// The kinds. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
// Logs may hold "sample", too, from when a server could ask the model: nobody can answer that any more, only decline it.
const (
	WantForm WantKind = "form" // a few values
	WantURL  WantKind = "url"  // that a page is opened
)

// Want is what a server wants. All of it is untrusted.
type Want struct {
	Kind    WantKind        `json:"kind"`
	Message string          `json:"message,omitempty"`
	Fields  []FormField     `json:"fields,omitempty"` // with WantForm
	URL     string          `json:"url,omitempty"`    // with WantURL
	Prompt  json.RawMessage `json:"prompt,omitempty"` // with "sample": what the model was to read
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
