package components

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// What people read on Discord's messages and forms beyond core/render's and package surface's sentences, ready to be translated.

const (
	sayMore     = "More…"                                      // placeholder of a select
	sayArgsAnew = "JSON. Nothing runs before it is asked anew" // label of an input: at most 45 characters

	sayDone        = "Done"
	sayOpenAddress = "Open the address"
	sayOpenAgain   = "Open the form again"
	sayLeadsTo     = "It leads to: "
	sayNoButton    = "No button leads there: the address is too long for one, hides something, or is none of the web's. Copy it only if you trust it."
	sayValue       = "Value"
	sayNothingHere = "There is nothing here."
	sayViews       = "Show…"
	sayPrevious    = "← Previous"
	sayNext        = "Next →"
	sayContinue    = "Continue"
	sayAsks        = " asks:"   // above a question that somebody asked with a command
	saySomebody    = "Somebody" // who has no name
)

// sayInFile stands where a part of the details is too long for a message.
func sayInFile(name string, size int) string {
	return "In full in the file " + name + " below: " + text.Count(size, "character") + "."
}

// sayAllInFile stands where the details are too long for a message.
func sayAllInFile(name string, parts []string) string {
	s := "Everything is in the file " + name + " below"
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, " · ")
	}
	return s + "."
}

// sayFileCut ends a file that would be larger than Discord takes.
func sayFileCut(left int) string { return "… " + text.Count(left, "more byte") }

// Titles of forms. They say which call is meant, as far as there is room: at most 45 characters.

func sayDenyTitle(what string) string { return titled("Deny", surface.SayDenyCall, what) }

func sayEditTitle(what string) string { return titled("Edit", surface.SayEditCall, what) }

func titled(verb, alone, what string) string {
	if what = strings.TrimSpace(surface.OneLine(what)); what == "" {
		return alone
	}
	return verb + ": " + what
}

func sayElicitationTitle(server string) string { return "Answer for " + server }

// sayField is the hint in an input: what kind of value it takes.
func sayField(f turn.FormField) string {
	var kind string
	switch {
	case len(f.Options) > 0 && f.Many:
		kind = "One a line of: " + strings.Join(f.Options, ", ")
	case len(f.Options) > 0:
		kind = "One of: " + strings.Join(f.Options, ", ")
	case f.Type == "boolean":
		kind = "true or false"
	case f.Type == "integer":
		kind = "A whole number" + between(f)
	case f.Type == "number":
		kind = "A number" + between(f)
	case f.Format != "":
		kind = map[string]string{"email": "An e-mail address", "uri": "An address, such as https://example.com", "date": "A date, such as 2026-11-21",
			"date-time": "A time, such as 2026-11-21T14:02:00Z"}[f.Format]
	}
	if kind == "" {
		return f.Description
	}
	if f.Description != "" {
		kind += ". " + f.Description
	}
	return kind
}

func between(f turn.FormField) string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case f.Min != nil && f.Max != nil:
		return " from " + num(*f.Min) + " to " + num(*f.Max)
	case f.Min != nil:
		return ", at least " + num(*f.Min)
	case f.Max != nil:
		return ", at most " + num(*f.Max)
	}
	return ""
}

// sayRows says which part of a long panel is shown.
func sayRows(from, to, of int) string {
	return text.Number(from) + "–" + text.Number(to) + " of " + text.Number(of)
}

func sayMoreChats(n int) string {
	if n == 1 {
		return "… and what waits in one more chat"
	}
	return fmt.Sprintf("… and what waits in %d more chats", n)
}
