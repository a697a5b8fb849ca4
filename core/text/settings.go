package text

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// More sentences of the settings: of servers and tools, the history and the numbers, and of what is typed.

// Of servers.
const (
	ServerBuiltIn = "It is built in: its tools are nod's own."
)

// ServerSummary is a server in a few words. ask is the label of its setting.
func ServerSummary(tools int, trusted, disabled bool, ask string) string {
	return Count(tools, "tool") + either(disabled, " · disabled", "") + either(trusted, " · trusted · ", " · not trusted · ") + ask
}

func ServerFails(say string) string { return "It cannot be used now: " + say }

func ServerAnswers(unlooked int) string {
	return "It answers." + either(unlooked == 0, "", " "+Count(unlooked, "tool")+" to be looked at.")
}

func NewsOf(server string, fresh, changed int) string {
	var parts []string
	if fresh > 0 {
		parts = append(parts, Count(fresh, "new tool"))
	}
	if changed > 0 {
		parts = append(parts, Count(changed, "changed tool"))
	}
	return server + ": " + AllOf(parts)
}

func ReputationIs(score, source string) string {
	return "Reputation: " + score + " (source: " + source + "). It is shown, and decides nothing."
}

func OwnRecord(approved, denied, expired, failed int) string {
	return numbers("Own record: %s approved, %s denied, %s unanswered, %s failed (source: this chat's log)", approved, denied, expired, failed)
}

func InstallTitle(server string) string { return "The tools of " + server }

func ToolFacts(access string, classified bool, risk, level string) string {
	return access + either(classified, "", " (nobody said)") + " · " + risk + " · " + level
}

// ProposalReason says where access, risk and level come from, and what that comes to.
func ProposalReason(accessFrom string, classified bool, riskFrom, levelFrom, verdict string) string {
	return either(classified, "Access by "+accessFrom, "Nobody who is believed says whether it only reads, so it counts as writing") +
		"; risk by " + riskFrom + "; level by " + levelFrom + ". " + verdict
}

func AnalysisSays(reason string) string {
	return "A model's advice, which only adds caution: " + reason
}

// What would happen to a call.
const (
	VerdictAsk    = "A call asks first."
	VerdictAdmin  = "A call asks an admin first."
	VerdictAllow  = "A call runs without asking."
	VerdictForbid = "A call does not run."
)

func SettingIs(label string) string { return "Its own setting: " + label + "." }

// Of tools.
const (
	ToolNotThere = "Its server does not offer it now."
	ToolChanged  = "It changed since it was accepted or first seen: it asks until an admin accepts it as it is."
	PartWhyThen  = "When it was asked"
	PartWhyNow   = "By the rules as they are now"
)

// Of settings.
const (
	NotSet      = "not set"
	FromFile    = "from the operator's configuration"
	FromChat    = "set by "
	FromNowhere = "the default"
)

func FieldLabel(field string) string { return cmp.Or(fieldLabels[field], field) }

var fieldLabels = map[string]string{
	"ask": "Asking", "enabled": "Enabled", "access": "Access", "risk": "Risk", "approval": "Level", "message": "Question", "impact": "Impact",
	"category": "Category", "timeout": "Timeout", "repeat": "After an interruption", "chat_grant": "Can be allowed for a chat", "trusted": "Trusted",
	"approvers": "Who may answer", "min_approvals": "How many must allow", "requester_may_approve": "Whoever asks may allow", "mode": "Mode of new chats",
	"posture": "What asks by default", "strict": "Nothing for a chat that always asks", "reads_only": "Only what surely reads",
	"channel_grants": "Can be allowed for a channel", "remember": "What people can remember",
}

// FieldSays is what a setting does. says is what its definition tells, where no sentence stands here.
func FieldSays(field, says string) string {
	switch field {
	case "ask":
		return "whether calls ask first, where a tool has no setting of its own"
	case "mode":
		return "how chats ask that have no mode of their own"
	}
	return says
}

// ValueLabel is a value in words. Those of ask and mode have labels of their own.
func ValueLabel(field, value string) string {
	return cmp.Or(valueLabels[field+" "+value], valueLabels[value], value)
}

var valueLabels = map[string]string{
	"true": "Yes", "false": "No", "enabled true": "Enabled", "enabled false": "Disabled",
	"posture mcp":                  "MCP servers",
	"posture all":                  "MCP servers, and built-in tools as well",
	"repeat auto":                  "Repeat only what is safe to repeat",
	"repeat always":                "Repeat it by itself (dangerous)",
	"repeat never":                 "Ask what happened",
	"remember tool":                "one tool",
	"remember reads":               "all that a server's tools read",
	"remember writes":              "all that they read and write",
	"remember server":              "all tools of a server (dangerous)",
	"timeout park":                 "none: it waits until somebody answers",
	"approval AutoApprove":         SymbolAuto + " runs without asking (AutoApprove)",
	"approval RequireConfirmation": SymbolConfirm + " asks first (RequireConfirmation)",
	"approval RequireAuth":         SymbolAdmin + " asks an admin, for each call (RequireAuth)",
}

