package slack

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What a server's tool wants of its requester while it runs: a form, that an address is opened, or leave to ask the model. Everything in it
// is the server's, and only the requester gets to see it.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

// findElicitation finds what an ask wants, for its requester. say is a sentence for anybody else, and where nothing is wanted any more.
func findElicitation(s turn.Session, ask string, by chat.User) (c turn.ToolCall, say string) {
	c, ok := s.FindElicitation(turn.AskID(ask))
	switch {
	case !ok:
		return c, surface.SayNotOpen
	case by.IsZero() || s.Turn.Requester != by:
		return turn.ToolCall{}, text.OnlyRequesterFills(requesterOf(s))
	}
	return c, ""
}

// requesterOf is what the one who began a turn is called.
func requesterOf(s turn.Session) string {
	for _, p := range s.People {
		if p.User == s.Turn.Requester && strings.TrimSpace(p.Name) != "" {
			return surface.Shortened(p.Name, 80)
		}
	}
	return s.Turn.Requester.Key
}

// openElicitation opens what an answer takes.
func (a *Adapter) openElicitation(ctx context.Context, in inbound.Interaction, f blocks.Form, env chat.Envelope) {
	s, err := a.Engine.Session(ctx, f.Place.Chat())
	if err != nil {
		a.Logger.Warn("slack: what a server wants could not be read", "chat", f.Place.Chat(), "err", err)
		a.tellOrLog(ctx, env.Reply, surface.SayNotRead)
		return
	}
	call, no := findElicitation(s, f.Token, env.User)
	if no != "" {
		a.tellOrLog(ctx, env.Reply, no)
		return
	}
	switch want := call.Want.Want; want.Kind {
	case turn.WantForm:
		if len(want.Fields) == 0 { // a question that only wants a yes: the button is the answer
			a.recordOrSay(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Answer, Message: f.Message})
			return
		}
		v, ok := blocks.EncodeElicitation(f, call)
		if !ok {
			a.tellOrLog(ctx, env.Reply, sayFormTooLong)
			return
		}
		a.openView(ctx, in.Trigger, v, env.Reply)
	case turn.WantURL:
		p, ok := blocks.EncodeAddress(f, text.Inline(call.Tool.Server), want.URL)
		if !ok {
			a.tellOrLog(ctx, env.Reply, sayNoAddress)
			return
		}
		a.whisperBlocks(ctx, env.Reply, p)
	case turn.WantSample:
		a.recordOrSay(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Answer, Message: f.Message})
	default: // of a later version
		a.tellOrLog(ctx, env.Reply, surface.SayNotOpen)
	}
}

func (a *Adapter) recordOrSay(ctx context.Context, c chat.Clicked) {
	if !a.recordClick(ctx, c) {
		a.tellOrLog(ctx, c.Reply, surface.SayNotRecorded)
	}
}

// submitElicitation passes on what a form says. What is wrong with it is said beside the field that it is about.
func (a *Adapter) submitElicitation(ctx context.Context, in inbound.Interaction) *slack.ViewSubmissionResponse {
	wrong := func(block, say string) *slack.ViewSubmissionResponse {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{block: surface.Shortened(say, maxFormError)})
	}
	f, err := blocks.ParseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team || f.Choice != chat.Answer {
		return wrong(blocks.FieldBlock(0), sayNoPlace)
	}
	by, no := a.identifyDecider(ctx, string(in.User), chat.Answer)
	if no != "" {
		return wrong(blocks.FieldBlock(0), no)
	}
	s, err := a.Engine.Session(ctx, f.Place.Chat())
	if err != nil {
		a.Logger.Warn("slack: what a server wants could not be read", "chat", f.Place.Chat(), "err", err)
		return wrong(blocks.FieldBlock(0), surface.SayNotRecorded)
	}
	call, no := findElicitation(s, f.Token, by.User)
	if no != "" {
		return wrong(blocks.FieldBlock(0), no)
	}
	fields := map[string]string{}
	var all []string
	for i, x := range call.Want.Want.Fields {
		if say := readField(x, in.Input(blocks.FieldBlock(i))); say != "" {
			fields[x.Name] = say
			all = append(all, x.Name+"\x00"+say)
		}
	}
	slices.Sort(all)
	_, err = a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(f.Place, in.Submission(strings.Join(all, "\x01")), by, privately("", f.Place.Channel, f.Place.Thread, string(in.User))),
		Token:    f.Token, Choice: chat.Answer, Message: f.Message, Fields: fields,
	})
	if no := surface.Refusal(err); no != nil {
		return wrong(inputToBlame(call.Want.Want.Fields, no.Say), no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form was not recorded", "chat", f.Place.Chat(), "choice", chat.Answer, "err", err)
		return wrong(blocks.FieldBlock(0), surface.SayNotRecorded)
	}
	return slack.NewClearViewSubmissionResponse()
}

// inputToBlame finds the input beside which a refusal is shown: that of the field which it names, by the longest name that it has.
func inputToBlame(fields []turn.FormField, say string) string {
	best, at := 0, 0
	for i, x := range fields {
		for _, name := range []string{x.Title, x.Name} {
			if name = surface.OneLine(name); len(name) > best && strings.Contains(say, name) {
				best, at = len(name), i
			}
		}
	}
	return blocks.FieldBlock(at)
}

// readField returns what was filled in, as the engine reads it: an option by what the server called it, several of them in lines of their own.
func readField(x turn.FormField, e inbound.InputState) string {
	options := x.Options
	if x.Type == "boolean" {
		options = []string{"true", "false"}
	}
	option := func(p inbound.OptionState) (string, bool) {
		i, err := strconv.Atoi(string(p.Value))
		if err != nil || i < 0 || i >= len(options) {
			return "", false
		}
		return options[i], true
	}
	switch {
	case e.Option.Value != "":
		say, _ := option(e.Option)
		return say
	case len(e.Options) > 0:
		var all []string
		for _, p := range e.Options {
			if say, ok := option(p); ok {
				all = append(all, say)
			}
		}
		return strings.Join(all, "\n")
	case e.Date != "":
		return string(e.Date)
	case e.DateTime != "":
		n, err := strconv.ParseInt(string(e.DateTime), 10, 64)
		if err != nil {
			return ""
		}
		return time.Unix(n, 0).UTC().Format(time.RFC3339)
	}
	return string(e.Value)
}
