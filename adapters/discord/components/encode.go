package components

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Payload is a message as Discord takes it, under the flag IS_COMPONENTS_V2.
type Payload struct {
	Components []discordgo.MessageComponent
	Files      []File
	// Users and Roles are the IDs of those that the text mentions and that may be notified by it. Only encodeNote fills them.
	Users, Roles []string
}

// File goes along with a message, and a component of it names it.
type File struct {
	Name, Type string
	Data       []byte
}

// The accent of a message, by its state. It repeats what marks and words say.
var accents = map[render.State]int{
	render.Working: 0x95A5A6,
	render.Waiting: 0xF0A020,
	render.Done:    0x2ECC71,
	render.Failed:  0xE74C3C,
	render.Stopped: 0x95A5A6,
}

// encode draws a message that was fitted to limits. It is total: where escaping makes it too long for Discord, or its buttons are
// too many, it is drawn closer, then fitted to less, until it fits, and keeps every button of what it shows. alive says which
// hosts' addresses stay alive beside those of the message itself. The same message gives the same bytes.
func encode(m render.Message, alive hosts) Payload { return encodeIn("", m, alive) }

// encodeIn is encode for direct messages, where whoever clicks means themselves as a member of guild; see [encoder.encodeButton].
func encodeIn(guild string, m render.Message, alive hosts) Payload {
	alive = alive.or(m.Hosts)
	for i := -1; ; i++ {
		fitted := m
		if i >= 0 {
			fitted = render.Fit(m, tighter[i])
		}
		for _, cramped := range []bool{false, true} {
			s := draw(fitted, encoder{guild: guild, alive: alive, cramped: cramped})
			if s.fits() || cramped && i == len(tighter)-1 {
				return s.payload(m.State)
			}
		}
	}
}

// encoder is a message being drawn.
type encoder struct {
	guild   string // of whose members' clicks its buttons carry; see encodeIn
	alive   hosts
	cramped bool // without what only makes it look better

	parts []discordgo.MessageComponent
	ids   names
	lines []string // of ours, not yet in a part
	count int      // components, those inside others too
	chars int      // of all texts
	bytes int      // of all texts, as Discord counts them
}

func draw(m render.Message, s encoder) *encoder {
	s.ids, s.count = names{}, 1
	for i := 0; i < len(m.Blocks); i++ {
		switch b := m.Blocks[i].(type) {
		case render.Text:
			s.addAnswer(b)
		case render.Code:
			s.addCode(b)
		case render.Step:
			run := surface.StepsAt(m.Blocks[i:])
			s.addSteps(run)
			i += len(run) - 1
		case render.Ask:
			s.addAsk(b)
		case render.Note:
			s.setApart()
			s.say(subtext(lineOf(b.Line, nil)))
			s.addChoices(b.Choices)
		}
	}
	s.addButtons(m.Choices)
	s.flush()
	if len(s.parts) == 0 {
		s.say(subtext(literal(surface.SayState(m.State))))
		s.flush()
	}
	return &s
}

func (s *encoder) payload(state render.State) Payload {
	accent := cmp.Or(accents[state], accents[render.Working])
	return Payload{Components: []discordgo.MessageComponent{discordgo.Container{AccentColor: &accent, Components: s.parts}}}
}

func (s *encoder) fits() bool {
	return s.count <= maxComponents && s.chars <= maxText && s.bytes <= maxTextBytes
}

// add puts a part below the lines that were said; n is how many components it is.
func (s *encoder) add(c discordgo.MessageComponent, n int) {
	s.flush()
	s.parts = append(s.parts, c)
	s.count += n
}

// say adds lines of ours. They become one text with those before and after them.
func (s *encoder) say(lines ...string) {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			s.lines = append(s.lines, l)
		}
	}
}

func (s *encoder) flush() {
	if len(s.lines) == 0 {
		return
	}
	md := strings.Join(s.lines, "\n")
	s.lines = nil
	s.addText(md)
}

