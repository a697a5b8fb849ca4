package slack

import (
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// What only one person reads: answers to clicks, commands and messages that were not taken. They are plain text; whoever sends
// them escapes them.

const (
	botName = render.Product

	sayNotRecorded = "Your click was not recorded, try again: what nod remembers could not be reached. As far as nod knows nothing was run because of it. " +
		"Should the message change by itself, the click did count; it counts once."
	sayNotRead       = "What nod remembers could not be reached just now. Nothing was changed. Click again."
	sayNoDetails     = "The details of this are no longer kept."
	sayNotOpen       = "This call no longer waits for an answer."
	sayTooLongToEdit = "These arguments are longer than a form of Slack's takes (3,000 characters), so they cannot be edited here. Nothing was changed. " +
		"Deny with a reason that says what should be different."
	sayWindowClosed = "Slack closed the window for opening this form. Click again."
	sayNotOpened    = "The form could not be opened. Nothing was changed. Click again."
	sayNoPlace      = "It is not known which message this belongs to. Nothing was recorded. Use the buttons of the message in its thread."

	sayWhoUnknown = "Slack did not say who you are just now, so nothing was recorded. Try again."
	sayNotAPerson = "Only active members can decide. Nothing was recorded."
	sayGuest      = "Guests of this workspace cannot decide here. Nothing was recorded. Ask a member of the workspace."
	sayExternal   = "People of other organisations cannot decide here. Nothing was recorded. Ask a member of this workspace."

	sayReset          = "This chat starts over: what was said here before, and what was allowed, no longer counts."
	sayCommandFailed  = "That did not work: what nod remembers, or Slack, could not be reached. It is not known to have had any effect. Try again."
	sayNothingPending = "Nothing in this channel waits for an answer."
	sayPendingHere    = "These wait for an answer in this channel:"
	sayStopped        = "Stopping the turn in"
	sayThatThread     = "this thread"
)

func sayHelp(direct bool) string {
	mention := "@" + botName + " "
	first := "Mention " + strings.TrimSpace(mention) + " with what you want, here or in a thread: each thread is one chat."
	if direct {
		mention, first = "", "Write what you want: each thread is one chat."
	}
	return first + " Tools that need permission ask in the thread.\n" +
		"In a thread: “" + mention + "stop” ends what runs · “" + mention + "pending” lists what waits for an answer · “" +
		mention + "mode always”, “mode never” or “mode tool” sets when to ask · “" + mention + "reset” starts over.\n" +
		"Anywhere: “/" + botName + " pending” lists what waits in the channel."
}

func sayTooLong(size int) string {
	return fmt.Sprintf("Your message was not taken: it has %d KiB, and at most %d KiB are read. Send it in parts.", (size+1023)>>10, agent.MaxText>>10)
}

func sayPending(open []turn.ToolCall) string {
	if len(open) == 0 {
		return "Nothing in this thread waits for an answer."
	}
	lines := []string{"In this thread, these wait for an answer:"}
	for i, c := range open {
		if i == 20 {
			lines = append(lines, fmt.Sprintf("and %d more", len(open)-i))
			break
		}
		lines = append(lines, "• "+callLine(c)+untilLine(c))
	}
	return strings.Join(lines, "\n")
}

func sayMode(m permission.Mode) string {
	switch m {
	case permission.ModeAlways:
		return "From now on every tool call in this chat asks first."
	case permission.ModeNever:
		return "From now on tool calls in this chat run without asking. Say “mode tool” to end that."
	}
	return "From now on each tool's own setting says whether it asks."
}

func sayMoreChats(n int) string {
	return fmt.Sprintf("… and what waits in %d more threads", n)
}

func sayStopInThread(mine int) string {
	what := "Nothing of yours waits for an answer in this channel."
	if mine > 1 {
		what = fmt.Sprintf("%d of your turns wait for an answer in this channel.", mine)
	}
	return what + " A slash command does not say which thread is meant: write “@" + botName + " stop” in the thread that should stop."
}

func sayInThread(verb string) string {
	return "A slash command does not say which thread is meant: write “@" + botName + " " + verb + "” in the thread. Nothing was changed."
}

func sayUnknownCommand(text string) string { return "There is no command “" + text + "”." }

// withFiles is a message and the names of what was attached: nod does not read files, and a model that does not know of them
// would answer beside the point.
func withFiles(text string, names []string) string {
	var b strings.Builder
	b.WriteString(text)
	for _, n := range names {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[attached file, not readable for " + botName + ": " + shortened(n, 100) + "]")
	}
	return b.String()
}

// shortened is at most n characters of s, on one line, with nothing hidden in them.
func shortened(s string, n int) string {
	s, _ = render.Visible(s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
