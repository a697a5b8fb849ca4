package inbound

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/text"
)

// The command and its parts.
const (
	CommandName     = text.Product
	VerbAsk         = "ask"
	VerbStop        = "stop"
	VerbReset       = "reset"
	VerbPending     = "pending"
	VerbPermissions = "permissions"
	VerbTools       = "tools"
	VerbWhy         = "why"
	VerbWhoami      = "whoami"
	VerbHalt        = "halt"
	VerbResume      = "resume"
	VerbHelp        = "help"
	OptionText      = "text"
	OptionDo        = "do"
	OptionServer    = "server"
	OptionTool      = "tool"
	maxName         = 200 // of a server or a tool, in characters

	// MaxAsk is the longest question that a command takes, in characters. Discord's own limit is 6,000.
	// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-structure
	MaxAsk = 4000
)

// Command is an application command as it is registered, and as Discord gives it back with more fields. discordgo's type is not used:
// it leaves nothing out and gives no null.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
type Command struct {
	Name         string                                 `json:"name"`
	Type         discordgo.ApplicationCommandType       `json:"type"`
	Description  string                                 `json:"description"`
	Options      []CommandOption                        `json:"options"`
	Contexts     []discordgo.InteractionContextType     `json:"contexts"`
	Integrations []discordgo.ApplicationIntegrationType `json:"integration_types"`
	Permissions  *string                                `json:"default_member_permissions"` // nil: whoever may use commands
}

type CommandOption struct {
	Type        discordgo.ApplicationCommandOptionType `json:"type"`
	Name        string                                 `json:"name"`
	Description string                                 `json:"description"`
	Required    bool                                   `json:"required,omitempty"`
	MinLength   int                                    `json:"min_length,omitempty"`
	MaxLength   int                                    `json:"max_length,omitempty"`
	Options     []CommandOption                        `json:"options,omitempty"`
}

// Commands are what people can type with "/".
func Commands() []Command {
	sub := func(name, say string, options ...CommandOption) CommandOption {
		return CommandOption{Type: discordgo.ApplicationCommandOptionSubCommand, Name: name, Description: say, Options: options}
	}
	option := func(name, say string, required bool, most int) CommandOption {
		return CommandOption{Type: discordgo.ApplicationCommandOptionString, Name: name, Description: say, Required: required, MaxLength: most}
	}
	return []Command{{
		Name: CommandName, Type: discordgo.ChatApplicationCommand, Description: "Work with " + text.Product + ": it asks before it acts",
		Contexts: []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}, Integrations: []discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
		Options: []CommandOption{
			sub(VerbAsk, "Ask for something; the answer is for everybody here", CommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: OptionText, Description: "What you want", Required: true, MinLength: 1, MaxLength: MaxAsk,
			}),
			sub(VerbStop, "Stop what runs in this chat"),
			sub(VerbReset, "Let this chat start over: what was said and allowed no longer counts"),
			sub(VerbPending, "List what waits for an answer here"),
			sub(VerbPermissions, "Open the settings: what may run, what asks, and what you let it remember", option(OptionDo, "Do it in words instead, such as “mode always”; “help” lists them", false, MaxAsk)),
			sub(VerbTools, "List the tools, or switch one on or off", option(OptionDo, "Such as “disable files write_file”", false, MaxAsk)),
			sub(VerbWhy, "Why a tool asks, or does not", option(OptionServer, "The server that has the tool", true, maxName), option(OptionTool, "The tool", true, maxName)),
			sub(VerbWhoami, "Who you are to "+text.Product+", and whether you are an admin"),
			sub(VerbHalt, "For admins: stop everything, in all chats, until it is resumed"),
			sub(VerbResume, "For admins: go on after a halt"),
			sub(VerbHelp, "How this works"),
		},
	}}
}

// SameCommands reports whether Discord has just what we want, in any order.
func SameCommands(there []json.RawMessage, want []Command) bool {
	got := make([]Command, len(there))
	for i, raw := range there {
		_ = json.Unmarshal(raw, &got[i]) // what has another shape is left out, and so not what we want
	}
	return slices.Equal(canonical(got), canonical(want))
}

// canonical are commands as they can be compared.
func canonical(all []Command) (out []string) {
	for _, c := range all {
		c.Type = cmp.Or(c.Type, discordgo.ChatApplicationCommand)
		c.Contexts, c.Integrations = slices.Sorted(slices.Values(c.Contexts)), slices.Sorted(slices.Values(c.Integrations))
		if len(c.Options) == 0 {
			c.Options = nil
		}
		b, _ := json.Marshal(c) // it has nothing that cannot be written
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

// optionsOf are the subcommand and what was given with it.
func optionsOf(in *Interaction) (verb string, given map[string]string) {
	given = map[string]string{}
	if string(in.Data.Name) != CommandName || len(in.Data.Options) != 1 {
		return "", given
	}
	for _, o := range in.Data.Options[0].Options {
		given[string(o.Name)] = strings.TrimSpace(string(o.Value))
	}
	return string(in.Data.Options[0].Name), given
}

// CommandOf is the subcommand and its text.
func CommandOf(in *Interaction) (verb, text string) {
	verb, given := optionsOf(in)
	return verb, cmp.Or(given[OptionText], given[OptionDo])
}

// SettingsWords are the words for [surface.Settings] of a slash command, which are those that somebody would type.
func SettingsWords(in *Interaction, verb string) (words []string, ok bool) {
	_, given := optionsOf(in)
	switch verb {
	case VerbPermissions:
		return strings.Fields(given[OptionDo]), true
	case VerbTools:
		return append([]string{verb}, strings.Fields(given[OptionDo])...), true
	case VerbHalt, VerbResume, VerbWhoami:
		return []string{verb}, true
	case VerbWhy:
		return []string{verb, given[OptionServer], given[OptionTool]}, true
	}
	return nil, false
}
