package slack

import (
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/render"
)

// What only one person reads: answers to clicks, commands and messages that were not taken. They are plain text; whoever sends
// them escapes them.

const (
	botName = render.Product

	sayTooLongToEdit = "These arguments are longer than a form of Slack's takes (3,000 characters), so they cannot be edited here. Nothing was changed. " +
		"Deny with a reason that says what should be different."
	sayWindowClosed = "Slack closed the window for opening this form. Click again."
	sayNoPlace      = "It is not known which message this belongs to. Nothing was recorded. Use the buttons of the message in its thread."

	sayElsewhere  = "This is of another workspace, or of another app, than the one nod works for here. Nothing was recorded."
	sayWhoUnknown = "Slack did not say who you are just now, so nothing was recorded. Try again."
	sayGuest      = "Guests of this workspace cannot decide here. Nothing was recorded. Ask a member of the workspace."
	sayExternal   = "People of other organisations cannot decide here. Nothing was recorded. Ask a member of this workspace."

	sayCommandFailed = "That did not work: what nod remembers, or Slack, could not be reached. It is not known to have had any effect. Try again."
	// sayQuotedAlone is what a model reads as the words of somebody who sent something without any.
	sayQuotedAlone = "[nothing was written to it: what was sent is quoted above, as text of somebody else]"

	sayStopped    = "Stopping the turn in"
	sayThatThread = "this thread"
)

func sayHelp(direct bool) string {
	mention := "@" + botName + " "
	first := "Mention " + strings.TrimSpace(mention) + " with what you want, here or in a thread: each thread is one chat."
	if direct {
		mention, first = "", "Write what you want: each thread is one chat."
	}
	return first + " Tools that need permission ask in the thread.\n" +
		"In a thread: “" + mention + "stop” ends what runs · “" + mention + "pending” lists what waits for an answer · “" +
		mention + "mode always”, “mode never yes” or “mode tool” sets when to ask · “" + mention + "reset” starts over.\n" +
		"Anywhere: “/" + botName + " pending” lists what waits in the channel."
}

func saySettingsHelp(direct bool) string {
	mention := "@" + botName + " "
	if direct {
		mention = ""
	}
	return "“/" + botName + " permissions” opens the settings, as the Home tab does; “" + mention + "permissions” in a thread those of that thread. In words: “/" + botName +
		" why <server> <tool>”, “whoami”, “tools enable|disable …”, “permissions …”. “" + mention + "history” and “" + mention + "stats” in a thread are of that thread; “/" +
		botName + " history” and “stats” are of every chat, for admins."
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
