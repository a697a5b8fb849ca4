package discord

import (
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
)

// What people read of settings, of questions for confirmation and of forms that servers want filled in, beside core/render's and
// package surface's sentences. It is plain text; whoever sends it escapes it.

const (
	sayCancel      = "Cancel"
	sayCancelled   = "Nothing was done."
	sayTaken       = "Recorded. The message in the chat shows what came of it."
	sayDone        = "Done"
	sayOpenAddress = "Open the address"
	sayOpenAgain   = "Open the form again"
	sayLeadsTo     = "It leads to: "
	sayNoButton    = "No button leads there: the address is too long for one, hides something, or is none of the web's. Copy it only if you trust it."
	sayValue       = "Value"

	sayNoSettings  = "Nothing can be set here: this " + render.Product + " runs without settings that people make."
	sayNotSet      = "That did not work: what " + render.Product + " remembers could not be reached. It is not known to have had any effect. Open the settings again and look."
	sayOldPanel    = "This panel is too old: open it again with “/" + render.Product + " permissions”."
	sayNotThere    = "You are not in the server that this is about. Nothing was done."
	sayActGone     = "This is not offered any more. Nothing was changed."
	sayNothingHere = "There is nothing here."
	sayViews       = "Show…"
	sayPrevious    = "← Previous"
	sayNext        = "Next →"
	sayContinue    = "Continue"
)

// sayManyFields: Discord's forms take five inputs, and one form cannot open another.
func sayManyFields(n int) string {
	return "This form has " + render.Count(n, "value") + ", and Discord's forms take at most " + strconv.Itoa(maxModalRows) + ": it cannot be filled in here. “" +
		render.LabelDecline + "” tells the server so. Nothing was sent."
}

func sayWantTitle(server string) string { return "Answer for " + server }

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
	return render.Number(from) + "–" + render.Number(to) + " of " + render.Number(of)
}
