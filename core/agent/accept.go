package agent

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// MaxText is the longest message of a person that is taken, in bytes.
const MaxText = 64 << 10

// How much may wait in one chat for its turn. It is counted from what this replica knows: several at once may go a little beyond.
const (
	MaxWaiting      = 100
	MaxWaitingBytes = 1 << 20
)

// ErrTooLong and its neighbours refuse a message; nothing was recorded and a redelivery would not help.
var (
	ErrTooLong = errors.New("the message is longer than 64 KiB; send it as a file or in parts")
	ErrNotText = errors.New("the message is not valid UTF-8 text")
	ErrEmpty   = errors.New("the message is empty")
	ErrFull    = errors.New("too many messages wait in this chat")
)

var _ Inbox = (*Engine)(nil)

// Accept implements [Inbox]. A click that is refused is whispered to the person and counts as accepted: it would be refused again.
func (e *Engine) Accept(ctx context.Context, in chat.Inbound) error {
	env := in.From()
	switch in := in.(type) {
	case chat.Said:
		if err := checkText(in.Text); err != nil {
			return err
		}
		if err := e.hasRoom(ctx, env.Chat); err != nil {
			return err
		}
		return e.record(ctx, env, turn.Said{
			Delivery: deliveryOf(env), Message: in.Message, By: env.User, Name: env.Name, Text: in.Text, Context: in.Context, Earlier: in.Earlier,
			Unattended: in.Unattended, Standing: in.Standing, Channel: in.Channel, Forget: e.Forget,
			Files: in.Files[:min(len(in.Files), attach.MaxFiles+1)], // one more, so that people are told that there were more
		})
	case chat.Edited:
		if err := checkText(in.Text); err != nil {
			return err
		}
		return e.record(ctx, env, turn.Edited{Delivery: deliveryOf(env), Message: in.Message, By: env.User, Text: in.Text})
	case chat.Deleted:
		return e.record(ctx, env, turn.Deleted{Delivery: deliveryOf(env), Message: in.Message, By: env.User, All: in.All})
	case chat.Clicked:
		return e.click(ctx, in)

	case chat.Commanded:
		return e.whisper(ctx, env, e.Command(ctx, in))
	}
	return nil
}

// click decides, and tells the person why if it was not taken. That they have already decided just so needs no words.
func (e *Engine) click(ctx context.Context, in chat.Clicked) error {
	done, err := e.Decide(ctx, in)
	if in.Choice == chat.Revoke && len(done) > 0 { // the button may stand in an old message, which is not drawn again
		e.tell(ctx, in.Envelope, text.Revoked)
	}
	if no, ok := errors.AsType[*decision.Refusal](err); ok && no.Code == decision.RefusedDecided && no.By == in.User && no.Choice == in.Choice {
		return nil
	}
	if errors.Is(err, ErrVersion) {
		e.tell(ctx, in.Envelope, text.NotClickedNewer)
		return nil
	}
	return e.whisper(ctx, in.Envelope, err)
}

func checkText(text string) error {
	switch {
	case len(text) > MaxText:
		return ErrTooLong
	case !utf8.ValidString(text):
		return ErrNotText
	case strings.TrimSpace(text) == "":
		return ErrEmpty
	}
	return nil
}

// hasRoom refuses to let a chat's queue grow without end: every fold and snapshot of the chat holds it.
func (e *Engine) hasRoom(ctx context.Context, id chat.ID) error {
	f, _ := e.sessions.Get(id)
	if !f.s.Full(MaxWaiting, MaxWaitingBytes) {
		return nil
	}
	f, err := e.refresh(ctx, id) // what we know may be old
	if f.s.Full(MaxWaiting, MaxWaitingBytes) {
		return ErrFull
	}
	return err
}

// deliveryOf makes a delivery unique over platforms and, where people name their own deliveries, over people.
func deliveryOf(env chat.Envelope) chat.Delivery {
	if env.Delivery == "" {
		return chat.Delivery(mint())
	}
	return chat.Delivery(env.User.String() + ":" + string(env.Delivery))
}

