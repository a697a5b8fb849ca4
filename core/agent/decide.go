package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/standing"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Decide is the one way a person's choice enters the log. It returns what is recorded, or a *decision.Refusal, or that nobody knows.
func (e *Engine) Decide(ctx context.Context, in chat.Clicked) ([]decision.Outcome, error) {
	if in.Choice == chat.Accept {
		return nil, e.acceptTools(ctx, in)
	}
	f, made, at, err := e.answer(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.Choice == chat.Reveal {
		return decision.Unmask(f.s, in, at)
	}
	done, err := decision.ReadOutcomes(f.s, in, made, at)
	if err == nil {
		e.remember(ctx, f.s, in, done)
		e.forget(ctx, in)
	}
	return done, err
}

// answer records a person's answer, judged by the settings that there are as it is recorded. Nobody is refused by older ones.
func (e *Engine) answer(ctx context.Context, in chat.Clicked) (fold, []turn.Event, time.Time, error) {
	for try := 0; ; try++ {
		rules, err := e.knownRules(ctx, nil)
		if err != nil {
			return fold{}, nil, time.Time{}, err
		}
		policy, unsure := e.WithGroups(ctx, rules.Policy, in.Envelope)
		f, made, at, err := e.choose(ctx, in.Envelope, &rules.head, func(s turn.Session) ([]turn.Event, error) {
			events, err := e.judge(ctx, s, policy).Answer(s, in)
			return slices.Concat(decision.MarkSeen(s, events), events), err
		})
		if again, failed := e.outdated(ctx, rules.head, err); failed != nil {
			return fold{}, nil, time.Time{}, failed
		} else if !again || try == maxRefolds {
			return f, made, at, decision.Unsure(err, unsure)
		}
	}
}

// Refuses is why a choice that a card offers would certainly not be taken of this person now: it is not theirs, or would not do what it
// says. nil: it would be, or that is not known. Nothing is recorded.
func (e *Engine) Refuses(ctx context.Context, in chat.Clicked) *decision.Refusal {
	if in.Choice == chat.ViewDetail { // anybody may look
		return nil
	}
	for try := 0; ; try++ {
		rules, err := e.knownRules(ctx, nil)
		if err != nil {
			return nil
		}
		policy, unsure := e.WithGroups(ctx, rules.Policy, in.Envelope)
		f, err := e.cached(ctx, in.Chat)
		if err != nil || unsure {
			return nil
		}
		_, err = e.judge(ctx, f.s, policy).Answer(f.s, in)
		no, _ := errors.AsType[*decision.Refusal](err)
		if no == nil || no.Code != decision.RefusedNotYours && no.Code != decision.RefusedNotOffered {
			return nil
		}
		if again, failed := e.outdated(ctx, rules.head, err); failed != nil || !again || try == maxRefolds {
			return no
		}
	}
}

// Sees tells what a person may be shown of what waits in a chat, away from it: what they may answer and have to do with. It is for all chats
// of the workspace that by names, as the settings and the person's groups are now.
func (e *Engine) Sees(ctx context.Context, by chat.Envelope) (func(turn.Session, turn.ToolCall) bool, error) {
	rules, err := e.knownRules(ctx, nil)
	if err != nil {
		return nil, err
	}
	policy, _ := e.WithGroups(ctx, rules.Policy, by)
	return func(s turn.Session, c turn.ToolCall) bool {
		return decision.MaySee(e.policyIn(s, policy), s, c, by.User)
	}, nil
}

// outdated reports whether the settings that judged have moved on, where that matters for what came of it.
func (e *Engine) outdated(ctx context.Context, by Head, came error) (bool, error) {
	if _, refused := errors.AsType[*decision.Refusal](came); !refused {
		return errors.Is(came, ErrRules), nil
	}
	f, err := e.readSettings(ctx)
	return err == nil && f.head != by, err
}

// judge is what a decision about a chat is judged by now: by this policy, as it holds there. The tools are listed when they are asked for.
func (e *Engine) judge(ctx context.Context, s turn.Session, policy permission.Policy) decision.Judge {
	return decision.Judge{
		Policy: e.policyIn(s, policy), Now: e.Now(), Mint: mint, NameOf: e.NameOf,
		Tools: func() ([]decision.Tool, error) {
			specs, _, err := e.Tools.List(ctx)
			return judged(specs), err
		},
		Check: func(tool permission.Tool, args json.RawMessage) (unchecked bool, err error) {
			if err = e.Tools.Check(ctx, tool, args); errors.Is(err, ErrUnchecked) {
				return true, nil
			}
			return false, err
		},
	}
}

// judged is what decisions look at of tools.
func judged(specs []ToolSpec) []decision.Tool {
	out := make([]decision.Tool, len(specs))
	for i, sp := range specs {
		out[i] = decision.Tool{
			Tool: sp.Tool, Definition: sp.Definition, Source: sp.Source, Hints: sp.Hints, Metadata: sp.Metadata, Schema: sp.InputSchema, Preview: sp.Preview,
			Card: turn.Card{Title: sp.Title, Describes: sp.Description, Server: sp.Server.Description, Icon: sp.Server.Icon},
		}
	}
	return out
}

// choose appends events that build derives from the newest fold, refolding as often as somebody else was
// first, and returns what it made of them. build's refusal counts only against the newest fold. A choice that was delivered before and
// is recorded makes nothing and is no error. Where the settings stood by which build judges is for the log to check.
func (e *Engine) choose(ctx context.Context, by chat.Envelope, judged *Head, build func(turn.Session) ([]turn.Event, error)) (fold, []turn.Event, time.Time, error) {
	claim, leave := e.enter()
	defer leave()
	op := opOf(by)
	f, err := e.cached(ctx, by.Chat)
	for try, fresh := 0, false; err == nil; {
		if slices.Contains(f.s.Clicks, string(op)) {
			return f, nil, time.Time{}, nil
		}
		events, refusal := build(f.s)
		if refusal != nil || len(events) == 0 {
			if fresh {
				return f, nil, time.Time{}, refusal
			}
			f, err = e.refresh(ctx, by.Chat) // what we know may be old: look before refusing anybody
			fresh = true
			continue
		}
		w := Write{Chat: by.Chat, Known: f.head, Judged: judged, Claim: claim, Events: keyed(op, events)}
		if err = e.checkDurable(ctx, w.Events); err != nil {
			break
		}
		got, refused := e.append(ctx, w)
		if refused != nil && (try == maxRefolds || !errors.Is(refused, ErrStale) && !errors.Is(refused, ErrRewound)) {
			err = refused
			break
		}
		from := f.s
		f, err = e.applyWritten(ctx, by.Chat, f, got, refused)
		if refused == nil {
			if got.Repeated && slices.Contains(f.s.Clicks, string(op)) {
				events = nil
			} else {
				e.traced(from, f.s, w.Events, got)
			}
			return f, events, entryOf(got.Entries, w.Events[0].Op).At, err
		}
		try, fresh = try+1, true
	}
	return fold{}, nil, time.Time{}, err
}

// maxRefolds bounds how often a choice is made anew because somebody else was first.
const maxRefolds = 50

// keyed names the events of a choice: the delivery's own name is the choice's.
func keyed(op OpID, events []turn.Event) (out []Keyed) {
	choices := 0
	for _, ev := range events {
		at := op + "#seen"
		if turn.ClassOf(ev) == turn.Choice {
			at, choices = opPart(op, choices), choices+1
		}
		out = append(out, Keyed{at, ev})
	}
	return out
}

// entryOf is the entry that an operation brought; the zero entry where it is not among them.
func entryOf(entries []turn.Entry, op OpID) turn.Entry {
	if i := slices.IndexFunc(entries, func(x turn.Entry) bool { return x.Op == string(op) }); i >= 0 {
		return entries[i]
	}
	return turn.Entry{}
}

// opOf names the write that a delivery brings: the same for every redelivery, never the same for two people.
func opOf(by chat.Envelope) OpID {
	if by.Delivery == "" {
		return OpID("op:" + mint())
	}
	return OpID("in:" + by.User.String() + ":" + string(by.Delivery))
}

// Delivered reports whether a chat's log holds what this delivery brought, or one of several parts of it.
func Delivered(s turn.Session, by chat.Envelope) bool {
	op := string(opOf(by))
	return slices.ContainsFunc(s.Clicks, func(click string) bool { return click == op || strings.HasPrefix(click, op+"#") })
}

func opPart(op OpID, i int) OpID {
	if i == 0 {
		return op
	}
	return OpID(fmt.Sprintf("%s#%d", op, i))
}

// remember writes into the settings what a person's answer leaves standing beyond the chat. Where that fails the decision stands, and the
// person is told that it was not kept.
func (e *Engine) remember(ctx context.Context, s turn.Session, in chat.Clicked, done []decision.Outcome) {
	if err := standing.Remember(ctx, e, s, in, done); err != nil {
		e.Logger.Warn("a choice could not be remembered", "chat", s.Chat, "err", err)
		e.tell(ctx, in.Envelope, text.NotRemembered)
	}
}

// forget takes back what was remembered with a decision that was undone. As with remember, where that fails the person is told.
func (e *Engine) forget(ctx context.Context, in chat.Clicked) {
	if in.Choice != chat.Undo {
		return
	}
	err := standing.Forget(ctx, e, in, chat.Delivery("forget:"+string(opOf(in.Envelope))))
	if err != nil && !errors.Is(err, ErrUnchanged) {
		e.Logger.Warn("what was remembered with an undone decision could not be taken back", "chat", in.Chat, "err", err)
		e.tell(ctx, in.Envelope, text.NotForgotten)
	}
}

// acceptTools takes a server's tools as an installation card showed them, which then says so. What changed since is not accepted by it.
func (e *Engine) acceptTools(ctx context.Context, in chat.Clicked) error {
	accepted, by, err := standing.Accept(ctx, e, in)
	switch {
	case errors.Is(err, ErrUnchanged): // this card may be another admin's
		e.showAccepted(ctx, in, accepted, by)
		return &decision.Refusal{Code: decision.RefusedDecided, Say: text.InstallAccepted}
	case err != nil:
		return err
	}
	if !e.showAccepted(ctx, in, accepted, in.Name) {
		e.tell(ctx, in.Envelope, text.InstallAccepted)
	}
	return nil
}

// showAccepted takes the buttons from the installation card that was clicked. Where that fails the next click on it is told the same.
func (e *Engine) showAccepted(ctx context.Context, in chat.Clicked, server, by string) bool {
	p := e.Platforms[in.Chat.Platform]
	if p == nil || in.Message == "" {
		return false
	}
	m := card.Brief(render.Done, render.Strong(text.InstallDone(text.Inline(server), text.Inline(by))))
	err := p.Edit(ctx, in.Chat, in.Message, render.Fit(m, p.Limits()), Decision)
	if err != nil {
		e.Logger.Warn("an installation card still has its buttons", "server", server, "err", err)
	}
	return err == nil
}
