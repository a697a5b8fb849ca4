package discord

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What a running tool's server wants of the person who asked: a few values in a form, or that a page is opened. Nobody else is
// shown either. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

// What is kept of a form that was not taken, so that nothing has to be typed again. It stands in memory only.
const (
	maxTyped  = 512
	typedLife = 15 * time.Minute
)

// typed are forms as somebody sent them, by person and asking: what stands in each input.
type typed = surface.Cache[map[string]string]

func typedKey(u chat.User, token string) string { return u.String() + "/" + token }

// answerWant answers a click on Answer. It may open a form, which has to be the first answer, so nothing is said before.
func (a *Adapter) answerWant(ctx context.Context, c click, p components.Action) {
	call, ok := a.wanted(ctx, c, p.Token)
	if !ok {
		return
	}
	w, message := call.Want.Want, string(c.in.MessageRef())
	if p.Sure {
		message = p.Message
	}
	switch {
	case w.Kind == turn.WantForm && len(w.Fields) > components.MaxInputs:
		a.tell(ctx, c.w, sayManyFields(len(w.Fields)))
	case w.Kind == turn.WantForm && len(w.Fields) > 0:
		values, _ := a.typed.Get(typedKey(c.by.User, p.Token), a.now())
		if err := c.w.open(ctx, components.ElicitationModal(p.Token, message, call, values)); err != nil {
			a.Logger.Warn("discord: a form could not be opened", "chat", c.at.Chat(), "err", err)
			a.tell(ctx, c.w, surface.SayNotOpened)
		}
	case w.Kind == turn.WantURL && !p.Sure:
		a.showAddress(ctx, c, p.Token, call)
	case p.Sure:
		a.sure(ctx, c, p)
	default: // there is nothing to be filled in
		a.record(ctx, c, p)
	}
}

// wanted is the call whose server waits for this person. Anybody else is told who it is for.
func (a *Adapter) wanted(ctx context.Context, c click, token string) (call turn.ToolCall, ok bool) {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		a.Logger.Warn("discord: what a server wants could not be read", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return call, false
	}
	if call, ok = s.FindElicitation(turn.AskID(token)); !ok {
		a.tell(ctx, c.w, text.WantOver())
		return call, false
	}
	if s.Turn.Requester != c.by.User {
		a.tell(ctx, c.w, text.OnlyRequesterFills(nameIn(s, s.Turn.Requester)))
		return call, false
	}
	return call, true
}

// nameIn is what a chat calls somebody who takes part.
func nameIn(s turn.Session, u chat.User) string {
	for _, p := range s.People {
		if p.User == u && p.Name != "" {
			return p.Name
		}
	}
	return u.Key
}

// showAddress shows where a server wants somebody to go: the address as text, then the warnings, then the way there and the way on.
// Nothing fetches it: it is no link in the text, previews are off, and a button's address is only followed by who presses it.
func (a *Adapter) showAddress(ctx context.Context, c click, token string, call turn.ToolCall) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, components.Address(token, string(c.in.MessageRef()), call)); err != nil {
		a.Logger.Warn("discord: an address could not be shown", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// filledIn sends what somebody typed into the form. What is not taken is kept for when they open it again.
func (a *Adapter) filledIn(ctx context.Context, c click, token, message string) {
	key := typedKey(c.by.User, token)
	a.typed.Put(key, typedIn(c.in.Data.Components), a.now())
	call, ok := a.wanted(ctx, c, token)
	if !ok {
		return
	}
	fields := fieldsOf(call.Want.Want, c.in.Data.Components)
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), Token: token, Choice: chat.Answer, Message: chat.MessageRef(message), Fields: fields,
	}
	_, err := a.Engine.Decide(ctx, in)
	no := surface.Refusal(err)
	switch {
	case err == nil, no != nil && no.Code == decision.RefusedDecided && no.By == c.by.User:
		a.typed.Drop(key)
		a.settle(c.w)
	case no != nil && no.Code != decision.RefusedArguments:
		a.tell(ctx, c.w, no.Say)
	case no != nil:
		a.offerAgain(ctx, c, no.Say, token, message)
	default:
		a.Logger.Error("discord: a form was not recorded", "chat", c.at.Chat(), "choice", chat.Answer, "err", err)
		a.offerAgain(ctx, c, surface.SayNotRecorded, token, message)
	}
}

// offerAgain says why a form was not taken, with a button that opens it as it was sent.
func (a *Adapter) offerAgain(ctx context.Context, c click, say, token, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, components.OfferAgain(say, token, message)); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// typedIn is what stands in each input of a form that came back.
func typedIn(of []inbound.Component) map[string]string {
	out := map[string]string{}
	for i := range components.MaxInputs {
		out[components.FieldID(i)] = inbound.InputValue(of, components.FieldID(i))
	}
	return out
}

// fieldsOf are the values of a form that came back, by the names that the server gave them.
func fieldsOf(w turn.Want, of []inbound.Component) map[string]string {
	out := map[string]string{}
	for i, f := range w.Fields {
		out[f.Name] = optionsIn(f, inbound.InputValue(of, components.FieldID(i)))
	}
	return out
}

// optionsIn turns what stands for an option into the option: what people read, or the same in other letters.
func optionsIn(f turn.FormField, text string) string {
	if len(f.Options) == 0 {
		return text
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		out = append(out, optionIn(f, line))
	}
	return strings.Join(out, "\n")
}

func optionIn(f turn.FormField, line string) string {
	if slices.Contains(f.Options, line) {
		return line
	}
	found := ""
	for i, o := range f.Options {
		if strings.EqualFold(o, line) || i < len(f.Labels) && strings.EqualFold(strings.TrimSpace(f.Labels[i]), line) {
			if found != "" {
				return line // it could be either
			}
			found = o
		}
	}
	if found == "" {
		return line
	}
	return found
}
