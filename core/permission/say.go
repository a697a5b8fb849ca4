package permission

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodhq/nod/core/permission/pin"
)

// Every sentence of this package that a person reads stands here. Names of servers, tools and people inside them are
// untrusted text: whoever draws a sentence escapes it.
const (
	sayMaskedUncovered = "part of the call is hidden"
	sayRuleUncovered   = "a rule on its arguments asks each time"
	sayRule            = "%s %s (rule %d of the configuration)."
	sayNoRule          = "None of %d rules on its arguments is about it."
	sayLowerAccess     = "it gives read access and this needs write access" // R41
	sayHere            = "What the configuration says for %s goes over the rest of it."
	sayNoPolicy        = "No one can approve here: no permission policy is installed."
	sayAllowAll        = "The policy allows every call without asking."
	sayVisitor         = "Whoever asked may decide nothing here (a guest, somebody of another organisation, or a program), so nothing runs for them unasked."
	sayUntold          = "Whether whoever asked may decide here could not be looked up, so nothing runs for them unasked."
	sayUnattended      = "Nobody can be asked here: this run is unattended."
	sayNotDisabled     = "It is not disabled."
	sayNoAuth          = "It does not need an admin."
	sayModeTool        = "This chat uses each tool's setting."
	sayModeMasked      = "Part of this call is hidden, so “never ask” of this chat does not count."
	sayToolInherits    = "The tool has no setting of its own."
	sayServerInherits  = "The server has no setting of its own."
	sayNoApproval      = "No approval is set for the tool."
	sayNotNamed        = "Its name decides nothing."
	sayNoGrant         = "No grant of this chat is for it."
	sayMoreGrants      = "%d more grants do not cover this either."
	sayHalted          = "%s halted everything. Nothing runs until an admin resumes."
	sayRequireAuth     = "%s needs an admin for each call (%s)."
	sayChanged         = "%s is not as it was when it was accepted: its definition changed."
	sayNotRemembered   = "The remembered choice about %s does not satisfy this: %s."

	// What a chat that never asks still asks about.
	sayOthersLook  = "This chat never asks, but for %s somebody else than whoever asks has to decide."
	saySeveralLook = "This chat never asks, but several people must allow each call of %s."
	sayAdminAsks   = "This chat never asks, but an admin set %s to always ask."
	sayUnseen      = "This chat never asks, but no admin has accepted %s yet."

	sayAdminOnly    = "Only an admin can decide this."
	sayAnAdmin      = "an admin"
	sayWhoAsked     = " (who asked)"
	sayTheRequester = "the person who asked"
	sayParticipants = "people who take part in this chat"
	sayAnyone       = "people of this team"
	sayAnotherAdmin = "an admin other than whoever asked"
	sayOthersOnly   = "Whoever asked may not decide this: somebody else has to."
	saySelfNamed    = "Whoever asked may not decide this, and a name that you gave yourself does not tell you apart: sign in with a key that names you (web.session_keys)."
	sayUnknownUser  = "I could not tell who you are, so your answer does not count."
)

// NoAdminsNotice explains an ask that nobody can answer (R111).
const NoAdminsNotice = "No admin is configured: set ADMIN_SESSION_KEYS, or list people under `admins:` in the configuration."

// Label is how the mode reads in menus and answers: never the bare word, whose polarity the documents dispute (C1).
func (m Mode) Label() string { return label(m == ModeTool, m == ModeNever, "Use each tool's setting") }

// Label is how the setting reads in menus and answers (C1).
func (p Prompt) Label() string { return label(p == Inherit, p == NeverAsk, "Use the default") }

func label(inherits, never bool, inherited string) string {
	switch {
	case inherits:
		return inherited
	case never:
		return "Never ask (dangerous)"
	}
	return "Always ask"
}

func called(t Tool) string { return t.Name + " of " + t.Server }

func sayDisabled(e Effective) string {
	what := called(e.Tool)
	if e.Disabled == FromServer {
		what = "The server " + e.Tool.Server
	}
	return fmt.Sprintf("%s is disabled (%s).", what, e.Disabled)
}

// sayAsks says whether something asks, and by which setting.
func sayAsks(who string, never bool, from Origin) string {
	does := "asks before every call"
	if never {
		does = "never asks"
	}
	return fmt.Sprintf("%s %s (%s).", who, does, from)
}

// sayConfirms says whether one tool needs confirmation, and by whose word.
func sayConfirms(what string, must bool, from Origin) string {
	needs := "needs"
	if !must {
		needs = "needs no"
	}
	return fmt.Sprintf("%s %s confirmation (%s).", what, needs, from)
}

func sayNamed(e Effective) string {
	const list = "nod's list of well-known tools"
	if e.ConfirmationRequired() {
		return "Tools called " + e.Tool.Name + " need confirmation (" + list + ")."
	}
	return sayConfirms("The built-in "+e.Tool.Name, false, list)
}

