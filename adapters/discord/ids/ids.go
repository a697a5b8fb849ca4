// Package ids mints and reads what Discord's objects are called: snowflakes, and the chats and people of package chat that stand for
// Discord's channels, members and roles.
//
// A chat's key is its channel, and for a thread the channel that the thread hangs in as well: that is a [Place]. Nothing outside this
// package puts such a key together or takes one apart. Snowflakes are ordered by when they were made, and say when.
//
// It imports core/chat only, and everything of adapters/discord may import it. What a new kind of object is called goes here.
package ids

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that nod's chats and people of Discord have.
const Platform = "discord"

// Place is where a chat's messages go.
type Place struct {
	Guild   string // empty in direct messages
	Channel string // the channel, or the one that the thread hangs in
	Thread  string // empty where the chat is the channel itself. A thread on a message has that message's ID, also before it is made.
}

// Room is the channel, in Discord's sense, that messages are posted to: a thread is one.
func (p Place) Room() string {
	if p.Thread != "" {
		return p.Thread
	}
	return p.Channel
}

// Chat is the place as a chat.
func (p Place) Chat() chat.ID {
	key := p.Channel
	if p.Thread != "" {
		key += "/" + p.Thread
	}
	return chat.ID{Platform: Platform, Workspace: p.Guild, Key: key}
}

// Shared is the channel that this and other chats stand in; none in direct messages.
func (p Place) Shared() chat.Channel {
	if p.Guild == "" {
		return ""
	}
	return chat.Channel(chat.ID{Platform: Platform, Workspace: p.Guild, Key: p.Channel}.String())
}

// Link is the address of a place.
func (p Place) Link() string {
	guild := cmp.Or(p.Guild, "@me")
	return "https://discord.com/channels/" + guild + "/" + p.Room()
}

// LinkTo is the address of a message in it, as Discord's own "Copy Message Link" writes it.
func (p Place) LinkTo(message string) string { return p.Link() + "/" + message }

// PlaceOf reads back what [Place.Chat] wrote. ok is false for an ID of another platform, or one that was never ours.
func PlaceOf(id chat.ID) (p Place, ok bool) {
	channel, thread, threaded := strings.Cut(id.Key, "/")
	if id.Platform != Platform || !IsSnowflake(channel) || threaded && !IsSnowflake(thread) {
		return Place{}, false
	}
	if id.Workspace == "" && threaded || id.Workspace != "" && !IsSnowflake(id.Workspace) { // a thread stands in a guild
		return Place{}, false
	}
	return Place{id.Workspace, channel, thread}, true
}

// Person is somebody in a guild, or with an empty guild in direct messages.
func Person(guild, user string) chat.User {
	if user == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Workspace: guild, Key: user}
}

// Role is everybody who has a role of a guild; written as Discord mentions one, "<@&ID>", without the brackets.
func Role(guild, id string) chat.User {
	return chat.User{Platform: Platform, Workspace: guild, Key: chat.GroupPrefix + id}
}

// IsSnowflake reports whether s could be an ID: Discord's are unsigned 64-bit numbers, written in decimal. https://discord.com/developers/docs/reference#snowflakes
func IsSnowflake(s string) bool {
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

// discordEpoch is the first millisecond of 2015, which snowflakes count from. https://discord.com/developers/docs/reference#snowflakes
const discordEpoch = 1_420_070_400_000

// Older orders snowflakes: the longer number is the larger one.
func Older(a, b string) bool { return Compare(a, b) < 0 }

// Compare orders snowflakes as [cmp.Compare] does.
func Compare(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Before is the snowflake before id; "0" of what is none.
func Before(id string) string {
	n, _ := strconv.ParseUint(id, 10, 64)
	if n == 0 {
		return "0"
	}
	return strconv.FormatUint(n-1, 10)
}

// Time is when a message was made, which its ID says; long ago of what is none.
func Time(id string) time.Time {
	n, _ := strconv.ParseUint(id, 10, 64)
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// FirstAt is the smallest ID that something made at t can have.
func FirstAt(t time.Time) string {
	ms := t.UnixMilli() - discordEpoch
	if ms <= 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(ms)<<22, 10)
}
