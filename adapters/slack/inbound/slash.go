package inbound

import (
	"slices"
	"strings"
)

// SlashCommand is a slash command. It names a channel, never a thread.
// https://docs.slack.dev/interactivity/implementing-slash-commands/#app_command_handling
type SlashCommand struct {
	App         LooseString `json:"api_app_id"`
	Team        LooseString `json:"team_id"`
	Enterprise  LooseString `json:"enterprise_id"`
	Channel     LooseString `json:"channel_id"`
	User        LooseString `json:"user_id"`
	Command     LooseString `json:"command"`
	Text        LooseString `json:"text"`
	ResponseURL LooseString `json:"response_url"`
	Trigger     LooseString `json:"trigger_id"`
}

// ReadSlashCommand is a slash command as HTTP brings it: a form.
func ReadSlashCommand(form func(string) string) SlashCommand {
	return SlashCommand{
		App: LooseString(form("api_app_id")), Team: LooseString(form("team_id")), Enterprise: LooseString(form("enterprise_id")),
		Channel: LooseString(form("channel_id")), User: LooseString(form("user_id")), Command: LooseString(form("command")), Text: LooseString(form("text")),
		ResponseURL: LooseString(form("response_url")), Trigger: LooseString(form("trigger_id")),
	}
}

func (c SlashCommand) Lane() string { return "c:" + string(c.Channel) + "/" + string(c.User) }

func (c SlashCommand) Direct() bool { return strings.HasPrefix(string(c.Channel), "D") }

// slashSettings are what a slash command about settings begins with.
var slashSettings = []string{"permissions", "tools", "halt", "resume", "why", "whoami", "history", "stats"}

// SettingsWords reads a slash command about settings: the words for [surface.Settings.Permissions].
func (c SlashCommand) SettingsWords() (words []string, ok bool) {
	words = strings.Fields(string(c.Text))
	if len(words) == 0 || !slices.Contains(slashSettings, strings.ToLower(words[0])) {
		return nil, false
	}
	if strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	return words, true
}
