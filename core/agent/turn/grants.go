package turn

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
)

// What a limited grant is limited to where a click does not say.
const (
	GrantHour = time.Hour
	GrantUses = 3   // calls, the one it was given for included
	maxUses   = 100 // that anybody may ask for
)

var grants = []chat.Choice{
	chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses, chat.AllowReads, chat.AllowWrites, chat.AllowServer,
}

// Grants reports whether a choice makes a standing permission of this chat.
func Grants(c chat.Choice) bool { return slices.Contains(grants, c) }

// Allows reports whether a choice lets the call run.
func Allows(c chat.Choice) bool { return c == chat.AllowOnce || c == chat.AllowChannel || Grants(c) }

// scopes are the grants that are wider than one tool.
var scopes = map[chat.Choice]permission.Scope{
	chat.AllowReads: permission.ScopeReads, chat.AllowWrites: permission.ScopeWrites, chat.AllowServer: permission.ScopeServer,
}

// ScopeOf is how much of a server a choice that grants is for.
func ScopeOf(choice chat.Choice) permission.Scope { return scopes[choice] }

// ChoiceOf is the choice that makes such a grant.
func ChoiceOf(g permission.Grant) chat.Choice {
	for choice, scope := range scopes {
		if g.Scope == scope {
			return choice
		}
	}
	switch {
	case haveDirectory(g.Pins):
		return chat.AllowPath
	case len(g.Pins) > 0:
		return chat.AllowExact
	case !g.Until.IsZero():
		return chat.AllowHour
	case g.Counted:
		return chat.AllowUses
	}
	return chat.AllowChat
}

func haveDirectory(pins []pin.Pin) bool {
	return slices.ContainsFunc(pins, func(p pin.Pin) bool { return p.Match == pin.MatchUnder })
}

// PinsFor is the pins that a choice stands for on a call's card.
func PinsFor(c ToolCall, choice chat.Choice) (p pin.Proposal, ok bool) {
	all := pin.Propose(c.Tool.Name, c.Args)
	i := slices.IndexFunc(all, func(p pin.Proposal) bool { return haveDirectory(p.Pins) == (choice == chat.AllowPath) })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// Offers reports whether a choice that grants stands on the call's card.
func Offers(c ToolCall, choice chat.Choice) bool {
	if !OffersGrant(c) {
		return false
	}
	switch choice {
	case chat.AllowChat, chat.AllowHour, chat.AllowUses:
		return true
	case chat.AllowChannel:
		return c.Ruling.Channel > 0
	case chat.AllowExact, chat.AllowPath:
		_, ok := PinsFor(c, choice)
		return ok
	}
	scope, wide := scopes[choice]
	return wide && slices.Contains(c.Ruling.Scopes, scope)
}

// OffersSession reports whether "Approve all for this session" stands on the call's card.
func OffersSession(c ToolCall) bool {
	return c.Status == Awaiting && OffersGrant(c) && !c.Ruling.Changed
}

// GrantFor is the grant that a choice on a call's card makes, without its ID, its granter and when: those are the click's. tools are
// the server's tools as they are, for a wider one; uses is how many calls, this one included, 0 for [GrantUses].
func GrantFor(s Session, c ToolCall, choice chat.Choice, tools []permission.Tool, uses int) (g permission.Grant, ok bool) {
	if !Offers(c, choice) {
		return g, false
	}
	g = permission.Grant{Chat: s.Chat, Tool: c.Tool}
	switch choice {
	case chat.AllowExact, chat.AllowPath:
		p, _ := PinsFor(c, choice)
		g.Pins = p.Pins
	case chat.AllowUses:
		if uses == 0 {
			uses = GrantUses
		}
		if uses < 1 || uses > maxUses {
			return g, false
		}
		g.Counted, g.Uses, g.Of = true, uses-1, uses // this call is one of them, and is covered by the click itself
	case chat.AllowReads, chat.AllowWrites, chat.AllowServer:
		g.Scope = scopes[choice]
		g.Tools = slices.DeleteFunc(slices.Clone(tools), func(t permission.Tool) bool { return t.Server != c.Tool.Server })
		if !slices.Contains(g.Tools, c.Tool) {
			return g, false
		}
	}
	return g, true
}

// granted is the grant as the session keeps it, or nil: it must be exactly what the choice stands for on that card, by the one who
// clicked.
func (s Session) granted(c ToolCall, ev Decided, at time.Time) *permission.Grant {
	g := ev.Grant
	if g == nil || g.ID == "" || g.By != ev.By || slices.ContainsFunc(s.Grants, func(x permission.Grant) bool { return x.ID == g.ID }) {
		return nil
	}
	want, ok := GrantFor(s, c, ev.Choice, g.Tools, g.Uses+1)
	if !ok || !samePins(want.Pins, g.Pins) || want.Chat != g.Chat || want.Tool != g.Tool || want.Scope != g.Scope || want.Counted != g.Counted || want.Uses != g.Uses {
		return nil
	}
	kept := *g
	kept.Tools, kept.Of = want.Tools, want.Of
	kept.At, kept.Until = at, time.Time{} // the log's time, as everything that grants are compared with
	if ev.Choice == chat.AllowHour {
		kept.Until = at.Add(GrantHour)
	}
	return &kept
}

// Grant is a grant of the session as a call keeps it, or nil.
func (s Session) Grant(id permission.GrantID) *permission.Grant {
	for _, g := range s.Grants {
		if g.ID == id {
			g.Tools = nil
			return &g
		}
	}
	return nil
}

// Coverable reports whether a call that waits may be answered by a grant that somebody gives for another: one that an admin or several
// people decide may not, nor one that has to be looked at for itself: with arguments that are masked or that a person changed, or after a run
// whose outcome nobody knew.
func Coverable(c ToolCall) bool {
	return c.Status == Awaiting && OffersGrant(c) && !c.Ruling.Changed && !c.Edited() && len(c.Runs) == 0 && !Masked(c)
}

// covered answers a call by a grant that its granter gave for another call. From now on it stands as one that the grant let run without
// asking: whether it covers is looked at again before the start.
func (s Session) covered(c ToolCall, ev Decided) Session {
	g := s.Grant(ev.Under)
	if ev.Choice != chat.AllowOnce || g == nil || g.By != ev.By || g.Tool.Server != c.Tool.Server || !Coverable(c) {
		return s
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.Status, c.Asked, c.Grant, c.Cover, c.Deadline = Allowed, false, g.ID, g, time.Time{}
		c.Ruling.Verdict, c.Ruling.Grant, c.Votes, c.Ticked = permission.Allow, g.ID, nil, nil
	})
}

func samePins(a, b []pin.Pin) bool {
	return slices.EqualFunc(a, b, func(x, y pin.Pin) bool {
		return x.Path == y.Path && x.Match == y.Match && string(x.Value) == string(y.Value)
	})
}

// CanRemember reports whether "Remember this choice" stands on the call's card.
func CanRemember(c ToolCall) bool { return c.Status == Awaiting && c.Ruling.Remember }

// Chosen is what people read that was chosen.
func (d Decision) Chosen() chat.Choice {
	if d.Channel != "" {
		return chat.AllowChannel
	}
	return d.Choice
}

// Remembers reports whether a person ticked that box, so that their answer is remembered.
func Remembers(c ToolCall, u chat.User) bool { return c.Ticked != nil && c.Ticked.User == u }
