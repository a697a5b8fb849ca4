package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// ticks ticks or unticks "Remember this choice" for whoever clicks. It decides nothing.
func (e *Engine) ticks(s turn.Session, t *turn.Turn, c turn.ToolCall, in chat.Clicked) ([]turn.Event, error) {
	if t == nil || t != s.Turn || c.Status != turn.Awaiting {
		return nil, notOpen(c)
	}
	if !turn.CanRemember(c) || turn.Masked(c) {
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	}
	on := c.Ticked == nil || c.Ticked.User != in.User
	return one(turn.Ticked{Ask: c.Ask, On: on, By: in.User, Name: in.Name}, nil)
}

// forgetful is an answer that allows several calls at once: what is ticked to be remembered goes with an answer to that one call only.
func forgetful(c turn.ToolCall, in chat.Clicked, answer turn.Event) []turn.Event {
	if turn.Allows(in.Choice) && turn.Remembers(c, in.User) {
		return []turn.Event{turn.Ticked{Ask: c.Ask, By: in.User, Name: in.Name}, answer}
	}
	return []turn.Event{answer}
}

// looks records that somebody who may decide looks at what the card masks. Looking again records nothing.
func (e *Engine) looks(s turn.Session, t *turn.Turn, c turn.ToolCall, in chat.Clicked) ([]turn.Event, error) {
	switch {
	case t == nil || t != s.Turn || c.Status != turn.Awaiting:
		return nil, notOpen(c)
	case !turn.Masked(c) || !turn.Showable(c):
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	case c.Saw(c.Ask, in.User):
		return nil, nil
	}
	return one(turn.Revealed{Ask: c.Ask, By: in.User, Name: in.Name}, nil)
}

// reveals is what a card masks, for somebody of whom it is on record that they looked.
func reveals(s turn.Session, in chat.Clicked, at time.Time) ([]Outcome, error) {
	ask := turn.AskID(in.Token)
	c, open := turn.Wants(s, ask)
	if !open {
		c, _, _ = findAsk(s, ask)
	}
	if !c.Saw(ask, in.User) {
		return nil, overtaken(c)
	}
	d := turn.Hidden(c, ask)
	return []Outcome{{Chat: in.Chat, Ask: ask, Call: c.ID, Choice: in.Choice, By: in.User, Name: in.Name, At: at, Hidden: &d}}, nil
}

// spread answers what else waits and is covered by what this answer leaves standing, by the rule that later calls are ruled by: a grant,
// or what the person ticked to be remembered. Each has a record of its own.
func (e *Engine) spread(ctx context.Context, policy permission.Policy, s turn.Session, c turn.ToolCall, in chat.Clicked, ev turn.Event) (more []turn.Event) {
	d, ok := ev.(turn.Decided)
	if !ok || !turn.Allows(d.Choice) || d.Grant == nil && !turn.Remembers(c, in.User) {
		return nil
	}
	var grants []permission.Grant
	if d.Grant != nil {
		grants = []permission.Grant{asGiven(*d.Grant, policy, s)}
	}
	if turn.Remembers(c, in.User) {
		keep := toRemember(c, in, d.Choice, d.Grant)
		policy.Remembered = append(slices.Clip(policy.Remembered), keep)
	}
	for x, req := range e.others(ctx, s, c) {
		yes := decision(x, chat.AllowOnce, in)
		switch r := permission.Weigh(policy, grants, req, e.now()); {
		case r.Verdict != permission.Allow:
		case r.Grant != "":
			if grants[0].Counted {
				grants[0].Uses--
			}
			yes.Under = r.Grant
			more = append(more, yes)
		case r.Winner() == permission.RuleRemembered:
			more = append(more, yes)
		}
	}
	return more
}

// others are the other calls that wait and that one answer may cover, with what the policy has to know of each.
func (e *Engine) others(ctx context.Context, s turn.Session, not turn.ToolCall) iter.Seq2[turn.ToolCall, permission.Request] {
	return func(yield func(turn.ToolCall, permission.Request) bool) {
		var specs []ToolSpec
		for _, x := range turn.OpenAsks(s) {
			if x.ID == not.ID || !turn.Coverable(x) {
				continue
			}
			if specs == nil {
				var err error
				if specs, _, err = e.Tools.List(ctx); err != nil {
					return // they go on asking
				}
			}
			sp, ok := specOf(specs, x.Tool.Server, x.Tool.Name)
			if !ok || sp.Tool != x.Tool {
				continue
			}
			req := turn.Requested(s, x)
			req.Source, req.Hints, req.Metadata = sp.Source, sp.Hints, sp.Metadata
			if !yield(x, req) {
				return
			}
		}
	}
}