func FromTo(where, field, was, now string) string {
	return where + ": " + field + ": " + was + " → " + now
}
func ChangesCount(n int) string { return Count(n, "setting") + " would change" }

// Of the history.

// HistoryOf is a heading, and the label that leads to it.
func HistoryOf(of string) string {
	switch of {
	case "settings":
		return "Settings, who changed what"
	case "everywhere":
		return "Everything, in every chat"
	}
	return "This chat"
}

func HistoryFilter(kind string) string {
	return "The newest first" + either(kind == "", "", ", only: "+KindLabel(kind))
}

// KindLabel is a kind of record as a filter; "" is all of them.
func KindLabel(kind string) string { return cmp.Or(kindLabels[kind], kind) }

var kindLabels = map[string]string{
	"": "everything", "request": "requests", "decision": "decisions", "denied": "denials", "expire": "unanswered", "forbidden": "forbidden by a rule",
	"start": "runs", "failed": "failures", "grant": "permissions given", "revoke": "permissions ended", "setting": "settings",
}

func RecordLabel(kind, outcome string) string {
	return either(kind == outcome || outcome == "", kind, kind+": "+outcome)
}

func HistoryUsage(kinds []string) string {
	return "Say: history [<count>] [<kind>], where the kind is one of " + strings.Join(kinds, ", ") + ". Admins may add: settings, everywhere."
}

// Of the numbers.

// numbers fills in numbers, each of them as [Number] writes it.
func numbers(format string, ns ...int) string {
	said := make([]any, len(ns))
	for i, n := range ns {
		said[i] = Number(n)
	}
	return fmt.Sprintf(format, said...)
}

// PanelStats is the heading of the numbers; everything is false where they are of one chat.
func PanelStats(everything bool) string {
	return either(everything, "Over every chat", "Over this chat")
}

func StatsDecisions(asked, approved, denied, expired int) string {
	return numbers("Asked %s · approved %s · denied %s · unanswered %s", asked, approved, denied, expired)
}

func StatsRates(approved, denied, expired float64) string {
	return fmt.Sprintf("Approval rate %.0f %% · denial rate %.0f %% · unanswered %.0f %%", 100*approved, 100*denied, 100*expired)
}

func StatsTimes(median, p90 time.Duration) string {
	return "Time to decide: half within " + Took(median) + ", nine in ten within " + Took(p90)
}

func StatsRuns(auto, granted, approved, failed, unknown int) string {
	return numbers("Runs: %s by policy, %s by a permission, %s by a click · %s failed · %s with an unknown end", auto, granted, approved, failed, unknown)
}

func StatsOther(forbidden, invalid, undone, cancelled int) string {
	return numbers("Forbidden by a rule %s · not a valid call %s · answers taken back %s · cancelled %s", forbidden, invalid, undone, cancelled)
}

func BlockedLine(tool string, denied, expired, forbidden int) string {
	return tool + numbers(": denied %s, unanswered %s, forbidden %s", denied, expired, forbidden)
}

func SuggestionLabel(do string) string {
	return either(do == "disable", "Disable it…", "Never ask (dangerous)…")
}

// Of the weekly digest.

func DigestTitle(days int) string { return numbers("The last %s days, over every chat", days) }
func DigestEmpty(days int) string { return numbers("Nothing happened in the last %s days.", days) }

// DigestDangerous counts runs of tools whose risk is dangerous, and how many of them no person was asked about.
func DigestDangerous(runs, unasked int) string {
	return numbers("Runs of dangerous tools: %s · unasked: %s", runs, unasked)
}

// DigestLooser counts what took caution away or changed the rules.
func DigestLooser(grants, never, settings int) string {
	return numbers("Permissions given for more than one call: %s · chats set to “never ask”: %s · changes of settings: %s", grants, never, settings)
}

// DigestTools counts what servers said anew about their tools, and how often somebody halted everything.
func DigestTools(seen, halts int) string {
	return numbers("New or changed tools: %s · halts: %s", seen, halts)
}

// Of whoever looks.

func YouAre(admin bool) string  { return either(admin, "You are an admin.", "You are not an admin.") }
func YourKey(key string) string { return "Under `admins:` you would be written as: " + key } // R152

const YourKeyIsSecret = "You are known by a session key of the web page. It is a secret and is not shown; the keys of admins stand in ADMIN_SESSION_KEYS."

