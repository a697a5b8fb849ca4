package card

import (
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func (v viewer) asks() (out []render.Block) {
	if !v.open() {
		return nil
	}
	first := true
	for _, c := range v.t.Calls {
		switch {
		case c.Status == turn.Awaiting:
			a := v.ask(c)
			if first {
				a.Warning, a.Review = text.Warning(text.Product), text.Review
				first = false
			}
			out = append(out, a)
		case c.Waits():
			out = append(out, v.outcome(c))
		case c.Want.Open():
			out = append(out, v.elicitation(c))
		}
	}
	return out
}

// card is what all cards of a call have; ask is what they put to a person.
func (v viewer) card(c turn.ToolCall, kind render.AskKind, ask turn.AskID) render.Ask {
	return render.Ask{
		Call: string(c.ID), Token: string(ask), Kind: kind, Tool: text.Inline(c.Tool.Name), Run: runLine(c), Expires: v.expires(c.Wait()),
		Server: render.Server{Name: text.Inline(c.Tool.Server), Description: text.Clip(c.Card.Server, 300), Icon: text.Clip(c.Card.Icon, 300), Trusted: c.Ruling.Trusted},
	}
}

// ask is the card that asks for permission. Nothing on it was written by the model but the arguments, which stand in their own place.
func (v viewer) ask(c turn.ToolCall) render.Ask {
	a := v.card(c, render.AskPermission, c.Ask)
	a.Header, a.Because, a.Facts = text.AllowHeader(a.Server.Name), because(c), Facts(c.Ruling)
	a.Args = render.ArgsOf(c.Args, string(c.Digest))
	if turn.CanEdit(c) {
		a.Args.Edit = render.Editable(c.Args)
	}
	a.Question, a.Impact = text.Clip(c.Ruling.Message, 300), text.Clip(c.Ruling.Impact, 300)
	a.Describes = text.Clip(c.Card.Describes, 400)
	if turn.Masked(c) && turn.Showable(c) {
		a.Choices = append(a.Choices, render.NewChoice(chat.Reveal, a.Token))
	}
	if turn.OffersGrant(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowChat, Token: a.Token, Label: text.LabelAllowChat, Hint: text.HintAllowChat, Confirm: confirmRemembered(c, chat.AllowChat, "")})
	}
	if turn.Showable(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowOnce, Token: a.Token, Label: text.LabelAllowOnce, Confirm: confirmRemembered(c, chat.AllowOnce, "")})
	}
	a.Choices = append(a.Choices, render.NewChoice(chat.Deny, a.Token))
	a.More = menu(c)
	var d line
	if c.Ruling.Approvals > 1 {
		d.text(text.VotesLine(len(c.Votes), c.Ruling.Approvals))
		if len(c.Votes) > 0 {
			d.text(": ").voters(c)
		}
		d.sep()
	}
	v.whoAndWhen(&d, c)
	if c.Card.Notice != "" {
		d.sep().text(text.Clip(c.Card.Notice, 300))
	}
	a.Footer = d.Line
	return a
}

// because says why the call is asked about, and what whoever answers should know of it.
func because(c turn.ToolCall) render.Line {
	var d line
	d.text(text.Inline(c.Ruling.Why()))
	if i := slices.IndexFunc(c.Ruling.Reasons, func(x permission.Reason) bool { return x.Said == permission.SaidTooLittle }); i >= 0 {
		d.text(" " + text.Inline(c.Ruling.Reasons[i].Text)) // else whoever allowed all reads would wonder why it asks
	}
	switch {
	case c.Late:
		d.strong(text.LateOnCard(c.LateFailed))
	case c.MayHaveRun():
		d.strong(text.AgainOnCard)
	}
	if c.Edited() {
		d.strong(lastEdit(c) + ".")
	}
	if c.Unchecked {
		d.strong(text.Unchecked)
	}
	if turn.Masked(c) {
		d.strong(text.HiddenOnCard)
	}
	changes(&d, c)
	for _, warning := range render.Lookalikes(c.Args) { // letters of another alphabet look like those that people know
		d.strong(warning)
	}
	return d.Line
}

