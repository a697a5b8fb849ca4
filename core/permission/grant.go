package permission

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Covers says whether a grant satisfies a call now, and why or why not in a sentence. A grant is a standing click:
// it covers exactly where its granter's click would be accepted now, within its scope, pins and end. It never covers
// RequireAuth, another chat, another server, another tool or definition, or a run that nobody attends.
func Covers(p Policy, g Grant, req Request, now time.Time) (bool, string) {
	e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
	if why := uncovered(p, g, req, e, now); why != "" {
		return false, sayNotCovered(g, why)
	}
	return true, sayGranted(g)
}

// uncovered is why a grant does not cover a call, or "".
func uncovered(p Policy, g Grant, req Request, e Effective, now time.Time) string {
	mode, _ := p.mode(req)
	switch {
	case e.Disabled != "":
		return "the tool is disabled"
	case e.Approval == RequireAuth:
		return "an admin must decide each call"
	case req.Unattended:
		return "unattended runs use no grants"
	case req.Masked != nil:
		return sayMaskedUncovered
	case !e.ChatGrant:
		return "grants for this tool are withheld (tool setting)"
	case g.Chat.IsZero() || g.Chat != req.Chat:
		return "it is of another chat"
	case !p.SurviveRestart && g.Epoch != p.Epoch:
		return "it ended with a restart"
	case !g.Until.IsZero() && !now.Before(g.Until):
		return "it has run out"
	case g.limited() && g.Uses <= 0:
		return "its uses are used up"
	case p.Halted != nil:
		return "everything is halted"
	case e.Approvals > 1:
		return "several people must allow each call"
	case mode == ModeAlways && p.Strict:
		return "this chat asks before every call"
	case mode == ModeAlways && !g.At.After(req.ModeAt):
		return "it is older than this chat's setting to always ask"
	case g.Tool.Server != req.Tool.Server:
		return "it is for another server"
	}
	if why := outOfScope(p, g, req, e); why != "" {
		return why
	}
	if !holdAll(g.Pins, req.Args) {
		return "the arguments are not the ones it is limited to"
	}
	if MayDecide(p, req, LevelUser, g.By) != nil {
		return "the person who gave it may not decide this call"
	}
	return ""
}

func outOfScope(p Policy, g Grant, req Request, e Effective) string {
	if g.Scope == ScopeTool {
		switch {
		case g.Tool.Name != req.Tool.Name:
			return "it is for another tool"
		case g.Tool != req.Tool:
			return "the tool's definition changed since"
		}
		return ""
	}
	if !slices.Contains(g.Tools, req.Tool) {
		return "the tool was added or changed since"
	}
	if e.Risk == Dangerous && (g.Scope != ScopeServer || !p.IsAdmin(g.By)) {
		return "dangerous tools need a grant of their own"
	}
	switch g.Scope {
	case ScopeServer:
		return ""
	case ScopeReads, ScopeWrites:
		switch {
		case !e.Classified:
			return "it is for " + g.Scope.String() + " and nobody who is believed says whether this tool only reads"
		case g.Scope == ScopeReads && is(req.Hints.OpenWorld, true) && e.AccessFrom == FromAnnotations:
			return "it is for reads, and this one reaches out into the world"
		case e.Access == Read, g.Scope == ScopeWrites && e.Access == Write:
			return ""
		}
		return sayLowerAccess
	}
	return "its scope is not known"
}

func (g Grant) limited() bool { return g.Counted || g.Uses != 0 }

// Scopes returns the grants that would cover this very call if that person gave them now: what a
// card may offer. (R107: a label must grant what it says.)
func Scopes(p Policy, req Request, by chat.User, now time.Time) []Scope {
	var out []Scope
	for s := ScopeTool; s <= ScopeServer; s++ {
		g := Grant{Chat: req.Chat, Scope: s, Tool: req.Tool, Tools: []Tool{req.Tool}, By: by, Epoch: p.Epoch,
			At: req.ModeAt.Add(1)} // given after the mode was set, whatever the clocks say
		if ok, _ := Covers(p, g, req, now); ok {
			out = append(out, s)
		}
	}
	return out
}
