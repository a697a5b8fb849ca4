package components

import (
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Forms are modals of one input each, in a row: discordgo v0.29.0 cannot read the newer Label in what comes back, and nothing else
// stands in such a modal but its title and the input's label. A form's custom_id is "form:<choice>:<token>", and of an answer to what a
// server wants (elicitation.go), which has up to five inputs, "form:answer:<token> <the card's message>".

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
	return oneInput(chat.DenyReason, token, sayDenyTitle(what), discordgo.TextInput{
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
	return oneInput(chat.Edit, token, sayEditTitle(what), discordgo.TextInput{
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

// oneInput is a form of one input.
func oneInput(c chat.Choice, token, title string, in discordgo.TextInput) *Modal {
	return &Modal{
		CustomID: "form:" + string(c) + ":" + token, Title: surface.AtMost(title, maxModalTitle),
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{in}}},
	}
}
