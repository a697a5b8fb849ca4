package slack

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// ask draws the card of a call that waits for a person: what, with which arguments, why, the warning, and the buttons last but
// for the line that says who may press them. It stands apart from what only tells.
func (s *sheet) ask(a render.Ask) {
	if len(s.blocks) > 0 {
		s.add(slack.NewDividerBlock())
	}
	s.header(a.Header)
	s.section(a.Run, facts(a.Facts))
	s.arguments(a.Args)
	s.section(a.Question, a.Impact)
	if a.Kind == render.AskInput { // it is about the words below
		s.warning(a)
		a.Warning, a.Review = "", ""
	}
	s.reasons(a)
	s.warning(a)
	of := ""
	if s.asks > 1 {
		of = a.Run
	}
	s.buttonsOf(a.Choices, a.More, of)
	s.context(contextLine(a.Footer))
}

// header is bold by its kind, and plain text: no name of a server can be markup in it.
func (s *sheet) header(h string) {
	h = strings.TrimSpace(oneLine(h))
	switch {
	case h == "":
	case surface.Width(h) <= maxHeader:
		s.add(slack.NewHeaderBlock(plainText(h)))
	default:
		s.section(h)
	}
}

func facts(fs []render.Fact) string {
	var say []string
	for _, f := range fs {
		say = append(say, strings.TrimSpace(oneLine(f.Symbol)+" "+oneLine(f.Label)))
	}
	return joined(say...)
}

// arguments stand in code, where nothing that they say is read as markup or as words of ours: short ones at once, all of
// them in a container that opens.
func (s *sheet) arguments(a render.Args) {
	say := a.Say()
	if rows := surface.RowsText(a); rows != "" {
		for _, f := range fences(rows) {
			s.add(slack.NewSectionBlock(mrkdwnText(f), nil, nil))
		}
		if s.terse { // they were just shown
			s.quiet(say)
			return
		}
	}
	parts := fences(a.JSON)
	if a.JSON == "{}" || len(parts) == 0 {
		s.quiet(say)
		return
	}
	if len(parts) > maxChildren { // encode draws less
		parts, s.over = parts[:maxChildren], true
	}
	var inside []slack.Block
	for _, f := range parts {
		inside = append(inside, slack.NewSectionBlock(mrkdwnText(f), nil, nil))
	}
	box := slack.NewContainerBlock(inside...).WithTitle(plainText(surface.AtMost(surface.SayArguments(a), maxHeader))).WithCollapsible(true, true)
	if say != "" && surface.Width(say) <= maxSubtitle {
		box.WithSubtitle(plainText(say))
		say = ""
	}
	s.add(box)
	s.quiet(say)
}

// quiet adds one line of plain text.
func (s *sheet) quiet(say string) {
	if say = strings.TrimSpace(oneLine(say)); say != "" {
		s.context([]slack.MixedElement{plainText(surface.Within(say, maxSection))})
	}
}

// reasons: why somebody is asked, and by whom. What a server or a model says of itself is marked as such.
func (s *sheet) reasons(a render.Ask) {
	s.context(contextLine(a.Because))
	var line []slack.MixedElement
	say := surface.SayServer(a.Server)
	switch icon := strings.TrimSpace(a.Server.Icon); {
	case s.bare || a.Server.Name == "":
		say = ""
	case drawable(icon):
		line = append(line, slack.NewImageBlockElement(icon, sayIcon(a.Server)))
	case icon != "" && surface.Width(icon) <= 8 && !strings.Contains(icon, ":"): // an emoji
		say = oneLine(icon) + " " + say
	default:
		say = surface.SayNoIcon + " " + say
	}
	lines := []string{say}
	said := func(who, what string) {
		if strings.TrimSpace(what) != "" {
			lines = append(lines, who+what)
		}
	}
	said(render.ServerSays, a.Server.Description)
	said(render.ServerSays, a.Describes)
	said(render.ModelSays, a.Model)
	var text []string
	for _, l := range lines {
		if l = strings.TrimSpace(oneLine(l)); l != "" {
			text = append(text, l)
		}
	}
	if text != nil {
		line = append(line, plainText(surface.Within(strings.Join(text, "\n"), maxSection)))
	}
	s.context(line)
}

// drawable: Slack fetches an icon when the message is posted, so it must be an address that it can reach.
func drawable(icon string) bool {
	return strings.HasPrefix(icon, "https://") && len(icon) <= 300 && !strings.ContainsAny(icon, " \"<>\\^`{|}…") && oneLine(icon) == icon
}

// warningRoom leaves room for escapes: with the review line, it may grow fivefold.
const warningRoom = 400

// warning is R72 and R73.
func (s *sheet) warning(a render.Ask) {
	var lines []string
	if warn := unmarked(a.Warning, warningRoom); warn != "" {
		lines = append(lines, warn)
	}
	if review := bold(a.Review); review != "" {
		lines = append(lines, review)
	}
	if lines != nil {
		s.add(slack.NewSectionBlock(mrkdwnText(strings.Join(lines, "\n")), nil, nil))
	}
}
