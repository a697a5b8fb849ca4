package components

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// addAsk draws the card of a call that waits for a person: what, with which arguments, and the buttons last but for the line that says
// who may press them. A row of a list has no heading, and says below its arguments which call it is.
func (s *encoder) addAsk(a render.Ask) {
	s.addSeparator()
	code, language, say, all := surface.ArgsShown(a)
	run := ""
	if a.Brief {
		run = literal(a.Run)
		s.say(subtext(literal(a.Header)), strong(a.Question))
	} else {
		s.say(subtext(literal(surface.Small(a))), heading(a.Question))
	}
	if strings.TrimSpace(a.Says) != "" {
		s.say("> " + literalWords(surface.OneLine(text.ServerSays+a.Says)))
	}
	s.say(fenced(language, code), subtext(surface.JoinParts(run, lineOf(a.Facts, nil), literal(say))))
	s.addAnswers(a, all)
	s.say(subtext(surface.JoinWords(lineOf(a.Footer, nil), literal(a.Warning), strong(a.Review))))
}

// addAnswers adds a card's buttons, and one select for what else can be done. Where there is no room, a row of a list has Show
// arguments in its select.
func (s *encoder) addAnswers(a render.Ask, all bool) {
	row, more := surface.Buttons(a, all, maxInput)
	if i := slices.IndexFunc(row, func(c render.Choice) bool { return c.Choice == chat.ViewDetail }); i >= 0 && a.Brief && s.cramped {
		more = slices.Insert(more, 0, row[i])
		row = slices.Delete(row, i, i+1)
	}
	row, more = clickable(row), clickable(more)
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
