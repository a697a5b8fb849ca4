package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// moreTime is what "+5 min" gives.
const moreTime = 5 * time.Minute

// Decide is the one way a person's choice enters the log: buttons, forms, commands and the HTTP API all come
// through here. It returns what is recorded, or a *Refusal, or an error that says that nothing is known to be recorded.
func (e *Engine) Decide(ctx context.Context, in chat.Clicked) ([]Outcome, error) {
	if in.Choice == chat.Accept {
		return nil, e.accepts(ctx, in)
	}
	policy, err := e.policy(ctx)
	if err != nil {
		return nil, err
	}
	policy, unsure := e.knows(ctx, policy, in.Envelope)
	f, made, at, err := e.choose(ctx, in.Envelope, func(s turn.Session) ([]turn.Event, error) {
		events, err := e.answers(ctx, policy, s, in)
		return slices.Concat(sawIt(s, events), events), err
	})
	if err != nil {
		return nil, whileUnsure(err, unsure)
	}
	if in.Choice == chat.Reveal {
		return reveals(f.s, in, at)
	}
	done, err := e.outcomes(f.s, in, made, at)
	if err == nil {
		e.remembers(ctx, f.s, in, done)
		e.forgets(ctx, in)
	}
	return done, err
}

// sawIt says of the asks that events answer that their cards were seen, where that is not on record yet: who answers one saw it, and
// its time has not run out before it began.
func sawIt(s turn.Session, events []turn.Event) []turn.Event {
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

// choose appends events that build derives from the newest fold, refolding as often as somebody else was
// first, and returns what it made of them. build's refusal counts only against the newest fold. A choice that was delivered before and
// is recorded makes nothing and is no error.
func (e *Engine) choose(ctx context.Context, by chat.Envelope, build func(turn.Session) ([]turn.Event, error)) (fold, []turn.Event, time.Time, error) {
	claim, leave := e.enter()
	defer leave()
	f, err := e.known(ctx, by.Chat)
	if err != nil {
		return fold{}, nil, time.Time{}, err
	}
	fresh := false
	op := opOf(by)
	for try := 0; ; try++ {
		if slices.Contains(f.s.Clicks, string(op)) {
			return f, nil, time.Time{}, nil
		}
		events, err := build(f.s)
		if (err != nil || len(events) == 0) && !fresh {
			// What we know may be old. Look before refusing anybody.
			if f, err = e.refresh(ctx, by.Chat); err != nil {
				return fold{}, nil, time.Time{}, err
			}
			fresh = true
			continue
		}
		if err != nil || len(events) == 0 {
			return f, nil, time.Time{}, err
		}
		w := Write{Chat: by.Chat, Known: f.head, Claim: claim}
		choices := 0
		for _, ev := range events {
			at := op + "#seen" // the delivery's own name is the choice's
			if ev.Class() == turn.Choice {
				at, choices = opPart(op, choices), choices+1
			}
			w.Events = append(w.Events, Keyed{at, ev})
		}
		if err := e.confirms(ctx, w.Events); err != nil {
			return fold{}, nil, time.Time{}, err
		}
		got, err := e.append(ctx, w)
		switch {
		case err == nil:
			f, err = e.after(ctx, by.Chat, f, got)
			if got.Repeated && slices.Contains(f.s.Clicks, string(op)) {
				events = nil
			}
			return f, events, stampOf(got.Entries, w.Events[0].Op), err
		case errors.Is(err, ErrStale) && try < 50:
			if f, err = e.after(ctx, by.Chat, f, got); err != nil {
				return fold{}, nil, time.Time{}, err
			}
			fresh = true
		case errors.Is(err, ErrRewound) && try < 50:
			if f, err = e.reload(ctx, by.Chat); err != nil {
				return fold{}, nil, time.Time{}, err
			}
			fresh = true
		default:
			return fold{}, nil, time.Time{}, err
		}
	}
}

func stampOf(entries []turn.Entry, op OpID) time.Time {
	for _, x := range entries {
		if x.Op == string(op) {
			return x.At
		}
	}
	return time.Time{}
}

// opOf names the write that a delivery brings: the same for every redelivery, never the same for two people.
func opOf(by chat.Envelope) OpID {
	if by.Delivery == "" {
		return OpID("op:" + mint())
	}
	return OpID("in:" + by.User.String() + ":" + string(by.Delivery))
}

func opPart(op OpID, i int) OpID {
	if i == 0 {
		return op
	}
	return OpID(fmt.Sprintf("%s#%d", op, i))
}

// answers turns a click into events, or refuses it.
func (e *Engine) answers(ctx context.Context, policy permission.Policy, s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	switch in.Choice {
	case chat.Stop:
		return e.stops(s, in)
	case chat.Revoke:
		return e.revokes(policy, s, in)
	case chat.ApproveAll, chat.DenyAll:
		return e.answerAll(ctx, policy, s, in)
	case chat.AllowSession:
		return e.answerSession(ctx, policy, s, in)
	case chat.AskFor:
		return e.asksFromNow(s, in)
	case chat.Answer, chat.Decline:
		return e.fills(s, in)
	}
	if _, wants := turn.Wants(s, turn.AskID(in.Token)); wants && in.Choice == chat.Reveal {
		return e.fills(s, in)
	}
	c, t, found := findAsk(s, turn.AskID(in.Token))
	if !found {
		return nil, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()}
	}
	if in.Message != "" && t != nil && t.Shown != "" && t.Shown != in.Message {
		return nil, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()} // the button of another message
	}
	if err := e.mayDecide(policy, s, t, c, in.User); err != nil {
		return nil, err
	}
	switch in.Choice {
	case chat.Edit:
		ev, err := e.amends(ctx, s, c, in)
		return one(ev, err)
	case chat.AllowOnce, chat.Deny, chat.DenyReason, chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses,
		chat.AllowReads, chat.AllowWrites, chat.AllowServer:
		ev, err := e.answer(ctx, policy, s, t, c, in)
		if err != nil {
			return nil, err
		}
		return append([]turn.Event{ev}, e.spread(ctx, policy, s, c, in, ev)...), nil
	case chat.Remember:
		return e.ticks(s, t, c, in)
	case chat.Reveal:
		return e.looks(s, t, c, in)
	case chat.Undo:
		if t != s.Turn || !turn.CanUndo(s, c) {
			return nil, tooLate(c)
		}
		return one(turn.Withdrawn{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(mint())}, nil)
	case chat.Extend:
		if t == nil || !(c.Status == turn.Awaiting || c.Status == turn.Unknown) || c.Settled() || c.Deadline.IsZero() {
			return nil, notOpen(c)
		}
		return one(turn.Extended{Ask: c.Ask, By: in.User, Name: in.Name, Until: c.Deadline.Add(moreTime)}, nil)
	case chat.AskAgain:
		if c.Status != turn.Lapsed || c.Reasked || (t != s.Turn && !lapsed(s, c.ID)) {
			return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
		}
		return one(turn.Reopened{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(mint()), NextCall: turn.CallID("call_" + mint())}, nil)
	case chat.Happened, chat.RunAgain, chat.Leave:
		if c.Status != turn.Unknown || c.Settled() {
			return nil, notOpen(c)
		}
		return one(turn.Resolved{Ask: c.Ask, Answer: in.Choice, By: in.User, Name: in.Name, Next: turn.AskID(mint())}, nil)
	}
	return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
}

