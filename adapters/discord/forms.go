package discord

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Forms are modals of one input each, in a row: discordgo v0.29.0 cannot read the newer Label in what comes back, and nothing else
// stands in such a modal but its title and the input's label. A form's custom_id is "form:<choice>:<token>".

// The custom_ids of the inputs.
const (
	fieldReason = "reason"
	fieldArgs   = "args"
)

var formForm = regexp.MustCompile(`^form:([a-z_]{1,16}):([!-~]{1,64})$`)

// parseModal reads what an answered form carries. ok is false for anything that denyModal and editModal do not write.
func parseModal(customID string) (choice chat.Choice, token string, ok bool) {
	m := formForm.FindStringSubmatch(customID)
	if m == nil || m[1] != string(chat.DenyReason) && m[1] != string(chat.Edit) {
		return "", "", false
	}
	return chat.Choice(m[1]), m[2], true
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
	args = editable(args)
	if width(args) > maxInput || strings.TrimSpace(args) == "" {
		return nil, false
	}
	return modal(chat.Edit, token, sayEditTitle(what), discordgo.TextInput{
		CustomID: fieldArgs, Label: sayArgsAnew, Style: discordgo.TextInputParagraph, Value: args, Required: true, MaxLength: maxInput,
	}), true
}

func modal(c chat.Choice, token, title string, in discordgo.TextInput) *discordgo.InteractionResponseData {
	return &discordgo.InteractionResponseData{
		CustomID: "form:" + string(c) + ":" + token, Title: atMost(title, maxModalTitle),
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{in}}},
	}
}

// editable is the same JSON, indented where that fits, with every hidden character as an escape. No token of it changes.
func editable(args string) string {
	if !json.Valid([]byte(args)) || !utf8.ValidString(args) {
		return args
	}
	var b strings.Builder
	for _, r := range args {
		if _, n := render.Visible(string(r)); n == 0 || r == '\r' { // a return is space between tokens
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u` + strconv.FormatUint(0x10000|uint64(u), 16)[1:])
		}
	}
	var nice bytes.Buffer
	if json.Indent(&nice, []byte(b.String()), "", "  ") == nil && width(nice.String()) <= maxInput {
		return nice.String()
	}
	return b.String()
}
