package card

import (
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// more is what stands behind ⋯ of a card. Each line says exactly what it grants, or asks for a confirmation that does.
func (v viewer) more(c turn.ToolCall, common []render.Choice) []render.Choice {
	token := string(c.Ask)
	var out []render.Choice
	add := func(x render.Choice) {
		x.Token = token
		if turn.Grants(x.Choice) {
			x.Confirm = alsoRemembered(c, x.Choice, x.Confirm)
		}
		out = append(out, x)
	}
	add(render.NewChoice(chat.DenyReason, token))
	if turn.CanEdit(c) {
		add(render.NewChoice(chat.Edit, token))
	}
	for _, x := range common {
		if x.Choice == chat.ViewDetail {
			out = append(out, x)
		}
	}
	add(render.NewChoice(chat.Why, token))
	tool, server := text.Inline(c.Tool.Name), text.Inline(c.Tool.Server)
	for _, pins := range []struct {
		choice chat.Choice
		label  string
	}{{chat.AllowExact, text.LabelAllowExact}, {chat.AllowPath, text.LabelAllowPath}} {
		if turn.Offers(c, pins.choice) {
			p, _ := turn.PinsFor(c, pins.choice)
			if p.Dir != "" {
				pins.label = text.LabelAllowBelow(text.Inline(p.Dir))
			}
			add(render.Choice{Choice: pins.choice, Label: pins.label, Hint: text.Inline(p.Label), Confirm: text.ConfirmPins(tool, server, text.Inline(p.Label))})
		}
	}
	if turn.OffersGrant(c) {
		add(render.NewChoice(chat.AllowHour, token))
		add(render.Choice{Choice: chat.AllowUses, Label: text.LabelAllowUses(turn.GrantUses)})
	}
	for _, wide := range []struct {
		choice         chat.Choice
		label, confirm string
	}{
		{chat.AllowReads, text.LabelAllowReads(server), text.ConfirmWide("reads", server)},
		{chat.AllowWrites, text.LabelAllowWrites(server), text.ConfirmWide("reads and writes", server)},
		{chat.AllowServer, text.LabelAllowServer(server), text.ConfirmServer(server)},
	} {
		if turn.Offers(c, wide.choice) {
			add(render.Choice{Choice: wide.choice, Label: wide.label, Confirm: wide.confirm})
		}
	}
	if turn.CanRemember(c) {
		state := render.ToggleOff
		if c.Ticked != nil {
			state = render.ToggleOn
		}
		add(render.Choice{Choice: chat.Remember, Label: text.LabelRemember, Hint: text.HintRemember, Toggle: state})
	}
	if turn.OffersSession(c) {
		add(render.Choice{Choice: chat.AllowSession, Label: text.LabelAllowSession, Confirm: text.ConfirmSession})
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
func alsoRemembered(c turn.ToolCall, choice chat.Choice, confirm string) string {
	if c.Ticked == nil || choice == chat.AllowUses { // which cannot be remembered, and is refused to who ticked it
		return confirm
	}
	return strings.TrimSpace(confirm + " " + text.ConfirmRemembered(nameFor(c.Ticked.User, c.Ticked.Name), text.Inline(c.Tool.Name), text.Inline(c.Tool.Server), rememberedWith(choice)))
}

// rememberedWith says what is remembered of an answer that allows.
func rememberedWith(choice chat.Choice) string {
	switch choice {
	case chat.AllowExact, chat.AllowPath:
		return text.RememberedSame
	case chat.AllowHour:
		return text.RememberedHour
	}
	return text.RememberedAny
}

// changes tells on the card what is not as it was.
func (v viewer) changes(d *detail, c turn.ToolCall) {
	var parts, lines []string
	for _, x := range c.Card.Changes {
		parts = append(parts, text.Inline(x.Part))
		lines = append(lines, text.DifferenceLine(text.Inline(x.Part), text.Clip(x.Was, 120), text.Clip(x.Now, 120)))
	}
	switch {
	case len(parts) > 0:
		d.strong(text.ChangedOnCard(parts))
		d.text(" " + text.Clip(strings.Join(lines, "; "), 600))
	case c.Ruling.New && !c.Ruling.Trusted:
		d.text(" " + text.NewOnCard)
	}
}
