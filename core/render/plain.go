package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// PlainText is a whole message as plain text: for notifications, screen readers and terminals. An ask states its
// question and its buttons. Text of models, servers and people goes through [Prose], so that no control
// character of theirs reaches a terminal; times are UTC.
func PlainText(m Message) string {
	var p plain
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case Text:
			p.line(text.Prose(b.Markdown))
			if b.Cut {
				p.line(text.CutReply)
			}
		case Code:
			p.line(text.Prose(b.Source))
		case Step:
			p.line(Mark(b.State)+" "+text.OneLine(b.Title), text.OneLine(b.Server), MarkWord(b.State), PlainLine(b.Detail))
			p.choices(b.Choices)
		case Ask:
			p.ask(b)
		case Note:
			p.line(PlainLine(b.Line))
			p.choices(b.Choices)
		}
	}
	p.choices(m.Choices)
	return strings.TrimRight(p.b.String(), "\n")
}

// PlainLine is one line as plain text.
func PlainLine(l Line) string {
	var b strings.Builder
	for _, s := range l {
		if t, ok := s.(Time); ok {
			b.WriteString(text.Clock(t.At))
			continue
		}
		b.WriteString(text.ProseLine(spanText(s)))
	}
	return b.String()
}

type plain struct{ b strings.Builder }

// line writes the parts that are not empty.
func (p *plain) line(parts ...string) {
	said := slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(said) > 0 {
		p.b.WriteString(strings.Join(said, " · ") + "\n")
	}
}

func (p *plain) ask(a Ask) {
	p.line(Mark(StepWaiting) + " " + text.OneLine(a.Small()))
	p.line(text.OneLine(a.Question))
	if a.Says != "" {
		p.line(text.ServerSays + text.OneLine(a.Says))
	}
	out, _ := text.Visible(cmp.Or(a.Args.Diff, a.Args.JSON))
	switch {
	case a.Args.Diff == "" && len(a.Args.Rows) > 0:
		for _, r := range a.Args.Rows {
			p.line("    " + text.OneLine(r.Name) + ": " + text.OneLine(r.Value))
		}
	case out != "":
		p.line("    " + strings.ReplaceAll(out, "\n", "\n    "))
	}
	if s := a.Args.Say(); s != "" {
		p.line("    " + s)
	}
	p.line(PlainLine(a.Facts))
	p.choices(a.Choices)
	p.choices(a.More)
	p.line(PlainLine(a.Footer))
	p.line(a.Warning)
	p.line(a.Review)
}

func (p *plain) choices(cs []Choice) {
	var say []string
	for _, c := range cs {
		say = append(say, "["+text.OneLine(c.Label)+"]")
	}
	p.line(strings.Join(say, " "))
}

// Question is the message's open question, for a notification: what is asked and by which buttons it can be
// answered. It is empty where nothing is asked.
func Question(m Message) string {
	for _, b := range m.Blocks {
		a, ok := b.(Ask)
		if !ok {
			continue
		}
		var labels []string
		for _, c := range a.Choices {
			if c.Choice != chat.ViewDetail {
				labels = append(labels, c.Label)
			}
		}
		s := text.OneLine(cmp.Or(a.Question, a.Header))
		if a.Run != "" {
			s += " (" + text.OneLine(a.Run) + ")"
		}
		s = strings.TrimSpace(strings.ReplaceAll(s, " ⏎ ", " "))
		if labels != nil {
			s += " " + text.OneOf(labels) + "?"
		}
		return s
	}
	return ""
}
