package card

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	var asks []render.Ask
	batches := turn.Together(v.s)
	for _, c := range v.t.Calls {
		switch {
		case c.Status == turn.Awaiting:
			i := slices.IndexFunc(batches, func(asks []turn.ToolCall) bool { return asks[0].ID == c.ID })
			switch {
			case i < 0: // it stands beside one like it
			case len(batches[i]) > 1:
				asks = append(asks, v.asksAsOne(batches[i]))
			default:
				asks = append(asks, v.ask(c))
			}
		case c.Waits():
			asks = append(asks, v.outcome(c))
		case c.Elicitation.Open():
			asks = append(asks, v.elicitation(c))
		}
	}
	for _, a := range asList(asks) {
		out = append(out, a)
	}
	return out
}

// Alone is the card of a call of the open turn where no other stands beside it; ok is false for one that waits for nobody.
func Alone(s turn.Session, c turn.ToolCall) (a render.Ask, ok bool) {
	v := viewer{s: s, t: s.Turn}
	switch {
	case c.Status == turn.Awaiting:
		a = v.ask(c)
	case c.Waits():
		a = v.outcome(c)
	case c.Elicitation.Open():
		a = v.elicitation(c)
	default:
		return a, false
	}
	return asList([]render.Ask{a})[0], true
}

// asList makes rows of a list out of several cards: what is the same for all stands once, on the last.
func asList(asks []render.Ask) []render.Ask {
	last := len(asks) - 1
	for i := range asks {
		a := &asks[i]
		if a.Brief = last > 0; i < last {
			if a.Kind != render.AskInput { // its warning is about its server's words
				a.Warning, a.Review = "", ""
			}
			if foot, same := oneFoot(a.Footer, asks[last].Footer); same {
				a.Footer, asks[last].Footer = nil, foot
			}
		} else if slices.ContainsFunc(asks, func(x render.Ask) bool { return x.Kind == render.AskPermission }) {
			a.Warning, a.Review = cmp.Or(a.Warning, text.Warning(text.Product)), text.Review
		}
	}
	for i := range asks { // a row has room for the narrow answers
		a := &asks[i]
		if at := slices.IndexFunc(a.Choices, func(c render.Choice) bool { return c.Choice == chat.AllowChat }); a.Brief && at >= 0 {
			a.More = append(slices.Clone(a.More), a.Choices[at])
			a.Choices = slices.Delete(slices.Clone(a.Choices), at, at+1)
		}
	}
	for i := last; i > 0; i-- {
		if asks[i].Header == asks[i-1].Header {
			asks[i].Header = ""
		}
	}
	return asks
}

// oneFoot is what two rows say of who can answer, and whether they say the same: ends that are less than a minute apart are the first of them.
func oneFoot(a, b render.Line) (foot render.Line, same bool) {
	foot = b
	same = slices.EqualFunc(a, b, func(x, y render.Span) bool {
		s, is := x.(render.Time)
		t, too := y.(render.Time)
		if !is || !too {
			return x == y
		}
		if s.At.Before(t.At) {
			foot = a
		}
		return s.At.Sub(t.At).Abs() < time.Minute
	})
	return foot, same
}

// card is what all cards of a call have; ask is what they put to a person.
func (v viewer) card(c turn.ToolCall, kind render.AskKind, ask turn.AskID) render.Ask {
	return render.Ask{
		Call: string(c.ID), Token: string(ask), Kind: kind, Tool: text.Inline(c.Tool.Name), Run: runLine(c), Expires: v.expires(c.Wait()),
		Server: text.Inline(c.Tool.Server), Icon: text.Clip(c.Card.Icon, 300),
	}
}

// ask is the card that asks for permission. Nothing on it was written by the model but the arguments, which stand in their own place, and
// the one of them that the question names.
func (v viewer) ask(c turn.ToolCall) render.Ask {
	a := v.card(c, render.AskPermission, c.Ask)
	a.Header, a.Facts = text.AllowHeader(a.Server), facts(c)
	a.Question = cmp.Or(text.Clip(c.Ruling.Message, 300), What(c)+"?")
	a.Args = argsOf(c)
	if turn.CanEdit(c) {
		a.Args.Edit = render.Editable(c.Args)
	}
	if turn.Masked(c) && turn.Showable(c) {
		a.Choices = append(a.Choices, render.NewChoice(chat.Reveal, a.Token))
	}
	if c.Card.Reads { // the third read of its server
		a.Choices = append(a.Choices, allowReads(c))
	}
	if turn.OffersGrant(c) {
		a.Choices = append(a.Choices, v.allowChat(c))
	}
	if turn.Showable(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowOnce, Token: a.Token, Label: text.LabelAllowOnce, Confirm: confirmRemembered(c, chat.AllowOnce, "")})
	}
	a.Choices = append(a.Choices, render.NewChoice(chat.Deny, a.Token))
	a.More = v.menu(c)
	a.Footer = v.foot(c)
	return a
}

