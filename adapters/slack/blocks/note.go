package blocks

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// encodeNote draws a short message beside the turn's: a line that names people, who are notified by it, and leads to link, or an
// answer that only one person sees. https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
func encodeNote(m render.Message, link string) Message {
	s := &encoder{}
	var text []string
	for _, b := range render.Fit(m, noteLimits).Blocks {
		var line render.Line
		var more []render.Choice
		switch b := b.(type) {
		case render.Note:
			line, more = b.Line, b.Choices
		case render.Text:
			line = render.Line{render.Plain(b.Markdown)}
		default: // a card is the turn's message
			continue
		}
		rich := richLine(line)
		if strings.HasPrefix(link, "http") && len(link) <= maxURL { // an address of the workspace's own, as auth.test has it
			rich = append(rich, slack.NewRichTextSectionTextElement(" · ", nil), slack.NewRichTextSectionLinkElement(link, surface.SayOpenQuestion, nil))
			link = ""
		}
		if len(rich) > 0 {
			s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(rich...)))
			text = append(text, mentionLine(line, maxText/4-10)) // Fit leaves at most four
		}
		s.addChoices(more, nil, "")
	}
	say := strings.TrimSpace(strings.Join(text, "\n"))
	if say == "" {
		say = surface.SayState(m.State)
	}
	if len(s.blocks) == 0 {
		s.addContext([]slack.MixedElement{plainText(say)})
	}
	setBlockIDs(s.blocks)
	return Message{s.blocks, say}
}

// noteLimits keep a short message short: its text is repeated as fallback, where "&" may become five characters.
var noteLimits = render.Limits{Chars: 700, Bytes: 2100, Blocks: 4, Text: 600, Label: maxLabel, Choices: 10}

// mentionLine is a line for the fallback of a message that notifies: people are mentioned, nothing else is alive. It has at most
// room characters.
func mentionLine(l render.Line, room int) string {
	var b strings.Builder
	for _, s := range l {
		var say string
		if p, ok := s.(render.Person); ok {
			if id, ok := UserID(p.User); ok {
				say = "<@" + id + ">"
			}
		}
		if say == "" {
			say = Escape(surface.OneLine(render.PlainLine(render.Line{s})))
		}
		if room -= surface.Width(say); room < 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(say)
	}
	return b.String()
}
