package discord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// interacted takes a click, a form or a slash command, from the gateway or from a signed request, and does not block. done is called
// once nothing more is to come of it.
func (a *Adapter) interacted(in *interaction, done func()) {
	if !isSnowflake(string(in.ID)) || in.Token == "" || (in.Application != "" && string(in.Application) != a.self.Application) {
		done()
		return
	}
	switch in.Type {
	case interactionCommand, interactionComponent, interactionForm:
	default:
		a.Logger.Info("discord: an interaction of a kind that nod does not use", "type", in.Type)
		done()
		return
	}
	in.at = a.now()
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
	if a.in.clicks.Put(in.lane(), serve) {
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
func (a *Adapter) incomingOf(in *interaction) incoming {
	out := incoming{
		ID: string(in.ID), Token: string(in.Token), Application: a.self.Application,
		Channel: string(in.ChannelID), User: in.who().User.Key, At: in.at,
	}
	if in.Message == nil {
		return out
	}
	if in.Type == interactionComponent {
		p, ok := parsePressed(string(in.Data.CustomID), in.values())
		if !ok || p.sure || p.guild != "" || !changes(p.choice) {
			return out
		}
	} else if choice, _, _, ok := parseForm(string(in.Data.CustomID)); !ok || choice == chat.Answer && in.Message.isPrivate() {
		return out
	}
	out.Message = string(in.Message.ID)
	return out
}

// changes reports whether a click's answer is what it changes, and not a form or something for one person.
func changes(c chat.Choice) bool {
	switch c {
	case chat.ViewDetail, chat.DenyReason, chat.Edit, chat.Why, chat.Reveal, chat.Answer, chat.Open, chat.Accept:
		return false
	}
	return true
}

// lane: what is done to one message keeps its order, and waits for no message of its room.
func (in *interaction) lane() string {
	if in.Message != nil && in.Message.ID != "" {
		return "i:" + string(in.Message.ID)
	}
	return "c:" + string(in.ChannelID) + "/" + in.who().User.Key
}

func (in *interaction) values() (all []string) {
	for _, v := range in.Data.Values {
		all = append(all, string(v))
	}
	return all
}

func (in *interaction) message() chat.MessageRef {
	if in.Message == nil {
		return ""
	}
	return chat.MessageRef(in.Message.ID)
}

// delivery is the same for an interaction that comes twice: over two connections.
func (in *interaction) delivery() chat.Delivery { return chat.Delivery("i:" + string(in.ID)) }

func (a *Adapter) serve(ctx context.Context, in *interaction, w *answer) {
	by := in.who()
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
	at := place{string(in.Guild), c.ID, ""}
	switch {
	case in.Guild == "":
	case c.thread() && c.Parent == "":
		a.tell(ctx, w, sayNoPlace)
		return
	case c.thread():
		at = place{string(in.Guild), c.Parent, c.ID}
	}
	switch in.Type {
	case interactionCommand:
		a.slash(ctx, slash{in: in, w: w, by: by, channel: c, at: at})
	case interactionComponent:
		a.clicked(ctx, click{in: in, w: w, by: by, at: at, channel: c})
	case interactionForm:
		a.submitted(ctx, click{in: in, w: w, by: by, at: at, channel: c})
	}
}

// channelOfInteraction is where somebody clicked: the interaction says, or it is asked for.
func (a *Adapter) channelOfInteraction(ctx context.Context, in *interaction) (channel, error) {
	if d := in.Channel; d != nil && isSnowflake(string(d.ID)) {
		c := d.channel(string(in.Guild))
		if in.Guild == "" || !c.thread() || isSnowflake(c.Parent) {
			return c, nil
		}
	}
	if in.Guild == "" && isSnowflake(string(in.ChannelID)) {
		return channel{ID: string(in.ChannelID), Type: channelDM}, nil
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
	in      *interaction
	w       *answer
	by      somebody
	at      place
	channel channel // where it was clicked
}

// clicked does one click.
func (a *Adapter) clicked(ctx context.Context, c click) {
	id := string(c.in.Data.CustomID)
	if d, ok := parseDeed(id); ok {
		a.panelClicked(ctx, c, d)
		return
	}
	p, ok := parsePressed(id, c.in.values())
	cancels := cancelForm.MatchString(id)
	switch {
	case !ok && !cancels, (p.sure || cancels) && (c.in.Message == nil || !c.in.Message.isPrivate()): // what answers those replaces the message
		a.tell(ctx, c.w, sayOtherVersion)
		return
	case cancels:
		a.become(ctx, c.w, textPayload(literal(sayCancelled)))
		return
	}
	if p.guild != "" {
		if c.by, ok = a.memberOfGuild(ctx, c, p.guild); !ok {
			return
		}
	}
	switch {
	case p.choice == chat.ViewDetail:
		a.showDetails(ctx, c, p.token)
	case p.choice == chat.Reveal:
		a.reveal(ctx, c, p.token)
	case p.choice == chat.Why:
		a.showWhy(ctx, c, p.token)
	case p.choice == chat.DenyReason, p.choice == chat.Edit:
		a.openForm(ctx, c, p.choice, p.token)
	case p.choice == chat.Answer:
		a.answerWant(ctx, c, p)
	case p.choice == chat.Open:
		a.openPanel(ctx, c.w, a.paneOf(ctx, c, p.guild, p.token))
	case p.sure:
		a.sure(ctx, c, p)
	case p.ask && a.asksFirst(ctx, c, p):
	default:
		a.record(ctx, c, p)
	}
}

// record gives a click to the engine; what comes of it answers it.
func (a *Adapter) record(ctx context.Context, c click, p pressed) {
	err := a.Engine.Accept(ctx, chat.Clicked{
		Envelope: a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), Token: p.token, Choice: p.choice, Message: c.in.message(),
	})
	if err != nil {
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.id(), "choice", p.choice, "err", err)
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
	s, err := a.Engine.Session(ctx, c.at.id())
	if err != nil {
		a.Logger.Warn("discord: details could not be read", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	d, ok := turn.Details(s, token)
	if !ok {
		a.tell(ctx, c.w, surface.SayNoDetails)
		return
	}
	a.showPrivately(ctx, c, d)
}

// reveal shows one person what a card masks. It is on record before they see it.
func (a *Adapter) reveal(ctx context.Context, c click, token string) {
	out, err := a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), Token: token, Choice: chat.Reveal, Message: c.in.message(),
	})
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, c.w, no.Say)
		return
	}
	if err != nil {
		a.Logger.Error("discord: a click was not recorded", "chat", c.at.id(), "choice", chat.Reveal, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded)
		return
	}
	a.showPrivately(ctx, c, surface.Hidden(out))
}

