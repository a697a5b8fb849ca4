package turn

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// more is what stands behind ⋯ of a card. Each line says exactly what it grants, or asks for a confirmation that does.
func (v viewer) more(c ToolCall, common []render.Choice) []render.Choice {
	token := string(c.Ask)
	var out []render.Choice
	add := func(x render.Choice) {
		x.Token = token
		if Grants(x.Choice) {
			x.Confirm = alsoRemembered(c, x.Choice, x.Confirm)
		}
		out = append(out, x)
	}
	add(render.Choice{Choice: chat.DenyReason, Label: render.LabelDenyReason})
	if CanEdit(c) {
		add(render.Choice{Choice: chat.Edit, Label: render.LabelEdit})
	}
	for _, x := range common {
		if x.Choice == chat.ViewDetail {
			out = append(out, x)
		}
	}
	add(render.Choice{Choice: chat.Why, Label: render.LabelWhy})
	tool, server := seen(c.Tool.Name), seen(c.Tool.Server)
	for _, pins := range []struct {
		choice chat.Choice
		label  string
	}{{chat.AllowExact, render.LabelAllowExact}, {chat.AllowPath, render.LabelAllowPath}} {
		if Offers(c, pins.choice) {
			p, _ := proposal(c, pins.choice)
			if p.Dir != "" {
				pins.label = render.LabelAllowBelow(seen(p.Dir))
			}
			add(render.Choice{Choice: pins.choice, Label: pins.label, Hint: seen(p.Label), Confirm: render.ConfirmPins(tool, server, seen(p.Label))})
		}
	}
	if OffersGrant(c) {
		add(render.Choice{Choice: chat.AllowHour, Label: render.LabelAllowHour})
		add(render.Choice{Choice: chat.AllowUses, Label: render.LabelAllowUses(GrantUses)})
	}
	for _, wide := range []struct {
		choice         chat.Choice
		label, confirm string
	}{
		{chat.AllowReads, render.LabelAllowReads(server), render.ConfirmWide("reads", server)},
		{chat.AllowWrites, render.LabelAllowWrites(server), render.ConfirmWide("reads and writes", server)},
		{chat.AllowServer, render.LabelAllowServer(server), render.ConfirmServer(server)},
	} {
		if Offers(c, wide.choice) {
			add(render.Choice{Choice: wide.choice, Label: wide.label, Confirm: wide.confirm})
		}
	}
	if CanRemember(c) {
		state := render.ToggleOff
		if c.Ticked != nil {
			state = render.ToggleOn
		}
		add(render.Choice{Choice: chat.Remember, Label: render.LabelRemember, Hint: render.HintRemember, Toggle: state})
	}
	if OffersSession(c) {
		add(render.Choice{Choice: chat.AllowSession, Label: render.LabelAllowSession, Confirm: render.ConfirmSession})
	}
	for _, x := range common {
		if x.Choice != chat.ViewDetail {
			out = append(out, x)
		}
	}
	return out
}

// alsoRemembered is what has to be confirmed before an answer that allows, where somebody ticked that it is remembered: all that it then
// means.
func alsoRemembered(c ToolCall, choice chat.Choice, confirm string) string {
	if c.Ticked == nil || choice == chat.AllowUses { // which cannot be remembered, and is refused to who ticked it
		return confirm
	}
	return strings.TrimSpace(confirm + " " + render.ConfirmRemembered(nameFor(c.Ticked.User, c.Ticked.Name), seen(c.Tool.Name), seen(c.Tool.Server), rememberedWith(choice)))
}

// rememberedWith says what is remembered of an answer that allows.
func rememberedWith(choice chat.Choice) string {
	switch choice {
	case chat.AllowExact, chat.AllowPath:
		return render.RememberedSame
	case chat.AllowHour:
		return render.RememberedHour
	}
	return render.RememberedAny
}

// OffersSession reports whether "Approve all for this session" stands on the call's card.
func OffersSession(c ToolCall) bool {
	return c.Status == Awaiting && OffersGrant(c) && !c.Ruling.Changed
}

