package inbound

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
)

// Events are decoded here and not by discordgo: its types reject a whole message for one component that did not exist when they were
// written, and hand an empty one to the handler. A field of an odd shape is left out here, and everything else of the event is read.

// LooseString is a string where another type may stand.
type LooseString = surface.LooseString

var errNotJSON, errNotObject = errors.New("it is not JSON"), errors.New("it is not a JSON object")

// Decode reads a JSON object, leaving out what has an odd shape. Its error quotes nothing of it: messages do not belong in a log.
func Decode(payload []byte, into any) error {
	if b := bytes.TrimSpace(payload); len(b) == 0 || b[0] != '{' {
		return errNotObject
	}
	if err := json.Unmarshal(payload, into); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) { // the one field is skipped, the others are there
		return errNotJSON
	}
	return nil
}

// Account is a user object. https://discord.com/developers/docs/resources/user#user-object
type Account struct {
	ID         LooseString `json:"id"`
	Username   LooseString `json:"username"`
	GlobalName LooseString `json:"global_name"`
	Bot        bool        `json:"bot"`
	System     bool        `json:"system"`
}

// Member is a guild member object. https://discord.com/developers/docs/resources/guild#guild-member-object
type Member struct {
	Nick  LooseString   `json:"nick"`
	Roles []LooseString `json:"roles"`
	User  *Account      `json:"user"`
}

// Mentioned is a user object in "mentions", with what the guild calls them.
type Mentioned struct {
	Account
	Member *Member `json:"member"`
}

// Message is a message object, with what the gateway adds. https://discord.com/developers/docs/resources/message#message-object
type Message struct {
	ID           LooseString           `json:"id"`
	Channel      LooseString           `json:"channel_id"`
	Guild        LooseString           `json:"guild_id"` // of the gateway only: empty in direct messages, and in what was fetched
	Type         discordgo.MessageType `json:"type"`
	Webhook      LooseString           `json:"webhook_id"`
	Author       *Account              `json:"author"`
	Member       *Member               `json:"member"` // of the gateway only
	Content      LooseString           `json:"content"`
	Mentions     []Mentioned           `json:"mentions"`
	MentionRoles []LooseString         `json:"mention_roles"`
	Everyone     bool                  `json:"mention_everyone"`
	Edited       LooseString           `json:"edited_timestamp"`
	Referenced   *Message              `json:"referenced_message"`
	Snapshots    []struct {
		Message *Message `json:"message"`
	} `json:"message_snapshots"`
	Attachments []Attachment `json:"attachments"`
	Stickers    []struct {
		Name LooseString `json:"name"`
	} `json:"sticker_items"`
	Poll *struct {
		Question pollText `json:"question"`
		Answers  []struct {
			Media pollText `json:"poll_media"`
		} `json:"answers"`
	} `json:"poll"` // https://discord.com/developers/docs/resources/poll#poll-object
	Embeds     []Embed     `json:"embeds"`
	Components []Component `json:"components"`
}

// Attachment is a file on a message. https://discord.com/developers/docs/resources/message#attachment-object
type Attachment struct {
	ID   LooseString `json:"id"`
	Name LooseString `json:"filename"`
	Type LooseString `json:"content_type"`
	Size int         `json:"size"`
	URL  LooseString `json:"url"` // signed, for about a day
}

type pollText struct {
	Text LooseString `json:"text"`
}

// Embed is read for quotes: what programs post often stands in nothing else.
// https://discord.com/developers/docs/resources/message#embed-object
type Embed struct {
	Type   LooseString `json:"type"` // rich: somebody wrote it; any other: Discord made it of a link
	Author struct {
		Name LooseString `json:"name"`
	} `json:"author"`
	Title       LooseString `json:"title"`
	URL         LooseString `json:"url"`
	Description LooseString `json:"description"`
	Image       struct {
		URL LooseString `json:"url"`
	} `json:"image"`
	Footer struct {
		Text LooseString `json:"text"`
	} `json:"footer"`
	Fields []struct {
		Name  LooseString `json:"name"`
		Value LooseString `json:"value"`
	} `json:"fields"`
}

// Component is a component of any type; what is not read of it does not matter.
type Component struct {
	Type     int         `json:"type"`
	CustomID LooseString `json:"custom_id"`
	Content  LooseString `json:"content"` // TextDisplay
	Items    []struct {
		Description LooseString `json:"description"`
	} `json:"items"` // MediaGallery
	Value      LooseString `json:"value"`      // TextInput of a form that was sent
	Components []Component `json:"components"` // ActionRow, Container, Section
	Component  *Component  `json:"component"`  // Label
}

// author is the ID of who wrote it, or "".
func (m *Message) author() string {
	if m == nil || m.Author == nil {
		return ""
	}
	return string(m.Author.ID)
}

// isWritten: it is of the types that are somebody's words, and not mine. All others are announcements, a program's answers, or the first message of a thread,
// which only points at the one it hangs on. https://discord.com/developers/docs/resources/message#message-object-message-types
func (m *Message) isWritten(me string) bool {
	return ids.IsSnowflake(m.author()) && !m.WrittenBy(me) && !m.Author.System && (m.Type == discordgo.MessageTypeDefault || m.Type == discordgo.MessageTypeReply)
}

