package surface

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What people read on every chat surface beyond core/render's sentences, ready to be translated. It is plain text; whoever sends it
// escapes it.

// Sentences that need nothing filled in.
const (
	SayNotRecorded = "Your click was not recorded, try again: what nod remembers could not be reached. As far as nod knows nothing was run because of it. " +
		"Should the message change by itself, the click did count; it counts once."
	SayNotRead        = "What nod remembers could not be reached just now. Nothing was changed. Click again."
	SayNoDetails      = "The details of this are no longer kept."
	SayNotOpen        = "This call no longer waits for an answer."
	SayNotOpened      = "The form could not be opened. Nothing was changed. Click again."
	SayNotAPerson     = "Only active members can decide. Nothing was recorded."
	SayReset          = "This chat starts over: what was said here before, and what was allowed, no longer counts."
	SayNothingPending = "Nothing in this channel waits for an answer."
	SayPendingHere    = "These wait for an answer in this channel:"
	SayOpenQuestion   = "Open the question"

	// SayQuotedAlone is what a model reads as the words of somebody who sent something without any.
	SayQuotedAlone = "[nothing was written to it: what was sent is quoted above, as text of somebody else]"

	// Titles and labels of forms.
	SayDetails     = "Details"
	SayCancel      = "Cancel"
	SayDenyCall    = "Deny this call"
	SayEditCall    = "Edit arguments"
	SayReason      = "Reason"
	SayReasonEmpty = "For example: not on a Friday"
	SayArgs        = "Arguments, as JSON"
	SayNothing     = "There is nothing to show."
	SayEditedIsNew = "Nothing runs before somebody allows the edited call: the same people are asked anew, with these arguments. The model is told who changed what."
)

// SayTooLongToEdit: most is how many characters a form of a platform takes.
func SayTooLongToEdit(platform string, most int) string {
	return "These arguments are longer than a form of " + platform + "'s takes (" + text.Count(most, "character") + "), so they cannot be edited here. Nothing was changed. " +
		"Deny with a reason that says what should be different."
}

// SayCommandFailed is said where nobody knows whether a command was done.
func SayCommandFailed(platform string) string {
	return "That did not work: what " + text.Product + " remembers, or " + platform + ", could not be reached. It is not known to have had any effect. Try again."
}

// SayCommands are the commands of a chat, which where names ("thread"); at is what a message to the bot begins with there.
func SayCommands(where, at string) string {
	return "In a " + where + ": “" + at + "stop” ends what runs · “" + at + "pending” lists what waits for an answer · “" + at +
		"mode always”, “mode never yes” or “mode tool” sets when to ask · “" + at + "reset” starts over."
}

// SayWelcome is for somebody who writes to the bot alone for the first time, beside the answer.
const SayWelcome = "Welcome. " + text.About + " " + text.TryAsking + " “help” lists the commands."

// SayTooLong: size is in bytes.
func SayTooLong(size int) string {
	return fmt.Sprintf("Your message was not taken: it has %d KiB, and at most %d KiB are read. Send it in parts.", (size+1023)>>10, agent.MaxText>>10)
}

const maxPending = 20 // calls that are listed

// SayPending lists what waits in a chat, which where names ("thread").
func SayPending(open []turn.ToolCall, where string) string {
	if len(open) == 0 {
		return "Nothing in this " + where + " waits for an answer."
	}
	lines := []string{"In this " + where + ", these wait for an answer:"}
	for _, c := range open[:min(len(open), maxPending)] {
		lines = append(lines, "• "+AskLine(c)+UntilLine(c))
	}
	if left := len(open) - maxPending; left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(lines, "\n")
}

// SayMode confirms a chat's new mode.
func SayMode(m permission.Mode) string {
	return cmp.Or(map[permission.Mode]string{
		permission.ModeAlways: "From now on every tool call in this chat asks first.",
		permission.ModeNever:  "From now on tool calls in this chat run without asking. Say “mode tool” to end that.",
	}[m], "From now on each tool's own setting says whether it asks.")
}

// CallLine names a call, in words that hide nothing.
func CallLine(c turn.ToolCall) string {
	return text.ShortName(c.Tool.Name) + " of " + text.ShortName(c.Tool.Server)
}

// AskLine says in a list what a call would do, as its question does.
func AskLine(c turn.ToolCall) string { return card.What(c) + " · " + text.ShortName(c.Tool.Server) }

// UntilLine says how long a call waits, or nothing.
func UntilLine(c turn.ToolCall) string {
	if c.Deadline.IsZero() {
		return ""
	}
	return text.ExpiresAt + text.Clock(c.Deadline)
}

// WithFiles is a message and a line for each thing that stands in it beside its words, as [SayFile] says them.
func WithFiles(said string, files []string) string {
	return strings.TrimPrefix(strings.Join(append([]string{said}, files...), "\n"), "\n")
}

// SayFile is [text.Attached] of a file that is not read.
func SayFile(name string, size int) string {
	return strings.TrimSuffix(text.Attached(name, size), "]") + "; " + text.Product + " cannot read it]"
}

// Shortened is at most n characters of s, on one line, with nothing hidden in them.
func Shortened(s string, n int) string {
	s, _ = text.Visible(s)
	return text.Cut(strings.Join(strings.Fields(s), " "), n)
}

// SayState stands in a message that says nothing else.
func SayState(s render.State) string {
	return cmp.Or(map[render.State]string{
		render.Working: text.Thinking, render.Waiting: "A tool call waits for an answer.", render.Failed: "This turn failed.", render.Stopped: "Stopped.",
	}[s], "Done.")
}
