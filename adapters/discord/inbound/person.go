package inbound

import (
	"cmp"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/chat"
)

// Person is a person as an event or a signed request vouches for them.
type Person struct {
	User   chat.User
	Name   string
	Groups []chat.User // their roles, where the event has them
}

// PersonOf reads who did something: u in a guild, or with an empty guild in direct messages. Nothing that they could have written
// is read for it but their name.
func PersonOf(guild string, u *Account, m *Member) Person {
	if u == nil || !ids.IsSnowflake(string(u.ID)) {
		return Person{}
	}
	by := Person{User: ids.Person(guild, string(u.ID)), Name: DisplayName(u, m)}
	if guild == "" || m == nil {
		return by
	}
	// Everybody in a guild has the role whose ID is the guild's; Discord does not list it.
	// https://discord.com/developers/docs/topics/permissions#role-object
	by.Groups = append(by.Groups, ids.Role(guild, guild))
	for _, r := range m.Roles {
		if ids.IsSnowflake(string(r)) && string(r) != guild {
			by.Groups = append(by.Groups, ids.Role(guild, string(r)))
		}
	}
	return by
}

// DisplayName is what people see somebody called: in the guild, everywhere, at least.
func DisplayName(u *Account, m *Member) string {
	var nick LooseString
	if m != nil {
		nick = m.Nick
	}
	return string(cmp.Or(nick, u.GlobalName, u.Username))
}

// Sender is who wrote a message.
func (m *Message) Sender(guild string) Person { return PersonOf(guild, m.Author, m.Member) }