// toRemember is what a person's answer to a call leaves standing for them: as narrow as what they clicked.
func toRemember(c turn.ToolCall, in chat.Clicked, choice chat.Choice, g *permission.Grant) permission.Remembered {
	keep := permission.Remembered{ID: rememberedAt(c.Ask), By: in.User, Name: in.Name, Tool: c.Tool, Choice: permission.StandDeny}
	if turn.Allows(choice) {
		keep.Choice = permission.StandAllow
	}
	if g != nil && g.Scope == permission.ScopeTool {
		keep.Pins, keep.Until = g.Pins, g.Until
	}
	return keep
}

// remembers writes into the settings what a person ticked to be remembered, once their decision is recorded. It is another log: where
// that fails, or is full, the decision stands, and the person is told that it was not remembered.
func (e *Engine) remembers(ctx context.Context, s turn.Session, in chat.Clicked, done []Outcome) {
	var changes []permission.Change
	for _, o := range done {
		c, _, _ := findAsk(s, o.Ask) // nobody ticked what is not there
		if c.Ticked == nil || c.Ticked.User != in.User || c.By != in.User || !(turn.Allows(o.Choice) || o.Choice == chat.Deny) {
			continue
		}
		var given *permission.Grant
		if i := slices.IndexFunc(s.Grants, func(g permission.Grant) bool { return g.ID == c.Grant }); i >= 0 {
			given = &s.Grants[i]
		}
		keep := toRemember(c, in, o.Choice, given)
		changes = append(changes, permission.Change{Remember: &keep})
	}
	if len(changes) == 0 {
		return
	}
	env := in.Envelope
	env.Delivery = chat.Delivery("remember:" + string(opOf(in.Envelope)))
	now, err := e.Change(ctx, env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) { return changes, nil })
	kept := now.Of(in.User) // none where it failed; what there was no room for was left out, which is no error
	if slices.ContainsFunc(changes, func(c permission.Change) bool {
		return !slices.ContainsFunc(kept, func(r permission.Remembered) bool { return r.Tool == c.Remember.Tool })
	}) {
		e.Logger.Warn("a choice could not be remembered", "chat", in.Chat, "err", err)
		e.tell(ctx, in.Envelope, render.NotRemembered())
	}
}

// rememberedAt names what was remembered with the decision of an ask.
func rememberedAt(ask turn.AskID) string { return "r:" + string(ask) }

// forgets takes back what was remembered with a decision that was undone, also when the click is delivered again: who took it first may have
// died in between. As with remembers, where that fails the person is told.
func (e *Engine) forgets(ctx context.Context, in chat.Clicked) {
	if in.Choice != chat.Undo {
		return
	}
	env := in.Envelope
	env.Delivery = chat.Delivery("forget:" + string(opOf(in.Envelope)))
	_, err := e.Change(ctx, env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{{Forget: rememberedAt(turn.AskID(in.Token))}}, nil // nothing, where nothing was
	})
	if err != nil && !errors.Is(err, ErrUnchanged) {
		e.Logger.Warn("what was remembered with an undone decision could not be taken back", "chat", in.Chat, "err", err)
		e.tell(ctx, in.Envelope, render.NotForgotten())
	}
}

// answerSession approves what is open and lets the session ask no more (R106): after the person confirmed, and only the person that
// the chat belongs to, or an admin.
func (e *Engine) answerSession(ctx context.Context, policy permission.Policy, s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	c, t, found := findAsk(s, turn.AskID(in.Token))
	switch {
	case !found || in.Message != "" && t != nil && t.Shown != "" && t.Shown != in.Message:
		return nil, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()}
	case t == nil || t != s.Turn || c.Status != turn.Awaiting:
		return nil, notOpen(c)
	case !turn.OffersSession(c) || policy.Strict && s.Mode == permission.ModeAlways:
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	case !mayRelax(policy, s, in.User):
		return nil, &Refusal{Code: RefusedNotYours, Say: render.OnlyOwnerOrAdmin()}
	}
	if err := e.mayDecide(policy, s, t, c, in.User); err != nil {
		return nil, err
	}
	single := in
	single.Choice = chat.AllowOnce
	var events []turn.Event
	answer := func(open turn.ToolCall) {
		if ev, err := e.answer(ctx, policy, s, t, open, single); err == nil && e.mayDecide(policy, s, t, open, in.User) == nil {
			events = append(events, forgetful(open, single, ev)...)
		}
	}
	answer(c)
	for open, req := range e.others(ctx, s, c) {
		req.Mode = permission.ModeNever
		if r := permission.Weigh(policy, nil, req, e.now()); r.Verdict == permission.Allow {
			answer(open) // what the mode is not about still asks
		}
	}
	return append(events, turn.ModeSet{Mode: permission.ModeNever, Rev: s.ModeRev + 1, By: in.User, Name: in.Name}), nil
}

