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

// What to do about errors of Slack's, for the log and the doctor, and for whoever wrote where the bot cannot answer.

const reinstall = "reinstall the app in the workspace, and give its Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN"

// TokenAdvice is what to do about the errors of auth.test that no waiting mends. https://docs.slack.dev/reference/methods/auth.test lists
// these.
var TokenAdvice = map[string]string{ //nolint:gosec // words about tokens, none of them one
	"not_authed":              "no token arrived; give the app's Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN",
	"invalid_auth":            "it is not a token of this app, or this network is not allowed; copy the Bot User OAuth Token (xoxb-…) from the app's \"OAuth & Permissions\" page to SLACK_BOT_TOKEN, and look at the app's allowed IP ranges",
	"account_inactive":        "the app was removed from the workspace, or the workspace is gone; " + reinstall,
	"token_revoked":           "it was revoked; " + reinstall,
	"token_expired":           "it has expired; " + reinstall + ", with token rotation turned off",
	"not_allowed_token_type":  "it is of the wrong kind; give the Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN and the App-Level Token (xapp-…) as SLACK_APP_TOKEN",
	"org_login_required":      "the workspace is being moved to another organisation; wait until that is done, then start again",
	"team_access_not_granted": "the app was not granted this workspace; ask an organisation admin to approve it, then " + reinstall,
	"ekm_access_denied":       "the organisation's admins have suspended it; ask them",
}

// AppTokenAdvice is the same for the app token. https://docs.slack.dev/reference/methods/apps.connections.open
var AppTokenAdvice = map[string]string{
	"invalid_auth":           "it is no token of an app; generate an App-Level Token (xapp-…) with the scope connections:write on the app's page Basic Information",
	"not_authed":             "no token arrived",
	"not_allowed_token_type": "this is another kind of token; generate an App-Level Token (xapp-…) with the scope connections:write on the app's page Basic Information",
	"missing_scope":          "its scope connections:write is missing; generate another with it on the app's page Basic Information",
	"no_permission":          "its scope connections:write is missing; generate another with it on the app's page Basic Information",
	"token_revoked":          "it was revoked; generate another on the app's page Basic Information",
	"account_inactive":       "the app is no more, or is not installed",
	"forbidden_team":         "the app is not installed in this workspace",
}

const (
	askAdmins = "ask somebody who manages the channel to let the app post there, or ask me in another one"
	inviteMe  = "write /invite and my name there, and ask again"
)

// placeAdvice are the refusals of a place, with what whoever wrote to the bot there can do. https://docs.slack.dev/reference/methods/chat.postMessage#errors
var placeAdvice = map[string]string{
	"not_in_channel":                           "I am no member of that channel: " + inviteMe + ".",
	"is_archived":                              "the channel is archived. Ask me in another one.",
	"restricted_action":                        "only some may post in that channel: " + askAdmins + ".",
	"restricted_action_read_only_channel":      "the channel is read-only: " + askAdmins + ".",
	"restricted_action_thread_only_channel":    "new messages are not allowed in that channel: " + askAdmins + ".",
	"restricted_action_non_threadable_channel": "threads are not allowed in that channel: " + askAdmins + ".",
	"restricted_action_thread_locked":          "the thread is locked: ask me in another one.",
	"channel_not_found":                        "I cannot see that channel. If it is private, " + inviteMe + ".",
	"cannot_reply_to_message":                  "that message takes no replies. Ask me in a message of its own.",
}
