package turn

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// wanting is the index of the call whose server's open want is id, or -1. Only a call that runs has one: what ends a run, and Stop, end it.
func (t *Turn) wanting(id AskID) int {
	if t == nil {
		return -1
	}
	return slices.IndexFunc(t.Calls, func(c ToolCall) bool { return c.Want.Open() && c.Want.Ask == id })
}

// unwant ends what is open: nobody is asked for anything after Stop.
func (t *Turn) unwant() {
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Want.Open() {
			c.Want = c.Want.unanswered()
		}
	}
}

// Wants finds the open want of an asking.
func Wants(s Session, id AskID) (ToolCall, bool) {
	if i := s.Turn.wanting(id); i >= 0 {
		return s.Turn.Calls[i], true
	}
	return ToolCall{}, false
}

func (s Session) wanted(e Entry, ev Wanted) Session {
	i := s.Turn.find(ev.Call)
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
	i := s.Turn.wanting(ev.Ask)
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

// Content is a filled-in form as the protocol has it: an object of the fields that were given. The error names the field, for the person
// who filled it in. It is nil for what has no form.
func Content(w Want, given map[string]string) (json.RawMessage, error) {
	if w.Kind != WantForm {
		return nil, nil
	}
	out := map[string]any{}
	for _, f := range w.Fields {
		text := strings.TrimSpace(given[f.Name])
		if text == "" {
			if f.Required {
				return nil, &FieldError{f, "is needed"}
			}
			continue
		}
		v, err := f.value(text)
		if err != nil {
			return nil, err
		}
		out[f.Name] = v
	}
	return json.Marshal(out)
}

// FieldError says what is wrong with one value of a form.
type FieldError struct {
	Field FormField
	Say   string
}

func (e *FieldError) Error() string { return e.Field.Called() + " " + e.Say + "." }

// Called is what people call the field.
func (f FormField) Called() string {
	if f.Title != "" {
		return seen(f.Title)
	}
	return seen(f.Name)
}

func (f FormField) value(text string) (any, error) {
	bad := func(say string) (any, error) { return nil, &FieldError{f, say} }
	if len(f.Options) > 0 {
		var chosen []string
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !slices.Contains(f.Options, line) {
				return bad("has to be one of " + clip(strings.Join(f.Options, ", "), 200))
			}
			chosen = append(chosen, line)
		}
		if f.Many {
			return chosen, nil
		}
		if len(chosen) != 1 {
			return bad("takes one answer")
		}
		return chosen[0], nil
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes":
			return true, nil
		case "false", "no":
			return false, nil
		}
		return bad("has to be true or false")
	case "number", "integer":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || f.Type == "integer" && n != math.Trunc(n) {
			return bad("has to be a " + map[string]string{"number": "number", "integer": "whole number"}[f.Type])
		}
		if f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
			return bad("has to be " + f.bounds("", ""))
		}
		if !json.Valid([]byte(text)) { // +5, .5 and 007 are numbers to people, and none to JSON
			text = strconv.FormatFloat(n, 'f', -1, 64)
		}
		return json.Number(text), nil
	}
	if n := float64(utf8.RuneCountInString(text)); f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
		return bad("has to have " + f.bounds("", " characters"))
	}
	switch f.Format {
	case "email":
		if name, host, _ := strings.Cut(text, "@"); name == "" || !strings.Contains(host, ".") || strings.ContainsAny(text, " \t\n<>,") || strings.Contains(host, "@") {
			return bad("has to be an e-mail address")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return bad("has to be an address, such as https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return bad("has to be a date as 2026-11-21")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return bad("has to be a time as 2026-11-21T14:02:00Z")
		}
	}
	return text, nil
}

func (f FormField) bounds(before, after string) string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case f.Min != nil && f.Max != nil:
		return before + num(*f.Min) + " to " + num(*f.Max) + after
	case f.Min != nil:
		return before + "at least " + num(*f.Min) + after
	}
	return before + "at most " + num(*f.Max) + after
}
