package permission

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// MayDecide says whether a person may decide a call at this level: nil, or a [*NotAllowed] that says who may. It is the one rule for
// buttons, forms, commands, the API and grants. An admin may decide everything; at LevelAdmin only an admin may, and for a tool that
// policy has since raised to RequireAuth. The same key on another platform or in another workspace is somebody else.
func MayDecide(p Policy, req Request, level Level, u chat.User) error {
	p, e := p.at(req)
	switch {
	case !p.Installed && !p.AllowAll:
		return &NotAllowed{why: sayNoPolicy}
	case !acts(u):
		return &NotAllowed{why: sayUnknownUser}
	case e.OthersOnly && u == req.Requester: // also an admin: two pairs of eyes are the point
		return &NotAllowed{why: sayOthersOnly}
	case e.OthersOnly && u.SelfNamed(): // it may be whoever asked, under another name
		return &NotAllowed{why: saySelfNamed}
	case p.IsAdmin(u):
		return nil
	case level != LevelUser || e.Approval == RequireAuth:
		if len(p.Admins) == 0 {
			return &NotAllowed{why: sayAdminOnly + " " + NoAdminsNotice}
		}
		return &NotAllowed{why: sayAdminOnly}
	}
	// Whoever belongs to another workspace than the chat (a guest of a shared channel) may answer what they themselves
	// asked for, or where the operator listed them; a rule about everybody does not mean them.
	// People who sign in on the page by another platform are at home there, too.
	here := u.Platform == req.Chat.Platform && u.Workspace == req.Chat.Workspace || req.Chat.Platform == "web" && slices.Contains(p.PageOf, u.Platform)
	ok := false
	switch e.Approvers.Rule {
	case ApproversRequester:
		ok = u == req.asker()
	case ApproversParticipants:
		ok = here && slices.Contains(req.Present, u)
	case ApproversAnyone:
		ok = here
	case ApproversListed:
		listed := func(x chat.User) bool { return slices.Contains(e.Approvers.Users, x) }
		ok = listed(u) || slices.ContainsFunc(p.Members[u], listed)
	}
	if !ok && !p.standsIn(req, u) {
		return &NotAllowed{approvers: e.Approvers, requester: req.asker(), more: p.escalated(req)}
	}
	return nil
}

// escalated are those who may answer a request because nobody did in time.
func (p Policy) escalated(req Request) []chat.User {
	if !req.Escalated {
		return nil
	}
	return p.Escalate
}

func (p Policy) standsIn(req Request, u chat.User) bool {
	to := func(x chat.User) bool { return slices.Contains(p.escalated(req), x) }
	return to(u) || slices.ContainsFunc(p.Members[u], to)
}

// MaySee says whether a person who may decide a call may also be shown it away from its chat. Who may read a channel only its platform
// knows, so a rule about everybody is not enough: they asked for it, took part in the chat, are listed as approvers, or are admins.
func MaySee(p Policy, req Request, level Level, u chat.User) bool {
	if MayDecide(p, req, level, u) != nil {
		return false
	}
	p, e := p.at(req)
	return e.Approvers.Rule != ApproversAnyone || p.IsAdmin(u) || u == req.asker() || slices.Contains(req.Present, u) || p.standsIn(req, u)
}

// asker is whoever asked, where they may decide anything: the zero User, whom no rule means, for a visitor.
func (r Request) asker() chat.User {
	if r.Standing == chat.Visitor {
		return chat.User{}
	}
	return r.Requester
}

// acts says whether u is somebody who can do things: a group cannot.
func acts(u chat.User) bool { return u.Platform != "" && u.Key != "" && !u.IsGroup() }

// IsAdmin says whether the policy lists the user, or a group that they are known to belong to. It takes the same time whoever is asked
// about: on the web the key is what a session proves itself with (R110).
func (p Policy) IsAdmin(u chat.User) bool {
	if !acts(u) {
		return false
	}
	found := 0
	for _, who := range append([]chat.User{u}, p.Members[u]...) {
		want := sha256.Sum256([]byte(who.String()))
		for _, x := range p.Admins {
			have := sha256.Sum256([]byte(x.String()))
			found |= subtle.ConstantTimeCompare(want[:], have[:])
		}
	}
	return found == 1
}

// NotAllowed is a click by somebody who may not decide. The card stays live.
type NotAllowed struct {
	why       string // the whole sentence; empty: that depends on what people are called
	approvers Approvers
	requester chat.User
	more      []chat.User
}

// Error is Say without names.
func (e *NotAllowed) Error() string { return e.Say(nil) }

// Say is the sentence for the person who clicked. name gives a person's display name, or "" where it has none; it may be nil.
// Names are untrusted text: the caller escapes the sentence.
func (e *NotAllowed) Say(name func(chat.User) string) string {
	if e.why != "" {
		return e.why
	}
	who := deciders(e.approvers, e.requester, name)
	if len(who) == 0 {
		return sayAdminOnly
	}
	if e.approvers.Rule == ApproversRequester && who[0] != sayTheRequester {
		who[0] += sayWhoAsked
	}
	who = append(who, deciders(Approvers{Rule: ApproversListed, Users: e.more}, chat.User{}, name)...)
	return "Only " + strings.Join(who, ", ") + " or an admin can decide this."
}

// Deciders are the people who can decide a call at this level, in words: what a card says below its buttons.
func Deciders(p Policy, req Request, level Level, name func(chat.User) string) []string {
	_, e := p.at(req)
	if level == LevelUser {
		if e.OthersOnly && e.Approvers.Rule == ApproversRequester {
			return []string{sayAnotherAdmin}
		}
		if who := deciders(e.Approvers, req.asker(), name); len(who) > 0 {
			return who
		}
	}
	return []string{sayAnAdmin}
}

func deciders(a Approvers, requester chat.User, name func(chat.User) string) []string {
	called := func(u chat.User, otherwise string) string {
		if name != nil {
			if n := strings.TrimSpace(name(u)); n != "" {
				return n
			}
		}
		return otherwise
	}
	switch a.Rule {
	case ApproversRequester:
		if !requester.IsZero() {
			return []string{called(requester, sayTheRequester)}
		}
	case ApproversParticipants:
		return []string{sayParticipants}
	case ApproversAnyone:
		return []string{sayAnyone}
	case ApproversListed:
		var who []string
		for _, u := range a.Users {
			who = append(who, called(u, u.String()))
		}
		return who
	}
	return nil
}

// MayRepeat says whether the same bytes may run again by themselves after an interruption, under the approval that they had: where in
// doubt, they may not. req.Tool is the tool as it was approved, current the definition that its server offers now (empty: none). rule names
// what allows it, or why it is not allowed.
func MayRepeat(p Policy, req Request, current Digest) (rule string, ok bool) {
	p, e := p.at(req)
	h := req.Hints
	switch {
	case !p.Installed && !p.AllowAll:
		return sayNoPolicy, false
	case e.Disabled != "":
		return sayDisabled(e), false
	case current == "" || current != req.Tool.Definition || e.Changed:
		return "the tool is not as it was when it was approved", false
	case e.Repeat == RepeatAlways:
		return "repeat: always", true
	case e.Repeat != RepeatAuto:
		return "repeat: never", false
	case !e.Trusted:
		return "the server is not marked trusted", false
	case is(h.ReadOnly, true) && is(h.Destructive, true) && !is(h.Idempotent, true):
		return "the tool's annotations contradict each other", false
	case h.reads():
		return "read-only", true
	case is(h.Idempotent, true):
		return "idempotent", true
	}
	return "nothing says that running it twice does no harm", false
}