// argsOf are a call's arguments, with what of a text goes and comes where somebody looked at it.
func argsOf(c turn.ToolCall) render.Args {
	a := render.ArgsOf(c.Args, string(c.Digest))
	if p := c.Shows(); p != nil {
		a = a.WithDiff(turn.Becomes, p.Diff, text.DiffAgainst(text.Inline(p.Tool.Name), text.Inline(p.Tool.Server), text.ClockSeconds(p.At)))
	}
	return a
}

// allowChat is confirmed in words for what may destroy something, or nobody classified.
func (v viewer) allowChat(c turn.ToolCall) render.Choice {
	confirm := ""
	if c.Ruling.Unrated || c.Ruling.Risk == permission.Dangerous {
		confirm = text.ConfirmChat(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server), v.name(v.t.Requester))
	}
	x := render.NewChoice(chat.AllowChat, string(c.Ask))
	x.Hint, x.Confirm = text.HintAllowChat, confirmRemembered(c, chat.AllowChat, confirm)
	return x
}

// allowReads is for all reads of a call's server.
func allowReads(c turn.ToolCall) render.Choice {
	server := text.Inline(c.Tool.Server)
	x := render.NewChoice(chat.AllowReads, string(c.Ask))
	x.Label, x.Confirm = text.LabelAllowReads(server), confirmRemembered(c, chat.AllowReads, text.ConfirmWide("reads", server))
	return x
}

// asksAsOne is the row of reads that are answered together. Each of them stands in it with its arguments.
func (v viewer) asksAsOne(asks []turn.ToolCall) render.Ask {
	c, token := asks[0], turn.BatchToken(asks)
	a := v.card(c, render.AskPermission, c.Ask)
	a.Header, a.Facts, a.Footer = text.AllowHeader(a.Server), facts(c), v.foot(c)
	a.Question = What(c) + text.AndMoreOf(len(asks)-1) + "?"
	a.Args = argsOfAll(asks)
	a.Choices = []render.Choice{{Choice: chat.ApproveAll, Token: token, Label: text.LabelAllowThese(len(asks))},
		{Choice: chat.DenyAll, Token: token, Label: text.LabelDeny, Style: render.Danger}}
	a.More = []render.Choice{render.NewChoice(chat.ViewDetail, a.Token)}
	if turn.Offers(c, chat.AllowReads) {
		a.More = append(a.More, allowReads(c))
	}
	if turn.OffersGrant(c) {
		a.More = append(a.More, v.allowChat(c))
	}
	return a
}

// argsOfAll are the arguments of several calls, a row for each.
func argsOfAll(asks []turn.ToolCall) (all render.Args) {
	for i, c := range asks {
		a := render.ArgsOf(c.Args, "")
		say := a.JSON
		if len(a.Rows) > 0 {
			parts := make([]string, len(a.Rows))
			for j, r := range a.Rows {
				parts[j] = r.Name + ": " + r.Value
			}
			say = strings.Join(parts, ", ")
		}
		all.Rows = append(all.Rows, render.Row{Name: text.Number(i + 1), Value: say})
		all.JSON += text.Number(i+1) + ": " + a.JSON + "\n"
		all.Escaped += a.Escaped
	}
	all.JSON = strings.TrimSuffix(all.JSON, "\n")
	all.Chars = utf8.RuneCountInString(all.JSON)
	return all
}

// facts are what whoever answers should know of a call: how it is asked (R93), whether it reads or changes things (R78), how risky that
// is (R94), and what is not as usual.
func facts(c turn.ToolCall) render.Line {
	var d line
	r := c.Ruling
	if r.Level == permission.LevelAdmin || r.Approval == permission.RequireAuth {
		d.text(text.SymbolAdmin + " " + text.FactAdmin).sep()
	} else {
		d.text(text.SymbolConfirm + " ")
	}
	switch {
	case r.Access == permission.Read:
		d.text(text.FactReads)
	case r.SaysReads:
		d.text(text.FactSaysReads)
	case r.Access == permission.All:
		d.text(text.FactAnything)
	default:
		d.text(text.FactWrites)
	}
	switch d.sep(); {
	case r.Risk == permission.Dangerous:
		d.strong(text.ChipDangerous)
	case r.Unrated:
		d.text(text.FactUnrated)
	case r.Risk == permission.Safe:
		d.text(text.ChipSafe)
	default:
		d.text(text.FactModerate)
	}
	if c.Card.First { // said once in a chat, not on each card
		d.sep().text(text.NewOnCard)
	}
	if r.Impact != "" {
		d.sep().text(text.Clip(r.Impact, 300))
	}
	unusual(&d, c)
	return d.Line
}

