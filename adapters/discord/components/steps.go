package components

import (
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

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