func one(ev turn.Event, err error) ([]turn.Event, error) {
	if err != nil {
		return nil, err
	}
	return []turn.Event{ev}, nil
}

// decision is what a click decides about a call: the only place that makes one.
func decision(c turn.ToolCall, choice chat.Choice, in chat.Clicked) turn.Decided {
	return turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: in.User, Name: in.Name, Surface: in.User.Platform}
}

// answer is a decision about one open ask.
func (e *Engine) answer(ctx context.Context, policy permission.Policy, s turn.Session, t *turn.Turn, c turn.ToolCall, in chat.Clicked) (turn.Event, error) {
	if t == nil || c.Status != turn.Awaiting {
		return nil, notOpen(c)
	}
	ev := decision(c, in.Choice, in)
	ev.Reason = in.Reason
	switch {
	case in.Choice == chat.AllowOnce:
		if !turn.Showable(c) {
			return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
		}
		if turn.Masked(c) && !c.Saw(c.Ask, in.User) {
			return nil, &Refusal{Code: RefusedHidden, Say: render.LookAtHidden()}
		}
		if i := slices.IndexFunc(c.Votes, func(v turn.Vote) bool { return v.By == in.User }); i >= 0 {
			return nil, &Refusal{
				Code: RefusedDecided, Say: render.YouAllowed(len(c.Votes), c.Ruling.Approvals),
				By: in.User, Name: in.Name, At: c.Votes[i].At, // without the choice: it is told, because it changed nothing
			}
		}
		if slices.ContainsFunc(c.Votes, func(v turn.Vote) bool { return v.By.Person() == in.User.Person() }) {
			return nil, &Refusal{Code: RefusedNotYours, Say: render.SelfNamedAllowed(len(c.Votes), c.Ruling.Approvals)}
		}
	case turn.Grants(in.Choice) && turn.Masked(c):
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	case in.Choice == chat.AllowUses && turn.Remembers(c, in.User):
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.UsesNotRemembered()}
	case turn.Grants(in.Choice):
		g, err := e.grant(ctx, policy, s, c, in)
		if err != nil {
			return nil, err
		}
		ev.Grant = g
	default:
		ev.Choice = chat.Deny
	}
	return ev, nil
}