func YourGroups(groups []string) string { return "Your groups: " + strings.Join(groups, ", ") }

// Of what is typed.

// The help, a line for each command.
const (
	HelpHead       = "What can be said here:"
	HelpHint       = "Say “help” for all that can be said."
	HelpShow       = "the overview"
	HelpMode       = "how this chat asks: always (always ask), never (never ask: dangerous), tool (use each tool's setting)"
	HelpPending    = "what waits for you"
	HelpRevoke     = "end what is allowed in this chat"
	HelpRemembered = "your own choices: list them, or make one for a tool"
	HelpForget     = "end your own choices"
	HelpWhy        = "what would happen to a call, and by which rule"
	HelpWhoami     = "whether you are an admin, and how your key is written"
	HelpServer     = "settings of a server (always: always ask, never: never ask); admins"
	HelpTool       = "settings of a tool (always: always ask, never: never ask, default: as its server); admins"
	HelpSet        = "settings of everything; admins"
	HelpTools      = "the tools; or let the model use a server or a tool, or not: admins"
	HelpAccept     = "say that you looked at new or changed tools, or (reads) let those that only read run without asking; admins"
	HelpTemplates  = "settings for common ways of working"
	HelpApply      = "show what a template would change, and with “yes” do it; admins"
	HelpHistory    = "what was asked, decided and run"
	HelpStats      = "the numbers"
	HelpHalt       = "stop everything at once; admins"
	HelpResume     = "let it go on; admins"
	HelpDigest     = "the last week in numbers; admins"
	HelpHold       = "keep a chat, or a person's chats, from being dropped or deleted; admins"
	NothingHeld    = "Nothing is held."
	TooManyHolds   = "Nothing was changed: there are too many holds for one more. Release another one first."
	HelpExport     = "print all settings as YAML; admins"
	TemplatesHint  = "Say “apply <template>” to see what one would change."
)

// HeldLine is one hold.
func HeldLine(what, since, by, why string) string {
	line := what + ", since " + since + ", by " + by
	if why != "" {
		line += ": " + why
	}
	return line
}

// NowHeld says how many chats a hold, or a release, concerns.
func NowHeld(what string, chats int, off bool) string {
	if off {
		return "Released: " + what + ", " + Count(chats, "chat") + "."
	}
	return "On hold: " + what + ", " + Count(chats, "chat") + " so far, and what comes."
}

// HeldNoMore is for a release where there was no hold: what an earlier one left on these chats is off.
func HeldNoMore(what string, chats int) string {
	return "Nothing is on hold for " + what + " any more, in " + Count(chats, "chat") + "."
}

// HeldInPart names the chats that a hold, or a release, did not reach.
func HeldInPart(left []string, off bool) string {
	return Count(len(left), "chat") + " could not be read, and may " + either(off, "still", "not") + " be on hold: " + Cut(strings.Join(left, ", "), 2000) + ". " +
		either(off, "Do", "Hold one by its own name, or do") + " the same again once it can be read."
}

func HelpLine(verb, usage, says string) string {
	return "  " + strings.TrimSpace(verb+" "+usage) + " — " + says
}
func Usage(verb, usage string) string { return "Say: " + strings.TrimSpace(verb+" "+usage) }
func TypeYes(command string) string   { return "To do it, say: " + command + " yes" }

// Answers to a name that is none; known are those that are.

func NoSuchCommand(word string) string { return "There is no “" + word + "”." }

func NoSuchServer(name string, known []string) string {
	return "There is no server “" + name + "”" + either(len(known) == 0, ": there is none at all.", ". There is: "+strings.Join(known, ", ")+".")
}

func NoSuchToolOf(tool, server string, known []string) string {
	return "The server " + server + either(len(known) == 0, " has no tools that are known.",
		" has no tool “"+tool+"”. It has: "+strings.Join(known, ", ")+".")
}

func NoSuchTemplate(name string, known []string) string {
	return "There is no template “" + name + "”. There is: " + strings.Join(known, ", ") + "."
}

func NoSuchNumber(word string) string {
	return "There is no number “" + word + "” in this list. Nothing was changed."
}

// NothingToRevoke answers "revoke all"; others is how many permissions here are other people's.
func NothingToRevoke(others int) string {
	return either(others > 0, "Nothing here is yours to revoke: ask whoever allowed it, or an admin.", PanelNoGrants)
}

func TheseTools(names []string) string { return "These are: " + strings.Join(names, ", ") + "." }

func TemplateLine(name, says string) string { return name + ": " + says }
func FieldsOf(where string) string          { return "What can be set for " + where + ":" }
func FieldLine(field, value, takes string) string {
	return field + " = " + value + " (takes: " + takes + ")"
}
