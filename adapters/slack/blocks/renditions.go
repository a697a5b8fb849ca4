package blocks

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Rendition is a message as it goes out, each block already written as JSON: for the sum and for the request.
type Rendition struct {
	Level  int
	Text   string
	Blocks []slack.Block
}

// Sum is equal for renditions that look the same.
func (r Rendition) Sum() [32]byte {
	h := sha256.New()
	_, _ = io.WriteString(h, r.Text)
	for _, b := range r.Blocks {
		if encoded, ok := b.(encodedBlock); ok {
			_, _ = h.Write(encoded.json)
		}
	}
	return [32]byte(h.Sum(nil))
}

// Renditions are those of a message, simpler with every level.
type Renditions = surface.Renditions[Rendition]

// MessageRenditions are those of a turn's message.
func MessageRenditions(m render.Message) Renditions { return renditionsOf(m, EncodeMessage) }

// NoteRenditions are those of a message beside it, or of a private answer.
func NoteRenditions(m render.Message, link string) Renditions {
	return renditionsOf(m, func(m render.Message) Message { return encodeNote(m, link) })
}

func renditionsOf(m render.Message, draw func(render.Message) Message) Renditions {
	return surface.Encoder[Message, Rendition]{
		Limits: Limits, Draw: draw, Plain: plainMessage, Write: renditionOf,
		Text: func(_ render.Message, drawn Message) Message { return Message{Text: drawn.Text} },
	}.Renditions(m)
}

// OnlyRendition is that of something of our own making, which cannot be simpler.
func OnlyRendition(p Message) Renditions {
	return func(level int) (Rendition, bool) { return renditionOf(level, p), level == surface.LevelFull }
}

func renditionOf(level int, p Message) Rendition {
	out := Rendition{Level: level, Text: p.Text}
	for _, b := range p.Blocks {
		raw, err := json.Marshal(b)
		if err != nil { // a block that cannot be written is left to Slack's verdict
			out.Blocks = append(out.Blocks, b)
			continue
		}
		out.Blocks = append(out.Blocks, encodedBlock{b, raw})
	}
	return out
}

// encodedBlock is a block with its JSON.
type encodedBlock struct {
	slack.Block
	json json.RawMessage
}

func (b encodedBlock) MarshalJSON() ([]byte, error) { return b.json, nil }

// plainSection is what one section of a plain message holds; a section takes 3,000 characters.
// https://docs.slack.dev/reference/block-kit/blocks/section-block
const plainSection = 2900

// plainMessage is a message in the two kinds of block that have always been there: text without any markup, and buttons.
func plainMessage(m render.Message, drawn Message) Message {
	out := Message{Text: drawn.Text}
	below := findButtons(drawn.Blocks)
	room := maxAll - len("[]") - sizeOf(below) - len(below)
	for text := render.PlainText(m); text != ""; {
		n, s, ok := firstSection(text, room)
		if !ok { // what is escaped to more than there is room for ends here: the buttons count
			break
		}
		if s != nil {
			out.Blocks = append(out.Blocks, s)
			room -= sizeOf([]slack.Block{s}) + len(",")
		}
		text = text[n:]
	}
	out.Blocks = append(out.Blocks, below...)
	return out
}

// firstSection draws the first n bytes of text, as many as go into a section and into room; nil if there is nothing to see in them. ok is false
// where there is no room.
func firstSection(text string, room int) (n int, s slack.Block, ok bool) {
	for most := plainSection; most >= 20; most /= 2 {
		n = bytesIn(text, most)
		say := strings.TrimSpace(text[:n])
		if say == "" {
			return n, nil, true
		}
		if s = slack.NewSectionBlock(plainText(say), nil, nil); sizeOf([]slack.Block{s}) <= room {
			return n, s, true
		}
	}
	return 0, nil, false
}

// findButtons finds the parts of a message that can be clicked.
func findButtons(blocks []slack.Block) (out []slack.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *slack.ActionBlock:
			out = append(out, b)
		case *slack.SectionBlock:
			if b.Accessory == nil {
				continue
			}
			switch {
			case b.Accessory.ButtonElement != nil:
				out = append(out, slack.NewActionBlock("", b.Accessory.ButtonElement))
			case b.Accessory.OverflowElement != nil:
				out = append(out, slack.NewActionBlock("", b.Accessory.OverflowElement))
			}
		case *slack.ContainerBlock:
			out = append(out, findButtons(b.ChildBlocks.BlockSet)...)
		}
	}
	return out
}
