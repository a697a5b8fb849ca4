package turn

import (
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// ElicitationKind is what a server wants of a person while one of its tools runs.
type ElicitationKind string

// The kinds. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
// Logs may hold "sample", too, from when a server could ask the model: nobody can answer that any more, only decline it.
const (
	ElicitationForm ElicitationKind = "form" // a few values
	ElicitationURL  ElicitationKind = "url"  // that a page is opened
)

// Elicitation is what a server wants. All of it is untrusted.
type Elicitation struct {
	Kind    ElicitationKind `json:"kind"`
	Message string          `json:"message,omitempty"`
	Fields  []FormField     `json:"fields,omitempty"` // with ElicitationForm
	URL     string          `json:"url,omitempty"`    // with ElicitationURL
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

// ElicitationState is an elicitation that waits, or that was answered.
type ElicitationState struct {
	Ask      AskID       `json:"ask"`
	Request  Elicitation `json:"want"`
	At       time.Time   `json:"at"`
	Deadline time.Time   `json:"deadline,omitzero"`
	Seen     *Showing    `json:"seen,omitempty"` // as a call's
	Fill     *Fill       `json:"fill,omitempty"` // nil: it waits
	By       chat.User   `json:"by,omitzero"`
	Name     string      `json:"name,omitempty"`
}

// Open reports whether it still waits for an answer.
func (w *ElicitationState) Open() bool { return w != nil && w.Fill == nil }

// unanswered is the elicitation when nobody answered it.
func (w ElicitationState) unanswered() *ElicitationState {
	w.Fill = &Fill{Action: FillCancel}
	return &w
}
