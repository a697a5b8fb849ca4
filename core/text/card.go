package text

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
)

// This file has the sentences of what asks, and the answers to whoever clicks; turn.go those of the rest of a message, and of results.
// Words that the requirements quote are exact; their number stands beside them. Names inside are untrusted.

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
	LabelGood          = "Good answer"
	LabelBad           = "Bad answer"
	LabelDetails       = "Details…" // of a row of a list, which has no ⋯ of its own
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
	HintRemember       = "Your answer then holds in all your chats, with any arguments, until you forget it in the settings."
	LabelReveal        = "Show what is hidden"
	LabelWhy           = "Why am I asked?"
	LabelAllowExact    = "Only with these values…"
	LabelAllowPath     = "Only below this directory…"
	LabelAllowHour     = "Allow this tool for 1 hour"
	LabelAllowChannel  = "Allow in this channel…"
	LabelAllowSession  = "Approve all for this session…" // R106
	LabelAskMore       = "Ask again from now on"
	LabelAnswer        = "Answer…"
	LabelOpenPage      = "Show the address…"
	LabelDecline       = "Decline"

	ChipSafe      = "safe" // R94
	ChipDangerous = "dangerous"
)

// The facts on a card: what a call does (R78), and how risky that is (R94).
const (
	FactReads     = "only reads"
	FactSaysReads = "says it only reads, not checked"
	FactWrites    = "changes things"
	FactAnything  = "may do anything"
	FactUnrated   = "not classified yet"
	FactModerate  = "moderate risk"
	FactAdmin     = "an admin decides"
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

func AllowHeader(server string) string   { return "Allow tool call from " + server + "?" } // R69
func RunLine(tool, server string) string { return "Run " + tool + " from " + server }      // R70

// Warning is R72. An empty product is [Product].
func Warning(product string) string {
	return "Malicious MCP Servers or conversation content could potentially trick " + cmp.Or(product, Product) +
		" into attempting harmful actions through your installed tools."
}

// Sentence is a tool's name as words: "write_file" is "Write file". A name without letters stays as it is.
func Sentence(tool string) string {
	words := NameWords(tool)
	if len(words) == 0 {
		return Inline(tool)
	}
	return Capital(strings.Join(words, " "))
}

// Capital is s as a sentence begins.
func Capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if first == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// Quoted is a value in quotes that it cannot close.
func Quoted(s string) string { return "“" + quoteMarks.Replace(s) + "”" }

var quoteMarks = strings.NewReplacer("“", "\"", "”", "\"")

// AndMoreOf says that one question is about n more calls like the one that it names.
func AndMoreOf(n int) string { return " and " + Number(n) + " more" }

// LabelAllowThese allows each of n calls once that stand in one row.
func LabelAllowThese(n int) string { return "Allow these " + Number(n) }

// ConfirmChat is read before a tool that may destroy something, or that nobody classified, is allowed for a chat.
func ConfirmChat(tool, server, who string) string {
	return "Allow " + ToolOf(tool, server) + ", with any arguments, whenever " + who + " asks in this chat? It does not ask again until somebody revokes this or the chat starts over."
}

// BatchHeader stands over several asks: "2 of 3 need approval".
func BatchHeader(waiting, all int) string {
	return Number(waiting) + " of " + Number(all) + either(waiting == 1, " needs approval", " need approval")
}

// LabelApproveAll allows each of n calls once (R105).
func LabelApproveAll(n int) string { return "Approve all (" + strconv.Itoa(n) + ")…" }
func LabelDenyAll(n int) string    { return "Deny all (" + strconv.Itoa(n) + ")" }

// LabelAllowBelow allows a tool below a directory. One that is too long for a button stands whole in what has to be confirmed.
func LabelAllowBelow(dir string) string {
	return either(len([]rune(dir)) > 48, LabelAllowPath, "Only below "+dir+"…")
}

func LabelAllowUses(n int) string {
	return "Allow this tool " + strconv.Itoa(n) + " times, this call included"
}

// R107's wider grants. Writes cover what reads as well (C6), a server all of its tools as they are.

func LabelAllowReads(server string) string  { return "Allow reads from " + server }
func LabelAllowWrites(server string) string { return "Allow reads and writes from " + server }
func LabelAllowServer(server string) string { return "Allow all from " + server }

// OnlyFor is the label of what only these people can give, on a card that others answer, too.
func OnlyFor(who []string, label string) string { return "Only " + OneOf(who) + ": " + label }

// What a card says besides.
const (
	AgainOnCard  = "This would run it again: whether the interrupted run happened is not known."
	NewOnCard    = "new: no admin has looked at it yet"
	HiddenOnCard = "Part of this call is hidden. Whoever allows it looks at it first."
	Unchecked    = "nod could not check the arguments against the tool's input schema: that would take too long."
)

func LateOnCard(failed bool) string {
	return "The interrupted run has answered meanwhile: it " + either(failed, "failed.", "succeeded.")
}

func ChangedOnCard(parts []string) string {
	return "This tool changed since it was last accepted or first seen: " + strings.Join(parts, ", ") + "."
}

func VotesLine(have, need int) string {
	return strconv.Itoa(have) + " of " + strconv.Itoa(need) + " people allowed it"
}

// What a server wants while its tool runs.

func ElicitationHeader(server string) string { return server + " asks for something before it goes on" }

// WantWarning is what nobody should give away. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#security-considerations
func ElicitationWarning(server string) string {
	return "The words are " + server + "'s, not " + Product + "'s. Never give it passwords, keys or payment data in a form."
}

func ElicitationURLSay(server string) string {
	return server + " wants you to open this address. " + Product + " did not open it and does not know what is there. Look at where it leads before you go."
}

func ElicitationSettled(action, name string) string {
	switch action {
	case "accept":
		return "answered by " + name
	case "decline":
		return "declined by " + name
	}
	return "nobody answered"
}

// What a person confirms before something is allowed.

// ConfirmPins asks about a grant for some values only; what is its pins in words.
func ConfirmPins(tool, server, what string) string {
	return "Allow " + ToolOf(tool, server) + " in this chat, without asking again, " + what + "?"
}

func ConfirmWide(what, server string) string {
	return "Allow " + what + " from " + server + " in this chat without asking again? It is for the tools that " + server +
		" has now, as they are now. Dangerous tools and those that need an admin still ask."
}

// ConfirmChannel is read before a tool is allowed for all chats of a channel. A standing click is one of its giver's: it reaches as far as theirs.
func ConfirmChannel(tool, server string, holds time.Duration) string {
	return "Allow " + ToolOf(tool, server) + ", with any arguments, in every chat of this channel, without asking again? " + reachesAsFar(holds)
}

func reachesAsFar(holds time.Duration) string {
	return "It answers what you may answer yourself: your own requests, and other people's where you may decide those. It ends by itself after " + Took(holds) +
		", and anybody sees it under Allowed in the settings. Changed tools still ask."
}

func ConfirmServer(server string) string {
	return "Allow all tools of " + server + " in this chat without asking again? It is for the tools that it has now, as they are now. " +
		"Tools that need an admin still ask, and dangerous ones unless an admin allows this."
}

func ConfirmAll(calls []string) string {
	const most = 10
	more := ""
	if n := len(calls); n > most {
		calls, more = calls[:most], " "+AndMore(n-most)
	}
	return "Allow each of these once, as its card shows it: " + strings.Join(calls, ", ") + more + "?"
}

// ConfirmRemembered is read before an answer that allows while "Remember this choice" is ticked.
func ConfirmRemembered(who, tool, server, with string) string {
	return "“" + LabelRemember + "” is ticked by " + who + ". Their answer about " + ToolOf(tool, server) + " is " + with + ", until they forget it."
}

// What is asked before a chat stops asking (C3): by a button, and by the command that has to be said once more.
const (
	ConfirmSession = "Approve everything that is asked for now, and let every tool call in this chat run without asking until you end it or " +
		"the chat starts over? " + StillAsks + " This is dangerous."
	ConfirmNever = "Nothing was changed. “mode never” lets tool calls in this chat run without asking, which is dangerous. " + StillAsks +
		" Say “mode never yes” if that is meant."
	// StillAsks is what "never ask" is not about.
	StillAsks = "What an admin or other people decide, what an admin set to always ask, and tools that are new or changed still ask."
)

// Answers to whoever clicked or typed, for them alone.
const (
	UnknownAsk    = "This button is not (or no longer) open here. Look at the newest message of this chat."
	NotOffered    = "This choice is not open for this call."
	WhoAreYou     = "It is not known who you are, so this was not done." // to whom the platform does not name
	WasCancelled  = "The turn was stopped; this call was cancelled and not run."
	TooLateToUndo = "Too late: the decision has already taken effect."
	BatchChanged  = "What waits for an answer has changed since this button was drawn. Look at the calls again; nothing was decided."
	NothingToStop = "There is nothing to stop: this turn is over or already stopping."
	Revoked       = "Revoked: from now on it asks again."
	NoSuchGrant   = "This permission has already ended."

	LookAtHidden    = "Part of this call is hidden. Look at it first: press “" + LabelReveal + "”."
	NothingChanged  = "These are the same arguments: nothing was changed."
	NotEditable     = "The arguments of this call cannot be changed here."
	ElicitationOver = "This is not asked for any more. Nothing was sent."

	OnlyAdmins       = "Only an admin can change that."
	OnlyAdminsSee    = "Only an admin can see that: it is of every chat."
	OnlyOwnerOrAdmin = "Only the person who began this chat or an admin can turn asking off."
	GroupsUnknown    = "Which groups you belong to is not known just now; if one of them may, try again in a minute." // after a refusal
	NotYoursToGrant  = "That would not let this call run: from you it does not cover it. Allow it once, or ask an admin."
	OnlyThisOnce     = "You may answer this call because nobody did in time: allow it once, or deny it."

	UsesNotRemembered = "A number of calls cannot be remembered. Untick “" + LabelRemember + "”, or choose another line."
	NotRemembered     = "Your decision counts, but it could not be remembered just now. If it does not stand under My choices later, choose it again the next time."
	NotForgotten      = "It is undone, but if the choice was remembered, that could not be taken back. Look under My choices in the settings."

	ModeUsage = "Say: mode always (always ask), mode never yes (never ask: dangerous), or mode tool (use each tool's setting)." // C1's words
)

// OnlyCanDecide says who may. Names come as they are to be read: "Ana (who asked)", "an admin".
func OnlyCanDecide(names []string) string {
	return either(len(names) == 0, "Nobody here can decide this.", "Only "+OneOf(names)+" can decide this.")
}

func OnlyRequesterFills(name string) string { return "Only " + name + " (who asked) can answer this." }

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
func AskExpired(at string) string {
	return "This ask expired at " + at + ". Ask again from the message."
}

// YouAllowed answers a second click of somebody whose word counts already.
func YouAllowed(have, need int) string {
	return "You allowed this already. " + strconv.Itoa(have) + " of " + strconv.Itoa(need) + " people have; it needs somebody else."
}

// SelfNamedAllowed answers somebody whom nothing tells apart from somebody who allowed it already.
func SelfNamedAllowed(have, need int) string {
	return strconv.Itoa(have) + " of " + strconv.Itoa(need) + " people have allowed this, one of them under a name they gave themselves, as yours is: " +
		"that may be you. Sign in with a key that names you (web.session_keys)."
}

// LookAtFirst is LookAtHidden, of one of several calls.
func LookAtFirst(run string) string  { return run + ": " + LookAtHidden }
func BadArguments(why string) string { return "The arguments were not taken: " + why }
func BadSetting(why string) string   { return "Nothing was changed: " + why + "." }
func UnknownCommand(verb string) string {
	return "There is no command " + strconv.Quote(verb) + ". Known: stop, reset, mode."
}

// What people are told by a replica that is too old for their chat.
const (
	NotClickedNewer = "Nothing was done: a newer nod wrote in this conversation, and the one that took your click cannot read that. Try again in a moment; if this stays, whoever runs nod has to finish the upgrade."
	KeptForNewer    = "Your message is kept: a newer nod wrote in this conversation, and answers it. If no answer comes, whoever runs nod has to finish the upgrade."
)

// ChatFull is for a message that comes where so many already wait. Size is in bytes.
func ChatFull(n, size int) string {
	return "Your message was not taken: " + strconv.Itoa(n) + " messages, or " + strconv.Itoa(size>>10) +
		" KiB of text, wait here already. Answer what is asked or stop it, then send it again."
}

// What Fit says instead of what it cut.

func MoreCharacters(n int) string { return "… " + Count(n, "more character") }

// EarlierSteps stands for n folded steps; states counts them by mark ("5 ✓ · 2 ✕").
func EarlierSteps(n int, states string) string { return "+" + Count(n, "earlier step") + ": " + states }

// MoreWait stands for n asks whose card does not fit yet: how many they are, and where they will be.
func MoreWait(n int) string {
	return Count(n, "more question") + either(n == 1, " follows", " follow") + " in this message when these are answered"
}

const ApproveAllLater = "Approve all comes back when every call has its card"

func ButtonsHidden(n int) string { return Count(n, "button") + " not shown here: " + LabelViewDetails }
func MoreArguments(n int) string { return Count(n, "more argument") }

// Words under the arguments.
const (
	NoArguments = "no arguments"
	TooBigToAsk = "too long to be shown in full, so it cannot be allowed"
)

func NotShown(hidden, all int) string {
	return Number(hidden) + " of " + Count(all, "character") + " not shown"
}
func MadeVisible(n int) string { return Count(n, "hidden character") + " made visible" }
func Masked(n int) string      { return Count(n, "secret") + " masked" }
func Secret(n int) string      { return "‹secret, " + Count(n, "character") + "›" }

// Results that tell of a text that there is none.
const (
	NoOutput  = "[no output]"
	EmptyFile = "(The file is empty.)"
)

// DiffHead stands above the lines of a text that is replaced: how many of them go, come and stay.
func DiffHead(gone, come, stay int) string {
	say := func(n int, one, many string) string { return Count(n, "line") + " " + either(n == 1, one, many) }
	return "‹" + say(gone, "goes", "go") + ", " + say(come, "comes", "come") + ", " + say(stay, "stays", "stay") + "›"
}

// DiffGap stands for lines that stay, and DiffEnd after a line that has no line break. No line of a text begins so.
func DiffGap(n int) string { return "⋯ " + Count(n, "line") + " as before" }

const DiffEnd = "⋯ no line break here"

// DiffAgainst is what a diff was made against.
func DiffAgainst(tool, server, at string) string {
	return "compared with what " + tool + " from " + server + " read at " + at
}

// Lines stands before a string that is drawn as n lines.
func Lines(n int) string { return "‹" + Count(n, "line") + "›" }
