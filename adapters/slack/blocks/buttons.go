package blocks

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
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

// maxToken is how long a token may be, that of a panel's view included. It has to go into an action_id, too.
const maxToken = 200

var (
	tokenForm = regexp.MustCompile(`^[!-~]{1,64}$`)
	viewForm  = regexp.MustCompile(`^[!-~]{1,200}$`) // of a panel: [render.Panel.View]
)

// ParseAction reads what a click on a button, a checkbox or a line of a menu carries. ok is false for anything that EncodeMessage does not
// write. Neither choice nor token has any authority: the engine looks for an open ask that offers it.
func ParseAction(a *slack.BlockAction) (choice chat.Choice, token string, ok bool) {
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
	if !text.IsChoice(choice) || !form.MatchString(token) {
		return "", "", false
	}
	return choice, token, true
}

// AsksFirst reports whether a person is asked once more by us: Slack's own confirmation is for a whole menu, and takes no long text.
func AsksFirst(a *slack.BlockAction) bool {
	return strings.HasPrefix(a.SelectedOption.Value, askFirst) || strings.HasPrefix(a.ActionID, actionPrefix+askFirst)
}

// addChoices adds the buttons of choices and, behind ⋯, more of them. of names what they belong to where a message has several such; it is
// for screen readers.
func (s *encoder) addChoices(cs, more []render.Choice, of string) {
	var row []slack.BlockElement
	for _, c := range cs {
		if tokenFits(c.Token) {
			row = append(row, s.encodeChoice(c, of))
		}
	}
	row = append(row, s.encodeMenus(more, of)...)
	s.addButtons(row)
}

// tokenFits reports whether a click could be read back: without a token it says nothing, and a longer one is nobody's.
func tokenFits(token string) bool { return token != "" && len(token) <= maxToken }

func (s *encoder) encodeChoice(c render.Choice, of string) slack.BlockElement {
	if c.Toggle != render.NoToggle {
		return s.encodeCheckbox(c)
	}
	return s.encodeButton(c, of)
}

func (s *encoder) encodeButton(c render.Choice, of string) slack.BlockElement {
	s.actions++
	name, ask := string(c.Choice), confirmDialog(c.Confirm, c.Label)
	if ask == nil && c.Confirm != "" {
		name = askFirst + name
	}
	b := slack.NewButtonBlockElement(actionPrefix+name+":"+strconv.Itoa(s.actions), c.Token, plainText(buttonLabel(c)))
	if render.StandsOut(c) {
		b.Style = slack.StyleDanger
	}
	if hint := buttonHint(c, of); !s.bare && hint != b.Text.Text {
		b.AccessibilityLabel = hint
	}
	b.Confirm = ask
	return b
}

// encodeCheckbox draws a choice that toggles. Ticking decides nothing: the engine says how it stands with the next edit.
func (s *encoder) encodeCheckbox(c render.Choice) slack.BlockElement {
	s.actions++
	box := slack.NewOptionBlockObject(string(c.Choice), plainText(buttonLabel(c)), nil)
	g := slack.NewCheckboxGroupsBlockElement(actionPrefix+string(c.Choice)+":"+strconv.Itoa(s.actions)+":"+c.Token, box)
	if c.Toggle == render.ToggleOn {
		g.InitialOptions = []*slack.OptionBlockObject{box}
	}
	return g
}

// encodeMenus draws the choices behind ⋯, those of each token for themselves. A menu takes five; of more, what makes a standing permission is a
// select of its own: a select keeps showing what was picked and does not tell when the same is picked again, so nothing that one
// looks at twice stands there. A choice that would stand in a menu alone becomes a button.
func (s *encoder) encodeMenus(more []render.Choice, of string) (row []slack.BlockElement) {
	var boxes []slack.BlockElement
	for len(more) > 0 {
		token := more[0].Token
		var options, grants, others []render.Choice
		for _, c := range more {
			switch {
			case c.Token != token:
				others = append(others, c)
			case !tokenFits(c.Token):
			case c.Toggle != render.NoToggle:
				boxes = append(boxes, s.encodeCheckbox(c))
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
				row = append(row, s.encodeButton(options[0], of))
				continue
			}
			row = append(row, slack.NewOverflowBlockElement(s.nextMenuID(token), s.encodeOptions(options[:min(len(options), maxOptions)])...))
		}
		for ; len(grants) > 0; grants = grants[min(len(grants), maxSelect):] {
			list := s.encodeOptions(grants[:min(len(grants), maxSelect)])
			row = append(row, slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayAllowMore), s.nextMenuID(token), list...))
		}
		more = others
	}
	return append(row, boxes...)
}

func (s *encoder) nextMenuID(token string) string {
	s.actions++
	return actionPrefix + actionMore + ":" + strconv.Itoa(s.actions) + ":" + token
}

func (s *encoder) encodeOptions(cs []render.Choice) (list []*slack.OptionBlockObject) {
	for _, c := range cs {
		value := string(c.Choice)
		if c.Confirm != "" {
			value = askFirst + value
		}
		var hint *slack.TextBlockObject
		if !s.bare {
			hint = hintText(c.Hint, maxLabel)
		}
		list = append(list, slack.NewOptionBlockObject(value, plainText(buttonLabel(c)), hint))
	}
	return list
}

// buttonLabel is never empty: Slack refuses a button without a text.
func buttonLabel(c render.Choice) string {
	return surface.Label(c.Label, maxLabel, surface.Label(strings.ReplaceAll(string(c.Choice), "_", " "), maxLabel, "…"))
}

func buttonHint(c render.Choice, of string) string {
	switch {
	case strings.TrimSpace(c.Hint) != "":
		return surface.AtMost(surface.OneLine(c.Hint), maxLabel)
	case of != "":
		return surface.AtMost(buttonLabel(c)+": "+surface.OneLine(of), maxLabel)
	}
	return buttonLabel(c)
}
