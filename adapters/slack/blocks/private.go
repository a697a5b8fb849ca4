package blocks

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

const linesRoom = 9000 // what a private answer holds, in characters of JSON: a message takes 13,000, with what wraps the text

// EncodeLines draws lines for one person, in which nothing is read as markup. A button below them opens the panel, where there is one to open.
func EncodeLines(lines []string, open *PanelForm) Message {
	room := linesRoom
	var all []string
	for i, l := range lines {
		l = strings.TrimRight(surface.OneLine(l), " ")
		if i == 0 && surface.Width(string(rawJSON(l))) > room {
			l = surface.Within(l, maxSpan)
		}
		if room -= surface.Width(string(rawJSON(l))); i > 0 && room < 0 {
			all = append(all, sayMoreLines(len(lines)-i))
			break
		}
		all = append(all, l)
	}
	words := strings.Join(all, "\n")
	if strings.TrimSpace(words) == "" {
		words = sayNoWords
	}
	s := &encoder{}
	s.addPlain(words)
	if open != nil {
		s.add(slack.NewActionBlock("", slack.NewButtonBlockElement(PanelPrefix+VerbShow+":1", open.Metadata(), plainText(sayOpenPanel))))
	}
	return s.message(Escape(surface.AtMost(text.Prose(words), fallbackRoom)))
}

// EncodeAddress draws an address that a server wants opened: all of it as text in which nothing is alive, what is deceptive about its host,
// and a button to exactly there. It is never fetched. ok is false for what is no address of the web, or hides something.
func EncodeAddress(f Form, server, address string) (p Message, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > maxURL {
		return Message{}, false
	}
	if _, hidden := text.Visible(address); hidden > 0 || strings.ContainsAny(address, " \t\r\n\"<>\\") {
		return Message{}, false
	}
	s := &encoder{}
	s.addPlain(text.ElicitationURLSay(server))
	s.add(preformatted(address))
	s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(
		slack.NewRichTextSectionTextElement(sayLeadsTo, nil), slack.NewRichTextSectionTextElement(u.Hostname(), &slack.RichTextSectionTextStyle{Bold: true}))))
	if warn := render.HostWarning(u.Hostname()); warn != "" {
		s.addPlain(warn)
	}
	if u.Scheme == "http" {
		s.addPlain(sayUnencrypted)
	}
	f.Choice = chat.Answer
	visit := slack.NewButtonBlockElement(actionVisit, "", plainText(sayVisit)).WithURL(address)
	s.add(slack.NewActionBlock("", slack.NewButtonBlockElement(ActionSure, f.Metadata(), plainText(sayVisited)), visit,
		slack.NewButtonBlockElement(ActionCancel, "-", plainText(sayNotNow))))
	return s.message(Escape(surface.AtMost(text.ElicitationURLSay(server), fallbackRoom))), true
}

// encodeNote draws a short message beside the turn's: lines that notify whom they name and lead to link, or an answer that only one person
// sees.
// https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
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
	say := cmp.Or(strings.TrimSpace(strings.Join(text, "\n")), surface.SayState(m.State))
	if len(s.blocks) == 0 {
		s.addContext([]slack.MixedElement{plainText(say)})
	}
	return s.message(say)
}

// noteLimits keep a short message short: its text is repeated as fallback, where "&" may become five characters.
var noteLimits = render.Limits{Chars: 700, Bytes: 2100, Blocks: 4, Text: 600, Label: maxLabel, Choices: 10}

// mentionLine is a line for the fallback of such a message, in room characters: people are mentioned, nothing else is alive.
func mentionLine(l render.Line, room int) (line string) {
	for _, p := range partsOf(l) {
		say := Escape(p.words)
		if p.user != "" {
			say = "<@" + p.user + ">"
		}
		if room -= surface.Width(say); room < 0 {
			return line + "…"
		}
		line += say
	}
	return line
}

const (
	ActionSure   = "nod:sure:1" // its value is a form: the click that it stands for
	ActionCancel = "nod:cancel:2"
	actionVisit  = "nod:visit:3" // a link, which opens by itself
)

// confirmDialog makes Slack's own confirmation; nil where there is nothing to confirm, or too much. Without a style its button would be
// green.
// https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
func confirmDialog(words, label string) *slack.ConfirmationBlockObject {
	words = strings.TrimSpace(text.Prose(words))
	if words == "" || surface.Width(words) > maxConfirm {
		return nil
	}
	label = strings.TrimSpace(surface.OneLine(label))
	if strings.TrimSuffix(label, "…") == "" {
		label = sayConfirm
	}
	d := slack.NewConfirmationBlockObject(plainText(surface.AtMost(label, maxConfTitle)), plainText(words),
		plainText(surface.AtMost(strings.TrimSuffix(label, "…"), maxConfButton)), plainText(surface.SayCancel))
	d.Style = slack.StyleDanger
	return d
}

// EncodeConfirmation draws the message that asks. All of what is to be confirmed stands in it, as plain text.
func EncodeConfirmation(c render.Choice, f Form) Message {
	s := &encoder{}
	text := text.Prose(c.Confirm)
	if strings.TrimSpace(text) == "" {
		text = buttonLabel(c) + "?"
	}
	s.addPlain(text)
	yes := slack.NewButtonBlockElement(ActionSure, f.Metadata(), plainText(cmp.Or(strings.TrimSuffix(buttonLabel(c), "…"), sayConfirm)))
	yes.Style = slack.StyleDanger
	s.add(slack.NewActionBlock("", yes, slack.NewButtonBlockElement(ActionCancel, "-", plainText(surface.SayCancel))))
	return s.message(Escape(surface.AtMost(surface.OneLine(text), fallbackRoom)))
}
