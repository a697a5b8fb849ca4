package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/render"
)

// The command and its parts.
const (
	commandName     = render.Product
	verbAsk         = "ask"
	verbStop        = "stop"
	verbReset       = "reset"
	verbPending     = "pending"
	verbPermissions = "permissions"
	verbTools       = "tools"
	verbWhy         = "why"
	verbWhoami      = "whoami"
	verbHalt        = "halt"
	verbResume      = "resume"
	verbHelp        = "help"
	optionText      = "text"
	optionDo        = "do"
	optionServer    = "server"
	optionTool      = "tool"
	maxName         = 200 // of a server or a tool, in characters

	// maxAsk is the longest question that a command takes, in characters. Discord's own limit is 6,000.
	// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-structure
	maxAsk = 4000
)

// command is an application command as it is registered, and as Discord gives it back with more fields. discordgo's type is not used:
// it leaves nothing out and gives no null.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
type command struct {
	Name         string          `json:"name"`
	Type         int             `json:"type"`
	Description  string          `json:"description"`
	Options      []commandOption `json:"options"`
	Contexts     []int           `json:"contexts"`
	Integrations []int           `json:"integration_types"`
	Permissions  *string         `json:"default_member_permissions"` // nil: whoever may use commands
}

type commandOption struct {
	Type        int             `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Required    bool            `json:"required,omitempty"`
	MinLength   int             `json:"min_length,omitempty"`
	MaxLength   int             `json:"max_length,omitempty"`
	Options     []commandOption `json:"options,omitempty"`
}

// Of commands.
const (
	commandChat       = 1 // typed, with "/"
	optionSubcommand  = 1
	optionString      = 3
	contextGuild      = 0
	contextBotDM      = 1
	installedInGuilds = 0
)

// ourCommands are what people can type with "/".
func ourCommands() []command {
	sub := func(name, say string, options ...commandOption) commandOption {
		return commandOption{Type: optionSubcommand, Name: name, Description: say, Options: options}
	}
	text := func(name, say string, required bool, most int) commandOption {
		return commandOption{Type: optionString, Name: name, Description: say, Required: required, MaxLength: most}
	}
	return []command{{
		Name: commandName, Type: commandChat, Description: "Work with " + render.Product + ": it asks before it acts",
		Contexts: []int{contextGuild, contextBotDM}, Integrations: []int{installedInGuilds},
		Options: []commandOption{
			sub(verbAsk, "Ask for something; the answer is for everybody here", commandOption{
				Type: optionString, Name: optionText, Description: "What you want", Required: true, MinLength: 1, MaxLength: maxAsk,
			}),
			sub(verbStop, "Stop what runs in this chat"),
			sub(verbReset, "Let this chat start over: what was said and allowed no longer counts"),
			sub(verbPending, "List what waits for an answer here"),
			sub(verbPermissions, "Open the settings: what may run, what asks, and what you let it remember", text(optionDo, "Do it in words instead, such as “mode always”; “help” lists them", false, maxAsk)),
			sub(verbTools, "List the tools, or switch one on or off", text(optionDo, "Such as “disable files write_file”", false, maxAsk)),
			sub(verbWhy, "Why a tool asks, or does not", text(optionServer, "The server that has the tool", true, maxName), text(optionTool, "The tool", true, maxName)),
			sub(verbWhoami, "Who you are to "+render.Product+", and whether you are an admin"),
			sub(verbHalt, "For admins: stop everything, in all chats, until it is resumed"),
			sub(verbResume, "For admins: go on after a halt"),
			sub(verbHelp, "How this works"),
		},
	}}
}

// register makes the application's global commands ours, where they are not. There are few such writes a day.
// https://discord.com/developers/docs/interactions/application-commands#registering-a-command
func (a *Adapter) register(ctx context.Context) error {
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	at := discordgo.EndpointApplicationGlobalCommands(me.Application)
	var there []json.RawMessage
	if err := a.rest(ctx, http.MethodGet, at, nil, &there); err != nil {
		return err
	}
	if sameCommands(there, ourCommands()) {
		return nil
	}
	if err := a.rest(ctx, http.MethodPut, at, ourCommands(), nil); err != nil {
		return err
	}
	a.Logger.Info("discord: the slash commands are registered")
	return nil
}

// sameCommands reports whether Discord has just what we want, in any order.
func sameCommands(there []json.RawMessage, want []command) bool {
	if len(there) != len(want) {
		return false
	}
	var got []command
	for _, raw := range there {
		var c command
		if err := json.Unmarshal(raw, &c); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
			return false
		}
		got = append(got, c)
	}
	return slices.Equal(canonical(got), canonical(want))
}

// canonical are commands as they can be compared.
func canonical(all []command) (out []string) {
	for _, c := range all {
		c.Type = cmp.Or(c.Type, commandChat)
		c.Contexts, c.Integrations = slices.Sorted(slices.Values(c.Contexts)), slices.Sorted(slices.Values(c.Integrations))
		if len(c.Options) == 0 {
			c.Options = nil
		}
		b, err := json.Marshal(c)
		if err != nil {
			b = nil
		}
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}
