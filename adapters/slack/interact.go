package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// serveInteraction acknowledges always: Slack does not send an interaction again, so a person is told what became of it.
func (a *Adapter) serveInteraction(ctx context.Context, in inbound.Interaction) (receipt, error) {
	switch {
	case !in.Concerns(a.self):
		return a.refuseElsewhere(in), nil
	case a.in.answered.Again(string(in.Trigger)): // the same envelope may come over every socket
		return receipt{}, nil
	case in.Type == "block_actions":
		return a.serveActions(ctx, in), nil
	case in.Type == "view_submission" && formChoices[in.View.Callback] != "":
		return receipt{body: a.submitForm(ctx, in)}, nil
	case in.Type == "view_submission" && in.View.Callback == blocks.CallbackFill:
		return a.submitFill(ctx, in), nil
	case in.Type == "view_submission", in.Type == "view_closed":
		return receipt{}, nil
	}
	a.Logger.Info("slack: an interaction of a kind that nod does not use", "type", surface.Shortened(in.Type, 64))
	return receipt{}, nil
}

// serveActions does the first click that is one of ours; a link's button opens by itself.
func (a *Adapter) serveActions(ctx context.Context, in inbound.Interaction) receipt {
	for _, raw := range in.Actions {
		var act slack.BlockAction
		if err := json.Unmarshal(raw, &act); err != nil {
			a.Logger.Warn("slack: an action could not be decoded")
			continue
		}
		switch {
		case strings.HasPrefix(act.ActionID, blocks.ActionPage+":"):
			return a.turnPage(in, act)
		case strings.HasPrefix(act.ActionID, blocks.PanelPrefix):
			return a.clickInPanel(ctx, in, &act)
		case act.ActionID == blocks.ActionSure:
			return a.takeConfirmation(ctx, in, &act)
		case act.ActionID == blocks.ActionCancel:
			return a.removeAnswered(in)
		}
		if choice, token, ok := blocks.ParseAction(&act); ok {
			return a.takeClick(ctx, in, &act, choice, token)
		}
	}
	return receipt{}
}

func (a *Adapter) takeClick(ctx context.Context, in inbound.Interaction, act *slack.BlockAction, choice chat.Choice, token string) receipt {
	at, ok := in.Place(a.self)
	reply := a.privately(string(in.ResponseURL), at.Channel, at.Thread, string(in.User))
	f := blocks.Form{Place: at, Message: in.MessageRef(), Token: token, Choice: choice}
	delivery, answer := in.Delivery(act), func(do func(context.Context) string) receipt { return a.later(reply, do) }
	if in.View.ID != "" {
		var shown blocks.Form
		if shown, ok = a.readForm(string(in.View.Metadata)); ok {
			f.Place, f.Message, delivery = shown.Place, shown.Message, in.PanelDelivery(act)
			reply = a.privately("", f.Channel, f.Thread, string(in.User))
			answer = func(do func(context.Context) string) receipt { return a.answerInDetails(in, shown, do) }
		}
	} else {
		a.remember(messageAt{at.Channel, string(in.MessageRef())}, string(in.ResponseURL))
	}
	if !ok {
		return a.answerPrivately(reply, sayNoPlace)
	}
	if choice == chat.ViewDetail {
		return answer(func(ctx context.Context) string { return a.showDetails(ctx, in, f, chat.Envelope{}) })
	}
	by, no := a.identifyDecider(ctx, string(in.User), choice)
	if no != "" {
		return answer(func(context.Context) string { return no })
	}
	env := a.envelope(f.Place, delivery, by, reply)
	var open func(context.Context) (say string)
	switch {
	case blocks.AsksFirst(act):
		open = func(ctx context.Context) string { return a.confirmFirst(ctx, f, env) }
	case choice == chat.DenyReason, choice == chat.Edit:
		open = func(ctx context.Context) string { return a.openForm(ctx, in, f, env) }
	case choice == chat.Reveal, choice == chat.Why:
		open = func(ctx context.Context) string { return a.showDetails(ctx, in, f, env) }
	case choice == chat.Answer:
		open = func(ctx context.Context) string { return a.openElicitation(ctx, in, f, env) }
	case choice == chat.Open:
		open = func(ctx context.Context) string {
			return a.openPanel(ctx, in, blocks.PanelForm{View: token}, env)
		}
	case choice == chat.Good, choice == chat.Bad:
		say := a.decide(ctx, f, env)
		if say == sayRecorded {
			say = sayRated(choice)
		}
		return a.answerPrivately(reply, say)
	case in.View.ID != "": // the answer is waited for: it stands in the details
		say := a.decide(ctx, f, env)
		open = func(context.Context) string { return say }
	default:
		return a.answerPrivately(reply, a.recordClick(ctx, f, env))
	}
	return answer(open)
}

