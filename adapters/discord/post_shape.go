package discord

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// A message that Discord refuses is drawn again, simpler: a card must never lose its buttons because some component is not as
// Discord wants it. The levels:
//
//	0  as it should look
//	1  the same with half the room
//	2  the least room that there can be, as text in a code block with the buttons below
//	3  the text alone, where nothing is asked
const (
	levelFull = iota
	levelHalf
	levelPlain
	levelText
)

// Flags of what is sent: components of version 2, and no previews, because making one fetches an address.
// https://discord.com/developers/docs/resources/message#message-object-message-flags
const (
	flagsShown   = discordgo.MessageFlagsIsComponentsV2 | discordgo.MessageFlagsSuppressEmbeds
	flagsPrivate = flagsShown | discordgo.MessageFlagsEphemeral
)

// sketch is a message as it goes out.
type sketch struct {
	level int
	payload
	body json.RawMessage // its components, written once: for the sum and for the request
	err  error           // of writing them
}

// sum is equal for equal payloads.
func (s sketch) sum() [32]byte { return sha256.Sum256(s.body) }

// shapes gives a message's shape of a level. ok is false where there is none.
type shapes func(level int) (s sketch, ok bool)

// turnShapes are those of a turn's message, noteShapes those of a message beside it or of a private answer.
func turnShapes(m render.Message, alive hosts) shapes {
	return shapesOf(m, func(m render.Message) payload { return encode(m, alive) })
}

func noteShapes(m render.Message, link string) shapes {
	return shapesOf(m, func(m render.Message) payload { return encodeNote(m, link) })
}

// onlyShape is a payload that there is no simpler one of.
func onlyShape(p payload) shapes {
	return func(level int) (sketch, bool) { return sketchOf(level, p), level == levelFull }
}

// marked are shapes with the ID by which Seek finds the message again.
func (of shapes) marked(id int) shapes {
	return func(level int) (sketch, bool) {
		s, ok := of(level)
		if !ok {
			return s, false
		}
		return sketchOf(level, numberedAs(s.payload, id)), true
	}
}

// numberedAs is a payload with the ID on its container, or where it has none on its first text.
func numberedAs(p payload, id int) payload {
	p = stamped(p, id)
	if len(p.Components) > 0 {
		if text, ok := p.Components[0].(discordgo.TextDisplay); ok {
			p.Components = append([]discordgo.MessageComponent{numberedText{text, id}}, p.Components[1:]...)
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

func shapesOf(m render.Message, encode func(render.Message) payload) shapes {
	return func(level int) (s sketch, ok bool) {
		switch level {
		case levelFull:
			return sketchOf(level, encode(m)), true
		case levelHalf:
			return sketchOf(level, encode(render.Fit(m, halved(limits)))), true
		case levelPlain:
			return sketchOf(level, plainPayload(m, encode)), true
		case levelText:
			return sketchOf(level, plainPayload(m, func(render.Message) payload { return payload{} })), !surface.HasAsk(m)
		}
		return sketch{}, false
	}
}

func sketchOf(level int, p payload) sketch {
	s := sketch{level: level, payload: p}
	s.body, s.err = json.Marshal(p.Components)
	return s
}

func halved(l render.Limits) render.Limits {
	half := func(n *int, floor int) {
		if *n > 0 {
			*n = max(*n/2, floor)
		}
	}
	half(&l.Chars, render.Floor.Chars)
	half(&l.Bytes, render.Floor.Bytes)
	half(&l.Blocks, render.Floor.Blocks)
	half(&l.Text, render.Floor.Text)
	half(&l.Args, render.Floor.Args)
	return l
}

// Room for the text of a plain payload: Discord's limits, 4,000 characters and 10,170 bytes, are of all text together.
const (
	plainChars = 3_500
	plainBytes = 9_000
)

// plainPayload is a message as one text without any markup, and its buttons.
func plainPayload(m render.Message, encode func(render.Message) payload) payload {
	m = render.Fit(m, render.Floor)
	text := []rune(render.PlainText(m))
	fenced := render.Fence3("", string(text))
	for len(fenced) > plainBytes || utf8.RuneCountInString(fenced) > plainChars { // what stands for a fence in it may be six times as long
		text = append(text[:len(text)/2], '…')
		fenced = render.Fence3("", string(text))
	}
	in := append([]discordgo.MessageComponent{discordgo.TextDisplay{Content: fenced}}, rows(encode(m).Components)...)
	return payload{Components: []discordgo.MessageComponent{discordgo.Container{Components: in}}}
}

// rows are the parts of a message that can be clicked.
func rows(components []discordgo.MessageComponent) (out []discordgo.MessageComponent) {
	for _, c := range components {
		switch c := c.(type) {
		case discordgo.ActionsRow:
			out = append(out, c)
		case *discordgo.ActionsRow:
			out = append(out, *c)
		case discordgo.Section:
			out = append(out, accessory(c.Accessory)...)
		case *discordgo.Section:
			out = append(out, accessory(c.Accessory)...)
		case discordgo.Container:
			out = append(out, rows(c.Components)...)
		case *discordgo.Container:
			out = append(out, rows(c.Components)...)
		}
	}
	return out
}

// accessory is the button of a section in a row of its own; nothing for a picture.
func accessory(c discordgo.MessageComponent) []discordgo.MessageComponent {
	switch c.(type) {
	case discordgo.Button, *discordgo.Button:
		return []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{c}}}
	}
	return nil
}

// outgoing is a message as Discord takes it. discordgo's own structs write null where nothing is meant, name everybody in the text
// where mentions are left out, and have no nonce.
//
// https://discord.com/developers/docs/resources/message#create-message
type outgoing struct {
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

// out is a sketch as it is sent. Nobody is notified by it.
func (s sketch) out(flags discordgo.MessageFlags) outgoing {
	o := outgoing{Components: s.body, Flags: flags, Mentions: mentions{Parse: []string{}}, Attachments: []attachment{}}
	for i, f := range s.Files {
		o.Attachments = append(o.Attachments, attachment{strconv.Itoa(i), f.Name})
	}
	return o
}

// naming is out with those notified whom the payload names.
func (s sketch) naming(flags discordgo.MessageFlags) outgoing {
	o := s.out(flags)
	o.Mentions.Users = first(s.Users, maxMentions)
	o.Mentions.Roles = first(s.Roles, maxMentions)
	return o
}

// first are at most n of ids, each once: Discord refuses one that stands there twice.
func first(ids []string, n int) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(n, len(ids))]
}

// nonceOf is what Discord knows a post by for some minutes: the same is posted once. It takes 25 characters. Discord looks for it among
// all messages of the bot, wherever they stand, so the room is in it.
// https://discord.com/developers/docs/resources/message#create-message
func nonceOf(room string, key chat.PostKey) string {
	h := sha256.Sum256([]byte("nonce\x00" + room + "\x00" + string(key)))
	return hex.EncodeToString(h[:12])
}

// stampOf is what Seek knows a post by: the ID of its container, a positive 32-bit number.
// https://discord.com/developers/docs/components/reference#anatomy-of-a-component
func stampOf(key chat.PostKey) int {
	h := sha256.Sum256([]byte("stamp\x00" + string(key)))
	return max(int(binary.BigEndian.Uint32(h[:4])&0x7fffffff), 1)
}