// showPrivately shows one person everything about something.
func (a *Adapter) showPrivately(ctx context.Context, c click, d render.Details) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, detailsPayload(d)); err != nil {
		a.Logger.Warn("discord: details could not be shown", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// showWhy shows one person why something is asked.
func (a *Adapter) showWhy(ctx context.Context, c click, token string) {
	if a.Settings == nil {
		a.tell(ctx, c.w, sayNoSettings)
		return
	}
	d, err := a.Settings.Why(ctx, a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), token)
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, c.w, no.Say)
		return
	}
	if err != nil {
		a.Logger.Warn("discord: why something is asked could not be read", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	a.showPrivately(ctx, c, d)
}

// openForm opens the form for a reason, or for other arguments. It has to be the first answer, so nothing else was said before.
func (a *Adapter) openForm(ctx context.Context, c click, choice chat.Choice, token string) {
	s, err := a.Engine.Session(ctx, c.at.id())
	if err != nil {
		a.Logger.Warn("discord: a form could not be filled in", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	}
	call, ok := askedFor(s, token)
	if !ok {
		a.tell(ctx, c.w, surface.SayNotOpen)
		return
	}
	form := denyModal(token, surface.CallLine(call))
	if choice == chat.Edit {
		if !turn.CanEdit(call) { // a masked secret would stand in the form
			a.tell(ctx, c.w, render.NotEditable())
			return
		}
		if form, ok = editModal(token, surface.CallLine(call), string(call.Args)); !ok {
			a.tell(ctx, c.w, sayTooLongToEdit)
			return
		}
	}
	if err := c.w.open(ctx, form); err != nil {
		a.Logger.Warn("discord: a form could not be opened", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// askedFor is the call that an asking belongs to, while it waits.
func askedFor(s turn.Session, ask string) (turn.ToolCall, bool) {
	for _, c := range turn.OpenAsks(s) {
		if ask != "" && string(c.Ask) == ask {
			return c, true
		}
	}
	return turn.ToolCall{}, false
}

// submitted does what a form says.
func (a *Adapter) submitted(ctx context.Context, c click) {
	id := string(c.in.Data.CustomID)
	if d, ok := parseDeed(id); ok {
		a.panelFilled(ctx, c, d)
		return
	}
	choice, token, message, ok := parseForm(id)
	switch {
	case !ok:
		a.tell(ctx, c.w, sayOtherVersion)
		return
	case choice == chat.Answer:
		a.filledIn(ctx, c, token, message)
		return
	}
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), Token: token, Choice: choice, Message: c.in.message(),
	}
	if choice == chat.Edit {
		in.Args = valueOf(c.in.Data.Components, fieldArgs)
	} else {
		in.Choice = chat.Deny
		in.Reason = strings.TrimSpace(valueOf(c.in.Data.Components, fieldReason))
	}
	_, err := a.Engine.Decide(ctx, in)
	if no := surface.Refusal(err); no != nil && (no.Code != agent.RefusedDecided || no.By != c.by.User || no.Choice != in.Choice) {
		a.tell(ctx, c.w, no.Say)
		return
	} else if err != nil && no == nil {
		a.Logger.Error("discord: a form was not recorded", "chat", c.at.id(), "choice", choice, "err", err)
		a.tell(ctx, c.w, surface.SayNotRecorded)
		return
	}
	a.settle(c.w)
}

// valueOf is what stands in a form's input, however the form is built.
func valueOf(of []piece, customID string) string {
	left := maxPieces
	v, _ := valueIn(of, customID, &left)
	return v
}

func valueIn(of []piece, customID string, left *int) (string, bool) {
	for i := range of {
		p := &of[i]
		if *left--; *left < 0 {
			return "", false
		}
		if string(p.CustomID) == customID {
			return string(p.Value), true
		}
		inside := p.Components
		if p.Component != nil {
			inside = append(inside[:len(inside):len(inside)], *p.Component)
		}
		if v, ok := valueIn(inside, customID, left); ok {
			return v, true
		}
	}
	return "", false
}
