// Package form reads what a person typed into the form of an elicitation: what a tool's server asks the requester for while its tool runs.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
//
// [Content] makes the object that the server gets, or a [FieldError] with a sentence for the person who filled it in. The fields are
// the server's, declared in package turn, and untrusted. The package is pure; it imports turn for the fields and render to show names plainly.
//
// A new type or format of the protocol goes into [value], with the sentence for what does not fit it.
package form

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// Content is a filled-in form as the protocol has it: an object of the fields that were given. The error names the field, for the person
// who filled it in. It is nil for what has no form.
func Content(w turn.Want, given map[string]string) (json.RawMessage, error) {
	if w.Kind != turn.WantForm {
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
		v, err := value(f, text)
		if err != nil {
			return nil, err
		}
		out[f.Name] = v
	}
	return json.Marshal(out)
}

// FieldError says what is wrong with one value of a form.
type FieldError struct {
	Field turn.FormField
	Say   string
}

func (e *FieldError) Error() string { return Name(e.Field) + " " + e.Say + "." }

// Name is what people call the field.
func Name(f turn.FormField) string {
	if f.Title != "" {
		return text.Inline(f.Title)
	}
	return text.Inline(f.Name)
}

func value(f turn.FormField, entered string) (any, error) {
	bad := func(say string) (any, error) { return nil, &FieldError{f, say} }
	if len(f.Options) > 0 {
		var chosen []string
		for line := range strings.Lines(entered) {
			line = strings.TrimSpace(line)
			if !slices.Contains(f.Options, line) {
				return bad("has to be one of " + text.Clip(strings.Join(f.Options, ", "), 200))
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
		switch strings.ToLower(entered) {
		case "true", "yes":
			return true, nil
		case "false", "no":
			return false, nil
		}
		return bad("has to be true or false")
	case "number", "integer":
		n, err := strconv.ParseFloat(entered, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || f.Type == "integer" && n != math.Trunc(n) {
			return bad("has to be a " + map[string]string{"number": "number", "integer": "whole number"}[f.Type])
		}
		if f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
			return bad("has to be " + bounds(f, "", ""))
		}
		if !json.Valid([]byte(entered)) { // +5, .5 and 007 are numbers to people, and none to JSON
			entered = strconv.FormatFloat(n, 'f', -1, 64)
		}
		return json.Number(entered), nil
	}
	if n := float64(utf8.RuneCountInString(entered)); f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
		return bad("has to have " + bounds(f, "", " characters"))
	}
	switch f.Format {
	case "email":
		if name, host, _ := strings.Cut(entered, "@"); name == "" || !strings.Contains(host, ".") || strings.ContainsAny(entered, " \t\n<>,") || strings.Contains(host, "@") {
			return bad("has to be an e-mail address")
		}
	case "uri":
		if u, err := url.Parse(entered); err != nil || u.Scheme == "" {
			return bad("has to be an address, such as https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, entered); err != nil {
			return bad("has to be a date as 2026-11-21")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, entered); err != nil {
			return bad("has to be a time as 2026-11-21T14:02:00Z")
		}
	}
	return entered, nil
}

func bounds(f turn.FormField, before, after string) string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case f.Min != nil && f.Max != nil:
		return before + num(*f.Min) + " to " + num(*f.Max) + after
	case f.Min != nil:
		return before + "at least " + num(*f.Min) + after
	}
	return before + "at most " + num(*f.Max) + after
}
