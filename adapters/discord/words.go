package discord

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/text"
)

// What people read in answer to clicks, commands and messages, beside the words of package surface and of what is drawn. It is plain text;
// whoever sends it escapes it.

const (
	sayOtherVersion = "This button is of another version of " + text.Product + ". Nothing was recorded. Use the newest message in this chat."
	sayNoPlace      = "It is not known which chat this belongs to. Nothing was recorded. Use the buttons of the message in its channel or thread."
	sayNobody       = "Discord did not say who you are, so nothing was recorded. Try again."
	sayNotMember    = "You have none of the roles that may decide here. Nothing was recorded. Ask somebody who has one."
	sayMembersOnly  = text.Product + " answers only people with certain roles of the server. Nothing was recorded."
	sayBusy         = "Nothing was recorded: too much is going on just now. Try again in a moment."
	sayNotAsked     = "Your question was not recorded: what " + text.Product + " remembers could not be reached. Ask again."
	sayEmptyAsk     = "There is nothing to ask in that. Write what you want after “text”."
	sayStopping     = "Stopping."
	sayDeaf         = "I can only read messages that mention me here. Mention me, or reply to one of my messages."
	sayUnknownVerb  = "This command is of another version of " + text.Product + ". Nothing was done."
)

// sayHelp: direct is a conversation with the bot alone, hears whether messages can be read that do not mention the bot.
func sayHelp(direct, hears bool) []string {
	at := "@" + text.Product + " "
	first := "Mention " + strings.TrimSpace(at) + " with what you want, reply to one of its messages, or use “/" + text.Product + " ask”."
	if direct {
		at, first = "", "Write what you want: this conversation is one chat."
	}
	all := []string{
		text.About,
		first + " " + text.TryAsking,
		surface.SayCommands("chat", at),
		"Anywhere: “/" + text.Product + " pending” lists what waits in the channel · “/" + text.Product + " permissions” opens the settings, which only you see.",
	}
	if !direct && !hears {
		all = append(all, "Here "+text.Product+" can only read messages that mention it or reply to it.")
	}
	return all
}

// sayNoChat: verb is what was asked for in a channel whose chats are threads.
func sayNoChat(verb string) string {
	return "The chats of this channel are threads. Use “/" + text.Product + " " + verb + "” in the thread that is meant. Nothing was changed."
}

func sayAndMore(n int) string { return fmt.Sprintf("and %d more", n) }

// Of settings, of questions for confirmation and of forms that servers want filled in.

const (
	sayCancelled = "Nothing was done."
	sayTaken     = "Recorded. The message in the chat shows what came of it."

	sayNoSettings = "Nothing can be set here: this " + text.Product + " runs without settings that people make."
	sayNotSet     = "That did not work: what " + text.Product + " remembers could not be reached. It is not known to have had any effect. Open the settings again and look."
	sayOldPanel   = "This panel is too old: open it again with “/" + text.Product + " permissions”."
	sayNotThere   = "You are not in the server that this is about. Nothing was done."
	sayActGone    = "This is not offered any more. Nothing was changed."
)

// sayManyFields: Discord's forms take five inputs, and one form cannot open another.
func sayManyFields(n int) string {
	return "This form has " + text.Count(n, "value") + ", and Discord's forms take at most " + strconv.Itoa(components.MaxInputs) + ": it cannot be filled in here. “" +
		text.LabelDecline + "” tells the server so. Nothing was sent."
}

// Of sending.

const (
	sayThread = "A conversation with " + text.Product // the name of a thread whose first message has no words
	// sayElsewhere stands where an answer for one person found no private way.
	sayElsewhere = "There is an answer for you that only you should see, but your direct messages are closed for " + text.Product +
		". Allow direct messages from members of this server, then try again."
)

const sayThreadsFull = text.Product + " cannot answer you where you wrote to it: this server has too many threads that are open, and Discord makes no more. " +
	"Somebody who may manage threads can close some. Then write again."

// sayLacking: perm is as Discord's settings name it.
func sayLacking(perm string) string {
	return text.Product + " cannot answer you where you wrote to it: its role lacks the permission “" + perm + "” there. " +
		"Somebody who runs the server can grant it in the channel's settings. Then write again."
}
