package card

import (
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func (v viewer) asks() []render.Block {
	if !v.open() {
		return nil
	}
	var out []render.Block
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
			out = append(out, v.want(c))
		}
	}
	return out
}

// ask is the card. Nothing on it was written by the model but the arguments, which stand in their own place.
func (v viewer) ask(c turn.ToolCall) render.Ask {
	a := v.card(c)
	a.Kind = render.AskPermission
	if turn.CanEdit(c) {
		a.Args.Edit = render.Editable(c.Args)
	}
	a.Header, a.Run = text.AllowHeader(text.Inline(c.Tool.Server)), text.RunLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server))
	a.Facts = Facts(c.Ruling)
	a.Question, a.Impact = text.Clip(c.Ruling.Message, 300), text.Clip(c.Ruling.Impact, 300)
	a.Describes = text.Clip(c.Card.Describes, 400)
	var why detail
	why.text(text.Inline(c.Ruling.Why()))
	if i := slices.IndexFunc(c.Ruling.Reasons, func(x permission.Reason) bool { return x.Said == permission.SaidTooLittle }); i >= 0 {
		why.text(" " + text.Inline(c.Ruling.Reasons[i].Text)) // else whoever allowed all reads would wonder why it asks
	}
	switch {
	case c.Late:
		why.strong(text.LateOnCard(c.LateFailed))
	case c.MayHaveRun():
		why.strong(text.AgainOnCard())
	}
	if c.Edited() {
		why.strong(text.EditedBy(text.Clip(c.Edits[len(c.Edits)-1].Name, 80)) + ".")
	}
	if c.Unchecked {
		why.strong(text.Unchecked)
	}
	masked := turn.Masked(c)
	if masked {
		why.strong(text.HiddenOnCard)
	}
	v.changes(&why, c)
	for _, warning := range render.Lookalikes(c.Args) { // letters of another alphabet look like those that people know
		why.strong(warning)
	}
	a.Because = why.line
	token := string(c.Ask)
	a.More = v.more(c, a.More)
	if masked && turn.Showable(c) {
		a.Choices = append(a.Choices, render.NewChoice(chat.Reveal, token))
	}
	if turn.OffersGrant(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowChat, Token: token, Label: text.LabelAllowChat, Hint: text.HintAllowChat, Confirm: alsoRemembered(c, chat.AllowChat, "")})
	}
	if turn.Showable(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowOnce, Token: token, Label: text.LabelAllowOnce, Confirm: alsoRemembered(c, chat.AllowOnce, "")})
	}
	a.Choices = append(a.Choices, render.NewChoice(chat.Deny, token))
	var d detail
	if c.Ruling.Approvals > 1 {
		d.text(text.VotesLine(len(c.Votes), c.Ruling.Approvals))
		for i, x := range c.Votes {
			if i == 0 {
				d.text(": ")
			} else {
				d.text(", ")
			}
			d.person(x.By, x.Name)
		}
		d.sep()
	}
	v.who(&d, c)
	v.expiry(&d, c)
	if c.Card.Notice != "" {
		d.sep().text(text.Clip(c.Card.Notice, 300))
	}
	a.Footer = d.line
	return a
}

// outcome is the card of a run that nobody knows the end of.
func (v viewer) outcome(c turn.ToolCall) render.Ask {
	a := v.card(c)
	a.Kind = render.AskOutcome
	a.Header, a.Run = lostWords(c, text.OutcomeHeader, text.OutcomeNoAnswer), text.RunLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server))
	if c.Lost != "" {
		a.Because = render.Line{render.Plain(text.Clip(c.Lost, 300))}
	}
	token := string(c.Ask)
	a.Choices = []render.Choice{render.NewChoice(chat.Happened, token), render.NewChoice(chat.RunAgain, token), render.NewChoice(chat.Leave, token)}
	var d detail
	d.text(text.OutcomeFooter).sep()
	v.who(&d, c)
	v.expiry(&d, c)
	a.Footer = d.line
	return a
}

func (v viewer) card(c turn.ToolCall) render.Ask {
	a := render.Ask{
		Call: string(c.ID), Token: string(c.Ask), Tool: text.Inline(c.Tool.Name), Expires: v.expires(c.Wait()),
		Server: render.Server{Name: text.Inline(c.Tool.Server), Description: text.Clip(c.Card.Server, 300), Icon: text.Clip(c.Card.Icon, 300), Trusted: c.Ruling.Trusted},
		Args:   render.ArgsOf(c.Args, string(c.Digest)),
	}
	a.More = append(a.More, render.NewChoice(chat.ViewDetail, string(c.Ask)))
	if !c.Deadline.IsZero() {
		a.More = append(a.More, render.NewChoice(chat.Extend, string(c.Ask)))
	}
	return a
}

func (v viewer) who(d *detail, c turn.ToolCall) {
	switch {
	case len(c.Card.Who) > 0:
		d.text(text.Inline(text.OneOf(c.Card.Who)))
	case c.Ruling.Level == permission.LevelAdmin:
		d.text(text.AnAdmin)
	default:
		d.person(v.t.Requester, v.requesterName())
	}
	d.text(text.CanAnswer)
}

func (v viewer) expiry(d *detail, c turn.ToolCall) {
	if at := v.expires(c.Wait()); !at.IsZero() {
		d.sep().text("expires ").time(at, true)
	}
}

func (v viewer) requesterName() string {
	for _, p := range v.s.People {
		if p.User == v.t.Requester {
			return nameFor(p.User, p.Name)
		}
	}
	return nameFor(v.t.Requester, "")
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

// want is the card of what a running tool's server wants of the requester. Everything in it but the words around is the server's.
func (v viewer) want(c turn.ToolCall) render.Ask {
	w := c.Want
	token := string(w.Ask)
	a := render.Ask{
		Call: string(c.ID), Token: token, Kind: render.AskInput, Tool: text.Inline(c.Tool.Name), Expires: v.expires(c.Wait()),
		Header: text.WantHeader(text.Inline(c.Tool.Server)), Run: text.RunLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server)),
		Server:    render.Server{Name: text.Inline(c.Tool.Server), Description: text.Clip(c.Card.Server, 300), Icon: text.Clip(c.Card.Icon, 300), Trusted: c.Ruling.Trusted},
		Describes: text.Clip(w.Want.Message, 600),
		Warning:   text.WantWarning(text.Inline(c.Tool.Server)),
	}
	answer := text.LabelAnswer
	switch w.Want.Kind {
	case turn.WantURL:
		answer = text.LabelOpenPage
		a.Warning = ""
	case turn.WantSample:
		answer, a.Header = text.LabelAllowSample, text.WantSampleHeader(text.Inline(c.Tool.Server))
		a.Warning = ""
		a.Args = render.ArgsOf(w.Want.Prompt, "")
		a.More = []render.Choice{render.NewChoice(chat.ViewDetail, token)}
		if w.Want.Masked() {
			a.Because = render.Line{render.Strong(text.HiddenOnCard)}
			a.Choices = []render.Choice{render.NewChoice(chat.Reveal, token)}
		}
	default:
	}
	a.Choices = append(a.Choices, render.Choice{Choice: chat.Answer, Token: token, Label: answer}, render.NewChoice(chat.Decline, token))
	var d detail
	d.person(v.t.Requester, v.requesterName()).text(text.CanAnswer)
	v.expiry(&d, c)
	a.Footer = d.line
	return a
}
