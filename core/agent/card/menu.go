package card

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// maxHint is what certainly fits below a line of a menu.
const maxHint = 70

// menu is what stands behind ⋯ of a card. Each line says exactly what it grants, or asks for a confirmation that does.
func (v viewer) menu(c turn.ToolCall) (out []render.Choice) {
	tool, server := text.Inline(c.Tool.Name), text.Inline(c.Tool.Server)
	add := func(offered bool, choice chat.Choice, label, hint, confirm string) {
		if !offered {
			return
		}
		x := render.NewChoice(choice, string(c.Ask))
		x.Label, x.Hint, x.Confirm = cmp.Or(label, x.Label), hint, confirm
		if turn.Allows(choice) {
			x.Confirm = confirmRemembered(c, choice, confirm)
		}
		if choice == chat.Edit {
			x.Fills = len(utf16.Encode([]rune(text.EscapeJSON(string(c.Args)))))
		}
		if choice == chat.Remember {
			if x.Toggle = render.ToggleOff; c.Ticked != nil {
				x.Toggle = render.ToggleOn
			}
		}
		out = append(out, x)
	}
	add(true, chat.ViewDetail, "", "", "")
	add(turn.CanEdit(c), chat.Edit, "", "", "")
	add(true, chat.DenyReason, "", "", "")
	add(!c.Deadline.IsZero(), chat.Extend, "", "", "")
	for _, choice := range []chat.Choice{chat.AllowExact, chat.AllowPath} {
		if turn.Offers(c, choice) {
			p, _ := turn.PinsFor(c, choice)
			label, what := "", text.Inline(p.Label)
			if p.Dir != "" {
				label = text.LabelAllowBelow(text.Inline(p.Dir))
			}
			confirm := ""
			if utf8.RuneCountInString(what) > maxHint { // else the line says all of it
				confirm = text.ConfirmPins(tool, server, what)
			}
			add(true, choice, label, what, confirm)
		}
	}
	add(turn.OffersGrant(c), chat.AllowHour, "", "", "")
	add(turn.OffersGrant(c) && c.Ticked == nil, chat.AllowUses, text.LabelAllowUses(turn.GrantUses), "", "")
	if turn.Offers(c, chat.AllowReads) && !c.Card.Reads {
		out = append(out, allowReads(c))
	}
	add(turn.Offers(c, chat.AllowWrites), chat.AllowWrites, text.LabelAllowWrites(server), "", text.ConfirmWide("reads and writes", server))
	add(turn.Offers(c, chat.AllowServer), chat.AllowServer, v.allServer(c), "", text.ConfirmServer(server))
	add(turn.Offers(c, chat.AllowChannel), chat.AllowChannel, "", "", text.ConfirmChannel(tool, server, c.Ruling.Channel))
	add(turn.CanRemember(c), chat.Remember, "", text.HintRemember, "")
	add(turn.OffersSession(c), chat.AllowSession, v.allSession(c), "", text.ConfirmSession)
	return out
}

// allServer says who can give it where that is fewer than can answer: with a dangerous tool only an admin's grant covers the call.
func (v viewer) allServer(c turn.ToolCall) string {
	label := text.LabelAllowServer(text.Inline(c.Tool.Server))
	if c.Ruling.Risk == permission.Dangerous {
		return text.OnlyFor([]string{text.AnAdmin}, label)
	}
	return label
}

// allSession says who can turn asking off, where others can answer the call, too.
func (v viewer) allSession(c turn.ToolCall) string {
	owner := []string{v.name(v.s.Began)}
	if v.s.Began.IsZero() || len(c.Card.Who) == 0 && v.s.Began == v.t.Requester || slices.Equal(c.Card.Who, owner) {
		return text.LabelAllowSession
	}
	return text.OnlyFor(append(owner, text.AnAdmin), text.LabelAllowSession)
}

// confirmRemembered is what has to be confirmed before an answer that allows, where somebody ticked that it is remembered: all that it
// then means.
func confirmRemembered(c turn.ToolCall, choice chat.Choice, confirm string) string {
	if c.Ticked == nil {
		return confirm
	}
	return strings.TrimSpace(confirm + " " + text.ConfirmRemembered(nameFor(c.Ticked.User, c.Ticked.Name), text.Inline(c.Tool.Name), text.Inline(c.Tool.Server), rememberedWith(c, choice)))
}

// rememberedWith says what is remembered of an answer that allows.
func rememberedWith(c turn.ToolCall, choice chat.Choice) string {
	if turn.ScopeOf(choice) != permission.ScopeTool && turn.ScopeOf(choice) <= c.Ruling.Keeps {
		return text.RememberedWide
	}
	switch choice {
	case chat.AllowExact, chat.AllowPath:
		return text.RememberedSame
	case chat.AllowHour:
		return text.RememberedHour
	}
	return text.RememberedAny
}

// changes tells on the card what is not as it was.
func changes(d *line, c turn.ToolCall) {
	var parts, lines []string
	for _, x := range c.Card.Changes {
		parts = append(parts, text.Inline(x.Part))
		lines = append(lines, text.DifferenceLine(text.Inline(x.Part), text.Clip(x.Was, 120), text.Clip(x.Now, 120)))
	}
	if len(parts) > 0 {
		d.sep().strong(text.ChangedOnCard(parts)).text(" " + text.Clip(strings.Join(lines, "; "), 600))
	}
}
