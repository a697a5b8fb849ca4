package discord

import (
	"context"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/inbound"
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
	maxDrafts = 512
	draftLife = 15 * time.Minute
)

func draftKey(u chat.User, token string) string { return u.String() + "/" + token }

// answerElicitation answers a click on Answer.
func (a *Adapter) answerElicitation(ctx context.Context, c interaction, p components.Action) *reply {
	call, no := a.elicited(ctx, c, p.Token)
	if no != nil {
		return no
	}
	w, message := call.Elicitation.Request, string(c.in.MessageRef())
	if p.Sure {
		message = p.Message
	}
	switch {
	case len(w.Fields) > components.MaxInputs:
		return say(sayManyFields(len(w.Fields)))
	case len(w.Fields) > 0:
		values, _ := a.drafts.Get(draftKey(c.by.User, p.Token), a.now())
		return open(components.ElicitationModal(p.Token, message, call, values), "chat", c.at.Chat())
	case w.Kind == turn.ElicitationURL && !p.Sure:
		// Nothing fetches the address: it is no link in the text, previews are off, and a button's address is only followed by who presses it.
		address := components.Address(p.Token, message, call)
		return show(address).orSay(surface.SayNotOpened, "discord: an address could not be shown", "chat", c.at.Chat())
	case p.Sure:
		return a.decideConfirmed(ctx, c, p)
	}
	return a.record(ctx, c, p) // there is nothing to be filled in
}

// elicited is the call whose server waits for this person. Anybody else is told who it is for.
func (a *Adapter) elicited(ctx context.Context, c interaction, token string) (turn.ToolCall, *reply) {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		return turn.ToolCall{}, a.notRead("what a server wants", c, err)
	}
	call, ok := s.FindElicitation(turn.AskID(token))
	if !ok {
		return call, say(text.ElicitationOver)
	}
	if by := s.Turn.Requester; by != c.by.User {
		return call, say(text.OnlyRequesterFills(s.NameOf(by)))
	}
	return call, nil
}

// elicitationFilled sends what somebody typed into the form. What is not taken is remembered for when they open it again.
func (a *Adapter) elicitationFilled(ctx context.Context, c interaction, token, message string) *reply {
	key := draftKey(c.by.User, token)
	a.drafts.Put(key, inputsOf(c.in.Data.Components), a.now())
	call, no := a.elicited(ctx, c, token)
	if no != nil {
		return no
	}
	in := c.choose(chat.Answer, token)
	in.Message, in.Fields = chat.MessageRef(message), fieldsOf(call.Elicitation.Request, c.in.Data.Components)
	_, err := a.Engine.Decide(ctx, in)
	switch no := surface.Refusal(err); {
	case err == nil, c.repeats(no):
		a.drafts.Drop(key)
		return &reply{settles: true}
	case no != nil && no.Code != decision.RefusedArguments:
		return say(no.Say)
	case no != nil:
		return show(components.OfferAgain(no.Say, token, message))
	}
	a.notRecorded("a form", c, chat.Answer, err)
	return show(components.OfferAgain(surface.SayNotRecorded, token, message))
}

// inputsOf is what stands in each input of a form that came back.
func inputsOf(of []inbound.Component) map[string]string {
	out := map[string]string{}
	for i := range components.MaxInputs {
		out[components.FieldID(i)] = inbound.InputValue(of, components.FieldID(i))
	}
	return out
}

// fieldsOf are the values of a form that came back, by the names that the server gave them.
func fieldsOf(w turn.Elicitation, of []inbound.Component) map[string]string {
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
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, optionIn(f, line))
		}
	}
	return strings.Join(out, "\n")
}

// optionIn is the one option that a line stands for, or the line where it is none or could be either of two.
func optionIn(f turn.FormField, line string) string {
	var like []string
	for i, o := range f.Options {
		if strings.EqualFold(o, line) || i < len(f.Labels) && strings.EqualFold(strings.TrimSpace(f.Labels[i]), line) {
			like = append(like, o)
		}
	}
	if len(like) != 1 {
		return line
	}
	return like[0]
}
