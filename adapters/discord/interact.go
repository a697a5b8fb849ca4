package discord

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// interaction is a click, a form or a slash command, with who did it and where.
type interaction struct {
	in      *inbound.Interaction
	w       *answer
	by      inbound.Person
	channel inbound.Channel // where it was done
	at      ids.Place       // the chat of that channel or thread
}

func (c *interaction) envelope() chat.Envelope {
	return envelopeOf(c.at, c.in.Delivery(), c.by, c.w.handle())
}

// choose is a choice of whoever clicked.
func (c *interaction) choose(choice chat.Choice, token string) chat.Clicked {
	return chat.Clicked{Envelope: c.envelope(), Token: token, Choice: choice, Message: c.in.MessageRef()}
}

// reply is what an interaction is answered with, which [Adapter.send] does; nil: with nothing more.
type reply struct {
	settles bool                  // what comes of it answers it: the next edit of its message
	form    *components.Modal     // a form, which has to be the first answer
	show    components.Renditions // for the one person
	inPlace bool                  // show replaces the private message that was clicked

	instead string // what is said where it did not arrive
	failed  string // likewise, for the log
	about   []any  // likewise
}

func say(text string) *reply { return &reply{show: components.Note(inWords(text), "")} }

func sayLines(lines ...string) *reply { return show(components.Lines(lines...)) }

func show(p components.Payload) *reply { return &reply{show: components.Only(p)} }

// become puts something in the place of the private message that was clicked.
func become(p components.Payload) *reply {
	return &reply{show: components.Only(p), inPlace: true, failed: "discord: a private message could not be changed"}
}

// orSay adds what the log and the person are told where Discord does not take a reply.
func (r *reply) orSay(instead, failed string, about ...any) *reply {
	r.instead, r.failed, r.about = instead, failed, about
	return r
}

// send answers an interaction, as well as that can be done.
func (a *Adapter) send(ctx context.Context, w *answer, r *reply) {
	if r.settles {
		a.settle(w)
		return
	}
	err := w.give(ctx, r)
	if err == nil {
		return
	}
	a.Logger.Warn(cmp.Or(r.failed, "discord: a private answer did not arrive"), append(r.about, "err", err)...)
	if r.instead != "" {
		a.send(ctx, w, say(r.instead))
	}
}