// outcome is the card of a run that nobody knows the end of.
func (v viewer) outcome(c turn.ToolCall) render.Ask {
	a := v.card(c, render.AskOutcome, c.Ask)
	a.Header = lostWords(c, text.OutcomeHeader, text.OutcomeNoAnswer)
	a.Args = render.ArgsOf(c.Args, string(c.Digest))
	if c.Lost != "" {
		a.Because = render.Line{render.Plain(text.Clip(c.Lost, 300))}
	}
	for _, choice := range []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave} {
		a.Choices = append(a.Choices, render.NewChoice(choice, a.Token))
	}
	a.More = []render.Choice{render.NewChoice(chat.ViewDetail, a.Token)}
	if !c.Deadline.IsZero() {
		a.More = append(a.More, render.NewChoice(chat.Extend, a.Token))
	}
	var d line
	d.text(text.OutcomeFooter).sep()
	v.whoAndWhen(&d, c)
	a.Footer = d.Line
	return a
}

// elicitation is the card of what a running tool's server wants of the requester. Everything in it but the words around is the server's.
func (v viewer) elicitation(c turn.ToolCall) render.Ask {
	w := c.Want
	a := v.card(c, render.AskInput, w.Ask)
	a.Header, a.Describes = text.WantHeader(a.Server.Name), text.Clip(w.Want.Message, 600)
	answer := text.LabelAnswer
	switch w.Want.Kind {
	case turn.WantURL:
		answer = text.LabelOpenPage
	case turn.WantSample:
		answer, a.Header = text.LabelAllowSample, text.WantSampleHeader(a.Server.Name)
		a.Args = render.ArgsOf(w.Want.Prompt, "")
		a.More = []render.Choice{render.NewChoice(chat.ViewDetail, a.Token)}
		if w.Want.Masked() {
			a.Because = render.Line{render.Strong(text.HiddenOnCard)}
			a.Choices = []render.Choice{render.NewChoice(chat.Reveal, a.Token)}
		}
	default:
		a.Warning = text.WantWarning(a.Server.Name)
	}
	a.Choices = append(a.Choices, render.Choice{Choice: chat.Answer, Token: a.Token, Label: answer}, render.NewChoice(chat.Decline, a.Token))
	var d line
	v.expiry(v.requester(&d).text(text.CanAnswer), c)
	a.Footer = d.Line
	return a
}

// whoAndWhen says who can answer, and until when.
func (v viewer) whoAndWhen(d *line, c turn.ToolCall) {
	switch {
	case len(c.Card.Who) > 0:
		d.text(text.Inline(text.OneOf(c.Card.Who)))
	case c.Ruling.Level == permission.LevelAdmin:
		d.text(text.AnAdmin)
	default:
		v.requester(d)
	}
	v.expiry(d.text(text.CanAnswer), c)
}

func (v viewer) requester(d *line) *line {
	return d.person(v.t.Requester, v.s.Participant(v.t.Requester).Name)
}

func (v viewer) expiry(d *line, c turn.ToolCall) {
	if at := v.expires(c.Wait()); !at.IsZero() {
		d.sep().text("expires ").time(at, true)
	}
}

// Facts are a ruling's chips: access, risk, level.
func Facts(r permission.Ruling) []render.Fact {
	access := render.Fact{Kind: "access", Symbol: "✎", Label: text.ChipWrite}
	switch r.Access {
	case permission.Read:
		access.Symbol, access.Label = "◉", text.ChipRead
	case permission.All:
		access.Symbol, access.Label = "∗", text.ChipFull
	}
	risk := render.Fact{Kind: "risk", Symbol: "◑", Label: text.ChipModerate}
	switch r.Risk {
	case permission.Safe:
		risk.Symbol, risk.Label = "○", text.ChipSafe
	case permission.Dangerous:
		risk.Symbol, risk.Label = "●", text.ChipDangerous
	}
	level := render.Fact{Kind: "level", Symbol: text.SymbolConfirm, Label: text.ChipConfirm}
	switch {
	case r.Level == permission.LevelAdmin || r.Approval == permission.RequireAuth:
		level.Symbol, level.Label = text.SymbolAdmin, text.ChipAdmin
	case r.Approval == permission.AutoApprove:
		level.Symbol, level.Label = text.SymbolAuto, text.ChipAuto
	}
	return []render.Fact{access, risk, level}
}
