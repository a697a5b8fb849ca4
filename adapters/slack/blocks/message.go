package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Message is a message as Slack takes it. Text is for notifications and screen readers.
type Message struct {
	Blocks []slack.Block
	Text   string
}

// EncodeMessage draws a message that was fitted to limits. It is total: where escaping makes it too long for Slack, it is fitted to
// less until Slack takes it, and keeps every button of what it shows. Each part is cut to its own limit as it is drawn, so only what is
// counted over the whole message can be too much. The same message gives the same bytes.
func EncodeMessage(m render.Message) Message {
	p, fits := drawMessage(m, &encoder{})
	if !fits {
		p, fits = drawMessage(m, &encoder{terse: true})
	}
	for i := 0; i < len(tighter) && !fits; i++ {
		p, fits = drawMessage(render.Fit(m, tighter[i]), &encoder{terse: true, bare: i >= bare})
	}
	return p
}

// encoder draws a message, or a view, block by block.
type encoder struct {
	blocks   []slack.Block
	actions  int  // buttons and menus so far
	tasks    int  // task cards so far
	askCount int  // of the whole message
	terse    bool // nothing twice
	bare     bool // without what can be had from View details

	count    int  // blocks, with those inside others
	markdown int  // characters of all markdown blocks
	over     bool // something of the message did not find its place
}

// drawMessage reports with fits whether the whole keeps the limits of a whole.
func drawMessage(m render.Message, s *encoder) (p Message, fits bool) {
	s.askCount = surface.CountAsks(m)
	for i := 0; i < len(m.Blocks); i++ {
		switch b := m.Blocks[i].(type) {
		case render.Text:
			s.addText(b)
		case render.Code:
			for _, f := range fences(text.Prose(b.Source)) {
				s.add(slack.NewSectionBlock(mrkdwnText(f), nil, nil))
			}
		case render.Step:
			run := surface.StepsAt(m.Blocks[i:])
			s.addSteps(run)
			i += len(run) - 1
		case render.Ask:
			s.addAsk(b)
		case render.Note:
			s.addContext(contextLine(b.Line))
			s.addChoices(b.Choices, nil, "")
		}
	}
	s.addChoices(m.Choices, nil, "")
	if len(s.blocks) == 0 {
		s.addContext([]slack.MixedElement{plainText(surface.SayState(m.State))})
	}
	size := setBlockIDs(s.blocks)
	return Message{s.blocks, fallback(m)}, size <= maxAll && s.markdown <= maxMarkdown && s.count <= maxBlocks && !s.over
}

func (s *encoder) add(b slack.Block) {
	s.blocks = append(s.blocks, b)
	s.count++
	switch b := b.(type) {
	case *slack.PlanBlock:
		s.count += len(b.Tasks)
	case *slack.ContainerBlock:
		s.count += len(b.ChildBlocks.BlockSet)
	}
}

func (s *encoder) addText(t render.Text) {
	md := inertMarkdown(t.Markdown)
	if strings.TrimSpace(md) != "" {
		s.add(slack.NewMarkdownBlock("", md))
		s.markdown += surface.Width(md)
	}
	if t.Cut {
		s.addContext([]slack.MixedElement{plainText(text.CutReply)})
	}
}

// addContext adds a line, in several blocks where it has more elements than one takes.
func (s *encoder) addContext(line []slack.MixedElement) {
	for part := range slices.Chunk(line, maxContext) {
		s.add(slack.NewContextBlock("", part...))
	}
}

// addButtons adds what can be clicked, in several rows where it is more than one takes.
func (s *encoder) addButtons(row []slack.BlockElement) {
	for part := range slices.Chunk(row, maxActions) {
		s.add(slack.NewActionBlock("", part...))
	}
}

// addSection adds lines of plain text.
func (s *encoder) addSection(lines ...string) {
	var say []string
	for _, l := range lines {
		if l = strings.TrimSpace(surface.OneLine(l)); l != "" {
			say = append(say, l)
		}
	}
	if say != nil {
		s.add(slack.NewSectionBlock(plainText(surface.Within(strings.Join(say, "\n"), maxSection)), nil, nil))
	}
}