// addText adds a text that Discord reads by itself: what is in it reaches nothing outside.
func (s *encoder) addText(md string) {
	if md = strings.Trim(md, "\n "); md == "" { // Discord takes no text of spaces
		return
	}
	s.add(discordgo.TextDisplay{Content: md}, 1)
	s.chars += surface.Width(md)
	s.bytes += len(md) + textOverhead
}

// addSeparator draws a line between what was and what comes, where there is room.
func (s *encoder) addSeparator() {
	if s.cramped {
		return
	}
	if s.flush(); len(s.parts) == 0 {
		return
	}
	if _, ok := s.parts[len(s.parts)-1].(discordgo.Separator); !ok {
		s.add(discordgo.Separator{}, 1)
	}
}

// setApart sets what was recorded apart from what the model wrote. Lines that follow each other stand together.
func (s *encoder) setApart() {
	if n := len(s.parts); n > 0 && len(s.lines) == 0 {
		if _, ok := s.parts[n-1].(discordgo.TextDisplay); ok {
			s.addSeparator()
		}
	}
}

func (s *encoder) addAnswer(t render.Text) {
	s.flush()
	s.addText(rewritten(t.Markdown, s.alive))
	if t.Cut {
		s.say(subtext(literal(text.CutReply)))
	}
}

func (s *encoder) addCode(c render.Code) {
	s.flush()
	s.addText(fenced(c.Language, text.Prose(c.Source)))
}

// noteLimits are those of a short message beside the turn's, and of an answer that only one person sees.
var noteLimits = render.Limits{Chars: 1800, Bytes: 5400, Blocks: 10, Text: 1500, Label: maxLabel, Choices: 15}

// encodeNote draws a short message beside the turn's: lines that name people, who are notified by it, and lead to link, or an
// answer that only one person sees.
func encodeNote(m render.Message, link string) Payload {
	var p Payload
	m = render.Fit(m, noteLimits)
	for {
		s := &encoder{ids: names{}}
		p = s.drawNote(m, link)
		if s.fits() {
			return p
		}
		m = render.Fit(m, tighter[len(tighter)-1])
	}
}

func (s *encoder) drawNote(m render.Message, link string) (p Payload) {
	mention := func(u chat.User) string {
		say, id := mentionOf(u)
		list := &p.Users
		if u.IsGroup() {
			list = &p.Roles
		}
		switch {
		case say == "" || slices.Contains(*list, id):
		case len(*list) == maxMentions:
			return ""
		default:
			*list = append(*list, id)
		}
		return say
	}
	for _, b := range m.Blocks {
		var say []string
		var more []render.Choice
		switch b := b.(type) {
		case render.Note:
			say, more = noteLines(b.Line, mention), b.Choices
		case render.Text:
			say = noteLines(render.Line{render.Plain(b.Markdown)}, nil)
		default: // a card is the turn's message
			continue
		}
		if to := ownAddress(link); to != "" && len(say) > 0 {
			say[len(say)-1] += " · [" + literalWords(surface.SayOpenQuestion) + "](<" + to + ">)"
			link = ""
		}
		s.say(say...)
		s.addButtons(more)
	}
	s.flush()
	if len(s.parts) == 0 {
		s.say(literal(surface.SayState(m.State)))
		s.flush()
	}
	p.Components = s.parts
	return p
}

// noteLines are the lines of a note. A text of several lines, such as a list of what waits, is one span; in a line that is put
// together of spans, a break could only come from a name.
func noteLines(l render.Line, mention func(chat.User) string) (lines []string) {
	all := []string{lineOf(l, mention)}
	if len(l) == 1 {
		if text, ok := l[0].(render.Plain); ok {
			all = nil
			for part := range strings.SplitSeq(string(text), "\n") {
				all = append(all, strings.TrimSpace(literal(part)))
			}
		}
	}
	return slices.DeleteFunc(all, func(l string) bool { return l == "" })
}

// ownAddress is an address that this adapter made itself, or "" for anything that could not be one.
func ownAddress(link string) string {
	if address, _ := liveAddress(link, func(string) bool { return true }); address == link {
		return link
	}
	return ""
}
