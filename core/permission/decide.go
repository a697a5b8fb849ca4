package permission

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// MayDecide says whether a person may decide a call at this level: nil, or a [*NotAllowed] that says who may. It is the
// one rule for buttons, forms, commands, the API and grants. An admin may decide everything; at LevelAdmin only an
// admin may. A tool that policy has since raised to RequireAuth needs an admin whatever level it was asked at.
//
// Users are equal only as a whole: the same key on another platform or in another workspace is somebody else.
func MayDecide(p Policy, req Request, level Level, u chat.User) error {
	e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
	no := &NotAllowed{Level: level, Requester: req.asker(), Approvers: e.Approvers, NoAdmins: len(p.Admins) == 0}
	switch {
	case !p.Installed && !p.AllowAll:
		no.NoPolicy = true
		return no
	case !acts(u):
		no.Unknown = true
		return no
	case e.OthersOnly && u == req.Requester:
		no.OthersOnly = true // also an admin: two pairs of eyes are the point
		return no
	case e.OthersOnly && u.SelfNamed():
		no.SelfNamed = true // it may be whoever asked, under another name
		return no
	case p.IsAdmin(u):
		return nil
	}
	if level != LevelUser || e.Approval == RequireAuth {
		no.Level = LevelAdmin
		return no
	}
	// Whoever belongs to another workspace than the chat (a guest of a shared channel) may answer what they themselves
	// asked for, or where the operator listed them; a rule about everybody does not mean them.
	here := u.Platform == req.Chat.Platform && u.Workspace == req.Chat.Workspace
	ok := false
	switch e.Approvers.Rule {
	case ApproversRequester:
		ok = u == no.Requester
	case ApproversParticipants:
		ok = here && among(u, req.Present)
	case ApproversAnyone:
		ok = here
	case ApproversListed:
		ok = among(u, e.Approvers.Users) || slices.ContainsFunc(p.Members[u], func(g chat.User) bool { return among(g, e.Approvers.Users) })
	}
	if ok {
		return nil
	}
	return no
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

// IsAdmin says whether the policy lists the user, or a group that they are known to belong to. It takes the same time whoever is asked about: on the web the key
// is what a session proves itself with (R110).
func (p Policy) IsAdmin(u chat.User) bool {
	if !acts(u) {
		return false
	}
	found := listed(u, p.Admins)
	for _, g := range p.Members[u] {
		found |= listed(g, p.Admins)
	}
	return found == 1
}

func listed(u chat.User, users []chat.User) (found int) {
	want := sha256.Sum256([]byte(u.String()))
	for _, x := range users {
		have := sha256.Sum256([]byte(x.String()))
		found |= subtle.ConstantTimeCompare(want[:], have[:])
	}
	return found
}

func among(u chat.User, users []chat.User) bool {
	for _, x := range users {
		if x == u {
			return true
		}
	}
	return false
}

// NotAllowed is a click by somebody who may not decide. The card stays live.
type NotAllowed struct {
	Level     Level
	Requester chat.User
	Approvers Approvers
	NoAdmins  bool // nobody is configured as an admin
	Unknown   bool // the platform did not say who clicked
	NoPolicy  bool // no policy is installed: nobody may
	// OthersOnly says that whoever asked may not decide it.
	OthersOnly bool
	// SelfNamed says that only somebody else than whoever asked may decide it, and nothing tells that this is somebody else.
	SelfNamed bool
}

// Error is Say without names.
func (e *NotAllowed) Error() string { return e.Say(nil) }

// Say is the sentence for the person who clicked. name gives a person's display name, or "" where it has none; it may be nil.
// Names are untrusted text: the caller escapes the sentence.
func (e *NotAllowed) Say(name func(chat.User) string) string {
	switch {
	case e.NoPolicy:
		return sayNoPolicy
	case e.Unknown:
		return sayUnknownUser
	case e.OthersOnly:
		return sayOthersOnly
	case e.SelfNamed:
		return saySelfNamed
	case e.Level != LevelUser && e.NoAdmins:
		return sayAdminOnly + " " + NoAdminsNotice
	case e.Level != LevelUser:
		return sayAdminOnly
	}
	who := deciders(e.Approvers, e.Requester, name)
	if len(who) == 0 {
		return sayAdminOnly
	}
	if e.Approvers.Rule == ApproversRequester && who[0] != sayTheRequester {
		who[0] += sayWhoAsked
	}
	return "Only " + strings.Join(who, ", ") + " or an admin can decide this."
}

// Deciders are the people who can decide a call at this level, in words: what a card says below its buttons.
func Deciders(p Policy, req Request, level Level, name func(chat.User) string) []string {
	e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
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