// changes tells on the card what is not as it was.
func (v viewer) changes(d *detail, c ToolCall) {
	var parts, lines []string
	for _, x := range c.Card.Changes {
		parts = append(parts, seen(x.Part))
		lines = append(lines, render.DifferenceLine(seen(x.Part), clip(x.Was, 120), clip(x.Now, 120)))
	}
	switch {
	case len(parts) > 0:
		d.strong(render.ChangedOnCard(parts))
		d.text(" " + clip(strings.Join(lines, "; "), 600))
	case c.Ruling.New && !c.Ruling.Trusted:
		d.text(" " + render.NewOnCard)
	}
}

// grantedBy names the grant that let a call run: what it was for, whose it was, and its end.
func (v viewer) grantedBy(d *detail, c ToolCall) {
	g := c.Cover
	if g == nil { // of a call that was recorded before this was kept
		g = v.s.grant(c.Grant)
	}
	if g == nil {
		d.text(render.ByEarlierGrant)
		return
	}
	d.text(render.ByGrant(grantChoice(*g))).person(g.By, g.Name)
	if !c.StartedAt.IsZero() && g.Of > 0 {
		d.text(render.UseOf(g.Of-g.Uses, g.Of))
	}
	if !g.Until.IsZero() {
		d.text(render.UntilAt).time(g.Until, true)
	}
}

// limits say what ends a grant before its chat does.
func limits(d *detail, g permission.Grant) {
	if g.Counted {
		d.text(render.UsesLeft(g.Uses))
	}
	if !g.Until.IsZero() {
		d.text(render.UntilAt).time(g.Until, true)
	}
}

// grantChoice is the choice that makes such a grant.
func grantChoice(g permission.Grant) chat.Choice {
	for choice, scope := range scopes {
		if g.Scope == scope {
			return choice
		}
	}
	switch {
	case slices.ContainsFunc(g.Pins, func(p permission.Pin) bool { return p.Match == permission.MatchUnder }):
		return chat.AllowPath
	case len(g.Pins) > 0:
		return chat.AllowExact
	case !g.Until.IsZero():
		return chat.AllowHour
	case g.Counted:
		return chat.AllowUses
	}
	return chat.AllowChat
}

// GrantWhat is what a grant allows, in words; the names inside are untrusted.
func GrantWhat(g permission.Grant) string {
	what := permission.GrantedWhat(g)
	if len(g.Pins) > 0 {
		what += " " + permission.PinsLabel(g.Pins)
	}
	return what
}

// want is the card of what a running tool's server wants of the requester. Everything in it but the words around is the server's.
func (v viewer) want(c ToolCall) render.Ask {
	w := c.Want
	token := string(w.Ask)
	a := render.Ask{
		Call: string(c.ID), Token: token, Kind: render.AskInput, Tool: seen(c.Tool.Name), Expires: v.expires(c.wait()),
		Header: render.WantHeader(seen(c.Tool.Server)), Run: render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server)),
		Server:    render.Server{Name: seen(c.Tool.Server), Description: clip(c.Card.Server, 300), Icon: clip(c.Card.Icon, 300), Trusted: c.Ruling.Trusted},
		Describes: clip(w.Want.Message, 600),
		Warning:   render.WantWarning(seen(c.Tool.Server)),
	}
	answer := render.LabelAnswer
	switch w.Want.Kind {
	case WantURL:
		answer = render.LabelOpenPage
		a.Warning = ""
	case WantSample:
		answer, a.Header = render.LabelAllowSample, render.WantSampleHeader(seen(c.Tool.Server))
		a.Warning = ""
		a.Args = render.ArgsOf(w.Want.Prompt, "")
		a.More = []render.Choice{{Choice: chat.ViewDetail, Token: token, Label: render.LabelViewDetails}}
		if w.Want.Masked() {
			a.Because = render.Line{render.Strong(render.HiddenOnCard)}
			a.Choices = []render.Choice{{Choice: chat.Reveal, Token: token, Label: render.LabelReveal}}
		}
	default:
	}
	a.Choices = append(a.Choices,
		render.Choice{Choice: chat.Answer, Token: token, Label: answer},
		render.Choice{Choice: chat.Decline, Token: token, Label: render.LabelDecline, Style: render.Danger},
	)
	var d detail
	d.person(v.t.Requester, v.requesterName()).text(render.CanAnswer)
	v.expiry(&d, c)
	a.Footer = d.line
	return a
}
