// Package blocks draws what core/render says in Slack's Block Kit, and reads back what a click on the drawing carries. It is pure: values in,
// values out; no clock, no network, no engine. It may import core/*, adapters/surface and slack-go, whose types it fills in.
//
// This file draws a turn's message within Slack's limits (limits.go), and the simpler forms of it for when Slack refuses it; ask.go has its
// cards and buttons. private.go draws what stands beside a turn's message or is for one person. The views are details.go, with the forms,
// and panel.go (modal and Home tab). text.go is how words get into a block, words.go what people read on Slack only. What a click says
// comes back through ParseAction, ParsePanelAction, ParseForm and ParsePanelForm; a thread is a Place (form.go).
//
// A kind of block of a message goes beside its kind in core/render; a view in a file of its own; a limit, with its source, in limits.go. What
// asks Slack, the engine or the clock for something stands in adapters/slack, which hands its answer in.
//
//   - What is drawn keeps every limit of Slack's; what is too long is cut with a count of what is missing, or stands on a further page.
//   - Words of models, tools, servers and people are never markup: no mention, no disguised link, no button comes out of them.
//   - The same message gives the same bytes, and another block_id for whatever changed.
//   - What is read back says what is meant and has no authority: nothing is read that is not written here.
package blocks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Message is a message as Slack takes it. Text is for notifications and screen readers.
type Message struct {
	Blocks []slack.Block
	Text   string
}

// EncodeMessage draws a message that was fitted to limits. It is total: where escaping makes it too long for Slack as a whole, it is fitted
// to less until Slack takes it, and keeps every button of what it shows. The same message gives the same bytes.
func EncodeMessage(m render.Message) Message {
	p, fits := drawList(m, false)
	for i := 0; i < len(tighter) && !fits; i++ {
		p, fits = drawList(render.Fit(m, tighter[i]), i >= bare)
	}
	p.Text = fallback(m)
	return p
}

// drawList draws a message of many questions with lean rows where there is no room for others: all of them matter more than how they look.
func drawList(m render.Message, bare bool) (p Message, fits bool) {
	p, fits = drawMessage(m, &encoder{bare: bare})
	if !fits && surface.CountAsks(m) > 1 {
		return drawMessage(m, &encoder{bare: bare, lean: true})
	}
	return p, fits
}

type encoder struct {
	blocks   []slack.Block
	actions  int  // buttons and menus so far
	tasks    int  // task cards so far
	askCount int  // of the whole message
	bare     bool // without what can be had from View details
	view     bool // a view, on which there is room
	lean     bool // rows of a list say in common what is the same of them
	alike    string
	rated    string // the turn that can be rated

	count    int // blocks, with those inside others
	markdown int // characters of all markdown blocks

	link func(render.ChatLink) string // of a panel: the address of a message; empty: none
}

