package text

import (
	"strings"
	"time"
)

// The sentences of the settings: of their panel, and of the commands around it. Names inside are untrusted text.

const PanelTitle = "Permissions"

// The tabs.
const (
	TabHome      = "Overview"
	TabGrants    = "Allowed"
	TabServers   = "Servers and tools"
	TabMine      = "My choices"
	TabTemplates = "Templates"
	TabHistory   = "History"
	TabStats     = "Statistics"
)

// Headings, what stands below them, and what stands where there is nothing.
const (
	PanelPending     = "Waiting for an answer"
	PanelPendingNote = "Read the whole question in its message, and answer it there."
	PanelPendingNone = "Nothing waits for you."
	PanelAbout       = "What " + Product + " does"
	PanelHere        = "This chat"
	PanelYou         = "You"
	PanelHalt        = "Emergency stop"
	PanelNews        = "To be looked at"

	PanelGrantsHere        = "Allowed in this chat"
	PanelGrantsChannel     = "Allowed in all chats of a channel"
	ChannelGrantsOff       = "An admin turned this off: it counts for nothing now."
	PanelGrantsElsewhere   = "Allowed in other chats"
	PanelNoGrants          = "Nothing is allowed in this chat beyond its settings."
	PanelNoGrantsElsewhere = "Nothing in other chats that concerns you."

	PanelMineNote = "They hold for what you ask yourself, in every chat, and for nobody else."
	PanelMineNone = "You told me to remember nothing."

	PanelNoServers      = "There is no server."
	PanelEverything     = "For everything"
	PanelTools          = "Tools"
	PanelNoTools        = "It offers no tools now."
	PanelServerSettings = "Settings of this server"
	PanelToolSettings   = "Settings of this tool"
	PanelOwnChoice      = "My own choice"
	PanelOwnNote        = "For what you ask yourself. It never takes the place of an admin."
	PanelWhy            = "What would happen to a call of yours now, and why"
	PanelInstallNote    = "What would hold for each tool, and why. Nothing that a server says of itself makes it less careful, until an admin believes it here."

	PanelTemplatesNote = "Settings for a common way of working. Nothing is changed before you saw what would be."
	PanelPreview       = "What would change"

	PanelNoHistory       = "Nothing is on record."
	PanelNoChat          = "This is about one chat, and it is not known which: in that chat, write the same after a mention, such as “@" + Product + " history”."
	PanelBlocked         = "Stopped most often"
	PanelNoBlocked       = "No tool was stopped."
	PanelSuggestions     = "What the numbers speak for"
	PanelSuggestionsNote = "Nothing of this is ever done by itself."
	PanelNoSuggestions   = "Nothing: there are too few numbers, or they speak for what is set."
)

// Labels of acts.
const (
	LabelMode        = "Mode"
	LabelHalt        = "Halt everything…"
	LabelResume      = "Resume"
	LabelLook        = "Look at them"
	LabelOpen        = "Open"
	LabelGoToMessage = "Go to the message"
	LabelRevokeAll   = "Revoke all here…"
	LabelRevokeMine  = "Revoke all of mine here…"
	LabelForget      = "Forget"
	LabelForgetAll   = "Forget all…"
	LabelUseDefault  = "Use the default"
	LabelTrust       = "Trust server…"
	LabelUndoTrust   = "Undo: trust it no more"
	LabelAccept      = "Accept as it is now"
	LabelEditTool    = "Edit"
	LabelPreview     = "Show what would change"
	LabelApply       = "Apply…"
	LabelFilter      = "Show only"
)

func LabelChange(field string) string { return "Change: " + field }

// ServersTab is TabServers with how many tools are new or changed, 0 for who need not know.
func ServersTab(news int) string {
	return TabServers + either(news == 0, "", " ("+Number(news)+" new)")
}

func RevokeHint(what string) string { return "Revoke: " + what }

// What has to be confirmed, and what is then done.
const (
	ConfirmNeverMode = "Let every tool call in this chat run without asking, until you change this or the chat starts over? " +
		StillAsks + " This is dangerous."
	ConfirmHalt = "Stop every turn in every chat at once, and let nothing run until an admin resumes it?"
	NowHalted   = "Halted: every turn is being stopped, and nothing runs until an admin resumes it."
	NowResumed  = "Resumed. What was stopped stays stopped; people can ask again."
)

