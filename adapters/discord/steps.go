package discord

import (
	"strings"

	"github.com/nodhq/nod/core/render"
)

// steps draws a run of tool calls, a quiet line for each, and below them the buttons that still mean something.
func (s *sheet) steps(run []render.Step) {
	s.below()
	var side []render.Choice
	for _, step := range run {
		s.say(stepLine(step))
		for _, c := range step.Choices {
			if t := oneLine(step.Title); t != "" { // several may say "Undo"
				c.Label += " · " + t
			}
			side = append(side, c)
		}
	}
	s.besides(side)
}

// stepLine is one call's line: "✓ read_file · files · 0.2 s". A word says how it stands where mark and detail could be misread.
func stepLine(step render.Step) string {
	detail := lineOf(step.Detail, nil)
	word := ""
	if step.State == render.StepFailed || detail == "" {
		word = render.MarkWord(step.State)
	}
	return subtext(render.Mark(step.State) + " " + joined(literalWords(oneLine(step.Title)), literalWords(oneLine(step.Server)), word, detail))
}

// joined are the parts that there are, with a dot between them.
func joined(parts ...string) string {
	var say []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			say = append(say, p)
		}
	}
	return strings.Join(say, " · ")
}
