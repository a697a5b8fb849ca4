package blocks

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// addAsk draws the card of a call that waits for a person: what, with which arguments, why, the warning, and the buttons last but
// for the line that says who may press them. It stands apart from what only tells.
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

// addHeader adds a heading: bold by its kind, and plain text, so that no name of a server can be markup in it.
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

// addArguments adds a call's arguments as code, where nothing that they say is read as markup or as words of ours: short ones at once, all
// of them in a container that opens.
func (s *encoder) addArguments(a render.Args) {
	say := a.Say()
	if rows := surface.RowsText(a); rows != "" {
		for _, f := range fences(rows) {
			s.add(slack.NewSectionBlock(mrkdwnText(f), nil, nil))
		}
		if s.terse { // they were just shown
			s.addQuiet(say)
			return
		}
	}
	parts := fences(a.JSON)
	if a.JSON == "{}" || len(parts) == 0 {
		s.addQuiet(say)
		return
	}
	if len(parts) > maxChildren { // EncodeMessage draws less
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
	s.addQuiet(say)
}

// addQuiet adds one small line of plain text.
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
	lines := []string{say}
	said := func(who, what string) {
		if strings.TrimSpace(what) != "" {
			lines = append(lines, who+what)
		}
	}
	said(text.ServerSays, a.Server.Description)
	said(text.ServerSays, a.Describes)
	said(text.ModelSays, a.Model)
	var text []string
	for _, l := range lines {
		if l = strings.TrimSpace(surface.OneLine(l)); l != "" {
			text = append(text, l)
		}
	}
	if text != nil {
		line = append(line, plainText(surface.Within(strings.Join(text, "\n"), maxSection)))
	}
	s.addContext(line)
}

// isFetchable reports whether an icon is an address that Slack can reach: it fetches it when the message is posted.
func isFetchable(icon string) bool {
	return strings.HasPrefix(icon, "https://") && len(icon) <= 300 && !strings.ContainsAny(icon, " \"<>\\^`{|}…") && surface.OneLine(icon) == icon
}

// warningRoom leaves room for escapes: with the review line, it may grow fivefold.
const warningRoom = 400

// addWarning adds the warning and, in bold, the call to review (R72, R73).
func (s *encoder) addWarning(a render.Ask) {
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
