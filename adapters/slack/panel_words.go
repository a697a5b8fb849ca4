package slack

import "github.com/nodhq/nod/core/render"

// What people read on confirmations, on servers' forms, and around the panel, ready to be translated. It is plain text.

const (
	saySettings   = "Settings"
	sayAllowMore  = "More ways to allow…"
	sayConfirm    = "Are you sure?"
	sayAnswer     = "Answer"
	saySend       = "Send"
	saySave       = "Save"
	sayYes        = "Yes"
	sayNo         = "No"
	sayChoose     = "Choose…"
	sayVisit      = "Open this address"
	sayVisited    = "I am done there"
	sayNotNow     = "Not now"
	sayLeadsTo    = "It leads to "
	sayOpenPanel  = "Open the settings"
	sayTryAgain   = "Try again"
	sayNoWords    = "There is nothing to tell."
	sayNotDrawn   = "This cannot be shown here. Use “/" + botName + " permissions …” in words, or the web page."
	sayWasChanged = "This is not offered any more. What you see is how it is now."

	sayUnencrypted = "What you send there is not encrypted (http)."
	sayNoAddress   = "The server asks for something to be opened that is no plain web address, hides characters, or is longer than a button of Slack's takes. " +
		"It is not shown as a link. Decline it."
	sayFormTooLong = "This form has more fields than a form of Slack's takes (90). Nothing was sent. Decline it."
	sayFillTooLong = "What stands there is longer than a form of Slack's takes (3,000 characters), so it cannot be changed here. Nothing was changed."
	sayNotSaved    = "It is not known whether that was recorded: what nod remembers could not be reached. Look at how it stands now, and try again."
	sayNoPanel     = "The settings could not be read just now. Nothing was changed. Try again."
)

// sayOpenTab marks the tab that is open.
func sayOpenTab(label string) string { return "▸ " + label }

func sayMoreLines(n int) string {
	return "… and " + render.Count(n, "more line") + ": open the settings to see them all."
}
