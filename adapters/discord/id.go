package discord

import (
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// place is where a chat's messages go.
type place struct {
	Guild   string // empty in direct messages
	Channel string // the channel, or the one that the thread hangs in
	Thread  string // empty where the chat is the channel itself. A thread on a message has that message's ID, also before it is made.
}

// room is the channel, in Discord's sense, that messages are posted to: a thread is one.
func (p place) room() string {
	if p.Thread != "" {
		return p.Thread
	}
	return p.Channel
}

// id is the chat of a place.
func (p place) id() chat.ID {
	key := p.Channel
	if p.Thread != "" {
		key += "/" + p.Thread
	}
	return chat.ID{Platform: Platform, Workspace: p.Guild, Key: key}
}

// placeOf reads back what id wrote. ok is false for an ID of another platform, or one that was never ours.
func placeOf(id chat.ID) (p place, ok bool) {
	channel, thread, threaded := strings.Cut(id.Key, "/")
	if id.Platform != Platform || !isSnowflake(channel) || threaded && !isSnowflake(thread) {
		return place{}, false
	}
	if id.Workspace == "" && threaded || id.Workspace != "" && !isSnowflake(id.Workspace) { // a thread stands in a guild
		return place{}, false
	}
	return place{id.Workspace, channel, thread}, true
}

// isSnowflake: Discord's IDs are unsigned 64-bit numbers, written in decimal. https://discord.com/developers/docs/reference#snowflakes
func isSnowflake(s string) bool {
	if s == "" || len(s) > 20 || s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// person is somebody in a guild, or with an empty guild in direct messages.
func person(guild, user string) chat.User {
	if user == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Workspace: guild, Key: user}
}

// role is everybody who has a role of a guild; written as Discord mentions one, "<@&ID>", without the brackets.
func role(guild, id string) chat.User {
	return chat.User{Platform: Platform, Workspace: guild, Key: chat.GroupPrefix + id}
}