func ConfirmRevokeAll(n int) string {
	return "Revoke " + Count(n, "permission") + " of this chat? What they covered asks again from now on."
}

func ConfirmForgetAll(n int) string {
	return "Forget " + Count(n, "choice") + " of yours? Denials are forgotten as well: what they kept away asks again."
}

// ConfirmTrust says what trusting a server means (R112).
func ConfirmTrust(server string, tools int) string {
	return "Trust " + server + "? Its " + Count(tools, "tool") + " are accepted as they are now and run without asking in every chat, for everybody, dangerous ones included, " +
		"where they have no setting of their own; what it says about its tools is believed. Tools that need an admin still ask, and so do tools that it adds or changes later. This is dangerous."
}

func ConfirmRemember(tool, server string) string {
	return "Allow " + ToolOf(tool, server) + " without asking whenever you ask for it yourself, in every chat, until you forget this or the tool changes?"
}

func ConfirmApply(title string, n int) string {
	return "Apply “" + title + "”? It changes " + Count(n, "setting") + " for everybody."
}

func ConfirmSuggestion(do, tool string) string {
	return either(do == "disable", "Disable "+tool+" for everybody?",
		"Let "+tool+" run without asking, in every chat, for everybody? This is dangerous.")
}

// ConfirmSetting is what has to be confirmed before a setting takes caution away, or "". server says that it is for all tools of one.
func ConfirmSetting(field, value, where string, server bool) string {
	switch field + " " + value {
	case "ask never":
		if server {
			return "Let calls of all tools of " + where + " that have no setting of their own run without asking, in every chat, for everybody? " +
				"Its tools are accepted as they are now. This is dangerous."
		}
		return "Let calls of " + where + " run without asking, in every chat, for everybody? This is dangerous."
	case "mode never":
		return "Let chats run every tool call without asking unless they say otherwise? " + StillAsks + " This is dangerous."
	case "trusted true":
		return "Believe what " + where + " says about its own tools? Those that it calls read-only then run without asking, and its tools are accepted as they are now."
	case "approval AutoApprove":
		return "Let " + where + " run without asking where no setting says otherwise, in every chat, for everybody? This is dangerous."
	case "repeat always":
		return "Run a call of " + where + " again by itself when nobody knows whether it happened? It may then happen twice. This is dangerous."
	}
	return ""
}

// What a person hears once something is done, or was not.
const (
	NothingToChange  = "Nothing would change by that: it is so already."
	NotHalted        = "Nothing is halted."
	HaltedSince      = "Everything is halted, by "
	ToolIsDisabled   = "The tool is disabled."
	AdminEachCall    = "An admin must decide each call of this tool: a choice of yours cannot stand for that."
	LookFirst        = "The tool changed: an admin has to look at it first."
	AcceptFirst      = "The tool is new: an admin has to accept it first."
	StandingWithheld = "Standing permissions for this tool are withheld (tool setting)."
	SeveralMust      = "Several people must allow each call of this tool: a choice of yours cannot stand for them."
	NotInPanel       = "This is not offered here any more, or not to you. Look at the settings as they are now; nothing was changed."

	OwnNone         = "You chose nothing of your own."
	RememberedStale = "The tool changed since: this no longer counts, and the tool asks."
)

func TooLongFill(n int) string { return "That is too long: at most " + Count(n, "character") + "." }

// A chat's mode; label is C1's.

func ModeSet(label string) string { return "This chat now: " + label + "." }
func ModeIs(label string) string  { return "This chat: " + label }
func ModeFromDefault(label string) string {
	return "It has no mode of its own, so the mode for new chats holds: " + label
}
func GrantsHere(n int) string   { return Count(n, "permission") + " given in this chat" }
func NowForgotten(n int) string { return "Forgotten: " + Count(n, "choice") + "." }
func NowRemembered(choice, tool, server string) string {
	return "Remembered: " + RememberedLine(choice, ToolOf(tool, server), "") + "."
}

