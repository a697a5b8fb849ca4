package decision

import (
	"errors"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/form"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// withoutTick takes the tick off a call that is answered together with others: a choice is remembered only with an answer to that one call.
func withoutTick(c turn.ToolCall, in chat.Clicked, answer turn.Event) []turn.Event {
	if turn.Allows(in.Choice) && turn.Remembers(c, in.User) {
		return []turn.Event{turn.Ticked{Ask: c.Ask, By: in.User, Name: in.Name}, answer}
	}
	return []turn.Event{answer}
}

// allowSession approves what is open and lets the session ask no more (R106): for whom the chat belongs to, or an admin.
func (j Judge) allowSession(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	c, t, found := s.FindAsk(turn.AskID(in.Token))
	switch {
	case !found || elsewhere(t, in):
		return nil, unknownAsk()
	case t == nil || t != s.Turn || c.Status != turn.Awaiting:
		return nil, notOpen(c)
	case !turn.OffersSession(c) || j.Policy.Strict && s.Mode == permission.ModeAlways:
		return nil, notOffered()
	case !MayRelax(j.Policy, s, in.User):
		return nil, refuse(RefusedNotYours, text.OnlyOwnerOrAdmin)
	}
	if err := j.mayDecide(s, c, in.User); err != nil {
		return nil, err
	}
	single := in
	single.Choice = chat.AllowOnce
	var events []turn.Event
	answer := func(open turn.ToolCall) {
		if ev, err := j.decide(s, t, open, single); err == nil && j.mayDecide(s, open, in.User) == nil {
			events = append(events, withoutTick(open, single, ev)...)
		}
	}
	answer(c)
	for open, req := range j.coverable(s, c) {
		req.Mode = permission.ModeNever
		if r := permission.Weigh(j.Policy, nil, req, j.Now); r.Verdict == permission.Allow {
			answer(open) // what the mode is not about still asks
		}
	}
	return append(events, turn.ModeSet{Mode: permission.ModeNever, Rev: s.ModeRev + 1, By: in.User, Name: in.Name}), nil
}

// askAgainFromNow ends a session's never-ask mode. Anybody who takes part may: it only adds caution.
func (j Judge) askAgainFromNow(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	switch {
	case Nobody(in.User):
		return nil, refuse(RefusedNotYours, text.WhoAreYou)
	case s.Mode != permission.ModeNever:
		return nil, notOffered()
	}
	return []turn.Event{turn.ModeSet{Mode: permission.ModeTool, Rev: s.ModeRev + 1, By: in.User, Name: in.Name}}, nil
}

// fill answers what a running tool's server wants of the requester: of them, and of nobody else.
func (j Judge) fill(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	c, open := s.FindElicitation(turn.AskID(in.Token))
	switch {
	case !open:
		return nil, refuse(RefusedExpired, text.ElicitationOver)
	case elsewhere(s.Turn, in):
		return nil, unknownAsk()
	case Nobody(in.User) || in.User != s.Turn.Requester:
		return nil, refuse(RefusedNotYours, text.OnlyRequesterFills(s.NameOf(s.Turn.Requester)))
	}
	kind := c.Elicitation.Request.Kind
	if in.Choice == chat.Reveal || in.Choice == chat.Answer && kind != turn.ElicitationForm && kind != turn.ElicitationURL {
		return nil, notOffered()
	}
	fill := turn.Fill{Action: turn.FillDecline}
	if in.Choice == chat.Answer {
		content, err := form.Content(c.Elicitation.Request, in.Fields)
		if err != nil {
			return nil, refuse(RefusedArguments, err.Error())
		}
		fill = turn.Fill{Action: turn.FillAccept, Content: content}
	}
	return []turn.Event{turn.Filled{Ask: c.Elicitation.Ask, Fill: fill, By: in.User, Name: in.Name}}, nil
}

// moreTime is what "+5 min" gives.
const moreTime = 5 * time.Minute

// MarkSeen gives the event that the cards of the asks that these events answer were seen: who answers one saw it.
func MarkSeen(s turn.Session, events []turn.Event) []turn.Event {
	var asks []turn.Appeared
	for _, w := range turn.Waits(s) {
		if w.Seen == nil && slices.ContainsFunc(events, func(ev turn.Event) bool { return turn.Answers(ev) == w.Ask }) {
			asks = append(asks, turn.Appeared{Ask: w.Ask})
		}
	}
	if len(asks) == 0 {
		return nil
	}
	return []turn.Event{turn.Shown{Turn: s.Turn.ID, Asks: asks}}
}

// Answer turns a click into events, or refuses it.
func (j Judge) Answer(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	switch in.Choice {
	case chat.Stop:
		return j.stop(s, in)
	case chat.Revoke:
		return j.revoke(s, in)
	case chat.ApproveAll, chat.DenyAll:
		return j.answerAll(s, in)
	case chat.AllowSession:
		return j.allowSession(s, in)
	case chat.AskFor:
		return j.askAgainFromNow(s, in)
	case chat.Answer, chat.Decline:
		return j.fill(s, in)
	case chat.Good, chat.Bad:
		return j.rate(s, in)
	}
	if _, wants := s.FindElicitation(turn.AskID(in.Token)); wants && in.Choice == chat.Reveal {
		return j.fill(s, in)
	}
	c, t, found := s.FindAsk(turn.AskID(in.Token))
	if !found || elsewhere(t, in) {
		return nil, unknownAsk()
	}
	if err := j.mayDecide(s, c, in.User); err != nil {
		return nil, err
	}
	if (turn.Grants(in.Choice) || in.Choice == chat.AllowChannel || in.Choice == chat.Remember) && j.standsIn(s, c, in.User) {
		return nil, refuse(RefusedNotYours, text.OnlyThisOnce)
	}
	switch in.Choice {
	case chat.Edit:
		return j.amend(s, c, in)
	case chat.AllowOnce, chat.Deny, chat.DenyReason, chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses,
		chat.AllowReads, chat.AllowWrites, chat.AllowServer, chat.AllowChannel:
		ev, err := j.decide(s, t, c, in)
		if err != nil {
			return nil, err
		}
		return append([]turn.Event{ev}, j.coverOthers(s, c, in, ev)...), nil
	}
	return j.other(s, t, c, in)
}

// other is a choice about a call that does not decide it: to look, to undo, to put it off, to ask anew, and to say what became of it.
func (j Judge) other(s turn.Session, t *turn.Turn, c turn.ToolCall, in chat.Clicked) ([]turn.Event, error) {
	open := t != nil && t == s.Turn && c.Status == turn.Awaiting
	switch in.Choice {
	case chat.Remember: // ticks or unticks
		switch {
		case !open:
			return nil, notOpen(c)
		case !turn.CanRemember(c) || turn.Masked(c):
			return nil, notOffered()
		}
		on := c.Ticked == nil || c.Ticked.User != in.User
		return []turn.Event{turn.Ticked{Ask: c.Ask, On: on, By: in.User, Name: in.Name}}, nil
	case chat.Reveal: // looking again records nothing
		switch {
		case !open:
			return nil, notOpen(c)
		case !turn.Masked(c) || !turn.Showable(c):
			return nil, notOffered()
		case c.Saw(c.Ask, in.User):
			return nil, nil
		}
		return []turn.Event{turn.Revealed{Ask: c.Ask, By: in.User, Name: in.Name}}, nil
	case chat.Undo:
		if t != s.Turn || !turn.CanUndo(s, c) {
			return nil, tooLate(c)
		}
		return []turn.Event{turn.Withdrawn{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(j.Mint())}}, nil
	case chat.Extend:
		if t == nil || !(c.Status == turn.Awaiting || c.Status == turn.Unknown) || c.Settled() || c.Deadline.IsZero() {
			return nil, notOpen(c)
		}
		return []turn.Event{turn.Extended{Ask: c.Ask, By: in.User, Name: in.Name, Until: c.Deadline.Add(moreTime)}}, nil
	case chat.AskAgain:
		if c.Status != turn.Lapsed || c.Reasked || (t != s.Turn && !s.HoldsLapsed(c.ID)) {
			return nil, notOffered()
		}
		return []turn.Event{turn.Reopened{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(j.Mint()), NextCall: turn.CallID("call_" + j.Mint())}}, nil
	case chat.Happened, chat.RunAgain, chat.Leave:
		if c.Status != turn.Unknown || c.Settled() {
			return nil, notOpen(c)
		}
		return []turn.Event{turn.Resolved{Ask: c.Ask, Answer: in.Choice, By: in.User, Name: in.Name, Next: turn.AskID(j.Mint())}}, nil
	}
	return nil, notOffered()
}

// decided is what a click decides about a call: the only place that makes one.
func decided(c turn.ToolCall, choice chat.Choice, in chat.Clicked) turn.Decided {
	return turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: in.User, Name: in.Name, Surface: in.On()}
}

