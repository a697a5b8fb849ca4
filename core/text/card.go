package text

import (
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// This file and turn.go hold the sentences of messages, refusals and results. Words that the requirements quote are
// exact; their number stands beside them.

// Product is the name used where none is given.
const Product = "nod"

// Exact words of the card.
const (
	Review = "Review each action carefully before approving" // R73, drawn bold

	LabelAllowChat     = "Allow for this chat" // R74, in this order
	LabelAllowOnce     = "Allow once"
	LabelDeny          = "Deny"
	HintAllowChat      = "Allow all from this tool" // R89: the accessible name of LabelAllowChat
	LabelShowArguments = "Show arguments"           // R71
	LabelViewDetails   = "View details"
	LabelAskAgain      = "Ask again"
	LabelExtend        = "+5 min"
	LabelHappened      = "It happened"
	LabelRunAgain      = "Run again"
	LabelLeave         = "Leave it"
	LabelUndo          = "Undo"
	LabelStop          = "Stop"
	LabelRevoke        = "Revoke"
	LabelDenyReason    = "Deny with a reason…"
	LabelEdit          = "Edit arguments…"
	LabelRemember      = "Remember this choice" // R83
	HintRemember       = "What you answer then holds for what you ask in every chat, until you forget it in the settings. “Allow once” then means: any arguments, without asking."
	LabelReveal        = "Show what is hidden"
	LabelWhy           = "Why am I asked?"
	LabelAllowExact    = "Only with these values…"
	LabelAllowPath     = "Only below this directory…"
	LabelAllowHour     = "Allow this tool for 1 hour"
	LabelAllowSession  = "Approve all for this session…" // R106
	LabelAskMore       = "Ask again from now on"
	LabelAnswer        = "Answer…"
	LabelOpenPage      = "Show the address…"
	LabelDecline       = "Decline"
	LabelAllowSample   = "Let it ask the model"

	ChipRead  = "Read access" // R78
	ChipWrite = "Write access"
	ChipFull  = "Full access"

	ChipSafe      = "safe" // R94
	ChipModerate  = "moderate"
	ChipDangerous = "dangerous"
)

// The approval levels' chips (R93): symbol and word, because colour never carries meaning alone.
const (
	SymbolAuto    = "✅"
	SymbolConfirm = "⚠️"
	SymbolAdmin   = "🔐"
	ChipAuto      = "auto"
	ChipConfirm   = "confirmation"
	ChipAdmin     = "admin"
)

// AllowHeader is R69.
func AllowHeader(server string) string { return "Allow tool call from " + server + "?" }

// RunLine is R70.
func RunLine(tool, server string) string { return "Run " + tool + " from " + server }

// Warning is R72. An empty product is [Product].
func Warning(product string) string {
	if product == "" {
		product = Product
	}
	return "Malicious MCP Servers or conversation content could potentially trick " + product +
		" into attempting harmful actions through your installed tools."
}

// LabelApproveAll is the batch button that allows each of n calls once (R105).
func LabelApproveAll(n int) string { return "Approve all (" + strconv.Itoa(n) + ")" }

// LabelDenyAll is the batch button that denies each of n calls.
func LabelDenyAll(n int) string { return "Deny all (" + strconv.Itoa(n) + ")" }

// BatchHeader stands over several asks: "2 of 3 need approval".
func BatchHeader(waiting, all int) string {
	verb := " need approval"
	if waiting == 1 {
		verb = " needs approval"
	}
	return Number(waiting) + " of " + Number(all) + verb
}

// Refusals, privately to the person who clicked.

// OnlyCanDecide says who may. Names come as they are to be read: "Ana (who asked)", "an admin".
func OnlyCanDecide(names []string) string {
	if len(names) == 0 {
		return "Nobody here can decide this."
	}
	return "Only " + OneOf(names) + " can decide this."
}

// AlreadyDecided says what was decided, by whom and when ("14:02"). An empty name or time is left out.
func AlreadyDecided(choice chat.Choice, name, at string) string {
	s := "Already " + Decided(choice)
	if name != "" {
		s += " by " + name
	}
	if at != "" {
		s += " at " + at
	}
	return s + "."
}

// TooLate answers an undo after the call started; at is "14:02:07" or what [ClockSeconds] gives.
func TooLate(at string) string { return "Too late: it started at " + at + "." }

// AskExpired answers a click after the deadline.
func AskExpired(at string) string {
	return "This ask expired at " + at + ". Ask again from the message."
}

// ConfirmNever answers "mode never" until it is confirmed (C3).
func ConfirmNever() string {
	return "Nothing was changed. “mode never” lets tool calls in this chat run without asking, which is dangerous. " + StillAsks + " Say “mode never yes” if that is meant."
}

// GroupsUnknown goes on where somebody is refused who may belong to a group that may.
func GroupsUnknown() string {
	return "Which groups you belong to is not known just now; if one of them may, try again in a minute."
}

// OnlyAdmins answers somebody who would change what only admins may.
const OnlyAdmins = "Only an admin can change that."

// OnlyAdminsSee is for what is shown to them alone.
const OnlyAdminsSee = "Only an admin can see that: it is of every chat."

// BadSetting says what is wrong with a setting.
func BadSetting(why string) string { return "Nothing was changed: " + why + "." }

// Results, for the model. Each says what is certain.

// ResultDenied is R120's sentence first, then the reason that a person gave, if any.
func ResultDenied(reason string) string {
	return "Tool execution denied by user." + sentence("Reason", reason) +
		" Do not retry the same call; go on without it, or ask the person what they want instead."
}

// ResultTimedOut tells that nobody answered, which is neither a yes nor a no. Zero d leaves the time out.
func ResultTimedOut(d time.Duration) string {
	s := "Tool execution timed out: nobody answered the request for approval"
	if d > 0 {
		s += " in " + Took(d)
	}
	return s + ". The tool was not run. Nobody refused it: the person may ask again from the message. Do not retry the call by yourself."
}

// ResultCancelled is for a call that a Stop took along before it started.
func ResultCancelled() string {
	return "Tool execution cancelled: the turn was stopped before this call started. The tool was not run."
}

// StoreForgotRun is what is known of a run that the store forgot.
func StoreForgotRun() string {
	return "Redis came back older than it was and does not remember this run; this process does."
}

// StoreForgot is why a call that was allowed is asked about again.
func StoreForgot() string {
	return "What Redis remembered is older than what was decided: this call was allowed before Redis restarted, and it may have run since. It is asked again to be sure."
}

// ResultUnknown is for a call whose outcome nobody knows. What is known of it ("the connection was lost") is optional.
func ResultUnknown(known string) string {
	return "Outcome unknown; do not repeat. The call was started and its result was lost: it may have happened, or not." +
		sentence("What is known", known) + " A person was asked to look."
}

// sentence is " name: text." or, without a text, nothing.
func sentence(name, text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "!") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	return " " + name + ": " + text
}