// interacted takes a click, a form or a slash command, from the gateway or from a signed request, and does not block. done is called
// once nothing more is to come of it.
func (a *Adapter) interacted(in *inbound.Interaction, done func()) {
	if string(in.Application) != a.self.Application {
		done()
		return
	}
	switch in.Type {
	case discordgo.InteractionApplicationCommand, discordgo.InteractionMessageComponent, discordgo.InteractionModalSubmit:
	default:
		a.Logger.Info("discord: an interaction of a kind that nod does not use", "type", in.Type)
		done()
		return
	}
	in.At = a.now()
	w := a.answering(a.incomingOf(in))
	// Not a child of Run's context: what was taken is finished, also while the program stops.
	within := func(do func(context.Context)) func() {
		return func() {
			defer done()
			defer func() {
				if broken := recover(); broken != nil {
					a.Logger.Error("discord: an interaction made the code that does it fail", "panic", fmt.Sprintf("%T", broken))
				}
			}()
			ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
			defer cancel()
			do(ctx)
		}
	}
	if a.in.clicks.Put(in.Lane(), within(func(ctx context.Context) { a.send(ctx, w, a.serve(ctx, in, w)) })) {
		return
	}
	a.Logger.Warn("discord: an interaction is not taken: too much waits here, or this process starts or stops")
	if !a.in.settling.Put("i:"+string(in.ID), within(func(ctx context.Context) { a.send(ctx, w, say(sayBusy)) })) {
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
	if in.Type == discordgo.InteractionMessageComponent {
		p, ok := components.ParseAction(string(in.Data.CustomID), in.Values())
		if kind, _ := text.KindOf(p.Choice); !ok || p.Sure || p.Guild != "" || kind.Aside {
			return out
		}
	} else if choice, _, _, ok := components.ParseForm(string(in.Data.CustomID)); !ok || choice == chat.Answer && in.Message.IsPrivate() {
		return out
	}
	out.Message = string(in.MessageRef())
	return out
}

// serve does what an interaction asks for.
func (a *Adapter) serve(ctx context.Context, in *inbound.Interaction, w *answer) *reply {
	c := interaction{in: in, w: w, by: in.By()}
	if c.by.User.IsZero() {
		return say(sayNobody)
	}
	var err error
	if c.channel, err = a.channelOfInteraction(ctx, in); err != nil {
		a.Logger.Warn("discord: where somebody clicked is not known", "channel", string(in.ChannelID), "err", err)
		return say(sayNoPlace)
	}
	c.at = ids.Place{Guild: string(in.Guild), Channel: c.channel.ID}
	if c.channel.IsThread() {
		c.at.Channel, c.at.Thread = c.channel.Parent, c.channel.ID
	}
	if no := a.mayAct(ctx, c); no != nil {
		return no
	}
	switch in.Type {
	case discordgo.InteractionApplicationCommand:
		return a.slash(ctx, c)
	case discordgo.InteractionMessageComponent:
		return a.clicked(ctx, c)
	}
	return a.submitted(ctx, c)
}

// channelOfInteraction is where somebody clicked: the interaction says, or it is asked for.
func (a *Adapter) channelOfInteraction(ctx context.Context, in *inbound.Interaction) (inbound.Channel, error) {
	c := in.Channel.Channel(string(in.Guild))
	if c.ID == "" || c.IsThread() && c.Parent == "" {
		return a.channelOf(ctx, string(in.ChannelID))
	}
	return c, nil
}

// clicked does one click.
func (a *Adapter) clicked(ctx context.Context, c interaction) *reply {
	id := string(c.in.Data.CustomID)
	if d, ok := components.ParsePanelAction(id); ok {
		return a.panelClicked(ctx, c, d)
	}
	p, ok := components.ParseAction(id, c.in.Values())
	cancels := id == components.CancelID
	switch {
	case !ok && !cancels, (p.Sure || cancels) && !c.in.Message.IsPrivate(): // what answers those replaces the message
		return say(sayOtherVersion)
	case cancels:
		return become(components.Lines(sayCancelled))
	}
	if no := a.asMember(ctx, &c, p.Guild); no != nil {
		return no
	}
	switch {
	case p.Choice == chat.Why && a.Settings == nil:
		return say(sayNoSettings)
	case p.Choice == chat.ViewDetail, p.Choice == chat.Reveal, p.Choice == chat.Why:
		return a.details(ctx, c, p)
	case p.Choice == chat.DenyReason, p.Choice == chat.Edit:
		return a.openForm(ctx, c, p.Choice, p.Token)
	case p.Choice == chat.Answer:
		return a.answerElicitation(ctx, c, p)
	case p.Choice == chat.Open:
		return a.panel(ctx, a.viewFor(ctx, c, p.Guild, p.Token))
	case p.Sure:
		return a.decideConfirmed(ctx, c, p)
	case p.Ask:
		if r := a.confirmFirst(ctx, c, p); r != nil {
			return r
		}
	}
	return a.record(ctx, c, p)
}

// record gives a click to the engine; what comes of it answers it.
func (a *Adapter) record(ctx context.Context, c interaction, p components.Action) *reply {
	if err := a.Engine.Accept(ctx, c.choose(p.Choice, p.Token)); err != nil {
		return a.notRecorded("a click", c, p.Choice, err)
	}
	return &reply{settles: true}
}

// notRecorded says that the engine could not record something.
func (a *Adapter) notRecorded(what string, c interaction, choice chat.Choice, err error) *reply {
	a.Logger.Error("discord: "+what+" was not recorded", "chat", c.at.Chat(), "choice", choice, "err", err)
	return say(surface.SayNotRecorded)
}

// notRead says that the chat could not be read.
func (a *Adapter) notRead(what string, c interaction, err error) *reply {
	a.Logger.Warn("discord: "+what+" could not be read", "chat", c.at.Chat(), "err", err)
	return say(surface.SayNotRead)
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

// details shows one person what a choice stands for.
func (a *Adapter) details(ctx context.Context, c interaction, p components.Action) *reply {
	d, _, no := surface.Details(ctx, a.Engine, a.Settings, c.choose(p.Choice, p.Token), a.Logger)
	if no != "" {
		return say(no)
	}
	return show(components.Details(d)).orSay(surface.SayNotOpened, "discord: details could not be shown", "chat", c.at.Chat())
}

// openForm opens the form for a reason, or for other arguments.
func (a *Adapter) openForm(ctx context.Context, c interaction, choice chat.Choice, token string) *reply {
	call, no := surface.FormOf(ctx, a.Engine, c.choose(choice, token), a.Logger)
	if no != "" {
		return say(no)
	}
	form := components.DenyModal(token, surface.CallLine(call))
	if choice == chat.Edit {
		var ok bool
		if form, ok = components.EditModal(token, surface.CallLine(call), string(call.Args)); !ok {
			return say(surface.SayTooLongToEdit("Discord", 4000))
		}
	}
	return open(form, "chat", c.at.Chat())
}

func open(form *components.Modal, about ...any) *reply {
	return (&reply{form: form}).orSay(surface.SayNotOpened, "discord: a form could not be opened", about...)
}

// submitted does what a form says.
func (a *Adapter) submitted(ctx context.Context, c interaction) *reply {
	id := string(c.in.Data.CustomID)
	if d, ok := components.ParsePanelAction(id); ok {
		return a.panelFilled(ctx, c, d)
	}
	choice, token, message, ok := components.ParseForm(id)
	switch {
	case !ok:
		return say(sayOtherVersion)
	case choice == chat.Answer:
		return a.elicitationFilled(ctx, c, token, message)
	}
	in := c.choose(choice, token)
	if choice == chat.Edit {
		in.Args = inbound.InputValue(c.in.Data.Components, components.FieldArgs)
	} else {
		in.Choice = chat.Deny
		in.Reason = strings.TrimSpace(inbound.InputValue(c.in.Data.Components, components.FieldReason))
	}
	_, err := a.Engine.Decide(ctx, in)
	switch no := surface.Refusal(err); {
	case err == nil, c.repeats(no) && no.Choice == in.Choice:
		return &reply{settles: true}
	case no != nil:
		return say(no.Say)
	}
	return a.notRecorded("a form", c, choice, err)
}

// repeats reports whether an answer is refused because this person has decided already.
func (c *interaction) repeats(no *decision.Refusal) bool {
	return no != nil && no.By == c.by.User
}

// Discord asks nobody "are you sure". A choice that has to be confirmed is answered by a private message with the question, a button
// that is that very choice, and one that takes the question away. What the question says is read from the chat when it is asked, so it
// is what the card says now.

// confirmFirst asks before a choice is taken; nil where its card says nothing before it, or the choice is not there any more: then the
// engine knows what to say.
func (a *Adapter) confirmFirst(ctx context.Context, c interaction, p components.Action) *reply {
	s, err := a.Engine.Session(ctx, c.at.Chat())
	if err != nil {
		return a.notRead("what is to be confirmed", c, err)
	}
	if s.Turn == nil {
		return nil
	}
	choice, _ := card.View(s, s.Turn, card.Live{}).Find(p.Choice, p.Token)
	if choice.Confirm == "" {
		return nil
	}
	if no := a.Engine.Refuses(ctx, c.choose(p.Choice, p.Token)); no != nil {
		return say(no.Say)
	}
	question := components.Confirm(choice, string(c.in.MessageRef()))
	return show(question).orSay(surface.SayNotOpened, "discord: a question could not be asked", "chat", c.at.Chat())
}

// decideConfirmed does what a button on a private message about a card says, and puts what came of it where the buttons were.
func (a *Adapter) decideConfirmed(ctx context.Context, c interaction, p components.Action) *reply {
	in := c.choose(p.Choice, p.Token)
	in.Message = chat.MessageRef(p.Message)
	_, err := a.Engine.Decide(ctx, in)
	switch no := surface.Refusal(err); {
	case err == nil, c.repeats(no) && no.Choice == p.Choice:
		return become(components.Lines(sayTaken))
	case no != nil:
		return become(components.Lines(no.Say))
	}
	return a.notRecorded("a click", c, p.Choice, err) // and the buttons stay
}
