package discord

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// longText is from how many characters on a text gets an input of several lines.
const longText = 200

// wantModal is the form that a server wants filled in, with an input for each value: Discord's older inputs are texts, so what kind of
// value it is, and which there are to choose from, stands in them as a hint. values are those that somebody typed before.
func wantModal(token, message string, call turn.ToolCall, values map[string]string) *discordgo.InteractionResponseData {
	m := &discordgo.InteractionResponseData{CustomID: "form:" + string(chat.Answer) + ":" + token, Title: surface.AtMost(sayWantTitle(render.ShortName(call.Tool.Server)), maxModalTitle)}
	if isSnowflake(message) {
		m.CustomID += " " + message
	}
	for i, f := range call.Want.Want.Fields[:min(len(call.Want.Want.Fields), maxModalRows)] {
		value, again := values[fieldID(i)]
		if !again {
			value = f.Default
		}
		m.Components = append(m.Components, discordgo.ActionsRow{Components: []discordgo.MessageComponent{wantInput(i, f, value)}})
	}
	return m
}

func fieldID(i int) string { return "field" + strconv.Itoa(i) }

func wantInput(i int, f turn.FormField, value string) discordgo.TextInput {
	in := discordgo.TextInput{
		CustomID: fieldID(i), Label: surface.AtMost(oneLine(f.Called()), maxInputLabel), Placeholder: surface.AtMost(oneLine(sayField(f)), maxInputHint),
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

// typedIn is what stands in each input of a form that came back.
func typedIn(of []piece) map[string]string {
	out := map[string]string{}
	for i := range maxModalRows {
		out[fieldID(i)] = valueOf(of, fieldID(i))
	}
	return out
}

// fieldsOf are the values of a form that came back, by the names that the server gave them.
func fieldsOf(w turn.Want, of []piece) map[string]string {
	out := map[string]string{}
	for i, f := range w.Fields {
		out[f.Name] = optionsIn(f, valueOf(of, fieldID(i)))
	}
	return out
}

// optionsIn turns what stands for an option into the option: what people read, or the same in other letters.
func optionsIn(f turn.FormField, text string) string {
	if len(f.Options) == 0 {
		return text
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		out = append(out, optionIn(f, line))
	}
	return strings.Join(out, "\n")
}

func optionIn(f turn.FormField, line string) string {
	if slices.Contains(f.Options, line) {
		return line
	}
	found := ""
	for i, o := range f.Options {
		if strings.EqualFold(o, line) || i < len(f.Labels) && strings.EqualFold(strings.TrimSpace(f.Labels[i]), line) {
			if found != "" {
				return line // it could be either
			}
			found = o
		}
	}
	if found == "" {
		return line
	}
	return found
}
