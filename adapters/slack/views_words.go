package slack

import (
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// What people read on Slack's messages and modals beyond core/render's sentences, ready to be translated.

const (
	sayClose    = "Close"
	sayCancel   = "Cancel"
	sayDeny     = "Deny"
	sayAskAnew  = "Ask with these"
	sayNext     = "Next"
	sayPrevious = "Previous"

	sayReasonHint = "The model reads it. People see it in the message."
	sayArgsHint   = "They are checked against what the tool takes."
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
			order[i] = render.Number(n[word]) + " " + word
		}
	}
	return render.Count(len(run), "step") + ": " + strings.Join(order, ", ")
}

func sayIcon(s render.Server) string { return "Icon of " + surface.AtMost(oneLine(s.Name), 100) }

// sayMoreAsks ends a notification about the first of several questions.
func sayMoreAsks(n int) string {
	if n == 1 {
		return " (1 more call waits)"
	}
	return " (" + render.Number(n) + " more calls wait)"
}

func sayPage(page, of int) string {
	return "Page " + render.Number(page) + " of " + render.Number(of)
}

// sayGoesOn heads a part that began on an earlier page, or above.
func sayGoesOn(name string) string { return name + " (continued)" }