// fallback says the message in a few words, with nothing alive in it: what is asked and how it can be answered, else how the
// answer begins.
func fallback(m render.Message) string {
	say, asks := render.Question(m), surface.CountAsks(m)
	var last string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Text:
			if s := strings.TrimSpace(b.Markdown); s != "" {
				last = strings.TrimSpace(heading(m) + " " + surface.Words(s, fallbackRoom))
			}
		case render.Note:
			if last == "" {
				last = strings.ReplaceAll(render.PlainLine(b.Line), " ⏎ ", " ")
			}
		default: // a step's line is in the message
		}
	}
	switch {
	case say != "" && asks > 1:
		say += sayMoreAsks(asks - 1)
	case say == "":
		say = surface.AtMost(surface.OneLine(last), fallbackRoom)
	}
	if strings.TrimSpace(say) == "" {
		say = surface.SayState(m.State)
	}
	return Escape(surface.Within(say, (maxText-100)/len("&amp;")))
}

// heading is a line in bold that a message begins with.
func heading(m render.Message) string {
	if len(m.Blocks) > 0 {
		if n, ok := m.Blocks[0].(render.Note); ok && len(n.Line) == 1 {
			if h, ok := n.Line[0].(render.Strong); ok {
				return string(h)
			}
		}
	}
	return ""
}

// fallbackRoom is how much of an answer a notification repeats.
const fallbackRoom = 300

// setBlockIDs gives each block an id made of its place and of what it says: another one for every revision, because "if a message is
// updated, use a new block_id", and the same for the same bytes. https://docs.slack.dev/reference/block-kit/blocks
//
// It returns how many characters the JSON of all blocks has.
func setBlockIDs(blocks []slack.Block) (size int) {
	size = len("[]")
	for i, b := range blocks {
		var id *string
		switch b := b.(type) {
		case *slack.ActionBlock:
			id = &b.BlockID
		case *slack.ContainerBlock:
			id = &b.BlockID
		case *slack.ContextBlock:
			id = &b.BlockID
		case *slack.DividerBlock:
			id = &b.BlockID
		case *slack.HeaderBlock:
			id = &b.BlockID
		case *slack.MarkdownBlock:
			id = &b.BlockID
		case *slack.PlanBlock:
			id = &b.BlockID
		case *slack.RichTextBlock:
			id = &b.BlockID
		case *slack.SectionBlock:
			id = &b.BlockID
		default:
			size += maxAll // not one of those that are drawn here
			continue
		}
		raw := rawJSON(b)
		sum := sha256.Sum256(raw)
		*id = strconv.Itoa(i) + "." + hex.EncodeToString(sum[:5])
		size += surface.Width(string(raw)) + len(`"block_id":"",,`) + len(*id)
	}
	return size
}

// rawJSON is JSON without the escapes that encoding/json adds for HTML: Slack reads them as what they stand for, so they are not
// part of a text's length. The encoder's own switch does not reach what slack-go's blocks encode inside.
func rawJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // block types of slack-go always encode
		return nil
	}
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		if r, ok := forHTML[string(raw[i:min(i+6, len(raw))])]; ok {
			out = append(out, r)
			i += 5
			continue
		}
		out = append(out, raw[i], raw[i+1]) // an escaped backslash does not begin another escape
		i++
	}
	return out
}

var forHTML = map[string]byte{`\u0026`: '&', `\u003c`: '<', `\u003e`: '>'}

// addPlain adds text as it is, in as many sections as it takes.
func (s *encoder) addPlain(text string) {
	for text != "" {
		n := pieceEnd(text)
		if p := strings.Trim(text[:n], "\n"); strings.TrimSpace(p) != "" {
			s.add(slack.NewSectionBlock(plainText(p), nil, nil))
		}
		text = text[n:]
	}
}