func (m *Message) isOfProgram() bool { return m.Author.Bot || m.Webhook != "" }

// ByPerson reports whether a person wrote it in their own name.
func (m *Message) ByPerson(me string) bool { return m.isWritten(me) && !m.isOfProgram() }

// ByProgram reports whether another bot or a webhook wrote it, and names user in its words: not in what it quotes, nor by answering.
func (m *Message) ByProgram(user string) bool {
	return m.isWritten(user) && m.isOfProgram() && m.MentionsUser(user) && strings.Contains(strings.ReplaceAll(string(m.Content), "<@!", "<@"), "<@"+user+">")
}

// MentionsUser: Discord has found the mention, or the reply that notifies, and not our reading of the text: what stands in a code
// fence mentions nobody.
func (m *Message) MentionsUser(id string) bool {
	return slices.ContainsFunc(m.Mentions, func(u Mentioned) bool { return string(u.ID) == id })
}

// RepliesTo reports whether it is a reply to somebody's message, also where the reply does not notify.
func (m *Message) RepliesTo(id string) bool {
	return m.Referenced.WrittenBy(id)
}

// NamesOthers reports whether it calls anybody but me and its author, or answers them.
func (m *Message) NamesOthers(me string) bool {
	self := []string{me, m.author(), ""}
	return m.Everyone || len(m.MentionRoles) > 0 ||
		slices.ContainsFunc(m.Mentions, func(u Mentioned) bool { return !slices.Contains(self, string(u.ID)) }) ||
		!slices.Contains(self, m.Referenced.author())
}

// IsEmpty: it has nothing that could be read. Without the intent for message content everything that is not for the bot looks so.
func (m *Message) IsEmpty() bool {
	return m.Content == "" && len(m.Attachments) == 0 && len(m.Stickers) == 0 && len(m.Snapshots) == 0 && m.Poll == nil
}

// Deletion is what MESSAGE_DELETE and MESSAGE_DELETE_BULK say: not who wrote it, nor who deleted it.
type Deletion struct {
	ID      LooseString   `json:"id"`
	IDs     []LooseString `json:"ids"`
	Channel LooseString   `json:"channel_id"`
	Guild   LooseString   `json:"guild_id"`
}

// GuildObject is what GUILD_CREATE, GUILD_DELETE and THREAD_LIST_SYNC say.
// https://discord.com/developers/docs/events/gateway-events#guild-create
type GuildObject struct {
	ID          LooseString     `json:"id"`
	Guild       LooseString     `json:"guild_id"` // of THREAD_LIST_SYNC
	Unavailable bool            `json:"unavailable"`
	Channels    []ChannelObject `json:"channels"`
	Threads     []ChannelObject `json:"threads"`
	Roles       []RoleObject    `json:"roles"`
}

// RoleObject is a role object. https://discord.com/developers/docs/topics/permissions#role-object
type RoleObject struct {
	ID   LooseString `json:"id"`
	Name LooseString `json:"name"`
	Tags *struct {
		Bot LooseString `json:"bot_id"` // whose own role it is
	} `json:"tags"`
}

// ChannelObject is a channel object. https://discord.com/developers/docs/resources/channel#channel-object
type ChannelObject struct {
	ID       LooseString           `json:"id"`
	Guild    LooseString           `json:"guild_id"`
	Parent   LooseString           `json:"parent_id"`
	Type     discordgo.ChannelType `json:"type"`
	Name     LooseString           `json:"name"`
	Last     LooseString           `json:"last_message_id"` // may be of a message that is no more
	Metadata *struct {
		Archived bool        `json:"archived"`
		Locked   bool        `json:"locked"`
		At       LooseString `json:"archive_timestamp"`
	} `json:"thread_metadata"`
}

// Channel is what is known of a place where messages stand: in Discord's words a thread is one too.
type Channel struct {
	ID, Guild, Parent, Name string
	Type                    discordgo.ChannelType
	Locked, Archived        bool // of a thread
}

func (c Channel) IsThread() bool {
	return c.Type == discordgo.ChannelTypeGuildNewsThread || c.Type == discordgo.ChannelTypeGuildPublicThread || c.Type == discordgo.ChannelTypeGuildPrivateThread
}

// HasThreads reports whether threads can be made on this channel's messages. In a forum every message is in a thread already; a voice
// channel's chat has none.
func (c Channel) HasThreads() bool {
	return c.Type == discordgo.ChannelTypeGuildText || c.Type == discordgo.ChannelTypeGuildNews
}

// IsClosed: nobody can write in it any more. An archived thread opens again with the next message, unless it is locked.
func (c Channel) IsClosed() bool { return c.Locked && c.Archived }

func (d *ChannelObject) Channel(guild string) Channel {
	c := Channel{
		ID: string(d.ID), Guild: cmp.Or(string(d.Guild), guild), Parent: string(d.Parent), Name: string(d.Name), Type: d.Type,
	}
	if d.Metadata != nil {
		c.Locked, c.Archived = d.Metadata.Locked, d.Metadata.Archived
	}
	return c
}
