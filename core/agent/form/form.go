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

// Content is a filled-in form as the protocol has it: an object of the fields that were given. It is nil for what has no form.
func Content(w turn.Elicitation, given map[string]string) (json.RawMessage, error) {
	if w.Kind != turn.ElicitationForm {
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
	switch {
	case len(f.Options) > 0:
		return choice(f, entered)
	case f.Type == "boolean":
		switch strings.ToLower(entered) {
		case "true", "yes":
			return true, nil
		case "false", "no":
			return false, nil
		}
		return nil, &FieldError{f, "has to be true or false"}
	case f.Type == "number" || f.Type == "integer":
		return number(f, entered)
	}
	if n := float64(utf8.RuneCountInString(entered)); outside(f, n) {
		return nil, &FieldError{f, "has to have " + bounds(f) + " characters"}
	}
	if format, known := formats[f.Format]; known && !format.fits(entered) {
		return nil, &FieldError{f, format.say}
	}
	return entered, nil
}

func choice(f turn.FormField, entered string) (any, error) {
	var chosen []string
	for line := range strings.Lines(entered) {
		line = strings.TrimSpace(line)
		if !slices.Contains(f.Options, line) {
			return nil, &FieldError{f, "has to be one of " + text.Clip(strings.Join(f.Options, ", "), 200)}
		}
		chosen = append(chosen, line)
	}
	switch {
	case f.Many:
		return chosen, nil
	case len(chosen) != 1:
		return nil, &FieldError{f, "takes one answer"}
	}
	return chosen[0], nil
}

func number(f turn.FormField, entered string) (any, error) {
	n, err := strconv.ParseFloat(entered, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || f.Type == "integer" && n != math.Trunc(n) {
		return nil, &FieldError{f, "has to be a " + map[string]string{"number": "number", "integer": "whole number"}[f.Type]}
	}
	if outside(f, n) {
		return nil, &FieldError{f, "has to be " + bounds(f)}
	}
	if !json.Valid([]byte(entered)) { // +5, .5 and 007 are numbers to people, and none to JSON
		entered = strconv.FormatFloat(n, 'f', -1, 64)
	}
	return json.Number(entered), nil
}

// formats are what a text can be asked to be, each with what is said of one that is not.
var formats = map[string]struct {
	fits func(string) bool
	say  string
}{
	"email": {func(s string) bool {
		name, host, _ := strings.Cut(s, "@")
		return name != "" && strings.Contains(host, ".") && !strings.ContainsAny(s, " \t\n<>,") && !strings.Contains(host, "@")
	}, "has to be an e-mail address"},
	"uri": {func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.Scheme != ""
	}, "has to be an address, such as https://example.com"},
	"date":      {isTime(time.DateOnly), "has to be a date as 2026-11-21"},
	"date-time": {isTime(time.RFC3339), "has to be a time as 2026-11-21T14:02:00Z"},
}

func isTime(layout string) func(string) bool {
	return func(s string) bool {
		_, err := time.Parse(layout, s)
		return err == nil
	}
}

func outside(f turn.FormField, n float64) bool {
	return f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max
}

func bounds(f turn.FormField) string {
	num := func(x *float64) string { return strconv.FormatFloat(*x, 'f', -1, 64) }
	switch {
	case f.Min != nil && f.Max != nil:
		return num(f.Min) + " to " + num(f.Max)
	case f.Min != nil:
		return "at least " + num(f.Min)
	}
	return "at most " + num(f.Max)
}