// grant is the standing permission that a choice makes. A wider one is for the server's tools as they are now.
func (e *Engine) grant(ctx context.Context, policy permission.Policy, s turn.Session, c turn.ToolCall, in chat.Clicked) (*permission.Grant, error) {
	var tools []permission.Tool
	req := turn.Requested(s, c)
	switch in.Choice {
	case chat.AllowReads, chat.AllowWrites, chat.AllowServer:
		specs, _, err := e.Tools.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		for _, sp := range specs {
			tools = append(tools, sp.Tool)
			if sp.Tool == c.Tool {
				req.Source, req.Hints, req.Metadata = sp.Source, sp.Hints, sp.Metadata
			}
		}
	default: // for this one tool
	}
	g, ok := turn.GrantFor(s, c, in.Choice, tools, in.Uses)
	if !ok {
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	}
	g.By = in.User
	if covers, _ := permission.Covers(policy, asGiven(g, policy, s), req, time.Now()); !covers && g.Scope != permission.ScopeTool {
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotYoursToGrant()} // a label must grant what it says
	}
	g.ID, g.Name, g.At, g.Epoch = permission.GrantID(mint()), in.Name, time.Now(), policy.Epoch
	return &g, nil
}

// asGiven is a grant as if it had just been given, whatever the clocks say.
func asGiven(g permission.Grant, policy permission.Policy, s turn.Session) permission.Grant {
	g.Epoch, g.At = policy.Epoch, s.ModeAt.Add(time.Millisecond)
	return g
}

func (e *Engine) answerAll(ctx context.Context, policy permission.Policy, s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	open := turn.OpenAsks(s)
	if len(open) == 0 || in.Token != turn.BatchToken(s) {
		return nil, &Refusal{Code: RefusedUnknown, Say: render.BatchChanged()}
	}
	if in.Message != "" && s.Turn.Shown != "" && s.Turn.Shown != in.Message {
		return nil, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()}
	}
	single := in
	single.Choice = chat.Deny
	if in.Choice == chat.ApproveAll {
		single.Choice = chat.AllowOnce // once each, no grant (C14)
	}
	var events []turn.Event
	var already error
	for _, c := range open {
		if err := e.mayDecide(policy, s, s.Turn, c, in.User); err != nil {
			return nil, err
		}
		ev, err := e.answer(ctx, policy, s, s.Turn, c, single)
		no := (*Refusal)(nil)
		refused := errors.As(err, &no)
		if refused && no.Code == RefusedDecided && no.By == in.User && len(c.Votes) > 0 {
			already = err // one of several: their word counts for it
			continue
		}
		if refused && no.Code == RefusedHidden { // which of them is not on the button
			return nil, &Refusal{Code: no.Code, Say: render.LookAtFirst(render.RunLine(turn.Seen(c.Tool.Name), turn.Seen(c.Tool.Server)))}
		}
		if err != nil {
			return nil, err
		}
		events = append(events, forgetful(c, single, ev)...)
	}
	if len(events) == 0 {
		return nil, already
	}
	return events, nil
}

