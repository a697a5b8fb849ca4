package discord

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What a running tool's server wants of the person who asked: a few values in a form, or that a page is opened. Nobody else is
// shown either. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

// What is kept of a form that was not taken, so that nothing has to be typed again. It stands in memory only.
const (
	maxTyped  = 512
	typedLife = 15 * time.Minute
)

// typed are forms as somebody sent them, by person and asking: what stands in each input.
type typed = kept[map[string]string]

func typedKey(u chat.User, token string) string { return u.String() + "/" + token }

// answerWant answers a click on Answer. It may open a form, which has to be the first answer, so nothing is said before.
func (a *Adapter) answerWant(ctx context.Context, c click, p pressed) {
	call, ok := a.wanted(ctx, c, p.token)
	if !ok {
		return
	}
	w, message := call.Want.Want, string(c.in.message())
	if p.sure {
		message = p.message
	}
	switch {
	case w.Kind == turn.WantForm && len(w.Fields) > maxModalRows:
		a.tell(ctx, c.w, sayManyFields(len(w.Fields)))
	case w.Kind == turn.WantForm && len(w.Fields) > 0:
		values, _ := a.typed.get(typedKey(c.by.User, p.token), a.now())
		if err := c.w.open(ctx, wantModal(p.token, message, call, values)); err != nil {
			a.Logger.Warn("discord: a form could not be opened", "chat", c.at.id(), "err", err)
			a.tell(ctx, c.w, surface.SayNotOpened)
		}
	case w.Kind == turn.WantURL && !p.sure:
		a.showAddress(ctx, c, p.token, call)
	case p.sure:
		a.sure(ctx, c, p)
	default: // there is nothing to be filled in
		a.record(ctx, c, p)
	}
}

// wanted is the call whose server waits for this person. Anybody else is told who it is for.
func (a *Adapter) wanted(ctx context.Context, c click, token string) (call turn.ToolCall, ok bool) {
	s, err := a.Engine.Session(ctx, c.at.id())
	if err != nil {
		a.Logger.Warn("discord: what a server wants could not be read", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return call, false
	}
	if call, ok = turn.Wants(s, turn.AskID(token)); !ok {
		a.tell(ctx, c.w, render.WantOver())
		return call, false
	}
	if s.Turn.Requester != c.by.User {
		a.tell(ctx, c.w, render.OnlyRequesterFills(nameIn(s, s.Turn.Requester)))
		return call, false
	}
	return call, true
}

// nameIn is what a chat calls somebody who takes part.
func nameIn(s turn.Session, u chat.User) string {
	for _, p := range s.People {
		if p.User == u && p.Name != "" {
			return p.Name
		}
	}
	return u.Key
}

// showAddress shows where a server wants somebody to go: the address as text, then the warnings, then the way there and the way on.
// Nothing fetches it: it is no link in the text, previews are off, and a button's address is only followed by who presses it.
func (a *Adapter) showAddress(ctx context.Context, c click, token string, call turn.ToolCall) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, addressPayload(token, string(c.in.message()), call)); err != nil {
		a.Logger.Warn("discord: an address could not be shown", "chat", c.at.id(), "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// maxShownAddress is how much of one stands in the message. No button leads to one that is so long.
const maxShownAddress = 3000

func addressPayload(token, message string, call turn.ToolCall) payload {
	w := call.Want.Want
	s := &sheet{ids: names{}}
	s.say(fenced("", surface.Within(oneLine(visible(w.URL)), maxShownAddress)))
	u, err := url.Parse(w.URL)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	if host != "" {
		s.say(literal(sayLeadsTo) + strong(visible(host)))
		s.say(literal(render.HostWarning(host)))
	}
	s.say(literal(render.WantURLSay(render.ShortName(call.Tool.Server))))
	done := discordgo.Button{Label: sayDone, Style: discordgo.SecondaryButton, CustomID: sureID(chat.Answer, token, message)}
	row := []discordgo.MessageComponent{done}
	if followed(w.URL, u, err) {
		row = []discordgo.MessageComponent{discordgo.Button{Label: sayOpenAddress, Style: discordgo.LinkButton, URL: w.URL}, done}
	} else {
		s.say(literal(sayNoButton))
	}
	s.add(discordgo.ActionsRow{Components: row}, 1+len(row))
	return payload{Components: s.parts}
}

// followed reports whether a button can lead to exactly this address.
func followed(address string, u *url.URL, err error) bool {
	_, hidden := render.Visible(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && hidden == 0 && surface.Width(address) <= maxAddress &&
		!strings.ContainsAny(address, " \t\r\n")
}

func visible(s string) string { s, _ = render.Visible(s); return s }

// filledIn sends what somebody typed into the form. What is not taken is kept for when they open it again.
func (a *Adapter) filledIn(ctx context.Context, c click, token, message string) {
	key := typedKey(c.by.User, token)
	a.typed.put(key, typedIn(c.in.Data.Components), a.now())
	call, ok := a.wanted(ctx, c, token)
	if !ok {
		return
	}
	fields := fieldsOf(call.Want.Want, c.in.Data.Components)
	in := chat.Clicked{
		Envelope: a.envelope(c.at, c.in.delivery(), c.by, c.w.handle()), Token: token, Choice: chat.Answer, Message: chat.MessageRef(message), Fields: fields,
	}
	_, err := a.Engine.Decide(ctx, in)
	no := surface.Refusal(err)
	switch {
	case err == nil, no != nil && no.Code == agent.RefusedDecided && no.By == c.by.User:
		a.typed.drop(key)
		a.settle(c.w)
	case no != nil && no.Code != agent.RefusedArguments:
		a.tell(ctx, c.w, no.Say)
	case no != nil:
		a.offerAgain(ctx, c, no.Say, token, message)
	default:
		a.Logger.Error("discord: a form was not recorded", "chat", c.at.id(), "choice", chat.Answer, "err", err)
		a.offerAgain(ctx, c, surface.SayNotRecorded, token, message)
	}
}

// offerAgain says why a form was not taken, with a button that opens it as it was sent.
func (a *Adapter) offerAgain(ctx context.Context, c click, say, token, message string) {
	s := &sheet{ids: names{}}
	s.say(noteLines(render.Line{render.Plain(surface.Within(say, maxConfirm))}, nil)...)
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		discordgo.Button{Label: sayOpenAgain, Style: discordgo.SecondaryButton, CustomID: sureID(chat.Answer, token, message)},
	}}, 2)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := c.w.show(ctx, payload{Components: s.parts}); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}
