package discord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Events are decoded here and not by discordgo: its types reject a whole message for one component that did not exist when they were
// written, and hand an empty one to the handler. A field of an odd shape is left out here, and everything else of the event is read.

// loose is a string where another type may stand: a number is taken for its digits, anything else for nothing. Decoding it never fails.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	*l = ""
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*l = loose(s)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*l = loose(b)
	}
	return nil
}

var errNotObject = errors.New("it is not a JSON object")

// decode reads a JSON object, leaving out what has an odd shape. Its error quotes nothing of it: messages do not belong in a log.
func decode(payload []byte, into any) error {
	if b := bytes.TrimSpace(payload); len(b) == 0 || b[0] != '{' {
		return errNotObject
	}
	err := json.Unmarshal(payload, into)
	var syntax *json.SyntaxError
	switch {
	case err == nil, errors.As(err, new(*json.UnmarshalTypeError)): // the one field is skipped, the others are there
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	}
	return errors.New("it cannot be decoded")
}

// account is a user object. https://discord.com/developers/docs/resources/user#user-object
type account struct {
	ID         loose `json:"id"`
	Username   loose `json:"username"`
	GlobalName loose `json:"global_name"`
	Bot        bool  `json:"bot"`
	System     bool  `json:"system"`
}

// membership is a guild member object. https://discord.com/developers/docs/resources/guild#guild-member-object
type membership struct {
	Nick  loose    `json:"nick"`
	Roles []loose  `json:"roles"`
	User  *account `json:"user"`
}

// mentioned is a user object in "mentions", with what the guild calls them.
type mentioned struct {
	account
	Member *membership `json:"member"`
}

// message is a message object, with what the gateway adds. https://discord.com/developers/docs/resources/message#message-object
type message struct {
	ID           loose       `json:"id"`
	Channel      loose       `json:"channel_id"`
	Guild        loose       `json:"guild_id"` // of the gateway only: empty in direct messages, and in what was fetched
	Type         int         `json:"type"`
	Webhook      loose       `json:"webhook_id"`
	Author       *account    `json:"author"`
	Member       *membership `json:"member"` // of the gateway only
	Content      loose       `json:"content"`
	Mentions     []mentioned `json:"mentions"`
	MentionRoles []loose     `json:"mention_roles"`
	Everyone     bool        `json:"mention_everyone"`
	Edited       loose       `json:"edited_timestamp"`
	Referenced   *message    `json:"referenced_message"`
	Snapshots    []struct {
		Message *message `json:"message"`
	} `json:"message_snapshots"`
	Attachments []struct {
		Name loose `json:"filename"`
	} `json:"attachments"`
	Stickers []struct {
		Name loose `json:"name"`
	} `json:"sticker_items"`
	Poll *struct {
		Question struct {
			Text loose `json:"text"`
		} `json:"question"`
	} `json:"poll"`
	Embeds     []embed `json:"embeds"`
	Components []piece `json:"components"`
}

// embed is read for quotes: what programs post often stands in nothing else.
type embed struct {
	Title       loose `json:"title"`
	Description loose `json:"description"`
	Fields      []struct {
		Name  loose `json:"name"`
		Value loose `json:"value"`
	} `json:"fields"`
}

// piece is a component of any type; what is not read of it does not matter.
type piece struct {
	Type       int     `json:"type"`
	CustomID   loose   `json:"custom_id"`
	Content    loose   `json:"content"`    // TextDisplay
	Value      loose   `json:"value"`      // TextInput of a form that was sent
	Components []piece `json:"components"` // ActionRow, Container, Section
	Component  *piece  `json:"component"`  // Label
}

// Types of messages that are a person's words. All others are announcements, a program's answers, or (21) the first message of a
// thread, which only points at the one it hangs on. https://discord.com/developers/docs/resources/message#message-object-message-types
const (
	typeDefault = 0
	typeReply   = 19
	typeStarter = 21
)

// byPerson reports whether a person wrote it in their own name.
func (m *message) byPerson(me string) bool {
	return m.Author != nil && isSnowflake(string(m.Author.ID)) && string(m.Author.ID) != me && !m.Author.Bot && !m.Author.System && m.Webhook == "" &&
		(m.Type == typeDefault || m.Type == typeReply)
}

// mentionsUser: Discord has found the mention, or the reply that notifies, and not our reading of the text: what stands in a code
// fence mentions nobody.
func (m *message) mentionsUser(id string) bool {
	return slices.ContainsFunc(m.Mentions, func(u mentioned) bool { return string(u.ID) == id })
}

// repliesTo reports whether it is a reply to somebody's message, also where the reply does not notify.
func (m *message) repliesTo(id string) bool {
	return m.Type == typeReply && m.Referenced != nil && m.Referenced.Author != nil && string(m.Referenced.Author.ID) == id
}