// answerInDetails shows the details that were clicked in as they are then, with what do says.
func (a *Adapter) answerInDetails(in inbound.Interaction, shown blocks.Form, do func(context.Context) (say string)) receipt {
	return receipt{after: func(ctx context.Context) {
		if say := do(ctx); say != "" {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin) // as in tellLate
			defer cancel()
			in.View.Hash = ""                             // whatever stands there
			if a.drawDetails(ctx, in, shown, say) != "" { // then it is told beside them
				a.tellLate(a.privately("", shown.Place.Channel, shown.Place.Thread, string(in.User)), say)
			}
		}
	}}
}

// decide records an answer and says what came of it.
func (a *Adapter) decide(ctx context.Context, f blocks.Form, env chat.Envelope) (say string) {
	_, err := a.Engine.Decide(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: f.Choice, Message: f.Message})
	if no := surface.Refusal(err); no != nil {
		return no.Say
	}
	if err != nil {
		a.Logger.Error("slack: a click was not recorded", "chat", env.Chat, "choice", f.Choice, "err", err)
		return surface.SayNotRecorded
	}
	return sayRecorded
}

func (a *Adapter) recordClick(ctx context.Context, f blocks.Form, env chat.Envelope) (say string) {
	err := a.Engine.Accept(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: f.Choice, Message: f.Message})
	if err != nil {
		a.Logger.Error("slack: a click was not recorded", "chat", env.Chat, "choice", f.Choice, "err", err)
		return surface.SayNotRecorded
	}
	return ""
}

var formChoices = map[inbound.LooseString]chat.Choice{
	blocks.CallbackDeny: chat.Deny, blocks.CallbackEdit: chat.Edit, blocks.CallbackAnswer: chat.Answer,
}

// submitForm does what a form says, and returns the answer that the form shows. What is wrong is said beside the input that it is about.
func (a *Adapter) submitForm(ctx context.Context, in inbound.Interaction) *slack.ViewSubmissionResponse {
	block, choice := blocks.InputOfForm(string(in.View.Callback)), formChoices[in.View.Callback]
	f, ok := a.readForm(string(in.View.Metadata))
	if !ok || choice == chat.Answer && f.Choice != choice {
		return formError(block, sayNoPlace)
	}
	by, no := a.identifyDecider(ctx, string(in.User), choice)
	if no != "" {
		return formError(block, no)
	}
	value := string(in.Input(block).Value)
	click := chat.Clicked{Token: f.Token, Choice: choice, Message: f.Message}
	var fields []turn.FormField
	switch choice {
	case chat.Edit:
		click.Args = value
	case chat.Deny:
		click.Reason = strings.TrimSpace(value)
	case chat.Answer:
		s, say := a.readSession(ctx, f, "what a server wants could not be read")
		if say != "" {
			return formError(block, surface.SayNotRecorded)
		}
		call, say := findElicitation(s, f.Token, by.User)
		if say != "" {
			return formError(block, say)
		}
		fields = call.Elicitation.Request.Fields
		click.Fields, value = readFields(fields, in)
	}
	click.Envelope = a.envelope(f.Place, in.Submission(value), by, a.privately("", f.Place.Channel, f.Place.Thread, string(in.User)))
	_, err := a.Engine.Decide(ctx, click)
	switch no := surface.Refusal(err); {
	case no != nil && no.Code == decision.RefusedDecided && no.By == by.User && no.Choice == choice:
		// They did just that before.
	case no != nil:
		return formError(inputToBlame(block, fields, no.Say), no.Say)
	case err != nil:
		a.Logger.Error("slack: a form was not recorded", "chat", f.Place.Chat(), "choice", choice, "err", err)
		return formError(block, surface.SayNotRecorded)
	}
	return slack.NewClearViewSubmissionResponse()
}

func (a *Adapter) readForm(s string) (f blocks.Form, ok bool) {
	f, _ = blocks.ParseForm(s)
	return f, f.Place.Team == a.self.Team
}

