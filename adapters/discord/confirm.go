package discord

import (
	"context"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Discord asks nobody "are you sure". A choice that has to be confirmed is answered by a private message with the question, a button
// that is that very choice, and one that takes the question away. What the question says is read from the chat when it is asked, so it
// is what the card says now.

// asksFirst asks before a choice is taken. It reports whether it did.
func (a *Adapter) asksFirst(ctx context.Context, c click, p components.Action) bool {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		a.Logger.Warn("discord: what is to be confirmed could not be read", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return true
	}
	choice := confirmation(s, p.Choice, p.Token)
	if choice.Confirm == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, components.Confirm(choice, string(c.in.MessageRef()))); err != nil {
		a.Logger.Warn("discord: a question could not be asked", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
	return true
}

// confirmation is what a choice's card says before it is taken; empty where it says nothing, or the choice is not there any more: then
// the engine knows what to say.
func confirmation(s turn.Session, choice chat.Choice, token string) render.Choice {
	if s.Turn == nil {
		return render.Choice{}
	}
	c, _ := card.View(s, s.Turn, card.Live{}).Find(choice, token)
	if c.Confirm == "" {
		return render.Choice{}
	}
	return c
}

// sure does what a button on a private message about a card says, and puts what came of it where the buttons were.
func (a *Adapter) sure(ctx context.Context, c click, p components.Action) {
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), Token: p.Token, Choice: p.Choice, Message: chat.MessageRef(p.Message),
	}
	_, err := a.Engine.Decide(ctx, in)
	no := surface.Refusal(err)
	switch {
	case err == nil, no != nil && no.Code == decision.RefusedDecided && no.By == c.by.User && no.Choice == p.Choice:
		a.become(ctx, c.w, components.Lines(sayTaken))
	case no != nil:
		a.become(ctx, c.w, components.Lines(no.Say))
	default:
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.Chat(), "choice", p.Choice, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded) // and the buttons stay
	}
}

// become replaces the private message that was clicked.
func (a *Adapter) become(ctx context.Context, w *answer, p components.Payload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := w.update(ctx, p); err != nil {
		a.Logger.Warn("discord: a private message could not be changed", "err", err)
	}
}
