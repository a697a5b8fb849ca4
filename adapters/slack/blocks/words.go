package blocks

import (
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What people read on Slack's messages and modals beyond core/render's sentences, ready to be translated.

const (
	sayClose    = "Close"
	sayDeny     = "Deny"
	sayAskAnew  = "Ask with these"
	sayNext     = "Next"
	sayPrevious = "Previous"

	sayReasonHint = "The model reads it. People see it in the message."
	sayArgsHint   = "They are checked against what the tool takes."

	sayOpenPanel   = "Open the settings"
	SaySettings    = "Settings"
	sayAllowMore   = "More ways to allow…"
	sayConfirm     = "Are you sure?"
	sayAnswer      = "Answer"
	saySend        = "Send"
	saySave        = "Save"
	sayYes         = "Yes"
	sayNo          = "No"
	sayChoose      = "Choose…"
	sayVisit       = "Open this address"
	sayVisited     = "I am done there"
	sayNotNow      = "Not now"
	sayLeadsTo     = "It leads to "
	sayNoWords     = "There is nothing to tell."
	sayNotDrawn    = "This cannot be shown here. Use “/" + text.Product + " permissions …” in words, or the web page."
	sayUnencrypted = "What you send there is not encrypted (http)."
)

// sayPlan sums up a run of tool calls: "3 steps: 2 done, 1 denied". A plan may be drawn closed.
func sayPlan(run []render.Step) string {
	n := map[string]int{}
	var order []string
	for _, s := range run {
		word := render.MarkWord(s.State)
		if n[word]++; n[word] == 1 {
			order = append(order, word)
		}
	}
	for i, word := range order {
		if len(run) > 1 {
			order[i] = text.Number(n[word]) + " " + word
		}
	}
	return text.Count(len(run), "step") + ": " + strings.Join(order, ", ")
}

func sayIcon(server string) string {
	return "Icon of " + surface.AtMost(surface.OneLine(server), 100)
}

func sayMoreAsks(n int) string {
	if n == 1 {
		return " (1 more call waits)"
	}
	return " (" + text.Number(n) + " more calls wait)"
}

func sayPage(page, of int) string {
	return "Page " + text.Number(page) + " of " + text.Number(of)
}

func sayGoesOn(name string) string { return name + " (continued)" }

func sayOpenTab(label string) string { return "▸ " + label }

func sayMoreLines(n int) string {
	return "… and " + text.Count(n, "more line") + ": open the settings to see them all."
}
