package inbound

import (
	"cmp"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/chat"
)

// Interaction is a click, a form that was sent, or a slash command. Who did it is Member, in direct messages User, and nothing else:
// everything in Data only says what was done.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object
type Interaction struct {
	ID          LooseString               `json:"id"`
	Type        discordgo.InteractionType `json:"type"`
	Application LooseString               `json:"application_id"`
	Token       LooseString               `json:"token"` // in no log
	Guild       LooseString               `json:"guild_id"`
	Channel     ChannelObject             `json:"channel"`
	ChannelID   LooseString               `json:"channel_id"`
	Member      *Member                   `json:"member"`
	User        *Account                  `json:"user"`
	Message     ClickedMessage            `json:"message"`
	Data        InteractionData           `json:"data"`

	At time.Time `json:"-"` // when it came here: said by whoever takes it
}

// ClickedMessage is what is read of the message that was clicked, or whose button opened a form: nothing of a slash command.
type ClickedMessage struct {
	ID    LooseString            `json:"id"`
	Flags discordgo.MessageFlags `json:"flags"`
}

// IsPrivate: only one person sees it.
func (m ClickedMessage) IsPrivate() bool { return m.Flags&discordgo.MessageFlagsEphemeral != 0 }

type InteractionData struct {
	Name       LooseString   `json:"name"`
	CustomID   LooseString   `json:"custom_id"`
	Values     []LooseString `json:"values"`
	Options    []Option      `json:"options"`
	Components []Component   `json:"components"`
}

type Option struct {
	Name    LooseString `json:"name"`
	Value   LooseString `json:"value"`
	Options []Option    `json:"options"`
}

// Lane: what somebody does to one message keeps its order, and waits for nobody else, nor for a message of its room.
func (in *Interaction) Lane() string {
	return string(cmp.Or(in.Message.ID, in.ChannelID)) + "/" + in.By().User.Key
}

func (in *Interaction) Values() (all []string) {
	for _, v := range in.Data.Values {
		all = append(all, string(v))
	}
	return all
}

func (in *Interaction) MessageRef() chat.MessageRef { return chat.MessageRef(in.Message.ID) }

// Delivery is the same for an interaction that comes twice: over two connections.
func (in *Interaction) Delivery() chat.Delivery { return chat.Delivery("i:" + string(in.ID)) }

// By is the one person that an interaction is of, or nobody: the zero somebody.
func (in *Interaction) By() Person {
	u, m := in.User, (*Member)(nil)
	if in.Guild != "" {
		if m = in.Member; m == nil {
			return Person{}
		}
		u = m.User
	}
	if u == nil || u.Bot {
		return Person{}
	}
	return PersonOf(string(in.Guild), u, m)
}

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
