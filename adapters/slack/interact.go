package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// interaction is a click, or a form that was sent. Who did it is User and nothing else: everything in actions, view state and
// private_metadata only says what was clicked. slack-go's own type is not used for what surrounds the actions: it rejects an
// empty attachment_id, and a message whose blocks Slack rewrote in a way it does not know.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
// https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
type interaction struct {
	Type        string `json:"type"`
	App         loose  `json:"api_app_id"`
	Team        crew   `json:"team"`
	Enterprise  loose  `json:"enterprise"` // its id
	Trigger     loose  `json:"trigger_id"`
	ResponseURL loose  `json:"response_url"`
	User        loose  `json:"user"` // its id
	Channel     loose  `json:"channel"`
	Message     struct {
		TS     loose `json:"ts"`
		Thread loose `json:"thread_ts"`
	} `json:"message"`
	Container struct {
		Type      loose `json:"type"`
		Channel   loose `json:"channel_id"`
		Message   loose `json:"message_ts"`
		Thread    loose `json:"thread_ts"`
		Ephemeral bool  `json:"is_ephemeral"`
	} `json:"container"`
	Actions []json.RawMessage `json:"actions"`
	View    struct {
		ID        loose `json:"id"`
		Type      loose `json:"type"` // modal or home
		Hash      loose `json:"hash"`
		Callback  loose `json:"callback_id"`
		Metadata  loose `json:"private_metadata"`
		Previous  loose `json:"previous_view_id"`      // the modal that it lies on
		Installed loose `json:"app_installed_team_id"` // the workspace, or organisation, whose installation opened it
		State     struct {
			Values map[string]map[string]entered `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// entered is what an input holds.
// https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload#view-state
type entered struct {
	Value   loose    `json:"value"`
	Option  picked   `json:"selected_option"`
	Options []picked `json:"selected_options"`
	Date    loose    `json:"selected_date"`      // 2026-11-21
	Moment  loose    `json:"selected_date_time"` // seconds since 1970
}

type picked struct {
	Value loose `json:"value"`
}

// input is what the one input of a block holds; a block of ours has just one.
func (in interaction) input(block string) (e entered) {
	for _, v := range in.View.State.Values[block] {
		e = v
	}
	return e
}

func decodeInteraction(payload []byte) (interaction, error) {
	var in interaction
	if err := decode(payload, &in); err != nil {
		return interaction{}, err
	}
	return in, nil
}

// Of our own views (views.go, want_view.go, panel_view.go).
const (
	actionPage     = "nod:page"
	callbackDeny   = "nod:deny"
	callbackEdit   = "nod:edit"
	callbackAnswer = "nod:answer"
	callbackPanel  = "nod:panel"
	callbackFill   = "nod:fill"
	blockReason    = "reason"
	blockArgs      = "args"
	blockFill      = "text"
)

// lane: the clicks on one message keep their order, and wait for no message of its thread.
func (in interaction) lane() string {
	if in.View.ID != "" {
		return "v:" + string(in.View.ID)
	}
	return "i:" + string(in.Container.Channel) + "/" + string(in.message())
}

func (in interaction) message() chat.MessageRef {
	if in.Container.Message != "" {
		return chat.MessageRef(in.Container.Message)
	}
	return chat.MessageRef(in.Message.TS)
}

func (in interaction) channel() string { return string(cmp.Or(in.Container.Channel, in.Channel)) }

// place is the thread that the clicked message stands in.
func (in interaction) place(me self) (p place, ok bool) {
	p = place{me.Team, in.channel(), string(in.Container.Thread)}
	if p.Thread == "" {
		p.Thread = string(in.Message.Thread)
	}
	if p.Thread == "" {
		p.Thread = string(in.message())
	}
	return p, p.Channel != "" && timestamp.MatchString(p.Thread)
}

// serve acknowledges always: Slack does not send an interaction again, so a person is told what became of it.
func (in interaction) serve(ctx context.Context, a *Adapter) (receipt, error) {
	switch {
	case !in.concerns(a.self):
		return a.elsewhere(in), nil
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
			case strings.HasPrefix(act.ActionID, actionPage+":"):
				return receipt{after: func(ctx context.Context) { a.turnPage(ctx, in, act) }}, nil
			case strings.HasPrefix(act.ActionID, panelPrefix):
				return a.acted(ctx, in, &act), nil
			case act.ActionID == actionSure:
				return a.confirmed(ctx, in, &act), nil
			case act.ActionID == actionCancel:
				return a.clearing(in), nil
			}
			if choice, token, ok := parseAction(&act); ok {
				return a.clicked(ctx, in, &act, choice, token), nil
			}
		}
		return receipt{}, nil // a link's button, which opens by itself
	case in.Type == "view_submission" && (in.View.Callback == callbackDeny || in.View.Callback == callbackEdit):
		return receipt{body: a.submitted(ctx, in)}, nil
	case in.Type == "view_submission" && in.View.Callback == callbackAnswer:
		return receipt{body: a.answered(ctx, in)}, nil
	case in.Type == "view_submission" && in.View.Callback == callbackFill:
		return a.filled(ctx, in), nil
	case in.Type == "view_submission", in.Type == "view_closed":
		return receipt{}, nil
	}
	a.Logger.Info("slack: an interaction of a kind that nod does not use", "type", surface.Shortened(in.Type, 64))
	return receipt{}, nil
}

// clicked does one click.
func (a *Adapter) clicked(ctx context.Context, in interaction, act *slack.BlockAction, choice chat.Choice, token string) receipt {
	at, ok := in.place(a.self)
	reply := privately(string(in.ResponseURL), at.Channel, at.Thread, string(in.User))
	if !ok {
		return a.answering(reply, sayNoPlace)
	}
	if !in.Container.Ephemeral {
		a.remember(messageAt{at.Channel, string(in.message())}, string(in.ResponseURL))
	}
	f := form{Place: at, Message: in.message(), Token: token, Choice: choice}
	later := func(do func(context.Context)) receipt { return receipt{after: do} }
	if choice == chat.ViewDetail {
		return later(func(ctx context.Context) { a.showDetails(ctx, in, f, reply) })
	}
	by, no := a.decider(ctx, string(in.User), choice)
	if no != "" {
		return a.answering(reply, no)
	}
	env := a.envelope(at, in.delivery(act), by, reply)
	if asksFirst(act) {
		return later(func(ctx context.Context) { a.confirmFirst(ctx, f, reply) })
	}
	switch choice {
	case chat.DenyReason, chat.Edit:
		return later(func(ctx context.Context) { a.openForm(ctx, in, f, reply) })
	case chat.Reveal:
		return later(func(ctx context.Context) { a.reveal(ctx, in, f, env) })
	case chat.Why:
		return later(func(ctx context.Context) { a.showWhy(ctx, in, f, env) })
	case chat.Answer:
		return later(func(ctx context.Context) { a.answerWant(ctx, in, f, env) })
	case chat.Open:
		return later(func(ctx context.Context) { a.openPanel(ctx, string(in.Trigger), panelForm{View: token}, env) })
	}
	if !a.take(ctx, chat.Clicked{Envelope: env, Token: token, Choice: choice, Message: f.Message}) {
		return a.answering(reply, surface.SayNotRecorded)
	}
	return receipt{}
}

// take has a click recorded.
func (a *Adapter) take(ctx context.Context, c chat.Clicked) bool {
	err := a.Engine.Accept(ctx, c)
	if err != nil {
		a.Logger.Error("slack: a click was not recorded", "chat", c.Chat, "choice", c.Choice, "err", err)
	}
	return err == nil
}

// delivery is the same for a click that Slack sends twice.
func (in interaction) delivery(act *slack.BlockAction) chat.Delivery {
	return chat.Delivery(strings.Join([]string{"i", string(in.message()), act.ActionTs, act.ActionID}, ":"))
}

// submitted does what a form says, and is the answer that the form shows.
func (a *Adapter) submitted(ctx context.Context, in interaction) *slack.ViewSubmissionResponse {
	block, choice := blockReason, chat.Deny
	if in.View.Callback == callbackEdit {
		block, choice = blockArgs, chat.Edit
	}
	wrong := func(say string) *slack.ViewSubmissionResponse {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{block: surface.Shortened(say, maxFormError)})
	}
	f, err := parseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team {
		return wrong(sayNoPlace)
	}
	by, no := a.decider(ctx, string(in.User), choice)
	if no != "" {
		return wrong(no)
	}
	value := string(in.input(block).Value)
	click := chat.Clicked{
		Envelope: a.envelope(f.Place, in.submission(value), by, privately("", f.Place.Channel, f.Place.Thread, string(in.User))),
		Token:    f.Token, Choice: choice, Message: f.Message,
	}
	if choice == chat.Edit {
		click.Args = value
	} else {
		click.Reason = strings.TrimSpace(value)
	}
	_, err = a.Engine.Decide(ctx, click)
	if no := surface.Refusal(err); no != nil {
		if no.Code == agent.RefusedDecided && no.By == by.User && no.Choice == choice { // they did just that before
			return slack.NewClearViewSubmissionResponse()
		}
		return wrong(no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form was not recorded", "chat", f.Place.id(), "choice", choice, "err", err)
		return wrong(surface.SayNotRecorded)
	}
	return slack.NewClearViewSubmissionResponse()
}

// maxFormError keeps an answer far below the 20 KB that an acknowledgement may have.
const maxFormError = 1000

// submission is the same for a form that Slack sends twice, and another for one that was corrected: after an error the view and its
// hash stay.
func (in interaction) submission(value string) chat.Delivery {
	return chat.Delivery("v:" + string(in.View.ID) + ":" + string(in.View.Hash) + ":" + shortSum(value))
}

// tooOld: the trigger was used up, or older than its three seconds.
// https://docs.slack.dev/reference/methods/views.open#errors
func tooOld(err error) bool {
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