// RememberedLine is a remembered choice in words; limits say what narrows it.
func RememberedLine(choice, what, limits string) string {
	what = strings.TrimSpace(what + " " + limits)
	switch choice {
	case "allow":
		return "allow " + what + " without asking"
	case "ask":
		return "ask before every call of " + what
	}
	return "deny " + what
}

func OwnChoice(choice string) string {
	switch choice {
	case "allow":
		return "Allow without asking me"
	case "ask":
		return "Ask me before every call"
	}
	return "Deny"
}

func RememberedCount(n int) string { return Count(n, "remembered choice") + " of yours" }

// Of a setting that was changed; where is what it is of.

func NowSet(field, where, value string) string {
	return where + ": " + field + " is now: " + value + "."
}
func NowUnset(field, where string) string { return where + ": " + field + " uses the default again." }

// NowTrusted confirms R112's act, NowUntrusted its undo, with what it does not take back.
func NowTrusted(server string) string {
	return server + " is trusted: its tools run without asking, but those that need an admin."
}

func NowUntrusted(server string) string {
	return server + " is as it was before it was trusted. That somebody looked at its tools stays on record."
}

func NowAccepted(n int) string {
	return "Accepted: " + either(n == 1, "the tool counts as it is now.", Count(n, "tool")+" count as they are now.")
}

func NowApplied(title string, n int) string {
	return "Applied “" + title + "”: " + Count(n, "setting") + " changed."
}

// ToolOf names a tool: "write_file of files".
func ToolOf(tool, server string) string { return tool + " of " + server }
func AndMore(n int) string              { return "and " + Number(n) + " more" }
func ChatsNotLookedAt(n int) string {
	return "At least " + Count(n, "chat") + " more were not looked into here."
}

// Of what waits.
const (
	AskedBy         = ", asked by "
	ExpiresAt       = " · expires "
	WaitsForOutcome = "it may have happened: somebody has to say whether it did"
	WaitsForAdmin   = "needs an admin"
)

func WaitsForInput(server string) string { return server + " asks you for something before it goes on" }
func WaitsForOthers(who []string) string {
	return "waits for " + either(len(who) == 0, "somebody else", strings.Join(who, ", "))
}
func PendingCount(n int) string {
	return either(n == 0, PanelPendingNone, Count(n, "call")+" waiting for an answer (say: pending)")
}

// Of grants.
const (
	AllowedBy = " · allowed by "
	UntilAt   = " · until "
)

// In which channel something is allowed: in the one where that is read, or in one that is named.
const (
	InThisChannel = "in all chats of this channel"
	InAllChatsOf  = "in all chats of "
)

// ChannelOf names a channel where its platform does not.
func ChannelOf(id, platform string) string { return "channel " + id + " on " + Capital(platform) }

// Of what somebody allowed in a channel each time.

const LabelReadsInChannel = "Allow its reads in this channel…"

func ReadsInChannel(server string, times int) string {
	return "You allowed reads of " + server + " in this channel each time, " + Count(times, "time") + "."
}

func ConfirmReadsInChannel(server string, holds time.Duration) string {
	return "Allow all that tools of " + server + " read, as they are now, in every chat of this channel, without asking again? " + reachesAsFar(holds)
}

func NowInChannel(server string) string {
	return "Reads of " + server + " are allowed in this channel."
}

// GrantLimits says where a grant is and how often it still counts; the platform is empty for this chat.
func GrantLimits(platform string, counted bool, uses int) string {
	return either(platform == "", "in this chat", "in another chat on "+platform) +
		either(counted, " · "+Count(uses, "call")+" left", " · any number of calls")
}

// About says to a newcomer what this is, and TryAsking gives them a first question.
const (
	About     = Product + " is a chat bot that works with your team's tools, and asks people before it changes anything they did not allow."
	TryAsking = "Try: “What can you do here?”"
)

// ToolsHere is what there is to work with.
func ToolsHere(tools, servers int) string {
	if tools == 0 {
		return "No tools are connected yet."
	}
	return "Here it has " + Count(tools, "tool") + " of " + Count(servers, "server") + "."
}
