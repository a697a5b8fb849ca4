package components

import (
	"crypto/sha256"
	"encoding/json"
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
	Err  error           // of writing them
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

// numberedAs is a payload with the ID on its container, or where it has none on its first text.
func numberedAs(p Payload, id int) Payload {
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

func renditionsOf(m render.Message, draw func(render.Message) Payload) Renditions {
	return surface.Encoder[Payload, Rendition]{
		Limits: Limits, Draw: draw, Plain: plainPayload, Write: renditionOf,
		Text: func(m render.Message, _ Payload) Payload { return plainPayload(m, Payload{}) },
	}.Renditions(m)
}

func renditionOf(level int, p Payload) Rendition {
	s := Rendition{Level: level, Payload: p}
	s.Body, s.Err = json.Marshal(p.Components)
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

// findRows finds the parts of a message that can be clicked.
func findRows(components []discordgo.MessageComponent) (out []discordgo.MessageComponent) {
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
			out = append(out, findRows(c.Components)...)
		case *discordgo.Container:
			out = append(out, findRows(c.Components)...)
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