// decide makes the decision about one open ask.
func (j Judge) decide(s turn.Session, t *turn.Turn, c turn.ToolCall, in chat.Clicked) (turn.Event, error) {
	if t == nil || c.Status != turn.Awaiting {
		return nil, notOpen(c)
	}
	ev := decided(c, in.Choice, in)
	ev.Reason = in.Reason
	if in.Choice == chat.AllowChannel {
		if !turn.Offers(c, in.Choice) || !j.Policy.ChannelGrants {
			return nil, notOffered()
		}
		ev.Choice, ev.Channel = chat.AllowOnce, s.Channel
	}
	switch {
	case ev.Choice == chat.AllowOnce:
		if !turn.Showable(c) {
			return nil, notOffered()
		}
		if turn.Masked(c) && !c.Saw(c.Ask, in.User) {
			return nil, refuse(RefusedHidden, text.LookAtHidden)
		}
		if i := slices.IndexFunc(c.Votes, func(v turn.Vote) bool { return v.By == in.User }); i >= 0 {
			return nil, &Refusal{
				Code: RefusedDecided, Say: text.YouAllowed(len(c.Votes), c.Ruling.Approvals),
				By: in.User, Name: in.Name, At: c.Votes[i].At, // without the choice: it is told, because it changed nothing
			}
		}
		if slices.ContainsFunc(c.Votes, func(v turn.Vote) bool { return v.By.Person() == in.User.Person() }) {
			return nil, refuse(RefusedNotYours, text.SelfNamedAllowed(len(c.Votes), c.Ruling.Approvals))
		}
	case turn.Grants(in.Choice) && turn.Masked(c):
		return nil, notOffered()
	case in.Choice == chat.AllowUses && turn.Remembers(c, in.User):
		return nil, refuse(RefusedNotOffered, text.UsesNotRemembered)
	case turn.Grants(in.Choice):
		g, err := j.grant(s, c, in)
		if err != nil {
			return nil, err
		}
		ev.Grant = g
	default:
		ev.Choice = chat.Deny
	}
	return ev, nil
}