func saySource(e Effective, h Hints, marked bool) string {
	says := e.Tool.Server + " says that " + e.Tool.Name + " only reads"
	readOnly := is(h.ReadOnly, true)
	switch {
	case e.ApprovalFrom == FromPosture:
		return "Built-in tools ask, too (posture: all)."
	case e.Source == SourceWorkbench:
		return sayConfirms("The built-in "+e.Tool.Name, e.ConfirmationRequired(), e.ApprovalFrom)
	case !e.ConfirmationRequired() && e.Reads:
		return "An admin accepted that " + called(e.Tool) + " only reads."
	case !e.ConfirmationRequired():
		return e.Tool.Server + " is marked trusted and says that " + e.Tool.Name + " only reads."
	case readOnly && !marked:
		return says + ", but is not marked trusted."
	case h.reads() && is(h.OpenWorld, true):
		return says + ", but reaches out into the world."
	case readOnly && !h.reads():
		return e.Tool.Server + " says both that " + e.Tool.Name + " only reads and that it destroys."
	}
	return "Tools of MCP servers ask unless a setting says otherwise."
}

func sayGranted(g Grant) string {
	return cmp.Or(g.Name, "Somebody") + " allowed " + GrantedWhat(g) + " in this chat."
}

func sayNotCovered(g Grant, why string) string {
	return "The grant of " + GrantedWhat(g) + " does not cover this: " + why + "."
}

// GrantedWhat is what a grant is for, in words: "write_file of files". The names inside are untrusted text.
func GrantedWhat(g Grant) string {
	if g.Scope == ScopeTool {
		return called(g.Tool)
	}
	what := map[Scope]string{ScopeReads: "reads", ScopeWrites: "reads and writes", ScopeServer: "all tools"}[g.Scope]
	return cmp.Or(what, "something") + " from " + g.Tool.Server
}

// What is what a remembered choice is for, in words, without its limits.
func (r Remembered) What() string { return GrantedWhat(Grant{Scope: r.Scope, Tool: r.Tool}) }

// Limits is what narrows a remembered choice, in words.
func (r Remembered) Limits() string {
	say := pin.Label(r.Pins)
	if r.Channel != "" {
		say += " in all chats of " + string(r.Channel)
	}
	if !r.Until.IsZero() {
		say += " until " + r.Until.UTC().Format("2006-01-02 15:04 UTC")
	}
	return strings.TrimSpace(say)
}

func (r Remembered) what() string { return strings.TrimSpace(r.What() + " " + r.Limits()) }

func sayRemembered(r Remembered) string {
	who, what := cmp.Or(r.Name, "The person who asks"), called(r.Tool)
	switch {
	case r.Channel != "":
		return who + " allowed " + r.What() + " in this channel until " + r.Until.UTC().Format("2006-01-02") + "."
	case r.Choice == StandAllow:
		return who + " chose to allow " + r.what() + " (remembered choice)."
	case r.Choice == StandAsk:
		return who + " chose to be asked about " + what + " (remembered choice)."
	}
	return who + " chose to deny " + what + " (remembered choice). It holds until they forget it in the settings." // R125
}

// Explain answers "why was I asked" (R150, R151), in lines for people: the answer, every rule that was consulted with the winner marked,
// what the tool is, and the timeout, each with its source. Names inside are untrusted text.
func Explain(p Policy, grants []Grant, req Request, now time.Time) []string {
	p, e := p.at(req)
	r := Evaluate(p, grants, req, now)
	answer := map[Verdict]string{Ask: "asks first", Allow: "runs without asking", Forbid: "does not run"}[r.Verdict]
	if r.Verdict == Ask && r.Level == LevelAdmin {
		answer = "asks an admin first"
	}
	lines := []string{called(e.Tool) + " " + answer + "."}
	for i, why := range r.Reasons {
		mark := "  "
		if why.Won {
			mark = "→ "
		}
		lines = append(lines, fmt.Sprintf("%s%d. %s: %s (%s)", mark, i+1, why.Rule, why.Text, why.Said))
	}
	access := e.Access.String()
	if !e.Classified {
		access += ", unclassified"
	}
	timeout := "none: it waits until somebody answers"
	switch {
	case e.Timeout == TimeoutUnset:
		timeout = fmt.Sprintf("%s where asks notify people, %s on the page", spellTimeout(TimeoutNotified), spellTimeout(TimeoutOnPage))
	case e.Timeout > 0:
		timeout = e.Timeout.String()
	}
	return append(lines,
		fmt.Sprintf("access: %s (%s)", access, e.AccessFrom),
		fmt.Sprintf("risk: %s (%s)", e.Risk, e.RiskFrom),
		fmt.Sprintf("approval: %s (%s)", e.Approval, e.ApprovalFrom),
		fmt.Sprintf("timeout: %s (%s)", timeout, e.TimeoutFrom),
	)
}

// Brief is the ruling without the rules that had no opinion: what is worth storing with every call.
func (r Ruling) Brief() Ruling {
	r.Reasons = without(r.Reasons, func(x Reason) bool { return !x.Won && x.Said == SaidNothing })
	return r
}
