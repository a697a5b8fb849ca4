package discord

import (
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Forms are modals of one input each, in a row: discordgo v0.29.0 cannot read the newer Label in what comes back, and nothing else
// stands in such a modal but its title and the input's label. A form's custom_id is "form:<choice>:<token>", and of an answer to what a
// server wants (want_form.go), which has up to five inputs, "form:answer:<token> <the card's message>".

// The custom_ids of the inputs.
const (
	fieldReason = "reason"
	fieldArgs   = "args"
)

var formForm = regexp.MustCompile(`^form:(?:(deny_reason|edit):([!-~]{1,64})|(answer):([!-~]{1,64})(?: ([1-9][0-9]{0,19}))?)$`)

// parseForm reads what an answered form carries. ok is false for anything that denyModal, editModal and wantModal do not write.
func parseForm(customID string) (choice chat.Choice, token, message string, ok bool) {
	m := formForm.FindStringSubmatch(customID)
	if m == nil {
		return "", "", "", false
	}
	return chat.Choice(m[1] + m[3]), m[2] + m[4], m[5], true
}

// denyModal asks for a reason. An empty one denies as well. what says what is denied: "Run write_file from files".
func denyModal(token, what string) *discordgo.InteractionResponseData {
	return modal(chat.DenyReason, token, sayDenyTitle(what), discordgo.TextInput{
		CustomID: fieldReason, Label: surface.SayReason, Placeholder: surface.SayReasonEmpty, Style: discordgo.TextInputParagraph, MaxLength: maxReason,
	})
}

// editModal offers the arguments for a change. ok is false where they are longer than an input takes. Hidden characters stand in
// it as JSON's own escapes, so that nobody sends on what they cannot see.
func editModal(token, what, args string) (m *discordgo.InteractionResponseData, ok bool) {
	args = surface.Editable(args, maxInput)
	if surface.Width(args) > maxInput || strings.TrimSpace(args) == "" {
		return nil, false
	}
	return modal(chat.Edit, token, sayEditTitle(what), discordgo.TextInput{
		CustomID: fieldArgs, Label: sayArgsAnew, Style: discordgo.TextInputParagraph, Value: args, Required: true, MaxLength: maxInput,
	}), true
}

func modal(c chat.Choice, token, title string, in discordgo.TextInput) *discordgo.InteractionResponseData {
	return &discordgo.InteractionResponseData{
		CustomID: "form:" + string(c) + ":" + token, Title: surface.AtMost(title, maxModalTitle),
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{in}}},
	}
}