// answerAll decides the open asks that the token names: all of them, or nothing.
func (j Judge) answerAll(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	open := turn.Batch(s, in.Token)
	if open == nil {
		return nil, refuse(RefusedUnknown, text.BatchChanged)
	}
	if elsewhere(s.Turn, in) {
		return nil, unknownAsk()
	}
	single := in
	single.Choice = chat.Deny
	if in.Choice == chat.ApproveAll {
		single.Choice = chat.AllowOnce // once each, no grant (C14)
	}
	var events []turn.Event
	var already error
	for _, c := range open {
		if err := j.mayDecide(s, c, in.User); err != nil {
			return nil, err
		}
		ev, err := j.decide(s, s.Turn, c, single)
		no, refused := errors.AsType[*Refusal](err)
		if refused && no.Code == RefusedDecided && no.By == in.User && len(c.Votes) > 0 {
			already = err // one of several: their word counts for it
			continue
		}
		if refused && no.Code == RefusedHidden { // which of them is not on the button
			return nil, refuse(no.Code, text.LookAtFirst(text.RunLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server))))
		}
		if err != nil {
			return nil, err
		}
		events = append(events, withoutTick(c, single, ev)...)
	}
	if len(events) == 0 {
		return nil, already
	}
	return events, nil
}

// Nobody reports whether u is not somebody who can do things: the platform did not say who, or named a group.
func Nobody(u chat.User) bool { return u.IsZero() || u.IsGroup() }

