package surface

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent"
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
	SayNoIcon         = "⚙" // stands for a server without a picture

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
		lines = append(lines, "• "+CallLine(c)+UntilLine(c))
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

// UntilLine says how long a call waits, or nothing.
func UntilLine(c turn.ToolCall) string {
	if c.Deadline.IsZero() {
		return ""
	}
	return " · expires " + text.Clock(c.Deadline)
}

// WithFiles is a message and the names of what was attached: nod does not read files, and a model that does not know of them
// would answer beside the point.
func WithFiles(said string, names []string) string {
	for _, n := range names {
		if said != "" {
			said += "\n"
		}
		said += "[attached file, not readable for " + text.Product + ": " + Shortened(n, 100) + "]"
	}
	return said
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

// SayArguments is the line above the arguments: "Arguments (2) · 412 characters".
func SayArguments(a render.Args) string {
	s := "Arguments"
	if n := len(a.Rows); n > 0 {
		s += " (" + text.Number(n) + ")"
	}
	return s + " · " + text.Count(a.Chars, "character")
}

// Arguments that are shown without opening anything.
const (
	maxRows      = 10
	maxRowsText  = 600 // characters
	maxRowsLines = 24
)

// RowsText is short arguments, one a line, but for text of several lines, which stands as lines. It is empty where they are long, or
// not all there.
func RowsText(a render.Args) string {
	if len(a.Rows) == 0 || len(a.Rows) > maxRows || a.Hidden > 0 {
		return ""
	}
	var rows []string
	for _, r := range a.Rows {
		if r.Hidden > 0 {
			return ""
		}
		rows = append(rows, text.Prose(r.Name)+": "+text.Prose(r.Value))
	}
	text := strings.Join(rows, "\n")
	if Width(text)-len(rows)+1 > maxRowsText || strings.Count(text, "\n") >= maxRowsLines {
		return ""
	}
	return text
}

// SayServer is what the operator says about a server.
func SayServer(s render.Server) string {
	if s.Trusted {
		return s.Name + ", marked as trusted"
	}
	return s.Name + ", not marked as trusted"
}
