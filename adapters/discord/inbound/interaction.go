package inbound

import (
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/chat"
)

// Interaction is a click, a form that was sent, or a slash command. Who did it is Member, in direct messages User, and nothing else:
// everything in Data only says what was done.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object
type Interaction struct {
	ID          LooseString     `json:"id"`
	Type        int             `json:"type"`
	Application LooseString     `json:"application_id"`
	Token       LooseString     `json:"token"` // in no log
	Guild       LooseString     `json:"guild_id"`
	Channel     *ChannelObject  `json:"channel"`
	ChannelID   LooseString     `json:"channel_id"`
	Member      *Member         `json:"member"`
	User        *Account        `json:"user"`
	Message     *ClickedMessage `json:"message"`
	Data        InteractionData `json:"data"`

	At time.Time `json:"-"` // when it came here: said by whoever takes it
}

// ClickedMessage is what is read of the message that was clicked, or whose button opened a form.
type ClickedMessage struct {
	ID    LooseString            `json:"id"`
	Flags discordgo.MessageFlags `json:"flags"`
}

// IsPrivate: only one person sees it.
func (m *ClickedMessage) IsPrivate() bool { return m.Flags&discordgo.MessageFlagsEphemeral != 0 }

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

// Types of interactions.
const (
	InteractionPing      = 1
	InteractionCommand   = 2
	InteractionComponent = 3
	InteractionForm      = 5
)

// Lane: what is done to one message keeps its order, and waits for no message of its room.
func (in *Interaction) Lane() string {
	if in.Message != nil && in.Message.ID != "" {
		return "i:" + string(in.Message.ID)
	}
	return "c:" + string(in.ChannelID) + "/" + in.By().User.Key
}

func (in *Interaction) Values() (all []string) {
	for _, v := range in.Data.Values {
		all = append(all, string(v))
	}
	return all
}

func (in *Interaction) MessageRef() chat.MessageRef {
	if in.Message == nil {
		return ""
	}
	return chat.MessageRef(in.Message.ID)
}

// Delivery is the same for an interaction that comes twice: over two connections.
func (in *Interaction) Delivery() chat.Delivery { return chat.Delivery("i:" + string(in.ID)) }

// By is the one person that an interaction is of, or nobody: the zero somebody.
func (in *Interaction) By() Person {
	if in.Guild == "" {
		if in.User == nil || in.User.Bot {
			return Person{}
		}
		return PersonOf("", in.User, nil)
	}
	if in.Member == nil || in.Member.User == nil || in.Member.User.Bot {
		return Person{}
	}
	return PersonOf(string(in.Guild), in.Member.User, in.Member)
}

// InputValue is what stands in a form's input, however the form is built.
func InputValue(of []Component, customID string) string {
	left := maxPieces
	v, _ := valueIn(of, customID, &left)
	return v
}

func valueIn(of []Component, customID string, left *int) (string, bool) {
	for i := range of {
		p := &of[i]
		if *left--; *left < 0 {
			return "", false
		}
		if string(p.CustomID) == customID {
			return string(p.Value), true
		}
		inside := p.Components
		if p.Component != nil {
			inside = append(inside[:len(inside):len(inside)], *p.Component)
		}
		if v, ok := valueIn(inside, customID, left); ok {
			return v, true
		}
	}
	return "", false
}
