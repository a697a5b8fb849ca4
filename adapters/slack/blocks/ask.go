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

// addAsk draws the card of a call that waits for a person: at most six blocks, and two where it is a row of a list.
func (s *encoder) addAsk(a render.Ask) {
	code, _, say, all := surface.ArgsShown(a)
	facts := slices.Clone(a.Facts)
	if say != "" {
		if len(facts) > 0 {
			say = " · " + say
		}
		facts = append(facts, render.Plain(say))
	}
	row, more := surface.Buttons(a, all, maxInput)
	if a.Brief {
		row, more = surface.BehindDetails(a, row, more)
		s.addListed(a, code, facts)
	} else {
		s.addContext(s.smallLine(a))
		s.addHeader(a.Question)
		s.addSays(a)
		s.addPreformatted(code)
		s.addContext(contextLine(facts))
	}
	of := ""
	if s.askCount > 1 {
		of = a.Question
	}
	switch {
	case a.Brief && s.lean && len(more) == 0 && surface.Owned(a, row):
		s.addLeanRow(row, a.Token)
	case a.Brief:
		s.addChoices(row, more, of)
	default:
		row, more = s.fewer(a, row, more)
		s.addChoices(row, more, of)
	}
	s.addFoot(a)
}

// maxControls is how many are in sight of one question. What is behind Details there is offered in the details.
const maxControls = 5

// fewer brings a card's controls within that many: what grants goes to the details first, then all that is behind ⋯.
func (s *encoder) fewer(a render.Ask, row, more []render.Choice) (fewerInRow, fewerBehind []render.Choice) {
	menus := func(cs []render.Choice) int { return len((&encoder{}).encodeMenus(cs, "")) }
	if len(row)+menus(more) <= maxControls || !surface.OpensAll(a, slices.Concat(row, more)) {
		return row, more
	}
	if light := slices.DeleteFunc(slices.Clone(more), grants); len(row)+menus(light) <= maxControls {
		return row, light
	}
	return surface.BehindDetails(a, row, more)
}

// addLeanRow adds the buttons of a row of a long list. Which question they answer stands once, in the block's ID.
func (s *encoder) addLeanRow(row []render.Choice, token string) {
	var buttons []slack.BlockElement
	for _, c := range row {
		b := s.encodeButton(c, "")
		b.Value, b.AccessibilityLabel = "", ""
		buttons = append(buttons, b)
	}
	s.add(slack.NewActionBlock(token, buttons...))
}

// addListed draws a call as a row of a list: its question, which call it is with its facts, and its arguments.
func (s *encoder) addListed(a render.Ask, code string, facts render.Line) {
	if a.Header != "" {
		s.addContext([]slack.MixedElement{plainText(surface.Within(text.SymbolConfirm+" "+surface.OneLine(a.Header), maxSection))})
	}
	s.addSays(a)
	if s.lean {
		s.addLean(a, code, facts)
		return
	}
	head := render.Line{render.Strong(a.Question)}
	if a.Run != "" {
		head = append(head, render.Plain(" "+a.Run))
	}
	if len(facts) > 0 {
		head = append(append(head, render.Plain(" · ")), facts...)
	}
	var parts []slack.RichTextElement
	if line := richLine(head); len(line) > 0 {
		parts = append(parts, slack.NewRichTextSection(line...))
	}
	if code != "" {
		parts = append(parts, preformattedText(code))
	}
	if len(parts) > 0 {
		s.add(slack.NewRichTextBlock("", parts...))
	}
}

// addLean draws a row of a long list as plain text. Which calls they are, with their facts, stands above the first of those that are alike; a
// bar before each line of the arguments says that it is one, whatever stands there.
func (s *encoder) addLean(a render.Ask, code string, facts render.Line) {
	var lines []string
	if alike := surface.JoinParts(surface.OneLine(a.Run), surface.OneLine(render.PlainLine(facts))); alike != s.alike && alike != "" {
		s.alike = alike
		lines = append(lines, alike)
	}
	lines = append(lines, surface.OneLine(a.Question))
	if code != "" {
		lines = append(lines, argumentBar+strings.ReplaceAll(code, "\n", "\n"+argumentBar))
	}
	s.addPlain(strings.Join(lines, "\n"))
}

const argumentBar = "│ "

// smallLine is the line above the question, with the server's picture.
func (s *encoder) smallLine(a render.Ask) (line []slack.MixedElement) {
	if icon := strings.TrimSpace(a.Icon); !s.bare && isFetchable(icon) {
		line = append(line, slack.NewImageBlockElement(icon, sayIcon(a.Server)))
	}
	return append(line, plainText(surface.Within(surface.Small(a), maxSection)))
}

// addSays adds what a server writes, marked as its words.
func (s *encoder) addSays(a render.Ask) {
	if strings.TrimSpace(a.Says) != "" {
		s.addSection(text.ServerSays + a.Says)
	}
}

// addHeader adds a heading as plain text, so that nothing can be markup in it.
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

func (s *encoder) addQuiet(say string) {
	if say = strings.TrimSpace(surface.OneLine(say)); say != "" {
		s.addContext([]slack.MixedElement{plainText(surface.Within(say, maxSection))})
	}
}

// addPreformatted adds a call's arguments as they are, where nothing is read as markup or as words of ours.
func (s *encoder) addPreformatted(code string) {
	if code != "" {
		s.add(preformatted(code))
	}
}