// unusual adds what is not as people expect it.
func unusual(d *line, c turn.ToolCall) {
	if i := slices.IndexFunc(c.Ruling.Reasons, func(x permission.Reason) bool { return x.Said == permission.SaidTooLittle }); i >= 0 {
		d.sep().text(text.Inline(c.Ruling.Reasons[i].Text)) // else whoever allowed all reads would wonder why it asks
	}
	switch {
	case c.Late:
		d.sep().strong(text.LateOnCard(c.LateFailed))
	case c.MayHaveRun():
		d.sep().strong(text.AgainOnCard)
	}
	if c.Edited() {
		d.sep().strong(lastEdit(c))
	}
	if c.Unchecked {
		d.sep().strong(text.Unchecked)
	}
	if turn.Masked(c) {
		d.sep().strong(text.HiddenOnCard)
	}
	changes(d, c)
	for _, warning := range render.Lookalikes(c.Args) { // letters of another alphabet look like those that people know
		d.sep().strong(warning)
	}
}

// outcome is the card of a run that nobody knows the end of.
func (v viewer) outcome(c turn.ToolCall) render.Ask {
	a := v.card(c, render.AskOutcome, c.Ask)
	a.Question = lostWords(c, text.OutcomeHeader, text.OutcomeNoAnswer)
	a.Args = render.ArgsOf(c.Args, string(c.Digest))
	if c.Lost != "" {
		a.Facts = render.Line{render.Plain(text.Clip(c.Lost, 300))}
	}
	for _, choice := range []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave} {
		a.Choices = append(a.Choices, render.NewChoice(choice, a.Token))
	}
	a.More = []render.Choice{render.NewChoice(chat.ViewDetail, a.Token)}
	if !c.Deadline.IsZero() {
		a.More = append(a.More, render.NewChoice(chat.Extend, a.Token))
	}
	var d line
	d.text(text.OutcomeFooter + " ")
	v.whoAndWhen(&d, c)
	a.Footer = d.Line
	return a
}

// elicitation is the card of what a running tool's server wants of the requester. Everything in it but the words around is the server's.
func (v viewer) elicitation(c turn.ToolCall) render.Ask {
	w := c.Elicitation
	a := v.card(c, render.AskInput, w.Ask)
	a.Question, a.Says, a.Warning = text.ElicitationHeader(a.Server), text.Clip(w.Request.Message, 600), text.ElicitationWarning(a.Server)
	switch w.Request.Kind {
	case turn.ElicitationForm:
		a.Choices = []render.Choice{{Choice: chat.Answer, Token: a.Token, Label: text.LabelAnswer}}
	case turn.ElicitationURL:
		a.Choices, a.Warning = []render.Choice{{Choice: chat.Answer, Token: a.Token, Label: text.LabelOpenPage}}, ""
	}
	a.Choices = append(a.Choices, render.NewChoice(chat.Decline, a.Token))
	var d line
	v.until(v.requester(&d).text(text.CanAnswer), c)
	a.Footer = d.Line
	return a
}

// foot says how many have allowed a call where several must, who can answer, and until when.
func (v viewer) foot(c turn.ToolCall) render.Line {
	var d line
	if c.Ruling.Approvals > 1 {
		d.text(text.VotesLine(len(c.Votes), c.Ruling.Approvals))
		if len(c.Votes) > 0 {
			d.text(": ").voters(c)
		}
		d.text(". ")
	}
	v.whoAndWhen(&d, c)
	if c.Card.Notice != "" {
		d.text(" " + text.Clip(c.Card.Notice, 300))
	}
	return d.Line
}

// whoAndWhen says who can answer, and until when.
func (v viewer) whoAndWhen(d *line, c turn.ToolCall) {
	who := c.Card.Who
	more, _ := v.t.Escalated(c.Ask)
	if len(who) == 0 && len(more) > 0 {
		who = []string{v.t.Requester.String()}
	}
	switch {
	case len(who) > 0:
		d.deciders(slices.Concat(who, more))
	case c.Ruling.Level == permission.LevelAdmin:
		d.text(text.Capital(text.AnAdmin))
	default:
		v.requester(d)
	}
	v.until(d.text(text.CanAnswer), c)
}

func (v viewer) name(u chat.User) string { return nameFor(u, v.s.Participant(u).Name) }

func (v viewer) requester(d *line) *line {
	return d.person(v.t.Requester, v.s.Participant(v.t.Requester).Name)
}

// until ends a sentence with the time until which an ask can be answered.
func (v viewer) until(d *line, c turn.ToolCall) {
	if at := v.expires(c.Wait()); !at.IsZero() {
		d.text(text.Until).time(at, true)
	}
	d.text(".")
}
