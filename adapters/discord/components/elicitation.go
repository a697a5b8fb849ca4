package components

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/form"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// longText is from how many characters on a text gets an input of several lines.
const longText = 200

// ElicitationModal is the form that a server wants filled in, with an input for each value: Discord's older inputs are texts, so what kind of
// value it is, and which there are to choose from, stands in them as a hint. values are those that somebody typed before.
func ElicitationModal(token, message string, call turn.ToolCall, values map[string]string) *Modal {
	m := &Modal{CustomID: "form:" + string(chat.Answer) + ":" + token, Title: surface.AtMost(sayWantTitle(text.ShortName(call.Tool.Server)), maxModalTitle)}
	if ids.IsSnowflake(message) {
		m.CustomID += " " + message
	}
	for i, f := range call.Want.Want.Fields[:min(len(call.Want.Want.Fields), MaxInputs)] {
		value, again := values[FieldID(i)]
		if !again {
			value = f.Default
		}
		m.Components = append(m.Components, discordgo.ActionsRow{Components: []discordgo.MessageComponent{elicitationInput(i, f, value)}})
	}
	return m
}

func FieldID(i int) string { return "field" + strconv.Itoa(i) }

func elicitationInput(i int, f turn.FormField, value string) discordgo.TextInput {
	in := discordgo.TextInput{
		CustomID: FieldID(i), Label: surface.AtMost(surface.OneLine(form.Name(f)), maxInputLabel), Placeholder: surface.AtMost(surface.OneLine(sayField(f)), maxInputHint),
		Style: discordgo.TextInputShort, Required: f.Required, MaxLength: maxInput,
	}
	if strings.TrimSpace(in.Label) == "" {
		in.Label = sayValue
	}
	if text := f.Type == "string" && len(f.Options) == 0; f.Many || text && f.Max != nil && *f.Max > longText || strings.Contains(value, "\n") {
		in.Style = discordgo.TextInputParagraph
	}
	if value = visible(value); surface.Width(value) <= maxInput { // a longer one could not be sent back whole
		in.Value = value
	}
	return in
}

// maxShownAddress is how much of one stands in the message. No button leads to one that is so long.
const maxShownAddress = 3000

func Address(token, message string, call turn.ToolCall) Payload {
	w := call.Want.Want
	s := &encoder{ids: names{}}
	s.say(fenced("", surface.Within(surface.OneLine(visible(w.URL)), maxShownAddress)))
	u, err := url.Parse(w.URL)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	if host != "" {
		s.say(literal(sayLeadsTo) + strong(visible(host)))
		s.say(literal(render.HostWarning(host)))
	}
	s.say(literal(text.WantURLSay(text.ShortName(call.Tool.Server))))
	done := discordgo.Button{Label: sayDone, Style: discordgo.SecondaryButton, CustomID: sureID(chat.Answer, token, message)}
	row := []discordgo.MessageComponent{done}
	if followed(w.URL, u, err) {
		row = []discordgo.MessageComponent{discordgo.Button{Label: sayOpenAddress, Style: discordgo.LinkButton, URL: w.URL}, done}
	} else {
		s.say(literal(sayNoButton))
	}
	s.add(discordgo.ActionsRow{Components: row}, 1+len(row))
	return Payload{Components: s.parts}
}

// followed reports whether a button can lead to exactly this address.
func followed(address string, u *url.URL, err error) bool {
	_, hidden := text.Visible(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && hidden == 0 && surface.Width(address) <= maxAddress &&
		!strings.ContainsAny(address, " \t\r\n")
}

func visible(s string) string { s, _ = text.Visible(s); return s }

// OfferAgain says why a form was not taken, with a button that opens it as it was sent.
func OfferAgain(say, token, message string) Payload {
	s := &encoder{ids: names{}}
	s.say(noteLines(render.Line{render.Plain(surface.Within(say, maxConfirm))}, nil)...)
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		discordgo.Button{Label: sayOpenAgain, Style: discordgo.SecondaryButton, CustomID: sureID(chat.Answer, token, message)},
	}}, 2)
	return Payload{Components: s.parts}
}
