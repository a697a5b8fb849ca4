package permission

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// Covers says whether a grant satisfies a call now, and why or why not in a sentence: exactly where its granter's click would be accepted
// now, within its scope, pins and end.
func Covers(p Policy, g Grant, req Request, now time.Time) (bool, string) {
	p, e := p.at(req)
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
	case p.asks(req):
		return sayRuleUncovered
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
	if !pin.Hold(g.Pins, req.Args) {
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
	switch {
	case !slices.Contains(g.Tools, req.Tool):
		return "the tool was added or changed since"
	case e.Risk == Dangerous && (g.Scope != ScopeServer || !p.IsAdmin(g.By)):
		return "dangerous tools need a grant of their own"
	case g.Scope == ScopeServer:
		return ""
	case g.Scope != ScopeReads && g.Scope != ScopeWrites:
		return "its scope is not known"
	case !e.Classified:
		return "it is for " + g.Scope.String() + " and nobody who is believed says whether this tool only reads"
	case g.Scope == ScopeReads && is(req.Hints.OpenWorld, true) && e.AccessFrom == FromAnnotations:
		return "it is for reads, and this one reaches out into the world"
	case e.Access == Read, g.Scope == ScopeWrites:
		return ""
	}
	return sayLowerAccess
}

func (g Grant) limited() bool { return g.Counted || g.Uses != 0 }

// Scopes are those of the grants that would cover this very call if that person gave them now (R107: a label must grant what it says).
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

// Standing is what a remembered choice does. Zero asks.
type Standing uint8

const (
	StandAsk Standing = iota // always ask me
	StandAllow
	StandDeny
)

// Remembered is a person's own choice about a tool, for what they ask themselves, in every chat (R43, R45, R109). An allowance is for
// one definition of the tool; a denial, and the wish to be asked, hold whatever becomes of it. An allowance for a channel is a standing
// click as a [Grant] is: for whatever By may answer in the chats of that channel.
type Remembered struct {
	ID     string    `json:"id"`
	By     chat.User `json:"by"`
	Name   string    `json:"name,omitempty"` // display name of By when it was chosen
	Tool   Tool      `json:"tool"`
	Choice Standing  `json:"choice"`
	At     time.Time `json:"at,omitzero"`
	// What an allowance is narrowed to: the arguments of the answer it was remembered with, and its end. Neither: any arguments, for good.
	Pins  []pin.Pin `json:"pins,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// What an allowance is wider by: all chats of a channel, which always has an end, or more of the server than the tool, as it was then.
	Channel chat.Channel `json:"channel,omitempty"`
	Scope   Scope        `json:"scope,omitempty"`
	Tools   []Tool       `json:"tools,omitempty"` // ordered by name
}

// plain reports whether the choice is one that earlier releases know.
func (r Remembered) plain() bool { return r.Channel == "" && r.Scope == ScopeTool && len(r.Tools) == 0 }

// fits reports whether what narrows and widens the choice can be kept: only an allowance is, by what people can read, and not for ever for
// others.
func (r Remembered) fits() bool {
	switch {
	case r.Choice != StandAllow:
		return r.plain() && len(r.Pins) == 0 && r.Until.IsZero()
	case r.Channel != "" && r.Until.IsZero(), r.Scope > ScopeServer, (r.Scope == ScopeTool) != (len(r.Tools) == 0):
		return false
	}
	return pin.Check(r.Pins) == nil
}

// rule is the one that the choice counts by.
func (r Remembered) rule() string {
	if r.Channel != "" {
		return RuleChannel
	}
	return RuleRemembered
}

// standing is the requester's own wish to be asked about a tool, or their denial. What they allow is [ruling.kept]'s.
func (p Policy) standing(req Request) (found Remembered, ok bool) {
	for _, r := range p.Remembered {
		if r.By != req.Requester || !acts(r.By) || r.Choice == StandAllow || r.Tool.Server != req.Tool.Server || r.Tool.Name != req.Tool.Name {
			continue
		}
		if !ok || r.Choice.rank() > found.Choice.rank() {
			found, ok = r, true
		}
	}
	return found, ok
}

// keptUncovered is why a remembered allowance does not satisfy a call, or "".
func keptUncovered(p Policy, r Remembered, req Request, e Effective, now time.Time) string {
	mode, _ := p.mode(req)
	switch {
	case req.Standing != chat.Member:
		return "whoever asks may decide nothing here"
	case r.Channel == "" && r.Scope > p.RememberUpTo:
		return "no admin allows a choice for so much of a server any more"
	case !r.Until.IsZero() && !now.Before(r.Until):
		return "it has run out"
	case !pin.Hold(r.Pins, req.Args):
		return "the arguments are not the ones it is limited to"
	case req.Unattended:
		return "unattended runs use no remembered choices"
	case req.Masked != nil:
		return sayMaskedUncovered
	case p.asks(req):
		return sayRuleUncovered
	case mode == ModeAlways:
		return "this chat asks before every call"
	case e.Approvals > 1:
		return "several people must allow each call"
	case !e.ChatGrant:
		return "standing permissions for this tool are withheld (tool setting)"
	case p.adminAsks(req.Tool):
		return "an admin set it to always ask"
	case p.unseen(e):
		return "no admin has accepted the tool yet"
	case MayDecide(p, req, LevelUser, r.By) != nil:
		return "the person who chose it may not decide this call"
	}
	return outOfScope(p, Grant{Scope: r.Scope, Tool: r.Tool, Tools: r.Tools, By: r.By}, req, e)
}

// adminAsks reports whether the operator or an admin said that the tool, or its server, always asks. No person's setting undoes that.
func (p Policy) adminAsks(t Tool) bool {
	server := p.Servers[t.Server]
	set := server.Tools[t.Name].Ask
	return set.always() || set == Inherit && server.Ask.always()
}

// always says that it asks; so does what is no setting at all.
func (p Prompt) always() bool { return p != Inherit && p != NeverAsk }
