package blocks

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// addAsk draws the card of a call that waits for a person, apart from what only tells.
func (s *encoder) addAsk(a render.Ask) {
	if len(s.blocks) > 0 {
		s.add(slack.NewDividerBlock())
	}
	s.addHeader(a.Header)
	s.addSection(a.Run, factLine(a.Facts))
	s.addArguments(a.Args)
	s.addSection(a.Question, a.Impact)
	if a.Kind == render.AskInput { // it is about the words below
		s.addWarning(a)
		a.Warning, a.Review = "", ""
	}
	s.addReasons(a)
	s.addWarning(a)
	of := ""
	if s.askCount > 1 {
		of = a.Run
	}
	s.addChoices(a.Choices, a.More, of)
	s.addContext(contextLine(a.Footer))
}

// addHeader adds a heading as plain text, so that no name of a server can be markup in it.
func (s *encoder) addHeader(h string) {
	h = strings.TrimSpace(surface.OneLine(h))
	switch {
	case h == "":
	case surface.Width(h) <= maxHeader:
		s.add(slack.NewHeaderBlock(plainText(h)))
	default:
		s.addSection(h)
	}
}

func factLine(fs []render.Fact) string {
	var say []string
	for _, f := range fs {
		say = append(say, strings.TrimSpace(surface.OneLine(f.Symbol)+" "+surface.OneLine(f.Label)))
	}
	return surface.JoinParts(say...)
}

// addArguments adds a call's arguments as code, where nothing is read as markup or as words of ours: short ones at once, all in a
// container.
func (s *encoder) addArguments(a render.Args) {
	say := a.Say()
	if rows := surface.RowsText(a); rows != "" {
		s.addFences(rows)
		if s.terse { // they were just shown
			s.addQuiet(say)
			return
		}
	}
	inside := fences(a.JSON)
	if a.JSON == "{}" || len(inside) == 0 {
		s.addQuiet(say)
		return
	}
	if len(inside) > maxChildren { // EncodeMessage draws less
		inside, s.over = inside[:maxChildren], true
	}
	box := slack.NewContainerBlock(inside...).WithTitle(plainText(surface.AtMost(surface.SayArguments(a), maxHeader))).WithCollapsible(true, true)
	if say != "" && surface.Width(say) <= maxSubtitle {
		box.WithSubtitle(plainText(say))
		say = ""
	}
	s.add(box)
	s.addQuiet(say)
}

func (s *encoder) addQuiet(say string) {
	if say = strings.TrimSpace(surface.OneLine(say)); say != "" {
		s.addContext([]slack.MixedElement{plainText(surface.Within(say, maxSection))})
	}
}

// addReasons says why somebody is asked, and by whom. What a server or a model says of itself is marked as such.
func (s *encoder) addReasons(a render.Ask) {
	s.addContext(contextLine(a.Because))
	var line []slack.MixedElement
	say := surface.SayServer(a.Server)
	switch icon := strings.TrimSpace(a.Server.Icon); {
	case s.bare || a.Server.Name == "":
		say = ""
	case isFetchable(icon):
		line = append(line, slack.NewImageBlockElement(icon, sayIcon(a.Server)))
	case icon != "" && surface.Width(icon) <= 8 && !strings.Contains(icon, ":"): // an emoji
		say = surface.OneLine(icon) + " " + say
	default:
		say = surface.SayNoIcon + " " + say
	}
	quote := func(who, what string) string {
		if strings.TrimSpace(what) == "" {
			return ""
		}
		return who + what
	}
	say = joinLines(say, quote(text.ServerSays, a.Server.Description), quote(text.ServerSays, a.Describes), quote(text.ModelSays, a.Model))
	if say != "" {
		line = append(line, plainText(surface.Within(say, maxSection)))
	}
	s.addContext(line)
}

// isFetchable reports whether an icon is an address that Slack can reach: it fetches it when the message is posted.
func isFetchable(icon string) bool {
	return strings.HasPrefix(icon, "https://") && len(icon) <= 300 && !strings.ContainsAny(icon, " \"<>\\^`{|}…") && surface.OneLine(icon) == icon
}

const warningRoom = 400 // leaves room for escapes: with the review line, it may grow fivefold

// addWarning adds the warning and, in bold, the call to review (R72, R73).
func (s *encoder) addWarning(a render.Ask) {
	if say := strings.Trim(unmarked(a.Warning, warningRoom)+"\n"+bold(a.Review), "\n"); say != "" {
		s.add(slack.NewSectionBlock(mrkdwnText(say), nil, nil))
	}
}

