package slack

import (
	"context"
	"slices"
	"strconv"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Opening a modal takes a trigger, which lives for three seconds: these run right after the acknowledgement.

// showDetails opens, for one person, what a choice shows: all of a call or a turn, why it is asked, or what its card masks.
func (a *Adapter) showDetails(ctx context.Context, in inbound.Interaction, f blocks.Form, env chat.Envelope) {
	d, no := a.readDetails(ctx, f, env)
	if no != "" {
		a.tellOrLog(ctx, env.Reply, no)
		return
	}
	a.openView(ctx, in.Trigger, blocks.EncodeDetails(d, f), env.Reply)
}

// readDetails reads what a choice shows; no is a sentence where there is nothing to be shown. Without settings, why somebody is asked is what the
// details say of it. That somebody looks at what a card masks is on record before they see it.
func (a *Adapter) readDetails(ctx context.Context, f blocks.Form, env chat.Envelope) (d render.Details, no string) {
	var err error
	switch {
	case f.Choice == chat.Why && a.Settings != nil:
		if d, err = a.Settings.Why(ctx, env, f.Token); err != nil && surface.Refusal(err) == nil {
			a.Logger.Warn("slack: why somebody is asked could not be read", "chat", f.Place.Chat(), "err", err)
			return d, surface.SayNotRead
		}
	case f.Choice == chat.Reveal:
		out, failed := a.Engine.Decide(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Reveal, Message: f.Message})
		if d, err = surface.Hidden(out), failed; err != nil && surface.Refusal(err) == nil {
			a.Logger.Error("slack: a click was not recorded", "chat", env.Chat, "choice", f.Choice, "err", err)
			return d, surface.SayNotRecorded
		}
	default:
		s, err := a.Engine.Session(ctx, f.Place.Chat())
		if err != nil {
			a.Logger.Warn("slack: details could not be read", "chat", f.Place.Chat(), "err", err)
			return d, surface.SayNotRead
		}
		d, ok := card.Details(s, f.Token)
		if !ok {
			return d, surface.SayNoDetails
		}
		return d, ""
	}
	if refusal := surface.Refusal(err); refusal != nil {
		return d, refusal.Say
	}
	return d, ""
}

// openForm opens the form for a reason, or for other arguments.
func (a *Adapter) openForm(ctx context.Context, in inbound.Interaction, f blocks.Form, reply chat.ReplyHandle) {
	s, err := a.Engine.Session(ctx, f.Place.Chat())
	if err != nil {
		a.Logger.Warn("slack: a form could not be filled in", "chat", f.Place.Chat(), "err", err)
		a.tellOrLog(ctx, reply, surface.SayNotRead)
		return
	}
	call, ok := surface.FindAsk(s, f.Token)
	if !ok {
		a.tellOrLog(ctx, reply, surface.SayNotOpen)
		return
	}
	if f.Choice == chat.DenyReason {
		a.openView(ctx, in.Trigger, blocks.EncodeDenyForm(f, surface.CallLine(call)), reply)
		return
	}
	if !turn.CanEdit(call) { // a masked secret would stand in the form
		a.tellOrLog(ctx, reply, text.NotEditable())
		return
	}
	view, ok := blocks.EncodeEditForm(f, surface.CallLine(call), string(call.Args))
	if !ok {
		a.tellOrLog(ctx, reply, surface.SayTooLongToEdit("Slack", 3000))
		return
	}
	a.openView(ctx, in.Trigger, view, reply)
}

// openView opens a modal, or says why it could not be opened.
func (a *Adapter) openView(ctx context.Context, trigger inbound.LooseString, view slack.ModalViewRequest, reply chat.ReplyHandle) {
	_, err := a.api.OpenViewContext(ctx, string(trigger), view)
	switch {
	case err == nil:
	case isTooOld(err):
		a.tellOrLog(ctx, reply, sayWindowClosed)
	default:
		a.Logger.Error("slack: a form could not be opened", "err", faultOf(err))
		a.tellOrLog(ctx, reply, surface.SayNotOpened)
	}
}

