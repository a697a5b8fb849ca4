package slack

import (
	"fmt"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What only one person reads is plain text; whoever sends it escapes it.

const (
	botName = text.Product

	sayNotDrawn     = "Slack did not take what should stand there now. Nothing was changed. Click again."
	sayWindowClosed = "Slack closed the window for opening this form. Click again."
	sayNoPlace      = "It is not known which message this belongs to. Nothing was recorded. Use the buttons of the message in its thread."

	sayElsewhere      = "This is of another workspace, or of another app, than the one nod works for here. Nothing was recorded."
	sayOtherWorkspace = "You signed in to another workspace than the one nod works in. Sign in again, and choose that one."
	sayWhoUnknown     = "Slack did not say who you are just now, so nothing was recorded. Try again."
	sayGuest          = "Guests of this workspace cannot decide here. Nothing was recorded. Ask a member of the workspace."
	sayExternal       = "People of other organisations cannot decide here. Nothing was recorded. Ask a member of this workspace."

	sayMembersOnly = botName + " answers only members of this workspace. Nothing was recorded."

	sayRecorded   = "Recorded."
	sayTryAgain   = "Try again"
	sayWasChanged = "This is not offered any more. What you see is how it is now."
	sayNoAddress  = "The server asks for something to be opened that is no plain web address, hides characters, or is longer than a button of Slack's takes. " +
		"It is not shown as a link. Decline it."
	sayFormTooLong = "This form has more fields than a form of Slack's takes (90). Nothing was sent. Decline it."
	sayFillTooLong = "What stands there is longer than a form of Slack's takes (3,000 characters), so it cannot be changed here. Nothing was changed."
	sayNotSaved    = "It is not known whether that was recorded: what nod remembers could not be reached. Look at how it stands now, and try again."
	sayNoPanel     = "The settings could not be read just now. Nothing was changed. Try again."

	sayStopped    = "Stopping the turn in"
	sayThatThread = "this thread"
)

func sayHelp(direct bool) string {
	mention := "@" + botName + " "
	first := "Mention " + strings.TrimSpace(mention) + " with what you want, here or in a thread: each thread is one chat."
	if direct {
		mention, first = "", "Write what you want: each thread is one chat."
	}
	return text.About + "\n" + first + " " + text.TryAsking + "\n" +
		surface.SayCommands("thread", mention) + "\n" +
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

func sayRated(c chat.Choice) string {
	k, _ := text.KindOf(c)
	return "Thank you. “" + k.Label + "” stands in the record for this answer; what you click last counts."
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
