package slack

import (
	"strings"

	"github.com/nodhq/nod/core/render"
)

// What people read on Slack's messages and modals beyond core/render's sentences, ready to be translated.

const (
	sayOpenQuestion = "Open the question"
	sayNoIcon       = "⚙" // stands for a server without a picture

	sayDetails  = "Details" // titles of modals: at most 24 characters
	sayDenyCall = "Deny this call"
	sayEditCall = "Edit arguments"
	sayClose    = "Close"
	sayCancel   = "Cancel"
	sayDeny     = "Deny"
	sayAskAnew  = "Ask with these"
	sayNext     = "Next"
	sayPrevious = "Previous"
	sayNothing  = "There is nothing to show."

	sayReason      = "Reason"
	sayReasonHint  = "The model reads it. People see it in the message."
	sayReasonEmpty = "For example: not on a Friday"
	sayArgs        = "Arguments, as JSON"
	sayArgsHint    = "They are checked against what the tool takes."
	sayEditedIsNew = "Nothing runs before somebody allows the edited call: the same people are asked anew, with these arguments. The model is told who changed what."
)

// sayState stands in a message that says nothing else.
func sayState(s render.State) string {
	switch s {
	case render.Working:
		return render.Thinking
	case render.Waiting:
		return "A tool call waits for an answer."
	case render.Failed:
		return "This turn failed."
	case render.Stopped:
		return "Stopped."
	case render.Done:
	}
	return "Done."
}

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

// sayArguments is the line that opens the arguments: "Arguments (2) · 412 characters".
func sayArguments(a render.Args) string {
	s := "Arguments"
	if n := len(a.Rows); n > 0 {
		s += " (" + render.Number(n) + ")"
	}
	return s + " · " + render.Count(a.Chars, "character")
}

// sayServer is what the operator says about a server.
func sayServer(s render.Server) string {
	if s.Trusted {
		return s.Name + ", marked as trusted"
	}
	return s.Name + ", not marked as trusted"
}

func sayIcon(s render.Server) string { return "Icon of " + atMost(oneLine(s.Name), 100) }

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
