package slack

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Buttons. A button's action_id is "nod:<choice>:<n>", n counting through the message, its value the token. What can be picked in a
// menu has but one value of its own, and a checkbox that is unticked none, so there the token stands in the action_id: behind ⋯, and in the
// select of what may be allowed further, that is "nod:more:<n>:<token>" and an option's value the choice; a checkbox is
// "nod:remember:<n>:<token>". "?" before a choice says that the person is asked once more, with a message of our own.
const (
	actionPrefix = "nod:"
	actionMore   = "more"
	askFirst     = "?"
)

// choices are those that a button may carry. Another one is none: it is not taken for a denial either.
var choices = map[chat.Choice]bool{
	chat.Deny: true, chat.AllowOnce: true, chat.AllowChat: true, chat.Undo: true, chat.Extend: true, chat.AskAgain: true,
	chat.Happened: true, chat.RunAgain: true, chat.Leave: true, chat.ViewDetail: true, chat.DenyReason: true, chat.Edit: true,
	chat.Stop: true, chat.Revoke: true, chat.ApproveAll: true, chat.DenyAll: true,
	chat.AllowExact: true, chat.AllowPath: true, chat.AllowHour: true, chat.AllowUses: true, chat.AllowReads: true, chat.AllowWrites: true,
	chat.AllowServer: true, chat.AllowSession: true, chat.AskFor: true, chat.Remember: true, chat.Why: true, chat.Reveal: true,
	chat.Answer: true, chat.Decline: true, chat.Accept: true, chat.Open: true,
}

var (
	tokenForm = regexp.MustCompile(`^[!-~]{1,64}$`)
	viewForm  = regexp.MustCompile(`^[!-~]{1,200}$`) // of a panel: [render.Panel.View]
)

// parseAction reads what a click on a button, a checkbox or a line of a menu carries. ok is false for anything that encode does not
// write. Neither choice nor token has any authority: the engine looks for an open ask that offers it.
func parseAction(a *slack.BlockAction) (choice chat.Choice, token string, ok bool) {
	id, found := strings.CutPrefix(a.ActionID, actionPrefix)
	name, n, numbered := strings.Cut(id, ":")
	n, token, inside := strings.Cut(n, ":")
	if _, err := strconv.ParseUint(n, 10, 16); err != nil || !found || !numbered {
		return "", "", false
	}
	switch {
	case name == actionMore:
		name = strings.TrimPrefix(a.SelectedOption.Value, askFirst)
		if name == string(chat.Remember) {
			return "", "", false
		}
	case name == string(chat.Remember):
	case inside:
		return "", "", false
	default:
		name, token = strings.TrimPrefix(name, askFirst), a.Value
	}
	form := tokenForm
	if choice = chat.Choice(name); choice == chat.Open {
		form = viewForm
	}
	if !choices[choice] || !form.MatchString(token) {
		return "", "", false
	}
	return choice, token, true
}

// asksFirst reports whether a person is asked once more by us: Slack's own confirmation is for a whole menu, and takes no long text.
func asksFirst(a *slack.BlockAction) bool {
	return strings.HasPrefix(a.SelectedOption.Value, askFirst) || strings.HasPrefix(a.ActionID, actionPrefix+askFirst)
}

// buttonsOf are choices and, behind ⋯, more of them. of names what they belong to where a message has several such; it is
// for screen readers.
func (s *sheet) buttonsOf(cs, more []render.Choice, of string) {
	var row []slack.BlockElement
	for _, c := range cs {
		if c.Token != "" { // without one, a click says nothing
			row = append(row, s.element(c, of))
		}
	}
	row = append(row, s.menus(more, of)...)
	for len(row) > 0 {
		n := min(len(row), maxActions)
		s.add(slack.NewActionBlock("", row[:n]...))
		row = row[n:]
	}
}

func (s *sheet) element(c render.Choice, of string) slack.BlockElement {
	if c.Toggle != render.NoToggle {
		return s.checkbox(c)
	}
	return s.button(c, of)
}

func (s *sheet) button(c render.Choice, of string) slack.BlockElement {
	s.actions++
	name, ask := string(c.Choice), dialog(c.Confirm, c.Label)
	if ask == nil && c.Confirm != "" {
		name = askFirst + name
	}
	b := slack.NewButtonBlockElement(actionPrefix+name+":"+strconv.Itoa(s.actions), c.Token, plainText(labelOf(c)))
	// Allow is never the button that stands out.
	if c.Style == render.Danger && (c.Choice == chat.Deny || c.Choice == chat.DenyAll || c.Choice == chat.DenyReason || c.Choice == chat.Decline) {
		b.Style = slack.StyleDanger
	}
	if hint := hintOf(c, of); !s.bare && hint != b.Text.Text {
		b.AccessibilityLabel = hint
	}
	b.Confirm = ask
	return b
}

// checkbox decides nothing: the engine says how it stands with the next edit.
func (s *sheet) checkbox(c render.Choice) slack.BlockElement {
	s.actions++
	box := slack.NewOptionBlockObject(string(c.Choice), plainText(labelOf(c)), nil)
	g := slack.NewCheckboxGroupsBlockElement(actionPrefix+string(c.Choice)+":"+strconv.Itoa(s.actions)+":"+c.Token, box)
	if c.Toggle == render.ToggleOn {
		g.InitialOptions = []*slack.OptionBlockObject{box}
	}
	return g
}

// menus are the choices behind ⋯, those of each token for themselves. A menu takes five; of more, what makes a standing permission is a
// select of its own: a select keeps showing what was picked and does not tell when the same is picked again, so nothing that one
// looks at twice stands there. A choice that would stand in a menu alone becomes a button.
func (s *sheet) menus(more []render.Choice, of string) (row []slack.BlockElement) {
	var boxes []slack.BlockElement
	for len(more) > 0 {
		token := more[0].Token
		var options, grants, others []render.Choice
		for _, c := range more {
			switch {
			case c.Token != token:
				others = append(others, c)
			case c.Token == "": // a click would say nothing
			case c.Toggle != render.NoToggle:
				boxes = append(boxes, s.checkbox(c))
			case turn.Grants(c.Choice) || c.Choice == chat.AllowSession:
				grants = append(grants, c)
			default:
				options = append(options, c)
			}
		}
		if len(options)+len(grants) <= maxOptions {
			options, grants = append(options, grants...), nil
		}
		for ; len(options) > 0; options = options[min(len(options), maxOptions):] {
			if len(options) < minOptions {
				row = append(row, s.button(options[0], of))
				continue
			}
			row = append(row, slack.NewOverflowBlockElement(s.menuID(token), s.options(options[:min(len(options), maxOptions)])...))
		}
		for ; len(grants) > 0; grants = grants[min(len(grants), maxSelect):] {
			list := s.options(grants[:min(len(grants), maxSelect)])
			row = append(row, slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayAllowMore), s.menuID(token), list...))
		}
		more = others
	}
	return append(row, boxes...)
}

func (s *sheet) menuID(token string) string {
	s.actions++
	return actionPrefix + actionMore + ":" + strconv.Itoa(s.actions) + ":" + token
}

func (s *sheet) options(cs []render.Choice) (list []*slack.OptionBlockObject) {
	for _, c := range cs {
		value := string(c.Choice)
		if c.Confirm != "" {
			value = askFirst + value
		}
		var hint *slack.TextBlockObject
		if say := strings.TrimSpace(oneLine(c.Hint)); say != "" && !s.bare {
			hint = plainText(surface.AtMost(say, maxLabel))
		}
		list = append(list, slack.NewOptionBlockObject(value, plainText(labelOf(c)), hint))
	}
	return list
}

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
