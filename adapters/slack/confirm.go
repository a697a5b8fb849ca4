package slack

import (
	"context"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Before a choice with [render.Choice.Confirm] is taken, the person reads what it grants. A button of its own has Slack's dialog. For a
// line of a menu, and for a text that is longer than the dialog takes, a private message asks, whose button stands for the very same click.

// Buttons of private messages.
const (
	actionSure   = "nod:sure:1" // its value is a form: the click that it stands for
	actionCancel = "nod:cancel:2"
	actionVisit  = "nod:visit:3" // a link, which opens by itself
)

// dialog is Slack's own confirmation; nil where there is nothing to confirm, or too much. Its button is no invitation: without a style
// it would be green. https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
func dialog(text, label string) *slack.ConfirmationBlockObject {
	text = strings.TrimSpace(render.Prose(text))
	if text == "" || surface.Width(text) > maxConfirm {
		return nil
	}
	label = strings.TrimSpace(oneLine(label))
	if label == "" {
		label = sayConfirm
	}
	d := slack.NewConfirmationBlockObject(plainText(surface.AtMost(label, maxConfTitle)), plainText(text),
		plainText(surface.AtMost(strings.TrimSuffix(label, "…"), maxConfButton)), plainText(sayCancel))
	d.Style = slack.StyleDanger
	return d
}

// confirmFirst asks whether a person means it, in the words that their card has now.
func (a *Adapter) confirmFirst(ctx context.Context, f form, reply chat.ReplyHandle) {
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: a confirmation could not be asked for", "chat", f.Place.id(), "err", err)
		a.let(ctx, reply, surface.SayNotRead)
		return
	}
	c, ok := offeredNow(s, f)
	if !ok {
		a.let(ctx, reply, surface.SayNotOpen)
		return
	}
	a.show(ctx, reply, confirmation(c, f))
}

// offeredNow finds a choice on the message of the chat's turn as it is now.
func offeredNow(s turn.Session, f form) (render.Choice, bool) {
	for _, t := range []*turn.Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		if c, ok := turn.View(s, t, turn.Live{}).Find(f.Choice, f.Token); ok {
			return c, true
		}
	}
	return render.Choice{}, false
}

// confirmation is the message that asks. All of what is to be confirmed stands in it, as plain text.
func confirmation(c render.Choice, f form) payload {
	s := &sheet{}
	text := render.Prose(c.Confirm)
	if strings.TrimSpace(text) == "" {
		text = labelOf(c) + "?"
	}
	s.plain(text)
	yes := slack.NewButtonBlockElement(actionSure, f.meta(), plainText(surface.AtMost(strings.TrimSuffix(labelOf(c), "…"), maxLabel)))
	yes.Style = slack.StyleDanger
	s.add(slack.NewActionBlock("", yes, slack.NewButtonBlockElement(actionCancel, "-", plainText(sayCancel))))
	number(s.blocks)
	return payload{s.blocks, mrkdwnSafe(surface.AtMost(oneLine(text), fallbackRoom))}
}

// plain adds text as it is, in as many sections as it takes.
func (s *sheet) plain(text string) {
	for text != "" {
		n := pieceEnd(text)
		if p := strings.Trim(text[:n], "\n"); strings.TrimSpace(p) != "" {
			s.add(slack.NewSectionBlock(plainText(p), nil, nil))
		}
		text = text[n:]
	}
}

// confirmed does the click that a private message's button stands for.
func (a *Adapter) confirmed(ctx context.Context, in interaction, act *slack.BlockAction) receipt {
	f, err := parseForm(act.Value)
	if err != nil || f.Place.Team != a.self.Team || f.Place.Channel != in.channel() {
		return a.answering(privately(string(in.ResponseURL), in.channel(), string(in.Container.Thread), string(in.User)), sayNoPlace)
	}
	reply := privately(string(in.ResponseURL), f.Place.Channel, f.Place.Thread, string(in.User))
	by, no := a.decider(ctx, string(in.User), f.Choice)
	if no != "" {
		return a.answering(reply, no)
	}
	if !a.take(ctx, chat.Clicked{Envelope: a.envelope(f.Place, in.delivery(act), by, reply), Token: f.Token, Choice: f.Choice, Message: f.Message}) {
		return a.answering(reply, surface.SayNotRecorded)
	}
	return a.clearing(in)
}

// clearing takes a private message away that was answered.
func (a *Adapter) clearing(in interaction) receipt {
	return receipt{after: func(ctx context.Context) {
		if in.ResponseURL == "" || !in.Container.Ephemeral {
			return
		}
		if err := a.respond(ctx, string(in.ResponseURL), reply{DeleteOriginal: true}); err != nil {
			a.Logger.Info("slack: a private message that was answered stays", "err", err)
		}
	}}
}
