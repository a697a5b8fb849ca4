package slack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// payload is a message as Slack takes it. Text is for notifications and screen readers.
type payload struct {
	Blocks []slack.Block
	Text   string
}

// encode draws a message that was fitted to limits. It is total: where escaping makes it too long for Slack, it is fitted to
// less until it passes check, and keeps every button of what it shows. Each part is cut to its own limit as it is drawn, so
// only what is counted over the whole message can be too much. The same message gives the same bytes.
func encode(m render.Message) payload {
	p, roomy := draw(m, &sheet{})
	if !roomy {
		p, roomy = draw(m, &sheet{terse: true})
	}
	for i := 0; i < len(tighter) && !roomy; i++ {
		p, roomy = draw(render.Fit(m, tighter[i]), &sheet{terse: true, bare: i >= bare})
	}
	return p
}

// sheet is a message being drawn.
type sheet struct {
	blocks  []slack.Block
	actions int  // buttons and menus so far
	tasks   int  // task cards so far
	asks    int  // of the whole message
	terse   bool // nothing twice
	bare    bool // without what can be had from View details

	count    int  // blocks, with those inside others
	markdown int  // characters of all markdown blocks
	over     bool // something of the message did not find its place
}

// draw reports with roomy whether the whole keeps the limits of a whole.
func draw(m render.Message, s *sheet) (p payload, roomy bool) {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			s.asks++
		}
	}
	for i := 0; i < len(m.Blocks); i++ {
		switch b := m.Blocks[i].(type) {
		case render.Text:
			s.text(b)
		case render.Code:
			for _, f := range fences(render.Prose(b.Source)) {
				s.add(slack.NewSectionBlock(mrkdwnText(f), nil, nil))
			}
		case render.Step:
			var run []render.Step
			for ; i < len(m.Blocks); i++ {
				step, ok := m.Blocks[i].(render.Step)
				if !ok {
					break
				}
				run = append(run, step)
			}
			i--
			s.steps(run)
		case render.Ask:
			s.ask(b)
		case render.Note:
			s.context(contextLine(b.Line))
			s.buttonsOf(b.Choices, nil, "")
		}
	}
	s.buttonsOf(m.Choices, nil, "")
	if len(s.blocks) == 0 {
		s.context([]slack.MixedElement{plainText(surface.SayState(m.State))})
	}
	size := number(s.blocks)
	return payload{s.blocks, fallback(m)}, size <= maxAll && s.markdown <= maxMarkdown && s.count <= maxBlocks && !s.over
}

func (s *sheet) add(b slack.Block) {
	s.blocks = append(s.blocks, b)
	s.count++
	switch b := b.(type) {
	case *slack.PlanBlock:
		s.count += len(b.Tasks)
	case *slack.ContainerBlock:
		s.count += len(b.ChildBlocks.BlockSet)
	}
}

func (s *sheet) text(t render.Text) {
	md := answer(t.Markdown)
	if strings.TrimSpace(md) != "" {
		s.add(slack.NewMarkdownBlock("", md))
		s.markdown += surface.Width(md)
	}
	if t.Cut {
		s.context([]slack.MixedElement{plainText(render.CutReply)})
	}
}

// context adds a line, in several blocks where it has more elements than one takes.
func (s *sheet) context(line []slack.MixedElement) {
	for len(line) > 0 {
		n := min(len(line), maxContext)
		s.add(slack.NewContextBlock("", line[:n]...))
		line = line[n:]
	}
}

// section adds lines of plain text.
func (s *sheet) section(lines ...string) {
	var say []string
	for _, l := range lines {
		if l = strings.TrimSpace(oneLine(l)); l != "" {
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
	say, asks := render.Question(m), 0
	var last string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Ask:
			asks++
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
		say = surface.AtMost(oneLine(last), fallbackRoom)
	}
	if strings.TrimSpace(say) == "" {
		say = surface.SayState(m.State)
	}
	return mrkdwnSafe(surface.Within(say, (maxText-100)/len("&amp;")))
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

// encodeNote draws a short message beside the turn's: a line that names people, who are notified by it, and leads to link, or an
// answer that only one person sees. https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
func encodeNote(m render.Message, link string) payload {
	s := &sheet{}
	var text []string
	for _, b := range render.Fit(m, noteLimits).Blocks {
		var line render.Line
		var more []render.Choice
		switch b := b.(type) {
		case render.Note:
			line, more = b.Line, b.Choices
		case render.Text:
			line = render.Line{render.Plain(b.Markdown)}
		default: // a card is the turn's message
			continue
		}
		rich := richLine(line)
		if strings.HasPrefix(link, "http") && len(link) <= maxURL { // an address of the workspace's own, as auth.test has it
			rich = append(rich, slack.NewRichTextSectionTextElement(" · ", nil), slack.NewRichTextSectionLinkElement(link, surface.SayOpenQuestion, nil))
			link = ""
		}
		if len(rich) > 0 {
			s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(rich...)))
			text = append(text, mentionLine(line, maxText/4-10)) // Fit leaves at most four
		}
		s.buttonsOf(more, nil, "")
	}
	say := strings.TrimSpace(strings.Join(text, "\n"))
	if say == "" {
		say = surface.SayState(m.State)
	}
	if len(s.blocks) == 0 {
		s.context([]slack.MixedElement{plainText(say)})
	}
	number(s.blocks)
	return payload{s.blocks, say}
}

// noteLimits keep a short message short: its text is repeated as fallback, where "&" may become five characters.
var noteLimits = render.Limits{Chars: 700, Bytes: 2100, Blocks: 4, Text: 600, Label: maxLabel, Choices: 10}

// mentionLine is a line for the fallback of a message that notifies: people are mentioned, nothing else is alive. It has at most
// room characters.
func mentionLine(l render.Line, room int) string {
	var b strings.Builder
	for _, s := range l {
		var say string
		if p, ok := s.(render.Person); ok {
			if id, ok := userID(p.User); ok {
				say = "<@" + id + ">"
			}
		}
		if say == "" {
			say = mrkdwnSafe(oneLine(render.PlainLine(render.Line{s})))
		}
		if room -= surface.Width(say); room < 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(say)
	}
	return b.String()
}

// number gives each block an id made of its place and of what it says: another one for every revision, because "if a message is
// updated, use a new block_id", and the same for the same bytes. https://docs.slack.dev/reference/block-kit/blocks
//
// It returns how many characters the JSON of all blocks has.
func number(blocks []slack.Block) (size int) {
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
