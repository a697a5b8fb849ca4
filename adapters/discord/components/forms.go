package components

import (
	"net/url"
	"regexp"
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

// Forms are modals of one input each, in a row: discordgo v0.29.0 cannot read the newer Label in what comes back, and nothing else
// stands in such a modal but its title and the input's label. A form's custom_id is "form:<choice>:<token>", and of an answer to what a
// server wants, which has up to five inputs, "form:answer:<token> <the card's message>".

// The custom_ids of the inputs.
const (
	FieldReason = "reason"
	FieldArgs   = "args"
)

var formForm = regexp.MustCompile(`^form:(?:(deny_reason|edit):([!-~]{1,64})|(answer):([!-~]{1,64})(?: ([1-9][0-9]{0,19}))?)$`)

// ParseForm reads what an answered form carries. ok is false for anything that [DenyModal], [EditModal] and [ElicitationModal] do not write.
func ParseForm(customID string) (choice chat.Choice, token, message string, ok bool) {
	m := formForm.FindStringSubmatch(customID)
	if m == nil {
		return "", "", "", false
	}
	return chat.Choice(m[1] + m[3]), m[2] + m[4], m[5], true
}

// DenyModal asks for a reason. An empty one denies as well. what says what is denied: "Run write_file from files".
func DenyModal(token, what string) *Modal {
	return modal("form:"+string(chat.DenyReason)+":"+token, sayDenyTitle(what), discordgo.TextInput{
		CustomID: FieldReason, Label: surface.SayReason, Placeholder: surface.SayReasonEmpty, Style: discordgo.TextInputParagraph, MaxLength: maxReason,
	})
}

// EditModal offers the arguments for a change. ok is false where they are longer than an input takes. Hidden characters stand in
// it as JSON's own escapes, so that nobody sends on what they cannot see.
func EditModal(token, what, args string) (m *Modal, ok bool) {
	args = surface.Editable(args, maxInput)
	if surface.Width(args) > maxInput || strings.TrimSpace(args) == "" {
		return nil, false
	}
	return modal("form:"+string(chat.Edit)+":"+token, sayEditTitle(what), discordgo.TextInput{
		CustomID: FieldArgs, Label: sayArgsAnew, Style: discordgo.TextInputParagraph, Value: args, Required: true, MaxLength: maxInput,
	}), true
}

// Modal is a form as Discord takes it. discordgo's struct would send empty content and no embeds along.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal
type Modal struct {
	CustomID   string                       `json:"custom_id"`
	Title      string                       `json:"title"`
	Components []discordgo.MessageComponent `json:"components"`
}

// modal is a form with each input in a row.
func modal(id, title string, inputs ...discordgo.TextInput) *Modal {
	m := &Modal{CustomID: id, Title: surface.AtMost(title, maxModalTitle)}
	for _, in := range inputs {
		m.Components = append(m.Components, discordgo.ActionsRow{Components: []discordgo.MessageComponent{in}})
	}
	return m
}

// longText is from how many characters on a text gets an input of several lines.
const longText = 200

// ElicitationModal is the form that a server wants filled in, with an input for each value: Discord's older inputs are texts, so what kind of
// value it is, and which there are to choose from, stands in them as a hint. values are those that somebody typed before.
func ElicitationModal(token, message string, call turn.ToolCall, values map[string]string) *Modal {
	id := "form:" + string(chat.Answer) + ":" + token
	if ids.IsSnowflake(message) {
		id += " " + message
	}
	var inputs []discordgo.TextInput
	for i, f := range call.Elicitation.Request.Fields[:min(len(call.Elicitation.Request.Fields), MaxInputs)] {
		value, again := values[FieldID(i)]
		if !again {
			value = f.Default
		}
		inputs = append(inputs, elicitationInput(i, f, value))
	}
	return modal(id, sayElicitationTitle(text.ShortName(call.Tool.Server)), inputs...)
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
	w := call.Elicitation.Request
	s := &encoder{ids: names{}}
	s.say(fenced("", surface.Within(surface.OneLine(visible(w.URL)), maxShownAddress)))
	u, err := url.Parse(w.URL)
	if err == nil && u.Hostname() != "" {
		s.say(literal(sayLeadsTo)+strong(visible(u.Hostname())), literal(render.HostWarning(u.Hostname())))
	}
	s.say(literal(text.ElicitationURLSay(text.ShortName(call.Tool.Server))))
	done := button(sayDone, sureID(chat.Answer, token, message))
	if followed(w.URL, u, err) {
		s.addRow(discordgo.Button{Label: sayOpenAddress, Style: discordgo.LinkButton, URL: w.URL}, done)
	} else {
		s.say(literal(sayNoButton))
		s.addRow(done)
	}
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
	return private(say, button(sayOpenAgain, sureID(chat.Answer, token, message)))
}

// Confirm is the question whether a choice of a card, which stands in message, is meant.
func Confirm(c render.Choice, message string) Payload {
	sure := button(labelOf(c, maxLabel), sureID(c.Choice, c.Token, message))
	sure.Style = discordgo.DangerButton
	return question(c.Confirm, sure, CancelID)
}

// question is a private question: all of what is to be confirmed, and two buttons.
func question(say string, yes discordgo.Button, cancel string) Payload {
	return private(say, yes, button(surface.SayCancel, cancel))
}

// private is words for one person above buttons.
func private(say string, buttons ...discordgo.MessageComponent) Payload {
	s := &encoder{ids: names{}}
	s.say(noteLines(render.Line{render.Plain(surface.Within(say, maxConfirm))}, nil)...)
	s.addRow(buttons...)
	return Payload{Components: s.parts}
}

// maxConfirm is how long a question may be, which escaping may make twice as long.
const maxConfirm = 1800

// CancelID is the custom_id of the button that takes a question away.
const CancelID = "nod:" + actionCancel + ":x"
