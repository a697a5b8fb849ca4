package surface

import (
	"slices"
	"strings"
)

// Command is what a person may type after the bot's name.
type Command struct {
	Verb string // stop, reset, mode, help, pending
	Args []string
}

// ParseCommand reads a command. Only a text that is nothing else is one: "stop the server" is a message.
func ParseCommand(text string) (c Command, ok bool) {
	words := strings.Fields(strings.ToLower(text))
	switch {
	case len(words) == 1 && slices.Contains([]string{"stop", "reset", "help", "pending", "mode"}, words[0]):
		return Command{Verb: words[0]}, true
	case len(words) == 2 && words[0] == "mode" && slices.Contains([]string{"always", "never", "tool"}, words[1]):
		return Command{"mode", words[1:]}, true
	}
	return Command{}, false
}
