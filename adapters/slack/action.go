package slack

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Buttons. A button's action_id is "nod:<choice>:<n>", n counting through the message, its value the token. Behind ⋯ the
// action_id is "nod:more:<n>" and an option's value "<choice> <token>".
const (
	actionPrefix = "nod:"
	actionMore   = "more"
)

// choices are those that a button may carry. Another one is none: it is not taken for a denial either.
var choices = map[chat.Choice]bool{
	chat.Deny: true, chat.AllowOnce: true, chat.AllowChat: true, chat.Undo: true, chat.Extend: true, chat.AskAgain: true,
	chat.Happened: true, chat.RunAgain: true, chat.Leave: true, chat.ViewDetail: true, chat.DenyReason: true, chat.Edit: true,
	chat.Stop: true, chat.Revoke: true, chat.ApproveAll: true, chat.DenyAll: true,
}

var tokenForm = regexp.MustCompile(`^[!-~]{1,64}$`)

// parseAction reads what a click on a button, or on a line behind ⋯, carries. ok is false for anything that encode does not
// write. Neither choice nor token has any authority: the engine looks for an open ask that offers it.
func parseAction(a *slack.BlockAction) (choice chat.Choice, token string, ok bool) {
	name, n, found := strings.Cut(strings.TrimPrefix(a.ActionID, actionPrefix), ":")
	if _, err := strconv.ParseUint(n, 10, 16); !found || err != nil || !strings.HasPrefix(a.ActionID, actionPrefix) {
		return "", "", false
	}
	choice, token = chat.Choice(name), a.Value
	if name == actionMore {
		name, token, _ = strings.Cut(a.SelectedOption.Value, " ")
		choice = chat.Choice(name)
	}
	if !choices[choice] || !tokenForm.MatchString(token) {
		return "", "", false
	}
	return choice, token, true
}

// buttonsOf are choices and, behind ⋯, more of them. of names what they belong to where a message has several such; it is
// for screen readers.
func (s *sheet) buttonsOf(cs, more []render.Choice, of string) {
	var row []slack.BlockElement
	for _, c := range cs {
		if c.Token != "" { // without one, a click says nothing
			row = append(row, s.button(c, of))
		}
	}
	row = append(row, s.menus(more, of)...)
	for len(row) > 0 {
		n := min(len(row), maxActions)
		s.add(slack.NewActionBlock("", row[:n]...))
		row = row[n:]
	}
}

func (s *sheet) button(c render.Choice, of string) slack.BlockElement {
	s.actions++
	b := slack.NewButtonBlockElement(actionPrefix+string(c.Choice)+":"+strconv.Itoa(s.actions), c.Token, plainText(labelOf(c)))
	// Allow is never the button that stands out.
	if c.Style == render.Danger && (c.Choice == chat.Deny || c.Choice == chat.DenyAll || c.Choice == chat.DenyReason) {
		b.Style = slack.StyleDanger
	}
	if hint := hintOf(c, of); !s.bare && hint != b.Text.Text {
		b.AccessibilityLabel = hint
	}
	return b
}

// menus are the choices behind ⋯: one menu, or several where there are more than it takes. A choice that does not fit one, or
// would stand in it alone, becomes a button.
func (s *sheet) menus(more []render.Choice, of string) (row []slack.BlockElement) {
	var options []render.Choice
	for _, c := range more {
		if c.Token == "" {
			continue
		}
		if surface.Width(optionValue(c)) > maxOption {
			row = append(row, s.button(c, of))
		} else {
			options = append(options, c)
		}
	}
	for len(options) > 0 {
		n := min(len(options), maxOptions)
		if n < minOptions {
			row = append(row, s.button(options[0], of))
			break
		}
		var list []*slack.OptionBlockObject
		for _, c := range options[:n] {
			list = append(list, slack.NewOptionBlockObject(optionValue(c), plainText(labelOf(c)), nil))
		}
		s.actions++
		row = append(row, slack.NewOverflowBlockElement(actionPrefix+actionMore+":"+strconv.Itoa(s.actions), list...))
		options = options[n:]
	}
	return row
}

func optionValue(c render.Choice) string { return string(c.Choice) + " " + c.Token }

// labelOf is never empty: Slack refuses a button without a text.
func labelOf(c render.Choice) string {
	label := strings.TrimSpace(surface.AtMost(oneLine(c.Label), maxLabel))
	if label == "" {
		label = surface.AtMost(strings.ReplaceAll(string(c.Choice), "_", " "), maxLabel)
	}
	if label == "" {
		label = "…"
	}
	return label
}

func hintOf(c render.Choice, of string) string {
	switch {
	case strings.TrimSpace(c.Hint) != "":
		return surface.AtMost(oneLine(c.Hint), maxLabel)
	case of != "":
		return surface.AtMost(labelOf(c)+": "+oneLine(of), maxLabel)
	}
	return labelOf(c)
}
