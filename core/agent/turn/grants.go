package turn

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// What a limited grant is limited to where a click does not say.
const (
	GrantHour = time.Hour
	GrantUses = 3   // calls, the one it was given for included
	maxUses   = 100 // that anybody may ask for
)

// Grants reports whether a choice makes a standing permission of this chat.
func Grants(c chat.Choice) bool {
	switch c {
	case chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses, chat.AllowReads, chat.AllowWrites, chat.AllowServer:
		return true
	}
	return false
}

// Allows reports whether a choice lets the call run.
func Allows(c chat.Choice) bool { return c == chat.AllowOnce || Grants(c) }

// scopes are the grants that are wider than one tool.
var scopes = map[chat.Choice]permission.Scope{
	chat.AllowReads: permission.ScopeReads, chat.AllowWrites: permission.ScopeWrites, chat.AllowServer: permission.ScopeServer,
}

// ChoiceOf is the choice that makes such a grant.
func ChoiceOf(g permission.Grant) chat.Choice {
	for choice, scope := range scopes {
		if g.Scope == scope {
			return choice
		}
	}
	switch {
	case slices.ContainsFunc(g.Pins, func(p permission.Pin) bool { return p.Match == permission.MatchUnder }):
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

// PinsFor is the pins that a choice stands for on a call's card.
func PinsFor(c ToolCall, choice chat.Choice) (permission.PinProposal, bool) {
	all := permission.ProposePins(c.Tool.Name, c.Args)
	for _, p := range all {
		if path := slices.ContainsFunc(p.Pins, func(x permission.Pin) bool { return x.Match == permission.MatchUnder }); path == (choice == chat.AllowPath) {
			return p, true
		}
	}
	return permission.PinProposal{}, false
}

// Offers reports whether a choice that grants stands on the call's card.
func Offers(c ToolCall, choice chat.Choice) bool {
	if !OffersGrant(c) {
		return false
	}
	switch choice {
	case chat.AllowChat, chat.AllowHour, chat.AllowUses:
		return true
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
		for _, t := range tools {
			if t.Server == c.Tool.Server {
				g.Tools = append(g.Tools, t)
			}
		}
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
func (s Session) covered(i int, ev Decided) Session {
	g := s.Grant(ev.Under)
	if c := s.Turn.Calls[i]; ev.Choice != chat.AllowOnce || g == nil || g.By != ev.By || g.Tool.Server != c.Tool.Server || !Coverable(c) {
		return s
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.Status, c.Asked, c.Grant, c.Cover, c.Deadline = Allowed, false, g.ID, g, time.Time{}
		c.Ruling.Verdict, c.Ruling.Grant, c.Votes, c.Ticked = permission.Allow, g.ID, nil, nil
	})
}

func samePins(a, b []permission.Pin) bool {
	return slices.EqualFunc(a, b, func(x, y permission.Pin) bool {
		return x.Path == y.Path && x.Match == y.Match && string(x.Value) == string(y.Value)
	})
}

// voted reports whether a person's word already counts among those that a call needs.
func (c ToolCall) voted(u chat.User) bool {
	return slices.ContainsFunc(c.Votes, func(v Vote) bool { return v.By == u })
}

// CanRemember reports whether "Remember this choice" stands on the call's card.
func CanRemember(c ToolCall) bool { return c.Status == Awaiting && c.Ruling.Remember }

// Remembers reports whether a person ticked that box, so that their answer is remembered.
func Remembers(c ToolCall, u chat.User) bool { return c.Ticked != nil && c.Ticked.User == u }

func (s Session) ticked(ev Ticked) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || ev.By.IsZero() || !CanRemember(s.Turn.Calls[i]) {
		return s
	}
	have := s.Turn.Calls[i].Ticked
	if ev.On == (have != nil && have.User == ev.By) { // only who ticked it unticks it
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
		t.Calls[i].Ticked = nil
		if ev.On {
			t.Calls[i].Ticked = &Person{ev.By, ev.Name}
		}
	})
}

func (s Session) changed(e Entry, ev Changed) Session {
	var now permission.Settings
	if s.Settings != nil {
		now = *s.Settings
	}
	any := false
	for _, c := range ev.Changes {
		next, moved := now.Apply(c, ev.By, ev.Name, e.At)
		now, any = next, any || moved
	}
	if any {
		s.Settings = &now
	}
	return s
}

// silence is after how long a conversation in which nothing happened has faded: what is said then begins a new one. Its log stays, for
// the audit.
const silence = 30 * 24 * time.Hour

// expireIdle forgets what was said and allowed before a long silence.
func (s Session) expireIdle(e Entry) Session {
	if _, spoke := e.Event.(Said); !spoke || s.Turn != nil || s.At.IsZero() || e.At.Sub(s.At) < silence {
		return s
	}
	s.Transcript, s.Dropped, s.Grants, s.Lapsed, s.Notes, s.Last = nil, 0, nil, nil, nil, nil
	s.Mode, s.ModeAt = permission.ModeTool, time.Time{}
	return s
}