// addFoot adds who can answer until when, the warning and, in bold, the call to review (R72, R73), in one small block.
func (s *encoder) addFoot(a render.Ask) {
	foot := slices.Clone(a.Footer)
	add := func(say render.Span, words string) {
		switch {
		case strings.TrimSpace(words) == "":
			return
		case len(foot) > 0:
			foot = append(foot, render.Plain(" "))
		}
		foot = append(foot, say)
	}
	add(render.Plain(a.Warning), a.Warning)
	add(render.Strong(a.Review), a.Review)
	s.addContext(contextLine(foot))
}

// isFetchable reports whether an icon is an address that Slack can reach: it fetches it when the message is posted.
func isFetchable(icon string) bool {
	return strings.HasPrefix(icon, "https://") && len(icon) <= 300 && !strings.ContainsAny(icon, " \"<>\\^`{|}…") && surface.OneLine(icon) == icon
}

// A button's action_id is "nod:<choice>:<n>", n counting through the message, its value the token; in a long list the token stands after the
// block_id of its row. A menu's is "nod:more:<n>:<token>", the value
// of each of its lines the choice, or "<choice> <token>" where it has a token of its own. "?" before a choice says that the person is asked
// once more, with a message of our own.
const (
	actionPrefix = "nod:"
	actionMore   = "more"
	actionRate   = "rate" // value: the choice and the turn
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
		var own string
		if name, own, inside = strings.Cut(strings.TrimPrefix(a.SelectedOption.Value, askFirst), " "); inside {
			token = own
		}
	case name == actionRate:
		name, token, _ = strings.Cut(a.Value, " ")
		if name != string(chat.Good) && name != string(chat.Bad) {
			return "", "", false
		}
	case name == string(chat.Remember) && inside: // a checkbox of a message from before it was a line of a menu
	case inside:
		return "", "", false
	default:
		name, token = strings.TrimPrefix(name, askFirst), a.Value
		if token == "" { // of a row of a long list
			_, token, _ = strings.Cut(a.BlockID, ":")
		}
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
		if tokenFits(c.Token) {
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

func (s *encoder) encodeButton(c render.Choice, of string) *slack.ButtonBlockElement {
	name, ask := string(c.Choice), confirmDialog(c.Confirm, c.Label)
	switch {
	case ask != nil || c.Confirm == "":
	case s.view: // all of it stands beside the button
		ask = confirmDialog(surface.AtMost(surface.OneLine(c.Confirm), maxConfirm), c.Label)
	default:
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

// encodeMenus draws the choices behind ⋯. What grants has a select of its own where a menu's five are too few: that keeps
// showing what was chosen and does not tell when it is chosen again, so nothing that one looks at twice stands there.
func (s *encoder) encodeMenus(more []render.Choice, of string) (row []slack.BlockElement) {
	more = slices.DeleteFunc(slices.Clone(more), func(c render.Choice) bool { return !tokenFits(c.Token) })
	for len(more) > 0 {
		token := more[len(more)-1].Token // a call's: the details may be those of its turn
		menuID := func() string { return actionPrefix + actionMore + ":" + s.number() + ":" + token }
		var options, allowing, others []render.Choice
		for _, c := range more {
			switch {
			case len(optionValue(c, token)) > maxOption:
				others = append(others, c)
			case grants(c):
				allowing = append(allowing, c)
			default:
				options = append(options, c)
			}
		}
		if len(options)+len(allowing) <= maxOptions {
			options, allowing = append(options, allowing...), nil
		}
		for part := range slices.Chunk(options, maxOptions) {
			if len(part) < minOptions {
				row = append(row, s.encodeButton(part[0], of))
				continue
			}
			row = append(row, slack.NewOverflowBlockElement(menuID(), s.encodeOptions(part, token)...))
		}
		for part := range slices.Chunk(allowing, maxSelect) {
			list := s.encodeOptions(part, token)
			row = append(row, slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayAllowMore), menuID(), list...))
		}
		more = others
	}
	return row
}

// grants reports whether a choice allows more than one call, or says for how long an answer holds.
func grants(c render.Choice) bool {
	return turn.Allows(c.Choice) || c.Choice == chat.AllowSession || c.Toggle != render.NoToggle
}

// optionValue is what a line of a menu with a token says when it is picked.
func optionValue(c render.Choice, token string) string {
	value := string(c.Choice)
	if c.Confirm != "" {
		value = askFirst + value
	}
	if c.Token != token {
		value += " " + c.Token
	}
	return value
}

func (s *encoder) encodeOptions(cs []render.Choice, token string) (list []*slack.OptionBlockObject) {
	for _, c := range cs {
		var hint *slack.TextBlockObject
		if !s.bare {
			hint = hintText(c.Hint, maxLabel)
		}
		list = append(list, slack.NewOptionBlockObject(optionValue(c, token), plainText(buttonLabel(c)), hint))
	}
	return list
}

// buttonLabel is never empty: Slack refuses a button without a text.
func buttonLabel(c render.Choice) string {
	return surface.Label(surface.Boxes[c.Toggle]+c.Label, maxLabel, surface.Label(strings.ReplaceAll(string(c.Choice), "_", " "), maxLabel, "…"))
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
