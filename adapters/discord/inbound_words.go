package discord

import (
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/render"
)

// What people read in answer to clicks, commands and messages that were not taken, beside package surface's words. It is plain text;
// whoever sends it escapes it.

const (
	sayOtherVersion  = "This button is of another version of " + render.Product + ". Nothing was recorded. Use the newest message in this chat."
	sayNoPlace       = "It is not known which chat this belongs to. Nothing was recorded. Use the buttons of the message in its channel or thread."
	sayNobody        = "Discord did not say who you are, so nothing was recorded. Try again."
	sayBusy          = "Nothing was recorded: too much is going on just now. Try again in a moment."
	sayTooLongToEdit = "These arguments are longer than a form of Discord's takes (4,000 characters), so they cannot be edited here. Nothing was changed. " +
		"Deny with a reason that says what should be different."
	sayCommandFailed = "That did not work: what " + render.Product + " remembers, or Discord, could not be reached. It is not known to have had any effect. Try again."
	sayNotAsked      = "Your question was not recorded: what " + render.Product + " remembers could not be reached. Ask again."
	sayEmptyAsk      = "There is nothing to ask in that. Write what you want after “text”."
	sayStopping      = "Stopping."
	sayDeaf          = "I can only read messages that mention me here. Mention me, or reply to one of my messages."
	sayUnknownVerb   = "This command is of another version of " + render.Product + ". Nothing was done."
)

// sayHelp: direct is a conversation with the bot alone, hears whether messages can be read that do not mention the bot.
func sayHelp(direct, hears bool) []string {
	at := "@" + render.Product + " "
	first := "Mention " + strings.TrimSpace(at) + " with what you want, reply to one of its messages, or use “/" + render.Product + " ask”."
	if direct {
		at, first = "", "Write what you want: this conversation is one chat."
	}
	all := []string{
		first + " Tools that need permission ask in the chat.",
		"In a chat: “" + at + "stop” ends what runs · “" + at + "pending” lists what waits for an answer · “" + at +
			"mode always”, “mode never yes” or “mode tool” sets when to ask · “" + at + "reset” starts over.",
		"Anywhere: “/" + render.Product + " pending” lists what waits in the channel · “/" + render.Product + " permissions” opens the settings, which only you see.",
	}
	if !direct && !hears {
		all = append(all, "Here "+render.Product+" can only read messages that mention it or reply to it.")
	}
	return all
}

// sayNoChat: verb is what was asked for in a channel whose chats are threads.
func sayNoChat(verb string) string {
	return "The chats of this channel are threads. Use “/" + render.Product + " " + verb + "” in the thread that is meant. Nothing was changed."
}

func sayMoreChats(n int) string {
	if n == 1 {
		return "… and what waits in one more chat"
	}
	return fmt.Sprintf("… and what waits in %d more chats", n)
}

func sayAndMore(n int) string { return fmt.Sprintf("and %d more", n) }

// sayAsker and sayAsks stand above a question that somebody asked with a command.
func sayAsker(name string) string {
	if name == "" {
		return "Somebody"
	}
	return name
}

const sayAsks = " asks:"

// lines are the lines of a text.
func lines(s string) []string { return strings.Split(s, "\n") }
