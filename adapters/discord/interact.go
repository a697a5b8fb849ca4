package discord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// interacted takes a click, a form or a slash command, from the gateway or from a signed request, and does not block. done is called
// once nothing more is to come of it.
func (a *Adapter) interacted(in *inbound.Interaction, done func()) {
	if !ids.IsSnowflake(string(in.ID)) || in.Token == "" || (in.Application != "" && string(in.Application) != a.self.Application) {
		done()
		return
	}
	switch in.Type {
	case inbound.InteractionCommand, inbound.InteractionComponent, inbound.InteractionForm:
	default:
		a.Logger.Info("discord: an interaction of a kind that nod does not use", "type", in.Type)
		done()
		return
	}
	in.At = a.now()
	w := a.answering(a.incomingOf(in))
	serve := func() {
		defer done()
		defer func() {
			if broken := recover(); broken != nil {
				a.Logger.Error("discord: an interaction made the code that does it fail", "panic", fmt.Sprintf("%T", broken))
			}
		}()
		// Not a child of Run's context: what was taken is finished, also while the program stops.
		ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(answerWithin))
		defer cancel()
		a.serve(ctx, in, w)
	}
	if a.in.clicks.Put(in.Lane(), serve) {
		return
	}
	a.Logger.Warn("discord: an interaction is not taken: too much waits here, or this process starts or stops")
	told := a.in.settling.Put("i:"+string(in.ID), func() {
		defer done()
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		a.tell(ctx, w, sayBusy)
	})
	if !told {
		done()
	}
}

// incomingOf is what answering takes. An edit of the clicked message may be the answer only where that is all there is to answer:
// a form cannot be opened any more after it.
func (a *Adapter) incomingOf(in *inbound.Interaction) incoming {
	out := incoming{
		ID: string(in.ID), Token: string(in.Token), Application: a.self.Application,
		Channel: string(in.ChannelID), User: in.By().User.Key, At: in.At,
	}
	if in.Message == nil {
		return out
	}
	if in.Type == inbound.InteractionComponent {
		p, ok := components.ParseAction(string(in.Data.CustomID), in.Values())
		if kind, _ := text.KindOf(p.Choice); !ok || p.Sure || p.Guild != "" || kind.Aside {
			return out
		}
	} else if choice, _, _, ok := components.ParseForm(string(in.Data.CustomID)); !ok || choice == chat.Answer && in.Message.IsPrivate() {
		return out
	}
	out.Message = string(in.Message.ID)
	return out
}

func (a *Adapter) serve(ctx context.Context, in *inbound.Interaction, w *answer) {
	by := in.By()
	if by.User.IsZero() {
		a.tell(ctx, w, sayNobody)
		return
	}
	c, err := a.channelOfInteraction(ctx, in)
	if err != nil {
		a.Logger.Warn("discord: where somebody clicked is not known", "channel", string(in.ChannelID), "err", err)
		a.tell(ctx, w, sayNoPlace)
		return
	}
	at := ids.Place{Guild: string(in.Guild), Channel: c.ID, Thread: ""}
	switch {
	case in.Guild == "":
	case c.IsThread() && c.Parent == "":
		a.tell(ctx, w, sayNoPlace)
		return
	case c.IsThread():
		at = ids.Place{Guild: string(in.Guild), Channel: c.Parent, Thread: c.ID}
	}
	switch in.Type {
	case inbound.InteractionCommand:
		a.slash(ctx, slash{in: in, w: w, by: by, channel: c, at: at})
	case inbound.InteractionComponent:
		a.clicked(ctx, click{in: in, w: w, by: by, at: at, channel: c})
	case inbound.InteractionForm:
		a.submitted(ctx, click{in: in, w: w, by: by, at: at, channel: c})
	}
}

// channelOfInteraction is where somebody clicked: the interaction says, or it is asked for.
func (a *Adapter) channelOfInteraction(ctx context.Context, in *inbound.Interaction) (inbound.Channel, error) {
	if d := in.Channel; d != nil && ids.IsSnowflake(string(d.ID)) {
		c := d.Channel(string(in.Guild))
		if in.Guild == "" || !c.IsThread() || ids.IsSnowflake(c.Parent) {
			return c, nil
		}
	}
	if in.Guild == "" && ids.IsSnowflake(string(in.ChannelID)) {
		return inbound.Channel{ID: string(in.ChannelID), Type: inbound.ChannelDM}, nil
	}
	return a.channelOf(ctx, string(in.ChannelID))
}