const maxFormError = 1000 // keeps an answer far below the 20 KB that an acknowledgement may have

func formError(block, say string) *slack.ViewSubmissionResponse {
	return slack.NewErrorsViewSubmissionResponse(map[string]string{block: surface.Shortened(say, maxFormError)})
}

// triggerIsOver are the errors of a trigger that was used up, or older than its three seconds.
// https://docs.slack.dev/reference/methods/views.open#errors
var triggerIsOver = []string{"expired_trigger_id", "trigger_expired", "exchanged_trigger_id", "trigger_exchanged", "invalid_trigger_id"}

// sayOpened says why a view could not be opened, or nothing.
func (a *Adapter) sayOpened(err error) (say string) {
	if err == nil {
		return ""
	}
	if no, _ := errors.AsType[slack.SlackErrorResponse](err); slices.Contains(triggerIsOver, no.Err) {
		return sayWindowClosed
	}
	a.Logger.Error("slack: a form could not be opened", "err", calls.FaultOf(err))
	return surface.SayNotOpened
}

// refuseElsewhere refuses an interaction of another workspace or app, and says so where it can be said.
func (a *Adapter) refuseElsewhere(in inbound.Interaction) receipt {
	a.Logger.Warn("slack: an interaction of another workspace or app is refused", "type", surface.Shortened(in.Type, 64),
		"team", surface.Shortened(string(in.Team.ID), 64), "app", surface.Shortened(string(in.App), 64))
	block := blocks.InputOfForm(string(in.View.Callback))
	switch {
	case in.Type == "view_submission":
		return receipt{body: formError(block, sayElsewhere)}
	case in.ChannelID() != "":
		return a.answerPrivately(a.whoClicked(in), sayElsewhere)
	}
	return receipt{} // nowhere to say it
}

// whoClicked is the handle for an answer that only the one who clicked sees.
func (a *Adapter) whoClicked(in inbound.Interaction) chat.ReplyHandle {
	return a.privately(string(in.ResponseURL), in.ChannelID(), string(in.Container.Thread), string(in.User))
}

// Opening a modal takes a trigger, which lives for three seconds: these run right after the acknowledgement. What they return is a sentence
// for the one who clicked where nothing could be opened.

// openView opens a modal, on top of the one that was clicked in.
func (a *Adapter) openView(ctx context.Context, in inbound.Interaction, view slack.ModalViewRequest) (say string) {
	open := a.api.OpenViewContext
	if in.View.ID != "" && in.View.Type != inbound.HomeView {
		open = a.api.PushViewContext
	}
	_, err := open(ctx, string(in.Trigger), view)
	return a.sayOpened(err)
}

// readSession reads the chat of a form. purpose is for the log: what could not be done without it.
func (a *Adapter) readSession(ctx context.Context, f blocks.Form, purpose string) (s turn.Session, say string) {
	s, err := a.Engine.Session(ctx, f.Place.Chat())
	if err != nil {
		a.Logger.Warn("slack: "+purpose, "chat", f.Place.Chat(), "err", err)
		return s, surface.SayNotRead
	}
	return s, ""
}

func (a *Adapter) showDetails(ctx context.Context, in inbound.Interaction, f blocks.Form, env chat.Envelope) (say string) {
	d, answers, say := a.readDetails(ctx, f, env)
	if say != "" {
		return say
	}
	return a.openView(ctx, in, blocks.EncodeDetails(d, f, answers, ""))
}

// readDetails reads what a choice shows, and while its call waits, what its card offers.
func (a *Adapter) readDetails(ctx context.Context, f blocks.Form, env chat.Envelope) (d render.Details, answers []render.Choice, say string) {
	env.Chat = f.Place.Chat()
	return surface.Details(ctx, a.Engine, a.Settings, chat.Clicked{Envelope: env, Token: f.Token, Choice: f.Choice, Message: f.Message}, a.Logger)
}

func (a *Adapter) openForm(ctx context.Context, in inbound.Interaction, f blocks.Form, env chat.Envelope) (say string) {
	call, say := surface.FormOf(ctx, a.Engine, chat.Clicked{Envelope: env, Token: f.Token, Choice: f.Choice, Message: f.Message}, a.Logger)
	switch {
	case say != "":
		return say
	case f.Choice == chat.DenyReason:
		return a.openView(ctx, in, blocks.EncodeDenyForm(f, surface.CallLine(call)))
	}
	view, ok := blocks.EncodeEditForm(f, surface.CallLine(call), string(call.Args))
	if !ok {
		return surface.SayTooLongToEdit("Slack", 3000)
	}
	return a.openView(ctx, in, view)
}