// What Fit says instead of what it cut.

// MoreCharacters stands where n characters are left out.
func MoreCharacters(n int) string { return "… " + Count(n, "more character") }

// EarlierSteps stands for n folded steps; states counts them by mark ("5 ✓ · 2 ✕").
func EarlierSteps(n int, states string) string {
	s := "+" + Count(n, "earlier step")
	if states != "" {
		s += ": " + states
	}
	return s
}

// MoreWait stands for n asks whose card does not fit yet.
func MoreWait(n int) string {
	if n == 1 {
		return "1 more waits for an answer: it follows when these are answered"
	}
	return Number(n) + " more wait for an answer: they follow when these are answered"
}

// ApproveAllLater stands for the Approve all button while not every ask has its card.
const ApproveAllLater = "Approve all comes back when every call has its card"

// ButtonsHidden stands for n buttons of steps and notes that do not fit.
func ButtonsHidden(n int) string { return Count(n, "button") + " not shown here: " + LabelViewDetails }

// MoreArguments stands for n arguments that a card does not list.
func MoreArguments(n int) string { return Count(n, "more argument") }

// MoreFacts stands for n chips.
func MoreFacts(n int) string { return "+" + Number(n) + " more" }

// Words under the arguments.
const (
	ShownInFull = "shown in full"
	NoArguments = "no arguments"
	TooBigToAsk = "too long to be shown in full, so it cannot be allowed"
)

// NotShown says how many characters of the arguments a card leaves out.
func NotShown(hidden, all int) string {
	return Number(hidden) + " of " + Count(all, "character") + " not shown"
}

// MadeVisible says how many hidden characters stand as \u{...}.
func MadeVisible(n int) string { return Count(n, "hidden character") + " made visible" }

// Masked says how many secrets are not shown.
func Masked(n int) string { return Count(n, "secret") + " masked" }

// Secret stands for a masked value of n characters.
func Secret(n int) string { return "‹secret, " + Count(n, "character") + "›" }

// Lines stands before a string that is drawn as n lines.
func Lines(n int) string { return "‹" + Count(n, "line") + "›" }

// CutReply stands after a text whose stream ended early.
const CutReply = "(the reply was cut here)"

// ModelSays introduces the model's own words on a card.
const ModelSays = "The model says (not checked): "

// ServerSays introduces a server's own description of itself or of a tool.
const ServerSays = "The server says (not checked): "