// nobody reports whether u is not somebody who can do things: the platform did not say who, or named a group.
func nobody(u chat.User) bool { return u.IsZero() || u.IsGroup() }

func (e *Engine) stops(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	if s.Turn == nil || s.Turn.Stopped != nil || (in.Token != "" && in.Token != string(s.Turn.ID)) {
		return nil, &Refusal{Code: RefusedStopped, Say: render.NothingToStop()}
	}
	if nobody(in.User) {
		return nil, &Refusal{Code: RefusedNotYours, Say: render.WhoAreYou()}
	}
	return one(turn.StopAsked{Turn: s.Turn.ID, By: in.User, Name: in.Name}, nil)
}

// revokes ends one grant, or all of the chat's when the token is "*". The granter and admins may.
func (e *Engine) revokes(policy permission.Policy, s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	var ids []permission.GrantID
	for _, g := range s.Grants {
		if in.Token != "*" && in.Token != string(g.ID) {
			continue
		}
		if nobody(in.User) || (g.By != in.User && !policy.IsAdmin(in.User)) {
			return nil, &Refusal{Code: RefusedNotYours, Say: render.OnlyCanDecide([]string{g.Name, render.AnAdmin})}
		}
		ids = append(ids, g.ID)
	}
	if len(ids) == 0 {
		return nil, &Refusal{Code: RefusedUnknown, Say: render.NoSuchGrant()}
	}
	return one(turn.Revoked{Grants: ids, By: in.User, Name: in.Name}, nil)
}

// mayDecide asks the permission rules, with the turn's requester in mind.
func (e *Engine) mayDecide(policy permission.Policy, s turn.Session, t *turn.Turn, c turn.ToolCall, u chat.User) error {
	req := turn.Requested(s, c)
	if t == nil {
		for _, l := range s.Lapsed {
			if l.Call.ID == c.ID {
				req.Requester = l.Requester
			}
		}
	} else {
		req.Requester = t.Requester
	}
	err := permission.MayDecide(policy, req, c.Ruling.Level, u)
	if err == nil {
		return nil
	}
	say := err.Error()
	var no *permission.NotAllowed
	if errors.As(err, &no) {
		say = no.Say(func(u chat.User) string { return e.nameOf(s, u) })
	}
	return &Refusal{Code: RefusedNotYours, Say: say}
}

func nameOf(s turn.Session, u chat.User) string {
	for _, p := range s.People {
		if p.User == u && p.Name != "" {
			return p.Name
		}
	}
	return u.Key
}

// findAsk finds the call that an asking belongs to, in the open turn (t set), or in what ended (t nil for
// calls that only remain to be asked for again). An older asking of a call is not found: its button must never answer a later one.
func findAsk(s turn.Session, id turn.AskID) (turn.ToolCall, *turn.Turn, bool) {
	if id == "" {
		return turn.ToolCall{}, nil, false
	}
	for _, t := range []*turn.Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		for _, c := range t.Calls {
			if c.Ask == id {
				return c, t, true
			}
		}
	}
	for _, l := range s.Lapsed {
		if l.Call.Ask == id {
			return l.Call, nil, true
		}
	}
	return turn.ToolCall{}, nil, false
}

// notOpen says why an ask takes no decision any more.
func notOpen(c turn.ToolCall) *Refusal {
	switch {
	case c.Status == turn.Lapsed:
		return &Refusal{Code: RefusedExpired, Say: render.AskExpired(render.Clock(c.EndedAt)), At: c.EndedAt}
	case c.Choice != "":
		return &Refusal{Code: RefusedDecided, Say: render.AlreadyDecided(c.Choice, c.Name, render.Clock(c.DecidedAt)), By: c.By, Name: c.Name, Choice: c.Choice, At: c.DecidedAt}
	case c.Status == turn.Cancelled:
		return &Refusal{Code: RefusedStopped, Say: render.WasCancelled()}
	}
	return &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
}

func tooLate(c turn.ToolCall) *Refusal {
	if !c.StartedAt.IsZero() {
		return &Refusal{Code: RefusedTooLate, Say: render.TooLate(render.ClockSeconds(c.StartedAt)), At: c.StartedAt}
	}
	return &Refusal{Code: RefusedTooLate, Say: render.TooLateToUndo()}
}

