package components

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// addAsk draws the card of a call that waits for a person: what, with which arguments, why, the warning, and the buttons last but
// for the line that says who may press them.
func (s *encoder) addAsk(a render.Ask) {
	s.addSeparator()
	if h := strings.TrimSpace(surface.OneLine(a.Header)); h != "" {
		s.say("### " + literal(h))
	}
	s.say(literal(a.Run), factLine(a.Facts))
	if a.Kind == render.AskInput && strings.TrimSpace(a.Describes) != "" { // what is asked: nobody could answer without it
		s.say("> " + literalWords(surface.OneLine(text.ServerSays+a.Describes)))
		a.Describes = ""
	}
	s.addArguments(a.Args)
	s.say(literal(a.Question), literal(a.Impact), lineOf(a.Because, nil))
	s.addServer(a)
	s.say(literal(a.Warning), strong(a.Review))
	s.addAnswers(a)
	s.say(subtext(lineOf(a.Footer, nil)))
}

func factLine(fs []render.Fact) string {
	var say []string
	for _, f := range fs {
		say = append(say, strings.TrimSpace(literalWords(surface.OneLine(f.Symbol)+" "+surface.OneLine(f.Label))))
	}
	return lineStart(surface.JoinParts(say...))
}

// Lines that are shown of arguments that are not short.
const (
	headLines = 18
	tailLines = 6
)

// addArguments adds a call's arguments as code, where nothing that they say is read as markup or as words of ours.
func (s *encoder) addArguments(a render.Args) {
	lines := ""
	if rows := surface.RowsText(a); rows != "" {
		s.say(fenced("", rows))
	} else if a.JSON != "{}" {
		a.JSON, lines = fewerLines(&a)
		s.say(fenced("json", a.JSON))
	}
	say := a.Say()
	if a.Hidden > 0 {
		say = surface.JoinParts(lines, say, text.LabelShowArguments)
	}
	s.say(subtext(literal(say)))
}

// fewerLines keeps the head and the tail of arguments with many lines, and says how many there are. What it leaves out counts as
// hidden.
func fewerLines(a *render.Args) (shown, say string) {
	lines := strings.Split(a.JSON, "\n")
	if len(lines) <= headLines+tailLines+1 {
		return a.JSON, ""
	}
	out := lines[headLines : len(lines)-tailLines]
	if slices.ContainsFunc(out, func(l string) bool { return strings.HasPrefix(l, "… ") }) {
		return a.JSON, "" // Fit cut it already, and its words must stand
	}
	a.Hidden += utf8.RuneCountInString(strings.Join(out, "\n"))
	kept := slices.Concat(lines[:headLines], []string{sayMoreLines(len(out))}, lines[len(lines)-tailLines:])
	return strings.Join(kept, "\n"), sayLines(headLines+tailLines, len(lines))
}

// addServer says what is known of who asks. What a server or a model says of itself is marked as such.
func (s *encoder) addServer(a render.Ask) {
	if a.Server.Name != "" && !s.bare {
		icon := strings.TrimSpace(surface.OneLine(a.Server.Icon))
		if icon == "" || surface.Width(icon) > 8 || strings.Contains(icon, ":") { // no emoji. An address is never drawn: Discord would fetch it
			icon = surface.SayNoIcon
		}
		s.say(subtext(literal(icon + " " + surface.SayServer(a.Server))))
	}
	said := func(who, what string) {
		if strings.TrimSpace(what) != "" {
			s.say(subtext(literal(who + what)))
		}
	}
	if s.asks == 1 { // of several, it is a click away
		said(text.ServerSays, a.Server.Description)
		said(text.ServerSays, a.Describes)
	}
	said(text.ModelSays, a.Model)
}

// addAnswers adds a card's buttons, Show arguments and checkboxes the last of them, and one select for what else can be done.
func (s *encoder) addAnswers(a render.Ask) {
	row, more := clickable(a.Choices), clickable(a.More)
	isBox := func(c render.Choice) bool { return c.Toggle != render.NoToggle }
	ticks := slices.DeleteFunc(slices.Clone(more), func(c render.Choice) bool { return !isBox(c) })
	more = slices.DeleteFunc(more, isBox)
	isView := func(c render.Choice) bool { return c.Choice == chat.ViewDetail }
	if i := slices.IndexFunc(more, isView); i >= 0 && !slices.ContainsFunc(row, isView) {
		row, more = append(row, more[i]), slices.Delete(more, i, i+1)
	}
	for i, c := range row {
		if isView(c) && a.Kind != render.AskInput {
			row[i].Label = text.LabelShowArguments
		}
	}
	row = append(row, ticks...)
	if len(more) == 1 && len(row)%maxRow != 0 { // a select for one line would be one click too many
		row, more = append(row, more[0]), nil
	}
	s.addButtons(row)
	salt, name := "", "ask"
	if tokenForm.MatchString(a.Token) {
		name = a.Token
	}
	if at := a.Expires.Unix(); at > 0 { // after "+5 min" it can be picked again
		salt = strconv.FormatInt(at, 10)
	}
	s.addSelects(more, sayMore, name, salt)
}

// addSteps draws a run of tool calls, a quiet line for each, and below them the buttons that still mean something.
func (s *encoder) addSteps(run []render.Step) {
	s.setApart()
	var side []render.Choice
	for _, step := range run {
		s.say(stepLine(step))
		for _, c := range step.Choices {
			if t := surface.OneLine(step.Title); t != "" { // several may say "Undo"
				c.Label += " · " + t
			}
			side = append(side, c)
		}
	}
	s.addChoices(side)
}

// stepLine is one call's line: "✓ read_file · files · 0.2 s". A word says how it stands where mark and detail could be misread.
func stepLine(step render.Step) string {
	detail := lineOf(step.Detail, nil)
	word := ""
	if step.State == render.StepFailed || detail == "" {
		word = render.MarkWord(step.State)
	}
	return subtext(render.Mark(step.State) + " " + surface.JoinParts(literalWords(surface.OneLine(step.Title)), literalWords(surface.OneLine(step.Server)), word, detail))
}
