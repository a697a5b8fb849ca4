package text

import (
	"fmt"
	"strings"
	"time"
)

// More sentences of the settings: of servers and tools, the history and the numbers, and of what is typed.

// Of servers.
const (
	ServerBuiltIn = "It is built in: its tools are nod's own."
	ServerSilent  = "It offers no tools now."
)

// ServerSummary is a server in a few words. ask is the label of its setting.
func ServerSummary(tools int, trusted, disabled bool, ask string) string {
	parts := []string{Count(tools, "tool")}
	if disabled {
		parts = append(parts, "disabled")
	}
	if trusted {
		parts = append(parts, "trusted")
	} else {
		parts = append(parts, "not trusted")
	}
	return strings.Join(append(parts, ask), " · ")
}

// ServerFails says what is known of a server that does not answer. say is its adapter's sentence.
func ServerFails(say string) string { return "It cannot be used now: " + say }

// ServerAnswers says that a server is there.
func ServerAnswers(unlooked int) string {
	if unlooked == 0 {
		return "It answers."
	}
	return "It answers. " + Count(unlooked, "tool") + " to be looked at."
}

// NewsOf counts what somebody should look at.
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

// ReputationIs is a score from a list, with its source. It decides nothing.
func ReputationIs(score, source string) string {
	return "Reputation: " + score + " (source: " + source + "). It is shown, and decides nothing."
}

// OwnRecord is what people of this chat decided about a server.
func OwnRecord(approved, denied, expired, failed int) string {
	return fmt.Sprintf("Own record: %s approved, %s denied, %s unanswered, %s failed (source: this chat's log)", Number(approved), Number(denied), Number(expired), Number(failed))
}

// InstallTitle stands over a server's tools with what is proposed for each.
func InstallTitle(server string) string { return "The tools of " + server }

// ToolFacts are access, risk and level of a tool.
func ToolFacts(access string, classified bool, risk, level string) string {
	if !classified {
		access += " (nobody said)"
	}
	return access + " · " + risk + " · " + level
}

// ProposalReason says where access, risk and level come from, and what that comes to.
func ProposalReason(accessFrom string, classified bool, riskFrom, levelFrom, verdict string) string {
	say := "Access by " + accessFrom
	if !classified {
		say = "Nobody who is believed says whether it only reads, so it counts as writing"
	}
	return say + "; risk by " + riskFrom + "; level by " + levelFrom + ". " + verdict
}

// AnalysisSays is a model's advice about a tool.
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

// SettingIs names the tool's own setting. label is C1's.
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

// FieldLabel is what a setting is called.
func FieldLabel(field string) string {
	if label, ok := fieldLabels[field]; ok {
		return label
	}
	return field
}

var fieldLabels = map[string]string{
	"ask": "Asking", "enabled": "Enabled", "access": "Access", "risk": "Risk", "approval": "Level", "message": "Question", "impact": "Impact",
	"category": "Category", "timeout": "Timeout", "repeat": "After an interruption", "chat_grant": "Can be allowed for a chat", "trusted": "Trusted",
	"approvers": "Who may answer", "min_approvals": "How many must allow", "requester_may_approve": "Whoever asks may allow", "mode": "Mode of new chats",
	"posture": "What asks by default", "strict": "Nothing for a chat that always asks",
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
	switch field + " " + value {
	case "enabled true":
		return "Enabled"
	case "enabled false":
		return "Disabled"
	case "posture mcp":
		return "MCP servers"
	case "posture all":
		return "MCP servers, and built-in tools as well"
	case "repeat auto":
		return "Repeat only what is safe to repeat"
	case "repeat always":
		return "Repeat it by itself (dangerous)"
	case "repeat never":
		return "Ask what happened"
	case "timeout park":
		return "none: it waits until somebody answers"
	case "approval AutoApprove":
		return SymbolAuto + " runs without asking (AutoApprove)"
	case "approval RequireConfirmation":
		return SymbolConfirm + " asks first (RequireConfirmation)"
	case "approval RequireAuth":
		return SymbolAdmin + " asks an admin, for each call (RequireAuth)"
	}
	switch value {
	case "true":
		return "Yes"
	case "false":
		return "No"
	}
	return value
}

// FromTo is one line of a preview.
func FromTo(where, field, was, now string) string {
	return where + ": " + field + ": " + was + " → " + now
}

// ChangesCount counts what a template would change.
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

// HistoryFilter says what is shown.
func HistoryFilter(kind string) string {
	if kind == "" {
		return "The newest first"
	}
	return "The newest first, only: " + KindLabel(kind)
}

// KindLabel is a kind of record as a filter; "" is all of them.
func KindLabel(kind string) string {
	switch kind {
	case "":
		return "everything"
	case "request":
		return "requests"
	case "decision":
		return "decisions"
	case "denied":
		return "denials"
	case "expire":
		return "unanswered"
	case "forbidden":
		return "forbidden by a rule"
	case "start":
		return "runs"
	case "failed":
		return "failures"
	case "grant":
		return "permissions given"
	case "revoke":
		return "permissions ended"
	case "setting":
		return "settings"
	}
	return kind
}

// RecordLabel is a record in a few words.
func RecordLabel(kind, outcome string) string {
	if kind == outcome || outcome == "" {
		return kind
	}
	return kind + ": " + outcome
}