// namesOthers reports whether it calls anybody but me and its author, or answers them.
func (m *message) namesOthers(me string) bool {
	self := []string{me, string(m.Author.ID)}
	return m.Everyone || len(m.MentionRoles) > 0 ||
		slices.ContainsFunc(m.Mentions, func(u mentioned) bool { return !slices.Contains(self, string(u.ID)) }) ||
		m.Type == typeReply && m.Referenced != nil && m.Referenced.Author != nil && !slices.Contains(self, string(m.Referenced.Author.ID))
}

// bare: it has nothing that could be read. Without the intent for message content everything that is not for the bot looks so.
func (m *message) bare() bool {
	return m.Content == "" && len(m.Attachments) == 0 && len(m.Stickers) == 0 && len(m.Snapshots) == 0 && m.Poll == nil
}

// removal is what MESSAGE_DELETE and MESSAGE_DELETE_BULK say: not who wrote it, nor who deleted it.
type removal struct {
	ID      loose   `json:"id"`
	IDs     []loose `json:"ids"`
	Channel loose   `json:"channel_id"`
	Guild   loose   `json:"guild_id"`
}

// channelData is a channel object. https://discord.com/developers/docs/resources/channel#channel-object
type channelData struct {
	ID       loose `json:"id"`
	Guild    loose `json:"guild_id"`
	Parent   loose `json:"parent_id"`
	Type     int   `json:"type"`
	Name     loose `json:"name"`
	Last     loose `json:"last_message_id"` // may be of a message that is no more
	Metadata *struct {
		Archived bool  `json:"archived"`
		Locked   bool  `json:"locked"`
		At       loose `json:"archive_timestamp"`
	} `json:"thread_metadata"`
}

// guildData is what GUILD_CREATE, GUILD_DELETE and THREAD_LIST_SYNC say.
// https://discord.com/developers/docs/events/gateway-events#guild-create
type guildData struct {
	ID          loose         `json:"id"`
	Guild       loose         `json:"guild_id"` // of THREAD_LIST_SYNC
	Unavailable bool          `json:"unavailable"`
	Channels    []channelData `json:"channels"`
	Threads     []channelData `json:"threads"`
	Roles       []roleData    `json:"roles"`
}

// roleData is a role object. https://discord.com/developers/docs/topics/permissions#role-object
type roleData struct {
	ID   loose `json:"id"`
	Name loose `json:"name"`
	Tags *struct {
		Bot loose `json:"bot_id"` // whose own role it is
	} `json:"tags"`
}

// interaction is a click, a form that was sent, or a slash command. Who did it is Member, in direct messages User, and nothing else:
// everything in Data only says what was done.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object
type interaction struct {
	ID          loose           `json:"id"`
	Type        int             `json:"type"`
	Application loose           `json:"application_id"`
	Token       loose           `json:"token"` // in no log
	Guild       loose           `json:"guild_id"`
	Channel     *channelData    `json:"channel"`
	ChannelID   loose           `json:"channel_id"`
	Member      *membership     `json:"member"`
	User        *account        `json:"user"`
	Message     *clickedMessage `json:"message"`
	Data        interactionData `json:"data"`

	at time.Time // when it came here
}

// clickedMessage is what is read of the message that was clicked, or whose button opened a form.
type clickedMessage struct {
	ID    loose                  `json:"id"`
	Flags discordgo.MessageFlags `json:"flags"`
}

// isPrivate: only one person sees it.
func (m *clickedMessage) isPrivate() bool { return m.Flags&discordgo.MessageFlagsEphemeral != 0 }

type interactionData struct {
	Name       loose    `json:"name"`
	CustomID   loose    `json:"custom_id"`
	Values     []loose  `json:"values"`
	Options    []option `json:"options"`
	Components []piece  `json:"components"`
}

type option struct {
	Name    loose    `json:"name"`
	Value   loose    `json:"value"`
	Options []option `json:"options"`
}

// Types of interactions.
const (
	interactionPing      = 1
	interactionCommand   = 2
	interactionComponent = 3
	interactionForm      = 5
)

// discordEpoch is the first millisecond of 2015, which snowflakes count from. https://discord.com/developers/docs/reference#snowflakes
const discordEpoch = 1_420_070_400_000

// older orders snowflakes: the longer number is the larger one.
func older(a, b string) bool { return compareIDs(a, b) < 0 }

func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// justBefore is the snowflake before id.
func justBefore(id string) string {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return "0"
	}
	return strconv.FormatUint(n-1, 10)
}

// writtenAt is when a message was made, which its ID says.
func writtenAt(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// firstAt is the smallest ID that something made at t can have.
func firstAt(t time.Time) string {
	ms := t.UnixMilli() - discordEpoch
	if ms <= 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(ms)<<22, 10)
}