// overtaken says why a choice that was written has no effect: the deadline came first, or somebody else.
func overtaken(c turn.ToolCall) *Refusal {
	if c.Status == turn.Awaiting || (c.Status == turn.Unknown && !c.Settled()) {
		return &Refusal{Code: RefusedExpired, Say: render.AskExpired(render.Clock(c.Deadline)), At: c.Deadline}
	}
	return notOpen(c)
}

// lapsed reports whether the session still holds a call of an ended turn to be asked for again.
func lapsed(s turn.Session, id turn.CallID) bool {
	return slices.ContainsFunc(s.Lapsed, func(l turn.LapsedCall) bool { return l.Call.ID == id })
}

// replays reports whether a call stands, or is queued, to be asked for again.
func replays(s turn.Session, id turn.CallID) bool {
	if s.Turn != nil && slices.ContainsFunc(s.Turn.Calls, func(c turn.ToolCall) bool { return c.ID == id }) {
		return true
	}
	return slices.ContainsFunc(s.Waiting, func(w turn.Said) bool { return w.Replay != nil && w.Replay.Call == id })
}

// outcomes reads from the log's answer what became of a click: recorded, or overtaken at the very deadline.
func (e *Engine) outcomes(s turn.Session, in chat.Clicked, made []turn.Event, at time.Time) ([]Outcome, error) {
	var done []Outcome
	var refused error
	for _, ev := range made {
		o := Outcome{Chat: in.Chat, Choice: in.Choice, By: in.User, Name: in.Name, At: at}
		switch ev := ev.(type) {
		case turn.Shown: // what they answered, they saw
			continue
		case turn.Amended:
			o.Ask = ev.Ask
			c, _, found := findAsk(s, ev.Ask)
			if o.Call = c.ID; !found || c.Digest != ev.Digest {
				refused = overtaken(c)
				continue
			}
		case turn.Decided:
			o.Ask, o.Choice = ev.Ask, ev.Choice
			c, _, found := findAsk(s, ev.Ask)
			voted := found && ev.Choice == chat.AllowOnce && slices.ContainsFunc(c.Votes, func(v turn.Vote) bool { return v.By == in.User })
			under := found && ev.Under != "" && c.Grant == ev.Under
			if !found || !voted && !under && (c.By != in.User || c.Choice != ev.Choice) {
				refused = overtaken(c)
				continue
			}
			o.Call = c.ID
		case turn.Ticked:
			if in.Choice == chat.ApproveAll || in.Choice == chat.AllowSession {
				continue // it only went with them
			}
			o.Ask = ev.Ask
			if c, _, found := findAsk(s, ev.Ask); found {
				o.Call = c.ID
			}
		case turn.Filled:
			o.Ask = ev.Ask
			if !fillCounts(s, ev) {
				refused = &Refusal{Code: RefusedExpired, Say: render.WantOver()}
				continue
			}
		case turn.Withdrawn:
			o.Ask = ev.Next
			c, _, found := findAsk(s, ev.Next)
			if !found {
				refused = tooLate(c)
				continue
			}
			o.Call = c.ID
		case turn.Extended:
			o.Ask = ev.Ask
			if c, _, found := findAsk(s, ev.Ask); found {
				o.Call = c.ID
				if c.Deadline.Before(ev.Until) {
					refused = overtaken(c)
					continue
				}
			}
		case turn.Reopened:
			o.Ask = ev.Next
			if c, _, found := findAsk(s, ev.Next); found {
				o.Call = c.ID
			} else if o.Call = ev.NextCall; !replays(s, ev.NextCall) {
				refused = &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
				continue
			}
		case turn.Resolved:
			o.Ask = ev.Ask
			if ev.Answer == chat.RunAgain {
				o.Ask = ev.Next
			}
			c, _, found := findAsk(s, o.Ask)
			if !found || (ev.Answer != chat.RunAgain && (c.By != in.User || c.Choice != ev.Answer)) {
				if !found { // run again, and its new asking is not there
					c, _, _ = findAsk(s, ev.Ask)
				}
				refused = overtaken(c)
				continue
			}
			o.Call = c.ID
		default: // a stop, a revocation, a mode: nothing of it can be overtaken
		}
		done = append(done, o)
	}
	if len(done) == 0 && refused != nil {
		return nil, refused
	}
	return done, nil
}