func (a *Adapter) turnPage(in inbound.Interaction, act slack.BlockAction) receipt {
	f, ok := a.readForm(string(in.View.Metadata))
	if !ok {
		return receipt{}
	}
	f.Page, _ = strconv.Atoi(act.Value)
	return a.later(a.privately("", f.Place.Channel, f.Place.Thread, string(in.User)), func(ctx context.Context) string {
		return a.drawDetails(ctx, in, f, "")
	})
}

// drawDetails draws the details anew where they stand, or says why not.
func (a *Adapter) drawDetails(ctx context.Context, in inbound.Interaction, f blocks.Form, notice string) (say string) {
	var env chat.Envelope
	if f.Choice == chat.Reveal || f.Choice == chat.Why {
		by, no := a.identifyDecider(ctx, string(in.User), f.Choice)
		if no != "" {
			return no
		}
		env = a.envelope(f.Place, in.Submission(f.Token), by, chat.ReplyHandle{})
	}
	d, answers, unread := a.readDetails(ctx, f, env)
	if unread != "" {
		return unread
	}
	// The hash makes an update that comes after a later one fail, instead of turning back.
	_, err := a.api.UpdateViewContext(ctx, blocks.EncodeDetails(d, f, answers, notice), "", string(in.View.Hash), string(in.View.ID))
	return a.sayDrawn(err)
}

// sayDrawn says that an open view was not drawn anew, or nothing: also where somebody has drawn it since, or closed it.
// https://docs.slack.dev/reference/methods/views.update#errors
func (a *Adapter) sayDrawn(err error) (say string) {
	if err == nil {
		return ""
	}
	a.Logger.Info("slack: a view was not drawn anew", "err", calls.FaultOf(err))
	if no, _ := errors.AsType[slack.SlackErrorResponse](err); no.Err == "not_found" || isRedrawn(err) {
		return ""
	}
	return sayNotDrawn
}

// isRedrawn: what stands there is not what the hash was of.
func isRedrawn(err error) bool {
	no, _ := errors.AsType[slack.SlackErrorResponse](err)
	return no.Err == "hash_conflict"
}

// confirmFirst asks whether a person means a choice, where Slack's own dialog cannot: for a line of a menu, and for a long text. The button
// of a private message then stands for the very same click. Who would be refused is told at once.
func (a *Adapter) confirmFirst(ctx context.Context, f blocks.Form, env chat.Envelope) (say string) {
	s, say := a.readSession(ctx, f, "a confirmation could not be asked for")
	if say != "" {
		return say
	}
	c, ok := card.Find(s, f.Choice, f.Token)
	if !ok {
		return surface.SayNotOpen
	}
	if no := a.Engine.Refuses(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: f.Choice, Message: f.Message}); no != nil {
		return no.Say
	}
	a.whisperBlocks(ctx, env.Reply, blocks.EncodeConfirmation(c, f))
	return ""
}

func (a *Adapter) takeConfirmation(ctx context.Context, in inbound.Interaction, act *slack.BlockAction) receipt {
	f, ok := a.readForm(act.Value)
	if !ok || f.Place.Channel != in.ChannelID() {
		return a.answerPrivately(a.whoClicked(in), sayNoPlace)
	}
	reply := a.privately(string(in.ResponseURL), f.Place.Channel, f.Place.Thread, string(in.User))
	by, say := a.identifyDecider(ctx, string(in.User), f.Choice)
	if say == "" {
		say = a.recordClick(ctx, f, a.envelope(f.Place, in.Delivery(act), by, reply))
	}
	if say != "" {
		return a.answerPrivately(reply, say)
	}
	return a.removeAnswered(in)
}

func (a *Adapter) removeAnswered(in inbound.Interaction) receipt {
	return receipt{after: func(ctx context.Context) {
		if !in.Container.Ephemeral {
			return
		}
		if err := a.respond(ctx, string(in.ResponseURL), reply{DeleteOriginal: true}); err != nil {
			a.Logger.Info("slack: a private message that was answered stays", "err", err)
		}
	}}
}
