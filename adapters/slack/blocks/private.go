package blocks

import (
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// linesRoom is what a private answer holds, in characters of JSON: a message takes 13,000, with what wraps the text.
const linesRoom = 9000

// EncodeLines draws lines for one person, in which nothing is read as markup. A button below them opens the panel, where there is one to open.
func EncodeLines(lines []string, open *PanelForm) Message {
	room, kept := linesRoom, 0
	var all []string
	for _, l := range lines {
		l = strings.TrimRight(surface.OneLine(l), " ")
		n := surface.Width(string(rawJSON(l)))
		if n > room {
			if kept > 0 {
				break
			}
			l = surface.Within(l, panelText)
			n = surface.Width(string(rawJSON(l)))
		}
		room -= n
		kept++
		all = append(all, l)
	}
	if left := len(lines) - kept; left > 0 {
		all = append(all, sayMoreLines(left))
	}
	said := strings.Join(all, "\n")
	if strings.TrimSpace(said) == "" {
		said = sayNoWords
	}
	s := &encoder{}
	s.addPlain(said)
	if open != nil {
		s.add(slack.NewActionBlock("", slack.NewButtonBlockElement(PanelPrefix+VerbShow+":1", open.Metadata(), plainText(sayOpenPanel))))
	}
	setBlockIDs(s.blocks)
	return Message{s.blocks, Escape(surface.AtMost(text.Prose(said), fallbackRoom))}
}

// EncodeAddress draws an address that a server wants opened: all of it as text in which nothing is alive, its host, what is deceptive about that,
// and a button to exactly there. It is never fetched, neither by us nor by Slack. ok is false for what is no address of the web, or hides
// something.
func EncodeAddress(f Form, server, address string) (p Message, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > maxURL {
		return Message{}, false
	}
	if _, hidden := text.Visible(address); hidden > 0 || strings.ContainsAny(address, " \t\r\n\"<>\\") {
		return Message{}, false
	}
	s := &encoder{}
	s.addPlain(text.WantURLSay(server))
	s.add(slack.NewRichTextBlock("", &slack.RichTextPreformatted{
		Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(address, nil)},
	}))
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
	setBlockIDs(s.blocks)
	return Message{s.blocks, Escape(surface.AtMost(text.WantURLSay(server), fallbackRoom))}, true
}