// record appends a fact and claims the chat in the same step: nil means durable.
func (e *Engine) record(ctx context.Context, env chat.Envelope, ev turn.Event) error {
	claim, leave := e.enter()
	defer leave()
	f, _ := e.sessions.Get(env.Chat)
	w := Write{Chat: env.Chat, Known: f.head, Events: []Keyed{{opOf(env), ev}}, Claim: claim}
	d := delivered{env.Chat, w.Events[0].Op}
	if at, known := e.taken.Get(d); known && e.Now().Sub(at) < takenFor {
		return nil
	}
	began, start := e.Now(), time.Now()
	got, err := e.append(ctx, w)
	if errors.Is(err, ErrRewound) {
		e.sessions.Remove(env.Chat)
		w.Known = Head{}
		got, err = e.append(ctx, w)
	}
	if err == nil {
		e.taken.Add(d, began)
		// hasRoom goes by the fold, and a long log does not come with the answer.
		f, unread := e.cached(ctx, env.Chat)
		if errors.Is(unread, ErrVersion) {
			e.tell(ctx, env, text.KeptForNewer)
		}
		if e.Tracer != nil {
			for _, t := range f.s.Turns() {
				if t.Seq() == brought(w, got).Seq {
					e.did(ActionTake, env.Chat, t.ID, start, nil)
				}
			}
		}
	}
	return err
}

// delivered is what one delivery brings into a chat.
type delivered struct {
	chat chat.ID
	op   OpID
}

// takenFor is how long this process answers for a delivery that it recorded itself: Slack sends a mention twice, one right after the other.
// What is delivered again because no answer came, comes later; by then a store may have failed over, and only the log knows what is there.
const (
	takenFor  = time.Second
	takenKept = 1000
)

// whisper tells a person why their click was not taken.
func (e *Engine) whisper(ctx context.Context, env chat.Envelope, err error) error {
	no, ok := errors.AsType[*decision.Refusal](err)
	if !ok {
		return err
	}
	e.tell(ctx, env, no.Say)
	return nil
}

// tell says something to one person, where the platform can.
func (e *Engine) tell(ctx context.Context, env chat.Envelope, say string) {
	if w, ok := e.Platforms[env.Chat.Platform].(Whisperer); ok {
		if err := w.Whisper(ctx, env.Reply, card.Brief("", render.Plain(say))); err != nil {
			e.Logger.Warn("could not tell a person what came of their click", "chat", env.Chat, "err", err)
		}
	}
}

// Command does what a person typed after the bot's name.
func (e *Engine) Command(ctx context.Context, in chat.Commanded) error {
	env := in.Envelope
	if decision.Nobody(env.User) {
		return &decision.Refusal{Code: decision.RefusedNotYours, Say: text.WhoAreYou}
	}
	switch in.Verb {
	case "stop":
		_, err := e.Decide(ctx, chat.Clicked{Envelope: env, Choice: chat.Stop})
		return err
	case "reset":
		_, _, _, err := e.choose(ctx, env, nil, func(s turn.Session) ([]turn.Event, error) {
			return []turn.Event{turn.Reset{Rev: s.ResetRev + 1, By: env.User, Name: env.Name}}, nil
		})
		return err
	case "mode":
		return e.setMode(ctx, env, in.Args)
	}
	return &decision.Refusal{Code: decision.RefusedNotOffered, Say: text.UnknownCommand(in.Verb)}
}

// setMode changes how a chat is asked. To be asked no more has to be said twice.
func (e *Engine) setMode(ctx context.Context, env chat.Envelope, args []string) error {
	var mode permission.Mode
	if len(args) == 0 || len(args) > 2 || mode.UnmarshalText([]byte(args[0])) != nil || len(args) == 2 && args[1] != "yes" {
		return &decision.Refusal{Code: decision.RefusedNotOffered, Say: text.ModeUsage}
	}
	if mode == permission.ModeNever && len(args) != 2 {
		return &decision.Refusal{Code: decision.RefusedNotOffered, Say: text.ConfirmNever}
	}
	policy, err := e.Policy(ctx)
	if err != nil {
		return err
	}
	policy, unsure := e.WithGroups(ctx, policy, env)
	_, _, _, err = e.choose(ctx, env, nil, func(s turn.Session) ([]turn.Event, error) {
		if mode == permission.ModeNever && !decision.MayRelax(policy, s, env.User) {
			return nil, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.OnlyOwnerOrAdmin}
		}
		return []turn.Event{turn.ModeSet{Mode: mode, Rev: s.ModeRev + 1, By: env.User, Name: env.Name}}, nil
	})
	return decision.Unsure(err, unsure)
}