// asksFromNow ends a session's never-ask mode. Anybody who takes part may: it only adds caution.
func (e *Engine) asksFromNow(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	switch {
	case nobody(in.User):
		return nil, &Refusal{Code: RefusedNotYours, Say: render.WhoAreYou()}
	case s.Mode != permission.ModeNever:
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	}
	return one(turn.ModeSet{Mode: permission.ModeTool, Rev: s.ModeRev + 1, By: in.User, Name: in.Name}, nil)
}

// fills answers what a running tool's server wants of the requester: of them, and of nobody else.
func (e *Engine) fills(s turn.Session, in chat.Clicked) ([]turn.Event, error) {
	c, open := turn.Wants(s, turn.AskID(in.Token))
	switch {
	case !open:
		return nil, &Refusal{Code: RefusedExpired, Say: render.WantOver()}
	case in.Message != "" && s.Turn.Shown != "" && s.Turn.Shown != in.Message:
		return nil, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()}
	case nobody(in.User) || in.User != s.Turn.Requester:
		return nil, &Refusal{Code: RefusedNotYours, Say: render.OnlyRequesterFills(nameOf(s, s.Turn.Requester))}
	}
	masked := c.Want.Want.Masked() && !c.Saw(c.Want.Ask, in.User)
	switch {
	case in.Choice == chat.Reveal && masked:
		return one(turn.Revealed{Ask: c.Want.Ask, By: in.User, Name: in.Name}, nil)
	case in.Choice == chat.Reveal && c.Want.Want.Masked():
		return nil, nil
	case in.Choice == chat.Reveal:
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotOffered()}
	case in.Choice == chat.Answer && masked:
		return nil, &Refusal{Code: RefusedHidden, Say: render.LookAtHidden()}
	}
	fill := turn.Fill{Action: turn.FillDecline}
	if in.Choice == chat.Answer {
		content, err := turn.Content(c.Want.Want, in.Fields)
		if err != nil {
			return nil, &Refusal{Code: RefusedArguments, Say: err.Error()}
		}
		fill = turn.Fill{Action: turn.FillAccept, Content: content}
	}
	return one(turn.Filled{Ask: c.Want.Ask, Fill: fill, By: in.User, Name: in.Name}, nil)
}

func fillCounts(s turn.Session, ev turn.Filled) bool {
	for _, t := range []*turn.Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		for _, c := range t.Calls {
			if c.Want != nil && c.Want.Ask == ev.Ask {
				return c.Want.By == ev.By && c.Want.Fill != nil
			}
		}
	}
	return true
}

// accepts takes a server's tools as an installation card showed them. What changed since is not accepted by it.
func (e *Engine) accepts(ctx context.Context, in chat.Clicked) error {
	_, err := e.Change(ctx, in.Envelope, "", func(p permission.Policy, s permission.Settings) ([]permission.Change, error) {
		if !p.IsAdmin(in.User) {
			return nil, notAdmin(p)
		}
		for _, server := range serversOf(s) {
			if installToken(s, server) != in.Token {
				continue
			}
			var changes []permission.Change
			for _, pin := range s.Pins {
				if pin.Tool.Server == server {
					changes = append(changes, permission.Change{Accept: &pin.Tool})
				}
			}
			return changes, nil
		}
		return nil, &Refusal{Code: RefusedUnknown, Say: render.InstallChanged()}
	})
	switch {
	case errors.Is(err, ErrUnchanged):
		return &Refusal{Code: RefusedDecided, Say: render.InstallAccepted()}
	case err != nil:
		return err
	}
	e.tell(ctx, in.Envelope, render.InstallAccepted())
	return nil
}