// HistoryUsage explains the command.
func HistoryUsage(kinds []string) string {
	return "Say: history [<count>] [<kind>], where the kind is one of " + strings.Join(kinds, ", ") + ". Admins may add: settings, everywhere."
}

// Of the numbers.

// PanelStats is the heading of the numbers; everything is false where they are of one chat.
func PanelStats(everything bool) string {
	if everything {
		return "Over every chat"
	}
	return "Over this chat"
}

// StatsDecisions counts asks and answers.
func StatsDecisions(asked, approved, denied, expired int) string {
	return fmt.Sprintf("Asked %s · approved %s · denied %s · unanswered %s", Number(asked), Number(approved), Number(denied), Number(expired))
}

// StatsRates are shares of what was answered or expired.
func StatsRates(approved, denied, expired float64) string {
	return fmt.Sprintf("Approval rate %.0f %% · denial rate %.0f %% · unanswered %.0f %%", 100*approved, 100*denied, 100*expired)
}

// StatsTimes is how long answers took.
func StatsTimes(median, p90 time.Duration) string {
	return "Time to decide: half within " + Took(median) + ", nine in ten within " + Took(p90)
}

// StatsRuns counts runs by what allowed them.
func StatsRuns(auto, granted, approved, failed, unknown int) string {
	return fmt.Sprintf("Runs: %s by policy, %s by a permission, %s by a click · %s failed · %s with an unknown end", Number(auto), Number(granted), Number(approved), Number(failed), Number(unknown))
}

// StatsOther counts what did not come to an ask, or was taken back.
func StatsOther(forbidden, invalid, undone, cancelled int) string {
	return fmt.Sprintf("Forbidden by a rule %s · not a valid call %s · answers taken back %s · cancelled %s", Number(forbidden), Number(invalid), Number(undone), Number(cancelled))
}

// BlockedLine is one tool that was stopped.
func BlockedLine(tool string, denied, expired, forbidden int) string {
	return fmt.Sprintf("%s: denied %s, unanswered %s, forbidden %s", tool, Number(denied), Number(expired), Number(forbidden))
}

// SuggestionLabel is the button that follows a suggestion.
func SuggestionLabel(do string) string {
	if do == "disable" {
		return "Disable it…"
	}
	return "Never ask (dangerous)…"
}

// Of whoever looks.

// YouAre says whether somebody is an admin.
func YouAre(admin bool) string {
	if admin {
		return "You are an admin."
	}
	return "You are not an admin."
}

// YourKey is how somebody is written where admins are listed (R152).
func YourKey(key string) string { return "Under `admins:` you would be written as: " + key }

// YourKeyIsSecret says it where the key is a secret.
const YourKeyIsSecret = "You are known by a session key of the web page. It is a secret and is not shown; the keys of admins stand in ADMIN_SESSION_KEYS."

// YourGroups are groups as their platform names them.
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
	HelpAccept     = "say that you looked at new or changed tools; admins"
	HelpTemplates  = "settings for common ways of working"
	HelpApply      = "show what a template would change, and with “yes” do it; admins"
	HelpHistory    = "what was asked, decided and run"
	HelpStats      = "the numbers"
	HelpHalt       = "stop everything at once; admins"
	HelpResume     = "let it go on; admins"
	HelpExport     = "print all settings as YAML; admins"
	TemplatesHint  = "Say “apply <template>” to see what one would change."
)

// HelpLine is one command.
func HelpLine(verb, usage, says string) string {
	return "  " + strings.TrimSpace(verb+" "+usage) + " — " + says
}

// Usage says what to type.
func Usage(verb, usage string) string { return "Say: " + strings.TrimSpace(verb+" "+usage) }

// NoSuchCommand answers a word that is no command.
func NoSuchCommand(word string) string { return "There is no “" + word + "”." }

// NoSuchServer answers a name.
func NoSuchServer(name string, known []string) string {
	if len(known) == 0 {
		return "There is no server “" + name + "”: there is none at all."
	}
	return "There is no server “" + name + "”. There is: " + strings.Join(known, ", ") + "."
}

// NoSuchToolOf answers a name.
func NoSuchToolOf(tool, server string, known []string) string {
	if len(known) == 0 {
		return "The server " + server + " has no tools that are known."
	}
	return "The server " + server + " has no tool “" + tool + "”. It has: " + strings.Join(known, ", ") + "."
}

// NoSuchTemplate answers a name.
func NoSuchTemplate(name string, known []string) string {
	return "There is no template “" + name + "”. There is: " + strings.Join(known, ", ") + "."
}

// NoSuchNumber answers a number that the list does not have.
func NoSuchNumber(word string) string {
	return "There is no number “" + word + "” in this list. Nothing was changed."
}

// NothingToRevoke answers "revoke all".
func NothingToRevoke(others int) string {
	if others > 0 {
		return "Nothing here is yours to revoke: ask whoever allowed it, or an admin."
	}
	return PanelNoGrants
}

// TypeYes says how to confirm.
func TypeYes(command string) string { return "To do it, say: " + command + " yes" }

// TemplateLine is one template.
func TemplateLine(name, says string) string { return name + ": " + says }

// FieldsOf stands over what can be set.
func FieldsOf(where string) string { return "What can be set for " + where + ":" }

// FieldLine is one field, how it stands, and what it takes.
func FieldLine(field, value, takes string) string {
	return field + " = " + value + " (takes: " + takes + ")"
}
