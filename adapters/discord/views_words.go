package discord

import (
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// What people read on Discord's messages and forms beyond core/render's and package surface's sentences, ready to be translated.

const (
	sayMore     = "More…"                                      // placeholder of a select
	sayArgsAnew = "JSON. Nothing runs before it is asked anew" // label of an input: at most 45 characters
)

// sayMoreLines stands in a fence where n lines are left out. No line of JSON begins so.
func sayMoreLines(n int) string { return "… " + render.Count(n, "more line") + " …" }

// sayLines says how much of the arguments stands in a card.
func sayLines(shown, all int) string {
	return render.Number(shown) + " of " + render.Count(all, "line")
}

// sayInFile stands where a part of the details is too long for a message.
func sayInFile(name string, size int) string {
	return "In full in the file " + name + " below: " + render.Count(size, "character") + "."
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
func sayFileCut(left int) string { return "… " + render.Count(left, "more byte") }

// Titles of forms. They say which call is meant, as far as there is room: at most 45 characters.

func sayDenyTitle(what string) string { return titled("Deny", surface.SayDenyCall, what) }

func sayEditTitle(what string) string { return titled("Edit", surface.SayEditCall, what) }

func titled(verb, alone, what string) string {
	if what = strings.TrimSpace(oneLine(what)); what == "" {
		return alone
	}
	return verb + ": " + what
}
