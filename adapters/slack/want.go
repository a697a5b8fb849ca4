package slack

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What a server's tool wants of its requester while it runs: a form, that an address is opened, or leave to ask the model. Everything in it
// is the server's, and only the requester gets to see it.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

// wanted finds what an ask wants, for its requester. say is a sentence for anybody else, and where nothing is wanted any more.
func wanted(s turn.Session, ask string, by chat.User) (c turn.ToolCall, say string) {
	c, ok := turn.Wants(s, turn.AskID(ask))
	switch {
	case !ok:
		return c, surface.SayNotOpen
	case by.IsZero() || s.Turn.Requester != by:
		return turn.ToolCall{}, render.OnlyRequesterFills(requesterOf(s))
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

// answerWant opens what an answer takes.
func (a *Adapter) answerWant(ctx context.Context, in interaction, f form, env chat.Envelope) {
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: what a server wants could not be read", "chat", f.Place.id(), "err", err)
		a.let(ctx, env.Reply, surface.SayNotRead)
		return
	}
	call, no := wanted(s, f.Token, env.User)
	if no != "" {
		a.let(ctx, env.Reply, no)
		return
	}
	switch want := call.Want.Want; want.Kind {
	case turn.WantForm:
		if len(want.Fields) == 0 { // a question that only wants a yes: the button is the answer
			a.takeOrSay(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Answer, Message: f.Message})
			return
		}
		v, ok := wantView(f, call)
		if !ok {
			a.let(ctx, env.Reply, sayFormTooLong)
			return
		}
		a.open(ctx, in, v, env.Reply)
	case turn.WantURL:
		p, ok := addressOf(f, turn.Seen(call.Tool.Server), want.URL)
		if !ok {
			a.let(ctx, env.Reply, sayNoAddress)
			return
		}
		a.show(ctx, env.Reply, p)
	case turn.WantSample:
		a.takeOrSay(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Answer, Message: f.Message})
	default: // of a later version
		a.let(ctx, env.Reply, surface.SayNotOpen)
	}
}

func (a *Adapter) takeOrSay(ctx context.Context, c chat.Clicked) {
	if !a.take(ctx, c) {
		a.let(ctx, c.Reply, surface.SayNotRecorded)
	}
}

// addressOf shows an address that a server wants opened: all of it as text in which nothing is alive, its host, what is deceptive about that,
// and a button to exactly there. It is never fetched, neither by us nor by Slack. ok is false for what is no address of the web, or hides
// something.
func addressOf(f form, server, address string) (p payload, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > maxURL {
		return payload{}, false
	}
	if _, hidden := render.Visible(address); hidden > 0 || strings.ContainsAny(address, " \t\r\n\"<>\\") {
		return payload{}, false
	}
	s := &sheet{}
	s.plain(render.WantURLSay(server))
	s.add(slack.NewRichTextBlock("", &slack.RichTextPreformatted{
		Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(address, nil)},
	}))
	s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(
		slack.NewRichTextSectionTextElement(sayLeadsTo, nil), slack.NewRichTextSectionTextElement(u.Hostname(), &slack.RichTextSectionTextStyle{Bold: true}))))
	if warn := render.HostWarning(u.Hostname()); warn != "" {
		s.plain(warn)
	}
	if u.Scheme == "http" {
		s.plain(sayUnencrypted)
	}
	f.Choice = chat.Answer
	visit := slack.NewButtonBlockElement(actionVisit, "", plainText(sayVisit)).WithURL(address)
	s.add(slack.NewActionBlock("", slack.NewButtonBlockElement(actionSure, f.meta(), plainText(sayVisited)), visit,
		slack.NewButtonBlockElement(actionCancel, "-", plainText(sayNotNow))))
	number(s.blocks)
	return payload{s.blocks, mrkdwnSafe(surface.AtMost(render.WantURLSay(server), fallbackRoom))}, true
}

// answered passes on what a form says. What is wrong with it is said beside the field that it is about.
func (a *Adapter) answered(ctx context.Context, in interaction) *slack.ViewSubmissionResponse {
	wrong := func(block, say string) *slack.ViewSubmissionResponse {
		return slack.NewErrorsViewSubmissionResponse(map[string]string{block: surface.Shortened(say, maxFormError)})
	}
	f, err := parseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team || f.Choice != chat.Answer {
		return wrong(wantBlock(0), sayNoPlace)
	}
	by, no := a.decider(ctx, string(in.User), chat.Answer)
	if no != "" {
		return wrong(wantBlock(0), no)
	}
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: what a server wants could not be read", "chat", f.Place.id(), "err", err)
		return wrong(wantBlock(0), surface.SayNotRecorded)
	}
	call, no := wanted(s, f.Token, by.User)
	if no != "" {
		return wrong(wantBlock(0), no)
	}
	fields := map[string]string{}
	var all []string
	for i, x := range call.Want.Want.Fields {
		if say := fieldText(x, in.input(wantBlock(i))); say != "" {
			fields[x.Name] = say
			all = append(all, x.Name+"\x00"+say)
		}
	}
	slices.Sort(all)
	_, err = a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(f.Place, in.submission(strings.Join(all, "\x01")), by, privately("", f.Place.Channel, f.Place.Thread, string(in.User))),
		Token:    f.Token, Choice: chat.Answer, Message: f.Message, Fields: fields,
	})
	if no := surface.Refusal(err); no != nil {
		return wrong(blameOf(call.Want.Want.Fields, no.Say), no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form was not recorded", "chat", f.Place.id(), "choice", chat.Answer, "err", err)
		return wrong(wantBlock(0), surface.SayNotRecorded)
	}
	return slack.NewClearViewSubmissionResponse()
}

// blameOf is the input beside which a refusal is shown: that of the field which it names, by the longest name that it has.
func blameOf(fields []turn.FormField, say string) string {
	best, at := 0, 0
	for i, x := range fields {
		for _, name := range []string{x.Title, x.Name} {
			if name = oneLine(name); len(name) > best && strings.Contains(say, name) {
				best, at = len(name), i
			}
		}
	}
	return wantBlock(at)
}
