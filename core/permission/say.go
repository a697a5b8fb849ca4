package permission

import (
	"strconv"
	"strings"
)

// Every sentence of this package that a person reads stands here. Names of servers, tools and people inside them are
// untrusted text: whoever draws a sentence escapes it.
const (
	sayMaskedUncovered = "part of the call is hidden"
	sayLowerAccess     = "it gives read access and this needs write access" // R41
	sayNoPolicy        = "No one can approve here: no permission policy is installed."
	sayAllowAll        = "The policy allows every call without asking."
	sayVisitor         = "Whoever asked may decide nothing here (a guest, or somebody of another organisation), so nothing runs for them unasked."
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

const (
	labelAlways = "Always ask"
	labelNever  = "Never ask (dangerous)"
)

// Label is how the mode reads in menus and answers: never the bare word, whose polarity the documents dispute (C1).
func (m Mode) Label() string {
	switch m {
	case ModeTool:
		return "Use each tool's setting"
	case ModeNever:
		return labelNever
	}
	return labelAlways
}

// Label is how the setting reads in menus and answers (C1).
func (p Prompt) Label() string {
	switch p {
	case Inherit:
		return "Use the default"
	case NeverAsk:
		return labelNever
	}
	return labelAlways
}

func called(t Tool) string { return t.Name + " of " + t.Server }

func sayDisabled(e Effective) string {
	if e.Disabled == FromServer {
		return "The server " + e.Tool.Server + " is disabled (server setting)."
	}
	return called(e.Tool) + " is disabled (tool setting)."
}

func sayRequireAuth(e Effective) string {
	return called(e.Tool) + " needs an admin for each call (" + string(e.ApprovalFrom) + ")."
}

func sayChanged(e Effective) string {
	return called(e.Tool) + " is not as it was when it was accepted: its definition changed."
}

func sayMode(m Mode, ofSession bool) string {
	from := " (the default mode)."
	if ofSession {
		from = " (session setting)."
	}
	if m == ModeNever {
		return "This chat never asks" + from
	}
	return "This chat asks before every call" + from
}

func sayAskTool(e Effective, p Prompt) string {
	if p == NeverAsk {
		return called(e.Tool) + " never asks (tool setting)."
	}
	return called(e.Tool) + " asks before every call (tool setting)."
}

func sayAskServer(e Effective, p Prompt) string {
	if p == NeverAsk {
		return e.Tool.Server + " never asks (server setting)."
	}
	return e.Tool.Server + " asks before every call (server setting)."
}

func sayApproval(e Effective) string {
	if e.ConfirmationRequired() {
		return called(e.Tool) + " needs confirmation (tool setting)."
	}
	return called(e.Tool) + " needs no confirmation (tool setting)."
}

func sayNamed(e Effective) string {
	if e.ConfirmationRequired() {
		return "Tools called " + e.Tool.Name + " need confirmation (nod's list of well-known tools)."
	}
	return "The built-in " + e.Tool.Name + " needs no confirmation (nod's list of well-known tools)."
}

func saySource(e Effective, h Hints, marked bool) string {
	s := e.Tool.Server
	if e.Source == SourceWorkbench {
		switch {
		case e.ApprovalFrom == FromPosture:
			return "Built-in tools ask, too (posture: all)."
		case e.ConfirmationRequired():
			return "The built-in " + e.Tool.Name + " needs confirmation (" + string(e.ApprovalFrom) + ")."
		}
		return "The built-in " + e.Tool.Name + " needs no confirmation (" + string(e.ApprovalFrom) + ")."
	}
	switch {
	case !e.ConfirmationRequired():
		return s + " is marked trusted and says that " + e.Tool.Name + " only reads."
	case h.IsReadOnly() && !marked:
		return s + " says that " + e.Tool.Name + " only reads, but is not marked trusted."
	case h.reads() && is(h.OpenWorld, true):
		return s + " says that " + e.Tool.Name + " only reads, but reaches out into the world."
	case h.IsReadOnly() && !h.reads():
		return s + " says both that " + e.Tool.Name + " only reads and that it destroys."
	}
	return "Tools of MCP servers ask unless a setting says otherwise."
}

func sayGranted(g Grant) string {
	who := g.Name
	if who == "" {
		who = "Somebody"
	}
	return who + " allowed " + GrantedWhat(g) + " in this chat."
}

func sayNotCovered(g Grant, why string) string {
	return "The grant of " + GrantedWhat(g) + " does not cover this: " + why + "."
}

// GrantedWhat is what a grant is for, in words: "write_file of files". The names inside are untrusted text.
func GrantedWhat(g Grant) string {
	switch g.Scope {
	case ScopeTool:
		return called(g.Tool)
	case ScopeReads:
		return "reads from " + g.Tool.Server
	case ScopeWrites:
		return "reads and writes from " + g.Tool.Server
	case ScopeServer:
		return "all tools from " + g.Tool.Server
	}
	return "something from " + g.Tool.Server
}

func sayMoreGrants(n int) string {
	return strconv.Itoa(n) + " more grants do not cover this either."
}

func sayHalted(h Halt) string {
	who := h.Name
	if who == "" {
		who = "An admin"
	}
	return who + " halted everything. Nothing runs until an admin resumes."
}

func sayStanding(s Standing) string {
	switch s {
	case StandAllow:
		return "allow"
	case StandAsk:
		return "always ask about"
	}
	return "deny"
}

// Limits is what narrows a remembered choice, in words.
func (r Remembered) Limits() (say string) {
	if len(r.Pins) > 0 {
		say = PinsLabel(r.Pins)
	}
	if !r.Until.IsZero() {
		say = strings.TrimSpace(say + " until " + r.Until.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return say
}

func sayRemembered(r Remembered) string {
	who := r.Name
	if who == "" {
		who = "The person who asks"
	}
	switch r.Choice {
	case StandAllow:
		return who + " chose to allow " + strings.TrimSpace(called(r.Tool)+" "+r.Limits()) + " (remembered choice)."
	case StandAsk:
		return who + " chose to be asked about " + called(r.Tool) + " (remembered choice)."
	}
	return who + " chose to deny " + called(r.Tool) + " (remembered choice). It holds until they forget it in the settings." // R125
}

func sayNotRemembered(r Remembered, why string) string {
	return "The remembered choice about " + called(r.Tool) + " does not satisfy this: " + why + "."
}

// What a chat that never asks still asks about.
func sayOthersLook(e Effective) string {
	return "This chat never asks, but for " + called(e.Tool) + " somebody else than whoever asks has to decide."
}

func saySeveralLook(e Effective) string {
	return "This chat never asks, but several people must allow each call of " + called(e.Tool) + "."
}

func sayAdminAsks(e Effective) string {
	return "This chat never asks, but an admin set " + called(e.Tool) + " to always ask."
}

func sayUnseen(e Effective) string {
	return "This chat never asks, but no admin has accepted " + called(e.Tool) + " yet."
}