// drawMessage reports with fits whether the whole keeps the limits of a whole.
func drawMessage(m render.Message, s *encoder) (p Message, fits bool) {
	s.askCount = surface.CountAsks(m)
	for i := 0; i < len(m.Blocks); i++ {
		switch b := m.Blocks[i].(type) {
		case render.Text:
			s.addText(b)
		case render.Code:
			s.addPreformatted(text.Prose(b.Source))
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
	if s.rated != "" {
		s.addRating(s.rated)
	}
	size := setBlockIDs(s.blocks)
	return Message{Blocks: s.blocks}, size <= maxAll && s.markdown <= maxMarkdown && s.count <= maxBlocks
}

func (s *encoder) add(b slack.Block) {
	s.blocks = append(s.blocks, b)
	s.count++
	if plan, ok := b.(*slack.PlanBlock); ok {
		s.count += len(plan.Tasks)
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

func (s *encoder) addSection(lines ...string) {
	if say := joinLines(lines...); say != "" {
		s.add(slack.NewSectionBlock(plainText(surface.Within(say, maxSection)), nil, nil))
	}
}

// fallback says the message in a few words with nothing alive in them: what is asked, else how the answer begins, after its heading in
// bold.
func fallback(m render.Message) string {
	heading, answer := "", ""
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case render.Text:
			if s := strings.TrimSpace(b.Markdown); s != "" {
				answer = strings.TrimSpace(heading + " " + surface.Words(s, fallbackRoom))
			}
		case render.Note:
			if i == 0 && len(b.Line) == 1 {
				strong, _ := b.Line[0].(render.Strong)
				heading = string(strong)
			}
			if answer == "" {
				answer = strings.ReplaceAll(render.PlainLine(b.Line), " ⏎ ", " ")
			}
		default: // a step's line is in the message
		}
	}
	say := render.Question(m)
	if asks := surface.CountAsks(m); say != "" && asks > 1 {
		say += sayMoreAsks(asks - 1)
	}
	if say == "" {
		say = surface.AtMost(surface.OneLine(answer), fallbackRoom)
	}
	if strings.TrimSpace(say) == "" {
		say = surface.SayState(m.State)
	}
	return Escape(surface.Within(say, (maxText-100)/len("&amp;")))
}

const fallbackRoom = 300 // how much of an answer a notification repeats

// setBlockIDs gives each block an id of its place and of what it says, because "if a message is updated, use a new block_id", and returns
// how many characters the JSON of all has. https://docs.slack.dev/reference/block-kit/blocks
func setBlockIDs(blocks []slack.Block) (size int) {
	size = len("[]")
	for i, b := range blocks {
		raw := rawJSON(b)
		sum := sha256.Sum256(raw)
		id := strconv.Itoa(i) + "." + hex.EncodeToString(sum[:5])
		size += surface.Width(string(raw)) + len(",") + len(id)
		if token := b.ID(); token != "" { // of a row
			id += ":" + token
			size += len(":")
		} else {
			size += len(`"block_id":"",`)
		}
		if field := reflect.Indirect(reflect.ValueOf(b)).FieldByName("BlockID"); field.CanSet() { // every kind of slack-go's has it
			field.SetString(id)
		}
	}
	return size
}

func (s *encoder) message(text string) Message {
	setBlockIDs(s.blocks)
	return Message{s.blocks, text}
}

// rawJSON is JSON without the escapes that encoding/json adds for HTML, also inside slack-go's blocks: Slack reads them as what they stand
// for, so they are not part of a text's length.
func rawJSON(v any) []byte {
	raw, _ := json.Marshal(v) // block types of slack-go always encode
	return []byte(htmlEscapes.Replace(string(raw)))
}

// htmlEscapes takes an escaped backslash as it is: it does not begin another escape.
var htmlEscapes = strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")

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

// addSteps draws a run of tool calls: one plan with a card for each, and below it the buttons that still mean something.
func (s *encoder) addSteps(run []render.Step) {
	plan := slack.NewPlanBlock(surface.AtMost(sayPlan(run), maxTitle))
	var cards []*slack.TaskCardBlock
	for _, step := range run {
		cards = append(cards, s.encodeCard(step))
	}
	s.add(plan.WithTasks(cards...))
	var row []render.Choice
	for _, step := range run {
		for _, c := range step.Choices {
			if t := surface.OneLine(step.Title); t != "" { // several may say "Undo"
				if strings.TrimSpace(c.Hint) == "" {
					c.Hint = c.Label + ": " + text.RunLine(t, surface.OneLine(step.Server))
				}
				c.Label += " · " + t
			}
			row = append(row, c)
		}
	}
	s.addChoices(row, nil, "")
}

// encodeCard is one call's line. Its title says in words how the call stands: the colour of status does so for some people only.
func (s *encoder) encodeCard(step render.Step) *slack.TaskCardBlock {
	s.tasks++
	state := " · " + render.MarkWord(step.State)
	title := render.Mark(step.State) + " " + surface.JoinParts(surface.OneLine(step.Title), surface.OneLine(step.Server))
	card := slack.NewTaskCardBlock(strconv.Itoa(s.tasks), surface.Within(title, maxTitle-surface.Width(state))+state)
	card.WithStatus(cmp.Or(taskStatuses[step.State], slack.TaskCardStatusError))
	if line := richLine(step.Detail); len(line) > 0 {
		card.WithOutput(slack.NewRichTextBlock("", slack.NewRichTextSection(line...)))
	}
	return card
}

// taskStatuses: there are four, and error is the one for all other states.
// https://docs.slack.dev/reference/block-kit/blocks/task-card-block
var taskStatuses = map[render.StepState]slack.TaskCardStatus{
	render.StepPending: slack.TaskCardStatusPending, render.StepWaiting: slack.TaskCardStatusPending,
	render.StepRunning: slack.TaskCardStatusInProgress, render.StepDone: slack.TaskCardStatusComplete,
}

// Rendition is a message as it goes out, each block already written as JSON: for the sum and for the request.
type Rendition struct {
	Level  int
	Text   string
	Blocks []slack.Block
}

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

type Renditions = surface.Renditions[Rendition]

// MessageRenditions are those of a turn's message, NoteRenditions those of one beside it, or of a private answer.
func MessageRenditions(m render.Message) Renditions { return renditionsOf(m, EncodeMessage) }

// TurnRenditions are those of a turn's message, below which an answer can be rated where there is room for that. A workspace that does not
// take those buttons gets the message without them.
// https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
func TurnRenditions(m render.Message) Renditions {
	of := MessageRenditions(m)
	return func(level int) (Rendition, bool) {
		if level == surface.LevelFull && m.State == render.Done && m.Token != "" && tokenFits(m.Token) {
			if p, fits := drawMessage(m, &encoder{rated: m.Token}); fits {
				p.Text = fallback(m)
				return renditionOf(level, p), true
			}
		}
		return of(level)
	}
}

func (s *encoder) addRating(token string) {
	button := func(c chat.Choice) *slack.FeedbackButton {
		k, _ := text.KindOf(c)
		return slack.NewFeedbackButton(plainText(k.Label), string(c)+" "+token).WithAccessibilityLabel(k.Label)
	}
	s.add(slack.NewContextActionsBlock("", slack.NewFeedbackButtonsBlockElement(actionPrefix+actionRate+":"+s.number(), button(chat.Good), button(chat.Bad))))
}

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
		raw, _ := json.Marshal(b) // block types of slack-go always encode
		out.Blocks = append(out.Blocks, encodedBlock{b, raw})
	}
	return out
}

type encodedBlock struct {
	slack.Block
	json json.RawMessage
}

func (b encodedBlock) MarshalJSON() ([]byte, error) { return b.json, nil }

const plainSection = 2900

// plainMessage is a message in the two kinds of block that have always been there: text without any markup, and buttons.
func plainMessage(m render.Message, drawn Message) Message {
	out := Message{Text: drawn.Text}
	below := slices.DeleteFunc(slices.Clone(drawn.Blocks), func(b slack.Block) bool { return b.BlockType() != slack.MBTAction })
	room := maxAll - len("[]") - sizeOf(below) - len(below)
	most := plainSection
	// What is escaped to more than there is room for ends early: the buttons count.
	for text := render.PlainText(m); text != "" && most >= 20; {
		n := bytesIn(text, most)
		if say := strings.TrimSpace(text[:n]); say != "" {
			b := slack.NewSectionBlock(plainText(say), nil, nil)
			size := sizeOf([]slack.Block{b})
			if size > room {
				most /= 2
				continue
			}
			out.Blocks = append(out.Blocks, b)
			room -= size + len(",")
		}
		text = text[n:]
	}
	out.Blocks = append(out.Blocks, below...)
	return out
}
