package slack

import (
	"regexp"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// place is a thread: where a chat's messages go.
type place struct {
	Team    string // workspace that the bot is installed in
	Channel string
	Thread  string // timestamp of the message that the thread hangs on
}

// id is the chat of a thread.
func (p place) id() chat.ID {
	return chat.ID{Platform: Platform, Workspace: p.Team, Key: p.Channel + "/" + p.Thread}
}

var timestamp = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)

// placeOf reads back what id wrote. ok is false for an ID of another platform, or one that was never ours.
func placeOf(id chat.ID) (p place, ok bool) {
	channel, thread, found := strings.Cut(id.Key, "/")
	if id.Platform != Platform || !found || channel == "" || !timestamp.MatchString(thread) {
		return place{}, false
	}
	return place{id.Workspace, channel, thread}, true
}

// person is a user of a workspace. On Enterprise Grid home is the enterprise, where user IDs are unique; else it is the user's own
// workspace, which for somebody from another organisation is not the one the bot is installed in.
func person(home, user string) chat.User {
	if home == "" || user == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Workspace: home, Key: user}
}