// tell answers one person, as well as that can be done.
func (a *Adapter) tell(ctx context.Context, w *answer, say string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := w.tell(ctx, say); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// click is an interaction with a message of ours.
type click struct {
	in      *inbound.Interaction
	w       *answer
	by      inbound.Person
	at      ids.Place
	channel inbound.Channel // where it was clicked
}

// clicked does one click.
func (a *Adapter) clicked(ctx context.Context, c click) {
	id := string(c.in.Data.CustomID)
	if d, ok := components.ParsePanelAction(id); ok {
		a.panelClicked(ctx, c, d)
		return
	}
	p, ok := components.ParseAction(id, c.in.Values())
	cancels := id == components.CancelID
	switch {
	case !ok && !cancels, (p.Sure || cancels) && (c.in.Message == nil || !c.in.Message.IsPrivate()): // what answers those replaces the message
		a.tell(ctx, c.w, sayOtherVersion)
		return
	case cancels:
		a.become(ctx, c.w, components.Lines(sayCancelled))
		return
	}
	if p.Guild != "" {
		if c.by, ok = a.memberOfGuild(ctx, c, p.Guild); !ok {
			return
		}
	}
	switch {
	case p.Choice == chat.ViewDetail:
		a.showDetails(ctx, c, p.Token)
	case p.Choice == chat.Reveal:
		a.reveal(ctx, c, p.Token)
	case p.Choice == chat.Why:
		a.showWhy(ctx, c, p.Token)
	case p.Choice == chat.DenyReason, p.Choice == chat.Edit:
		a.openForm(ctx, c, p.Choice, p.Token)
	case p.Choice == chat.Answer:
		a.answerWant(ctx, c, p)
	case p.Choice == chat.Open:
		a.openPanel(ctx, c.w, a.viewFor(ctx, c, p.Guild, p.Token))
	case p.Sure:
		a.sure(ctx, c, p)
	case p.Ask && a.asksFirst(ctx, c, p):
	default:
		a.record(ctx, c, p)
	}
}

// record gives a click to the engine; what comes of it answers it.
func (a *Adapter) record(ctx context.Context, c click, p components.Action) {
	err := a.Engine.Accept(ctx, chat.Clicked{
		Envelope: a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), Token: p.Token, Choice: p.Choice, Message: c.in.MessageRef(),
	})
	if err != nil {
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.Chat(), "choice", p.Choice, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded)
		return
	}
	a.settle(c.w)
}

// settle lets the click be answered by what came of it, and keeps nobody waiting for that.
func (a *Adapter) settle(w *answer) {
	settle := func() {
		ctx, cancel := context.WithTimeout(context.Background(), afterWithin)
		defer cancel()
		w.settle(ctx)
	}
	if !a.in.settling.Put("i:"+w.ID, settle) {
		settle()
	}
}

// showDetails shows all of what a button stands for.
func (a *Adapter) showDetails(ctx context.Context, c click, token string) {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		a.Logger.Warn("discord: details could not be read", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	d, ok := card.Details(s, token)
	if !ok {
		a.tell(ctx, c.w, surface.SayNoDetails)
		return
	}
	a.showPrivately(ctx, c, d)
}

// reveal shows one person what a card masks. It is on record before they see it.
func (a *Adapter) reveal(ctx context.Context, c click, token string) {
	out, err := a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), Token: token, Choice: chat.Reveal, Message: c.in.MessageRef(),
	})
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, c.w, no.Say)
		return
	}
	if err != nil {
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.Chat(), "choice", chat.Reveal, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded)
		return
	}
	a.showPrivately(ctx, c, surface.Hidden(out))
}

// showPrivately shows one person everything about something.
func (a *Adapter) showPrivately(ctx context.Context, c click, d render.Details) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, components.Details(d)); err != nil {
		a.Logger.Warn("discord: details could not be shown", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// showWhy shows one person why something is asked.
func (a *Adapter) showWhy(ctx context.Context, c click, token string) {
	if a.Settings == nil {
		a.tell(ctx, c.w, sayNoSettings)
		return
	}
	d, err := a.Settings.Why(ctx, a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), token)
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, c.w, no.Say)
		return
	}
	if err != nil {
		a.Logger.Warn("discord: why something is asked could not be read", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	a.showPrivately(ctx, c, d)
}

// openForm opens the form for a reason, or for other arguments. It has to be the first answer, so nothing else was said before.
func (a *Adapter) openForm(ctx context.Context, c click, choice chat.Choice, token string) {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		a.Logger.Warn("discord: a form could not be filled in", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	call, ok := surface.FindAsk(s, token)
	if !ok {
		a.tell(ctx, c.w, surface.SayNotOpen)
		return
	}
	form := components.DenyModal(token, surface.CallLine(call))
	if choice == chat.Edit {
		if !turn.CanEdit(call) { // a masked secret would stand in the form
			a.tell(ctx, c.w, text.NotEditable())
			return
		}
		if form, ok = components.EditModal(token, surface.CallLine(call), string(call.Args)); !ok {
			a.tell(ctx, c.w, surface.SayTooLongToEdit("Discord", 4000))
			return
		}
	}
	if err := c.w.open(ctx, form); err != nil {
		a.Logger.Warn("discord: a form could not be opened", "chat", c.at.Chat(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// submitted does what a form says.
func (a *Adapter) submitted(ctx context.Context, c click) {
	id := string(c.in.Data.CustomID)
	if d, ok := components.ParsePanelAction(id); ok {
		a.panelFilled(ctx, c, d)
		return
	}
	choice, token, message, ok := components.ParseForm(id)
	switch {
	case !ok:
		a.tell(ctx, c.w, sayOtherVersion)
		return
	case choice == chat.Answer:
		a.filledIn(ctx, c, token, message)
		return
	}
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle()), Token: token, Choice: choice, Message: c.in.MessageRef(),
	}
	if choice == chat.Edit {
		in.Args = inbound.InputValue(c.in.Data.Components, components.FieldArgs)
	} else {
		in.Choice = chat.Deny
		in.Reason = strings.TrimSpace(inbound.InputValue(c.in.Data.Components, components.FieldReason))
	}
	_, err := a.Engine.Decide(ctx, in)
	if no := surface.Refusal(err); no != nil && (no.Code != decision.RefusedDecided || no.By != c.by.User || no.Choice != in.Choice) {
		a.tell(ctx, c.w, no.Say)
		return
	} else if err != nil && no == nil {
		a.Logger.Error("discord: a form was not recorded", "chat", c.at.Chat(), "choice", choice, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded)
		return
	}
	a.settle(c.w)
}