// names reports whether a token is the open turn's, or that of something it asks. None means whatever is open.
func names(s turn.Session, token string) bool {
	return token == "" || token == string(s.Turn.ID) || slices.ContainsFunc(s.Turn.Calls, func(c turn.ToolCall) bool {
		return slices.Contains(c.Asks, turn.AskID(token)) || c.Elicitation != nil && string(c.Elicitation.Ask) == token
	})
}

// stop ends the open turn, whoever asks for it.
func (j Judge) stop(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	switch {
	case s.Turn == nil || s.Turn.Stopped != nil || !names(s, in.Token):
		return nil, refuse(RefusedStopped, text.NothingToStop)
	case Nobody(in.User):
		return nil, refuse(RefusedNotYours, text.WhoAreYou)
	}
	return []turn.Event{turn.StopAsked{Turn: s.Turn.ID, By: in.User, Name: in.Name}}, nil
}

// rate says whether a turn was of use. Anybody may, of a turn that is over; to say the same again records nothing.
func (j Judge) rate(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	ev := turn.Rated{Turn: turn.TurnID(in.Token), Good: in.Choice == chat.Good, By: in.User, Name: in.Name}
	switch t := s.TurnOf(ev.Turn); {
	case Nobody(in.User):
		return nil, refuse(RefusedNotYours, text.WhoAreYou)
	case in.Token == "" || t != nil && t.End == "":
		return nil, notOffered()
	case s.HasRated(ev):
		return nil, nil
	}
	return []turn.Event{ev}, nil
}

// revoke ends one grant, or all of the chat's when the token is "*". The granter and admins may.
func (j Judge) revoke(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	var ids []permission.GrantID
	for _, g := range s.Grants {
		if in.Token != "*" && in.Token != string(g.ID) {
			continue
		}
		if Nobody(in.User) || (g.By != in.User && !j.Policy.IsAdmin(in.User)) {
			return nil, refuse(RefusedNotYours, text.OnlyCanDecide([]string{g.Name, text.AnAdmin}))
		}
		ids = append(ids, g.ID)
	}
	if len(ids) == 0 {
		return nil, refuse(RefusedUnknown, text.NoSuchGrant)
	}
	return []turn.Event{turn.Revoked{Grants: ids, By: in.User, Name: in.Name}}, nil
}

// MayDecide asks the permission rules whether somebody may answer a call that a session holds: a [*permission.NotAllowed], or nil.
func MayDecide(policy permission.Policy, s turn.Session, c turn.ToolCall, u chat.User) error {
	return permission.MayDecide(policy, requested(s, c), c.Ruling.Level, u)
}

// MaySee reports whether somebody may be shown, away from the session's chat, a call of its open turn that waits for a person.
func MaySee(policy permission.Policy, s turn.Session, c turn.ToolCall, u chat.User) bool {
	if c.Elicitation.Open() {
		return !Nobody(u) && u == s.Turn.Requester
	}
	return permission.MaySee(policy, requested(s, c), c.Ruling.Level, u)
}

func requested(s turn.Session, c turn.ToolCall) permission.Request {
	req := turn.Requested(s, c)
	req.Requester = s.RequesterOf(c.ID)
	return req
}

// mayDecide refuses somebody who may not answer a call, with the names of those who may.
func (j Judge) mayDecide(s turn.Session, c turn.ToolCall, u chat.User) error {
	err := MayDecide(j.Policy, s, c, u)
	if no, ok := errors.AsType[*permission.NotAllowed](err); ok {
		return refuse(RefusedNotYours, no.Say(func(u chat.User) string { return j.NameOf(s, u) }))
	}
	return err
}

// standsIn reports whether somebody who may answer a call may so only because nobody else did in time: their word is for that call alone.
func (j Judge) standsIn(s turn.Session, c turn.ToolCall, u chat.User) bool {
	req := requested(s, c)
	req.Escalated = false
	return permission.MayDecide(j.Policy, req, c.Ruling.Level, u) != nil
}

// MayRelax reports whether somebody may turn a chat's prompts off: only an admin, or the one person that it belongs to (C3).
func MayRelax(policy permission.Policy, s turn.Session, u chat.User) bool {
	return !Nobody(u) && (policy.IsAdmin(u) || s.Began == u)
}
