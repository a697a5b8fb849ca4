package slack

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// A message that Slack refuses is drawn again, simpler: a card must never lose its buttons because some block is not as Slack
// wants it. The levels:
//
//	0  as it should look
//	1  the same with half the room
//	2  the least room that there can be, as plain text with the buttons below
//	3  plain text, where nothing is asked
const (
	levelFull = iota
	levelHalf
	levelPlain
	levelText
)

// sketch is a message as it goes out.
type sketch struct {
	level  int
	text   string
	blocks []slack.Block
	from   []slack.Block
}

func (s sketch) payload() payload { return payload{Blocks: s.from, Text: s.text} }

// sum is equal for equal payloads.
func (s sketch) sum() [32]byte {
	h := sha256.New()
	_, _ = io.WriteString(h, s.text)
	for _, b := range s.blocks {
		if raw, ok := b.(rawBlock); ok {
			_, _ = h.Write(raw.json)
		}
	}
	return [32]byte(h.Sum(nil))
}

// shapes gives a message's shape of a level. ok is false where there is none.
type shapes func(level int) (s sketch, ok bool)

// turnShapes are those of a turn's message.
func turnShapes(m render.Message) shapes { return shapesOf(m, encode) }

// noteShapes are those of a message beside it, or of a private answer.
func noteShapes(m render.Message, link string) shapes {
	return shapesOf(m, func(m render.Message) payload { return encodeNote(m, link) })
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
			return sketchOf(level, payload{Text: encode(render.Fit(m, render.Floor)).Text}), !surface.HasAsk(m)
		}
		return sketch{}, false
	}
}

func sketchOf(level int, p payload) sketch {
	s := sketch{level: level, text: p.Text, from: p.Blocks}
	for _, b := range p.Blocks {
		raw, err := json.Marshal(b)
		if err != nil { // a block that cannot be written is left to Slack's verdict
			s.blocks = append(s.blocks, b)
			continue
		}
		s.blocks = append(s.blocks, rawBlock{b, raw})
	}
	return s
}

// rawBlock is a block that is written once: for the sum and for the request.
type rawBlock struct {
	slack.Block
	json json.RawMessage
}

func (r rawBlock) MarshalJSON() ([]byte, error) { return r.json, nil }

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

// plainSection is what one section of a plain payload holds; a section takes 3,000 characters.
// https://docs.slack.dev/reference/block-kit/blocks/section-block
const plainSection = 2900

// plainPayload is a message in the two kinds of block that have always been there: text without any markup, and buttons.
func plainPayload(m render.Message, encode func(render.Message) payload) payload {
	m = render.Fit(m, render.Floor)
	p := encode(m)
	out := payload{Text: p.Text}
	for text := []rune(render.PlainText(m)); len(text) > 0; {
		n := min(len(text), plainSection)
		if s := strings.TrimSpace(string(text[:n])); s != "" {
			out.Blocks = append(out.Blocks, slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, s, false, false), nil, nil))
		}
		text = text[n:]
	}
	out.Blocks = append(out.Blocks, buttons(p.Blocks)...)
	return out
}

// buttons are the parts of a message that can be clicked.
func buttons(blocks []slack.Block) (out []slack.Block) {
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
			out = append(out, buttons(b.ChildBlocks.BlockSet)...)
		}
	}
	return out
}