// turnPage shows another page of the details that are open.
func (a *Adapter) turnPage(ctx context.Context, in inbound.Interaction, act slack.BlockAction) {
	f, err := blocks.ParseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team {
		return
	}
	if f.Page, err = strconv.Atoi(act.Value); err != nil {
		return
	}
	var env chat.Envelope
	if f.Choice == chat.Reveal || f.Choice == chat.Why && a.Settings != nil {
		by, no := a.identifyDecider(ctx, string(in.User), f.Choice)
		if no != "" {
			return
		}
		env = a.envelope(f.Place, in.Submission(f.Token), by, chat.ReplyHandle{})
	}
	d, no := a.readDetails(ctx, f, env)
	if no != "" {
		return
	}
	// The hash makes an update that comes after a later one fail, instead of turning back.
	_, err = a.api.UpdateViewContext(ctx, blocks.EncodeDetails(d, f), "", string(in.View.Hash), string(in.View.ID))
	if err != nil {
		a.Logger.Info("slack: a page was not turned", "err", faultOf(err))
	}
}

// Before a choice with [render.Choice.Confirm] is taken, the person reads what it grants. A button of its own has Slack's dialog. For a
// line of a menu, and for a text that is longer than the dialog takes, a private message asks, whose button stands for the very same click.

// confirmFirst asks whether a person means it, in the words that their card has now.
func (a *Adapter) confirmFirst(ctx context.Context, f blocks.Form, reply chat.ReplyHandle) {
	s, err := a.Engine.Session(ctx, f.Place.Chat())
	if err != nil {
		a.Logger.Warn("slack: a confirmation could not be asked for", "chat", f.Place.Chat(), "err", err)
		a.tellOrLog(ctx, reply, surface.SayNotRead)
		return
	}
	c, ok := findOffer(s, f)
	if !ok {
		a.tellOrLog(ctx, reply, surface.SayNotOpen)
		return
	}
	a.whisperBlocks(ctx, reply, blocks.EncodeConfirmation(c, f))
}

// findOffer finds a choice on the message of the chat's turn as it is now.
func findOffer(s turn.Session, f blocks.Form) (render.Choice, bool) {
	for _, t := range slices.Backward(s.Turns()) {
		if c, ok := card.View(s, t, card.Live{}).Find(f.Choice, f.Token); ok {
			return c, true
		}
	}
	return render.Choice{}, false
}

// takeConfirmation does the click that a private message's button stands for.
func (a *Adapter) takeConfirmation(ctx context.Context, in inbound.Interaction, act *slack.BlockAction) receipt {
	f, err := blocks.ParseForm(act.Value)
	if err != nil || f.Place.Team != a.self.Team || f.Place.Channel != in.ChannelID() {
		return a.answerPrivately(privately(string(in.ResponseURL), in.ChannelID(), string(in.Container.Thread), string(in.User)), sayNoPlace)
	}
	reply := privately(string(in.ResponseURL), f.Place.Channel, f.Place.Thread, string(in.User))
	by, no := a.identifyDecider(ctx, string(in.User), f.Choice)
	if no != "" {
		return a.answerPrivately(reply, no)
	}
	if !a.recordClick(ctx, chat.Clicked{Envelope: a.envelope(f.Place, in.Delivery(act), by, reply), Token: f.Token, Choice: f.Choice, Message: f.Message}) {
		return a.answerPrivately(reply, surface.SayNotRecorded)
	}
	return a.removeAnswered(in)
}

// removeAnswered takes a private message away that was answered.
func (a *Adapter) removeAnswered(in inbound.Interaction) receipt {
	return receipt{after: func(ctx context.Context) {
		if in.ResponseURL == "" || !in.Container.Ephemeral {
			return
		}
		if err := a.respond(ctx, string(in.ResponseURL), reply{DeleteOriginal: true}); err != nil {
			a.Logger.Info("slack: a private message that was answered stays", "err", err)
		}
	}}
}
