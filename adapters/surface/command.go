package surface

import (
	"slices"
	"strings"
)

// Command is what a person may type after the bot's name.
type Command struct {
	Verb string // stop, reset, mode, help, pending; settings, whose Args are the words for [Settings.Permissions] as they were typed
	Args []string
}

// VerbSettings is the verb of everything that [Settings.Permissions] does.
const VerbSettings = "settings"

// settingWords are what "permissions" goes on with where it is a command.
var settingWords = []string{
	"show", "mode", "server", "tool", "set", "why", "whoami", "history", "stats", "digest", "revoke", "remembered", "forget", "templates", "apply", "pending",
	"accept", "halt", "resume", "export", "servers", "tools", "help",
}

// ParseSettings reads a command about settings: what stands after the bot's name, or after "/nod".
func ParseSettings(text string) (words []string, ok bool) {
	words = strings.Fields(text)
	if len(words) == 0 {
		return nil, false
	}
	second := ""
	if len(words) > 1 {
		second = strings.ToLower(words[1])
	}
	switch strings.ToLower(words[0]) {
	case "permissions":
		return words[1:], second == "" || slices.Contains(settingWords, second)
	case "halt", "resume", "whoami", "history", "stats":
		return words, len(words) == 1
	case "tools":
		return words, len(words) == 1 || second == "enable" || second == "disable"
	}
	return nil, false
}

// ParseCommand reads a command. Only a text that is nothing else is one: "stop the server" is a message.
func ParseCommand(text string) (c Command, ok bool) {
	if words, ok := ParseSettings(text); ok {
		return Command{VerbSettings, words}, true
	}
	words := strings.Fields(strings.ToLower(text))
	switch {
	case len(words) == 1 && slices.Contains([]string{"stop", "reset", "help", "pending", "mode"}, words[0]):
		return Command{Verb: words[0]}, true
	case len(words) == 2 && words[0] == "mode" && slices.Contains([]string{"always", "never", "tool"}, words[1]),
		len(words) == 3 && words[0] == "mode" && words[1] == "never" && words[2] == "yes":
		return Command{"mode", words[1:]}, true
	}
	return Command{}, false
}
