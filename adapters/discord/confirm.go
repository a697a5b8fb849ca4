package discord

import (
	"context"
	"regexp"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Discord asks nobody "are you sure". A choice that has to be confirmed is answered by a private message with the question, a button
// that is that very choice, and one that takes the question away. What the question says is read from the chat when it is asked, so it
// is what the card says now.

// confirmation is what a choice's card says before it is taken; empty where it says nothing, or the choice is not there any more: then
// the engine knows what to say.
func confirmation(s turn.Session, choice chat.Choice, token string) render.Choice {
	if s.Turn == nil {
		return render.Choice{}
	}
	c, _ := turn.View(s, s.Turn, turn.Live{}).Find(choice, token)
	if c.Confirm == "" {
		return render.Choice{}
	}
	return c
}

// confirmPayload is the question.
func confirmPayload(c render.Choice, message string) payload {
	sure := discordgo.Button{Label: labelOf(c, maxLabel), Style: discordgo.DangerButton, CustomID: sureID(c.Choice, c.Token, message)}
	return question(c.Confirm, sure, "nod:"+actionCancel+":x")
}

// question is a private question: all of what is to be confirmed, and two buttons.
func question(say string, yes discordgo.Button, cancel string) payload {
	s := &sheet{ids: names{}}
	s.say(noteLines(render.Line{render.Plain(surface.Within(say, maxConfirm))}, nil)...)
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		yes, discordgo.Button{Label: sayCancel, Style: discordgo.SecondaryButton, CustomID: cancel},
	}}, 3)
	return payload{Components: s.parts}
}

// maxConfirm is how long a question may be, which escaping may make twice as long.
const maxConfirm = 1800

var cancelForm = regexp.MustCompile(`^nod:` + actionCancel + `:x$`)

// asksFirst asks before a choice is taken. It reports whether it did.
func (a *Adapter) asksFirst(ctx context.Context, c click, p pressed) bool {
	s, err := a.Engine.Session(ctx, c.at.id())
	if err != nil {
		a.Logger.Warn("discord: what is to be confirmed could not be read", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return true
	}
	choice := confirmation(s, p.choice, p.token)
	if choice.Confirm == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, confirmPayload(choice, string(c.in.message()))); err != nil {
		a.Logger.Warn("discord: a question could not be asked", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
	return true
}

// sure does what a button on a private message about a card says, and puts what came of it where the buttons were.
func (a *Adapter) sure(ctx context.Context, c click, p pressed) {
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), Token: p.token, Choice: p.choice, Message: chat.MessageRef(p.message),
	}
	_, err := a.Engine.Decide(ctx, in)
	no := surface.Refusal(err)
	switch {
	case err == nil, no != nil && no.Code == agent.RefusedDecided && no.By == c.by.User && no.Choice == p.choice:
		a.become(ctx, c.w, textPayload(literal(sayTaken)))
	case no != nil:
		a.become(ctx, c.w, textPayload(literal(no.Say)))
	default:
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.id(), "choice", p.choice, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded) // and the buttons stay
	}
}

// become replaces the private message that was clicked.
func (a *Adapter) become(ctx context.Context, w *answer, p payload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := w.update(ctx, p); err != nil {
		a.Logger.Warn("discord: a private message could not be changed", "err", err)
	}
}
