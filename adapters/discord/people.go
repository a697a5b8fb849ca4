package discord

import (
	"cmp"

	"github.com/nodhq/nod/core/chat"
)

// somebody is a person as an event or a signed request vouches for them.
type somebody struct {
	User   chat.User
	Name   string
	Groups []chat.User // their roles, where the event has them
}

// somebodyOf reads who did something: u in a guild, or with an empty guild in direct messages. Nothing that they could have written
// is read for it but their name.
func somebodyOf(guild string, u *account, m *membership) somebody {
	if u == nil || !isSnowflake(string(u.ID)) {
		return somebody{}
	}
	by := somebody{User: person(guild, string(u.ID)), Name: calledIn(u, m)}
	if guild == "" || m == nil {
		return by
	}
	// Everybody in a guild has the role whose ID is the guild's; Discord does not list it.
	// https://discord.com/developers/docs/topics/permissions#role-object
	by.Groups = append(by.Groups, role(guild, guild))
	for _, r := range m.Roles {
		if isSnowflake(string(r)) && string(r) != guild {
			by.Groups = append(by.Groups, role(guild, string(r)))
		}
	}
	return by
}

// calledIn is what people see somebody called: in the guild, everywhere, at least.
func calledIn(u *account, m *membership) string {
	var nick loose
	if m != nil {
		nick = m.Nick
	}
	return string(cmp.Or(nick, u.GlobalName, u.Username))
}

// author is who wrote a message.
func (m *message) author(guild string) somebody { return somebodyOf(guild, m.Author, m.Member) }

// who is the one person that an interaction is of, or nobody: the zero somebody.
func (in *interaction) who() somebody {
	if in.Guild == "" {
		if in.User == nil || in.User.Bot {
			return somebody{}
		}
		return somebodyOf("", in.User, nil)
	}
	if in.Member == nil || in.Member.User == nil || in.Member.User.Bot {
		return somebody{}
	}
	return somebodyOf(string(in.Guild), in.Member.User, in.Member)
}