// A button's action_id is "nod:<choice>:<n>", n counting through the message, its value the token. What can be picked in a menu has but one
// value of its own, and a checkbox that is unticked none, so there the token stands in the action_id: "nod:more:<n>:<token>" with the
// choice as an option's value, or "nod:remember:<n>:<token>". "?" before a choice says that the person is asked once more, with a message
// of our own.
const (
	actionPrefix = "nod:"
	actionMore   = "more"
	askFirst     = "?"
)

const maxToken = 200 // how long a token may be, that of a panel's view included. It has to go into an action_id, too.

var (
	tokenForm = regexp.MustCompile(`^[!-~]{1,64}$`)
	viewForm  = regexp.MustCompile(`^[!-~]{1,200}$`) // of a panel: [render.Panel.View]
)

// ParseAction reads what a click on a button, a checkbox or a line of a menu says. ok is false for what EncodeMessage does not write.
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

// addChoices adds the buttons of choices and, behind ⋯, more of them. of names, for screen readers, what they belong to where there are
// several.
func (s *encoder) addChoices(cs, more []render.Choice, of string) {
	var row []slack.BlockElement
	for _, c := range cs {
		switch {
		case !tokenFits(c.Token):
		case c.Toggle != render.NoToggle:
			row = append(row, s.encodeCheckbox(c))
		default:
			row = append(row, s.encodeButton(c, of))
		}
	}
	row = append(row, s.encodeMenus(more, of)...)
	s.addButtons(row)
}

// tokenFits reports whether a click could be read back: without a token it says nothing, and a longer one is nobody's.
func tokenFits(token string) bool { return token != "" && len(token) <= maxToken }

// number counts what can be clicked.
func (s *encoder) number() string {
	s.actions++
	return strconv.Itoa(s.actions)
}

func (s *encoder) encodeButton(c render.Choice, of string) slack.BlockElement {
	name, ask := string(c.Choice), confirmDialog(c.Confirm, c.Label)
	if ask == nil && c.Confirm != "" {
		name = askFirst + name
	}
	b := slack.NewButtonBlockElement(actionPrefix+name+":"+s.number(), c.Token, plainText(buttonLabel(c)))
	if render.StandsOut(c) {
		b.Style = slack.StyleDanger
	}
	if hint := hintOf(c.Hint, b.Text.Text, of); !s.bare && hint != b.Text.Text {
		b.AccessibilityLabel = hint
	}
	b.Confirm = ask
	return b
}

// encodeCheckbox draws a choice that toggles. Ticking decides nothing: the engine says how it stands with the next edit.
func (s *encoder) encodeCheckbox(c render.Choice) slack.BlockElement {
	box := slack.NewOptionBlockObject(string(c.Choice), plainText(buttonLabel(c)), nil)
	g := slack.NewCheckboxGroupsBlockElement(actionPrefix+string(c.Choice)+":"+s.number()+":"+c.Token, box)
	if c.Toggle == render.ToggleOn {
		g.InitialOptions = []*slack.OptionBlockObject{box}
	}
	return g
}

// encodeMenus draws the choices behind ⋯, by their tokens. What grants has a select of its own where a menu's five are too few: that keeps
// showing what was chosen and does not tell when it is chosen again, so nothing that one looks at twice stands there.
func (s *encoder) encodeMenus(more []render.Choice, of string) (row []slack.BlockElement) {
	var boxes []slack.BlockElement
	for len(more) > 0 {
		token := more[0].Token
		menuID := func() string { return actionPrefix + actionMore + ":" + s.number() + ":" + token }
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
		for part := range slices.Chunk(options, maxOptions) {
			if len(part) < minOptions {
				row = append(row, s.encodeButton(part[0], of))
				continue
			}
			row = append(row, slack.NewOverflowBlockElement(menuID(), s.encodeOptions(part)...))
		}
		for part := range slices.Chunk(grants, maxSelect) {
			list := s.encodeOptions(part)
			row = append(row, slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayAllowMore), menuID(), list...))
		}
		more = others
	}
	return append(row, boxes...)
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

// hintOf is what screen readers say of a button: its hint, or what it belongs to where several say the same.
func hintOf(hint, label, of string) string {
	switch {
	case strings.TrimSpace(hint) != "":
		return surface.AtMost(strings.TrimSpace(surface.OneLine(hint)), maxLabel)
	case of != "":
		return surface.AtMost(label+": "+surface.OneLine(of), maxLabel)
	}
	return label
}
