package components

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Rendition is a message as it goes out.
type Rendition struct {
	Level int
	Payload
	Body json.RawMessage // its components, written once: for the sum and for the request
}

// Sum is equal for equal payloads.
func (s Rendition) Sum() [32]byte { return sha256.Sum256(s.Body) }

// Renditions are those of a message, simpler with every level.
type Renditions = surface.Renditions[Rendition]

// Turn draws a turn's message that was fitted to [Limits]. alive says which hosts' addresses stay alive beside those of the message itself.
func Turn(m render.Message, alive func(host string) bool) Renditions {
	return renditionsOf(m, func(m render.Message) Payload { return encode(m, alive) })
}

// DirectTurn draws one for direct messages, where whoever clicks means themselves as a member of guild.
func DirectTurn(guild string, m render.Message, alive func(host string) bool) Renditions {
	return renditionsOf(m, func(m render.Message) Payload { return encodeIn(guild, m, alive) })
}

// Note draws a message beside a turn's, or for one person alone. link, if not empty, is the address that it leads to.
func Note(m render.Message, link string) Renditions {
	return renditionsOf(m, func(m render.Message) Payload { return encodeNote(m, link) })
}

// Only is a payload that there is no simpler one of.
func Only(p Payload) Renditions {
	return func(level int) (Rendition, bool) { return renditionOf(level, p), level == surface.LevelFull }
}

// Marked are the same renditions with the ID by which Seek finds the message again.
func Marked(of Renditions, id int) Renditions {
	return func(level int) (Rendition, bool) {
		s, ok := of(level)
		if !ok {
			return s, false
		}
		return renditionOf(level, numberedAs(s.Payload, id)), true
	}
}

// numberedAs is a payload with the component ID on its container, or where it has none on its first text: by it, a message is found again.
// https://discord.com/developers/docs/components/reference#anatomy-of-a-component
func numberedAs(p Payload, id int) Payload {
	p.Components = slices.Clone(p.Components)
	for i, c := range p.Components {
		switch c := c.(type) {
		case discordgo.Container:
			c.ID = id
			p.Components[i] = c
			return p
		case discordgo.TextDisplay:
			if i == 0 {
				p.Components[i] = numberedText{c, id}
			}
		}
	}
	return p
}

// numberedText is a text with an ID, which discordgo has no field for.
type numberedText struct {
	discordgo.TextDisplay
	id int
}

func (t numberedText) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    discordgo.ComponentType `json:"type"`
		ID      int                     `json:"id"`
		Content string                  `json:"content"`
	}{t.Type(), t.id, t.Content})
}

func renditionsOf(m render.Message, draw func(render.Message) Payload) Renditions {
	return surface.Encoder[Payload, Rendition]{
		Limits: Limits, Draw: draw, Plain: plainPayload, Write: renditionOf,
		Text: func(m render.Message, _ Payload) Payload { return plainPayload(m, Payload{}) },
	}.Renditions(m)
}

func renditionOf(level int, p Payload) Rendition {
	s := Rendition{Level: level, Payload: p}
	s.Body, _ = json.Marshal(p.Components) // texts and numbers, which can always be written
	return s
}

// Room for the text of a plain payload: Discord's limits, 4,000 characters and 10,170 bytes, are of all text together.
const (
	plainChars = 3_500
	plainBytes = 9_000
)

// plainPayload is a message as one text without any markup, and its buttons.
func plainPayload(m render.Message, drawn Payload) Payload {
	text := []rune(render.PlainText(m))
	fenced := render.Fence3("", string(text))
	for len(fenced) > plainBytes || utf8.RuneCountInString(fenced) > plainChars { // what stands for a fence in it may be six times as long
		text = append(text[:len(text)/2], '…')
		fenced = render.Fence3("", string(text))
	}
	in := append([]discordgo.MessageComponent{discordgo.TextDisplay{Content: fenced}}, findRows(drawn.Components)...)
	return Payload{Components: []discordgo.MessageComponent{discordgo.Container{Components: in}}}
}

// findRows finds the parts of a message that can be clicked; the button of a section gets a row of its own.
func findRows(components []discordgo.MessageComponent) (out []discordgo.MessageComponent) {
	for _, c := range components {
		switch c := c.(type) {
		case discordgo.ActionsRow:
			out = append(out, c)
		case discordgo.Section:
			if b, ok := c.Accessory.(discordgo.Button); ok {
				out = append(out, discordgo.ActionsRow{Components: []discordgo.MessageComponent{b}})
			}
		case discordgo.Container:
			out = append(out, findRows(c.Components)...)
		}
	}
	return out
}

// Flags of what is sent: components of version 2, and no previews, because making one fetches an address.
// https://discord.com/developers/docs/resources/message#message-object-message-flags
const (
	FlagsShown   = discordgo.MessageFlagsIsComponentsV2 | discordgo.MessageFlagsSuppressEmbeds
	FlagsPrivate = FlagsShown | discordgo.MessageFlagsEphemeral
)

// Outgoing is a message as Discord takes it. discordgo's own structs write null where nothing is meant, name everybody in the text
// where mentions are left out, and have no nonce.
//
// https://discord.com/developers/docs/resources/message#create-message
type Outgoing struct {
	Components  json.RawMessage        `json:"components"`
	Flags       discordgo.MessageFlags `json:"flags"`
	Mentions    mentions               `json:"allowed_mentions"`
	Attachments []attachment           `json:"attachments"` // all that the message keeps: an edit without it would keep what was there
	Nonce       string                 `json:"nonce,omitempty"`
	Enforce     bool                   `json:"enforce_nonce,omitempty"`
}

// mentions are who may be notified. Parse must be there and empty: left out, everything in the text counts, "@everyone" too.
// https://discord.com/developers/docs/resources/message#allowed-mentions-object
type mentions struct {
	Parse []string `json:"parse"`
	Users []string `json:"users,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// attachment is a file of the same request. https://discord.com/developers/docs/resources/message#attachment-object
type attachment struct {
	ID   string `json:"id"` // which of the request's files: files[ID]
	Name string `json:"filename"`
}

// Uploads are the files as discordgo sends them: to be read once.
func (s Rendition) Uploads() (all []*discordgo.File) {
	for _, f := range s.Files {
		all = append(all, &discordgo.File{Name: f.Name, ContentType: f.Type, Reader: bytes.NewReader(f.Data)})
	}
	return all
}

// Out is a rendition as it is sent. Nobody is notified by it.
func (s Rendition) Out(flags discordgo.MessageFlags) Outgoing {
	o := Outgoing{Components: s.Body, Flags: flags, Mentions: mentions{Parse: []string{}}, Attachments: []attachment{}}
	for i, f := range s.Files {
		o.Attachments = append(o.Attachments, attachment{strconv.Itoa(i), f.Name})
	}
	return o
}

// OutNotifying is [Rendition.Out] with those notified whom the payload names.
func (s Rendition) OutNotifying(flags discordgo.MessageFlags) Outgoing {
	o := s.Out(flags)
	o.Mentions.Users = first(s.Users, maxMentions)
	o.Mentions.Roles = first(s.Roles, maxMentions)
	return o
}

// first are at most n of all, each once: Discord refuses one that stands there twice.
func first(all []string, n int) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(n, len(all))]
}
