package blocks

import (
	"regexp"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that Slack's chats and people have.
const Platform = "slack"

// Place is a thread: where a chat's messages go.
type Place struct {
	Team    string // workspace that the bot is installed in
	Channel string
	Thread  string // timestamp of the message that the thread hangs on
}

// Chat is the chat of a thread.
func (p Place) Chat() chat.ID {
	return chat.ID{Platform: Platform, Workspace: p.Team, Key: p.Channel + "/" + p.Thread}
}

var timestampForm = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)

// IsTimestamp reports whether s can be what Slack calls a message by.
func IsTimestamp(s string) bool { return timestampForm.MatchString(s) }

// PlaceOf reads back what Chat wrote. ok is false for an ID of another platform, or one that was never ours.
func PlaceOf(id chat.ID) (p Place, ok bool) {
	channel, thread, found := strings.Cut(id.Key, "/")
	if id.Platform != Platform || !found || channel == "" || !IsTimestamp(thread) {
		return Place{}, false
	}
	return Place{id.Workspace, channel, thread}, true
}
