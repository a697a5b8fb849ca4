package blocks

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// addSteps draws a run of tool calls: one plan with a card for each, and below it the buttons that still mean something.
func (s *encoder) addSteps(run []render.Step) {
	plan := slack.NewPlanBlock(surface.AtMost(sayPlan(run), maxTitle))
	var cards []*slack.TaskCardBlock
	for _, step := range run {
		cards = append(cards, s.encodeCard(step))
	}
	s.add(plan.WithTasks(cards...))
	var row []render.Choice
	for _, step := range run {
		for _, c := range step.Choices {
			if t := surface.OneLine(step.Title); t != "" { // several may say "Undo"
				if strings.TrimSpace(c.Hint) == "" {
					c.Hint = c.Label + ": " + text.RunLine(t, surface.OneLine(step.Server))
				}
				c.Label += " · " + t
			}
			row = append(row, c)
		}
	}
	s.addChoices(row, nil, "")
}

// encodeCard is one call's line. Its title says with a mark and a word how the call stands: the colour of status does so for some
// people only.
func (s *encoder) encodeCard(step render.Step) *slack.TaskCardBlock {
	s.tasks++
	state := " · " + render.MarkWord(step.State)
	title := render.Mark(step.State) + " " + surface.JoinParts(surface.OneLine(step.Title), surface.OneLine(step.Server))
	card := slack.NewTaskCardBlock(strconv.Itoa(s.tasks), surface.Within(title, maxTitle-surface.Width(state))+state).WithStatus(taskStatus(step.State))
	if line := richLine(step.Detail); len(line) > 0 {
		card.WithOutput(slack.NewRichTextBlock("", slack.NewRichTextSection(line...)))
	}
	return card
}

// taskStatus has four values. https://docs.slack.dev/reference/block-kit/blocks/task-card-block
func taskStatus(s render.StepState) slack.TaskCardStatus {
	switch s {
	case render.StepPending, render.StepWaiting:
		return slack.TaskCardStatusPending
	case render.StepRunning:
		return slack.TaskCardStatusInProgress
	case render.StepDone:
		return slack.TaskCardStatusComplete
	case render.StepFailed, render.StepDenied, render.StepExpired, render.StepCancelled, render.StepUnknown:
	}
	return slack.TaskCardStatusError
}
