package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
)

// serveInteraction acknowledges always: Slack does not send an interaction again, so a person is told what became of it.
func (a *Adapter) serveInteraction(ctx context.Context, in inbound.Interaction) (receipt, error) {
	switch {
	case !in.Concerns(a.self):
		return a.refuseElsewhere(in), nil
	case a.in.answered.Again(string(in.Trigger)): // the same envelope may come over every socket
		return receipt{}, nil
	case in.Type == "block_actions":
		for _, raw := range in.Actions {
			var act slack.BlockAction
			if err := json.Unmarshal(raw, &act); err != nil {
				a.Logger.Warn("slack: an action could not be decoded")
				continue
			}
			switch {
			case strings.HasPrefix(act.ActionID, blocks.ActionPage+":"):
				return receipt{after: func(ctx context.Context) { a.turnPage(ctx, in, act) }}, nil
			case strings.HasPrefix(act.ActionID, blocks.PanelPrefix):
				return a.clickInPanel(ctx, in, &act), nil
			case act.ActionID == blocks.ActionSure:
				return a.takeConfirmation(ctx, in, &act), nil
			case act.ActionID == blocks.ActionCancel:
				return a.removeAnswered(in), nil
			}
			if choice, token, ok := blocks.ParseAction(&act); ok {
				return a.takeClick(ctx, in, &act, choice, token), nil
			}
		}
		return receipt{}, nil // a link's button, which opens by itself
	case in.Type == "view_submission" && (in.View.Callback == blocks.CallbackDeny || in.View.Callback == blocks.CallbackEdit):
		return receipt{body: a.submitForm(ctx, in)}, nil
	case in.Type == "view_submission" && in.View.Callback == blocks.CallbackAnswer:
		return receipt{body: a.submitElicitation(ctx, in)}, nil
	case in.Type == "view_submission" && in.View.Callback == blocks.CallbackFill:
		return a.submitFill(ctx, in), nil
	case in.Type == "view_submission", in.Type == "view_closed":
		return receipt{}, nil
	}
	a.Logger.Info("slack: an interaction of a kind that nod does not use", "type", surface.Shortened(in.Type, 64))
	return receipt{}, nil
}

// takeClick does one click on a message.
func (a *Adapter) takeClick(ctx context.Context, in inbound.Interaction, act *slack.BlockAction, choice chat.Choice, token string) receipt {
	at, ok := in.Place(a.self)
	reply := privately(string(in.ResponseURL), at.Channel, at.Thread, string(in.User))
	if !ok {
		return a.answerPrivately(reply, sayNoPlace)
	}
	if !in.Container.Ephemeral {
		a.remember(messageAt{at.Channel, string(in.MessageRef())}, string(in.ResponseURL))
	}
	f := blocks.Form{Place: at, Message: in.MessageRef(), Token: token, Choice: choice}
	later := func(do func(context.Context)) receipt { return receipt{after: do} }
	if choice == chat.ViewDetail {
		return later(func(ctx context.Context) { a.showDetails(ctx, in, f, chat.Envelope{Reply: reply}) })
	}
	by, no := a.identifyDecider(ctx, string(in.User), choice)
	if no != "" {
		return a.answerPrivately(reply, no)
	}
	env := a.envelope(at, in.Delivery(act), by, reply)
	if blocks.AsksFirst(act) {
		return later(func(ctx context.Context) { a.confirmFirst(ctx, f, reply) })
	}
	switch choice {
	case chat.DenyReason, chat.Edit:
		return later(func(ctx context.Context) { a.openForm(ctx, in, f, reply) })
	case chat.Reveal, chat.Why:
		return later(func(ctx context.Context) { a.showDetails(ctx, in, f, env) })
	case chat.Answer:
		return later(func(ctx context.Context) { a.openElicitation(ctx, in, f, env) })
	case chat.Open:
		return later(func(ctx context.Context) { a.openPanel(ctx, in.Trigger, blocks.PanelForm{View: token}, env) })
	}
	if !a.recordClick(ctx, chat.Clicked{Envelope: env, Token: token, Choice: choice, Message: f.Message}) {
		return a.answerPrivately(reply, surface.SayNotRecorded)
	}
	return receipt{}
}

// recordClick gives a click to the engine, and reports whether it was recorded.
func (a *Adapter) recordClick(ctx context.Context, c chat.Clicked) bool {
	err := a.Engine.Accept(ctx, c)
	if err != nil {
		a.Logger.Error("slack: a click was not recorded", "chat", c.Chat, "choice", c.Choice, "err", err)
	}
	return err == nil
}

// submitForm does what a form says, and returns the answer that the form shows.
func (a *Adapter) submitForm(ctx context.Context, in inbound.Interaction) *slack.ViewSubmissionResponse {
	block, choice := blocks.InputOfForm(string(in.View.Callback)), chat.Deny
	if in.View.Callback == blocks.CallbackEdit {
		choice = chat.Edit
	}
	wrong := func(say string) *slack.ViewSubmissionResponse {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{block: surface.Shortened(say, maxFormError)})
	}
	f, err := blocks.ParseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team {
		return wrong(sayNoPlace)
	}
	by, no := a.identifyDecider(ctx, string(in.User), choice)
	if no != "" {
		return wrong(no)
	}
	value := string(in.Input(block).Value)
	click := chat.Clicked{
		Envelope: a.envelope(f.Place, in.Submission(value), by, privately("", f.Place.Channel, f.Place.Thread, string(in.User))),
		Token:    f.Token, Choice: choice, Message: f.Message,
	}
	if choice == chat.Edit {
		click.Args = value
	} else {
		click.Reason = strings.TrimSpace(value)
	}
	_, err = a.Engine.Decide(ctx, click)
	if no := surface.Refusal(err); no != nil {
		if no.Code == decision.RefusedDecided && no.By == by.User && no.Choice == choice { // they did just that before
			return slack.NewClearViewSubmissionResponse()
		}
		return wrong(no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form was not recorded", "chat", f.Place.Chat(), "choice", choice, "err", err)
		return wrong(surface.SayNotRecorded)
	}
	return slack.NewClearViewSubmissionResponse()
}

// maxFormError keeps an answer far below the 20 KB that an acknowledgement may have.
const maxFormError = 1000

// isTooOld: the trigger was used up, or older than its three seconds.
// https://docs.slack.dev/reference/methods/views.open#errors
func isTooOld(err error) bool {
	var no slack.SlackErrorResponse
	if !errors.As(err, &no) {
		return false
	}
	switch no.Err {
	case "expired_trigger_id", "trigger_expired", "exchanged_trigger_id", "trigger_exchanged", "invalid_trigger_id":
		return true
	}
	return false
}

// refuseElsewhere refuses an interaction of another workspace or app, and says so where it can be said.
func (a *Adapter) refuseElsewhere(in inbound.Interaction) receipt {
	a.Logger.Warn("slack: an interaction of another workspace or app is refused", "type", surface.Shortened(in.Type, 64),
		"team", surface.Shortened(string(in.Team.ID), 64), "app", surface.Shortened(string(in.App), 64))
	block := blocks.InputOfForm(string(in.View.Callback))
	switch {
	case in.Type == "view_submission" && block != "":
		return receipt{body: slack.NewErrorsViewSubmissionResponse(map[string]string{block: sayElsewhere})}
	case in.Type == "block_actions" && in.ChannelID() != "":
		return a.answerPrivately(privately(string(in.ResponseURL), in.ChannelID(), string(in.Container.Thread), string(in.User)), sayElsewhere)
	}
	return receipt{} // nowhere to say it
}
