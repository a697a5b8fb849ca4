package render

import (
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// PlainText is a whole message as plain text: for notifications, screen readers and terminals. An ask states its
// question and its buttons. Text of models, servers and people goes through [Prose], so that no control
// character of theirs reaches a terminal; times are UTC.
func PlainText(m Message) string {
	var p plain
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case Text:
			p.line(Prose(b.Markdown))
			if b.Cut {
				p.line(CutReply)
			}
		case Code:
			p.line(Prose(b.Source))
		case Step:
			p.step(b)
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
		switch s := s.(type) {
		case Plain:
			b.WriteString(Prose(string(s)))
		case Strong:
			b.WriteString(Prose(string(s)))
		case Person:
			b.WriteString(Prose(personName(s)))
		case Time:
			b.WriteString(Clock(s.At))
		}
	}
	return strings.NewReplacer("\n", " ⏎ ", "\t", " ").Replace(b.String())
}

type plain struct{ b strings.Builder }

func (p *plain) line(parts ...string) {
	var say []string
	for _, s := range parts {
		if s != "" {
			say = append(say, s)
		}
	}
	if say != nil {
		p.b.WriteString(strings.Join(say, " · "))
		p.b.WriteByte('\n')
	}
}

func (p *plain) step(s Step) {
	title := Mark(s.State) + " " + one(s.Title)
	p.line(title, one(s.Server), MarkWord(s.State), PlainLine(s.Detail))
	p.choices(s.Choices)
}

func (p *plain) ask(a Ask) {
	p.line(Mark(StepWaiting) + " " + one(a.Header))
	p.line(one(a.Run))
	var facts []string
	for _, f := range a.Facts {
		facts = append(facts, strings.TrimSpace(Prose(f.Symbol)+" "+one(f.Label)))
	}
	p.line(facts...)
	if len(a.Args.Rows) > 0 {
		for _, r := range a.Args.Rows {
			p.line("    " + one(r.Name) + ": " + one(r.Value))
		}
	} else if a.Args.JSON != "" {
		out, _ := Visible(a.Args.JSON)
		p.line("    " + strings.ReplaceAll(out, "\n", "\n    "))
	}
	if s := a.Args.Say(); s != "" {
		p.line("    " + s)
	}
	p.line(one(a.Question))
	p.line(one(a.Impact))
	p.quoted(ServerSays, a.Server.Description)
	p.quoted(ServerSays, a.Describes)
	p.quoted(ModelSays, a.Model)
	p.line(PlainLine(a.Because))
	p.line(a.Warning)
	p.line(a.Review)
	p.choices(a.Choices)
	p.choices(a.More)
	p.line(PlainLine(a.Footer))
}

func (p *plain) quoted(who, s string) {
	if s != "" {
		p.line(who + one(s))
	}
}

func (p *plain) choices(cs []Choice) {
	var say []string
	for _, c := range cs {
		say = append(say, "["+one(c.Label)+"]")
	}
	if say != nil {
		p.b.WriteString(strings.Join(say, " "))
		p.b.WriteByte('\n')
	}
}

// one makes one line of untrusted text: a second line could pass for one of ours.
func one(s string) string {
	out, _ := Visible(s)
	return strings.NewReplacer("\n", " ⏎ ", "\t", " ").Replace(out)
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
		ask := one(a.Question)
		if ask == "" && a.Run != "" {
			ask = "(" + one(a.Run) + ")"
		}
		s := strings.TrimSpace(strings.ReplaceAll(one(a.Header)+" "+ask, " ⏎ ", " "))
		if labels != nil {
			s += " " + OneOf(labels) + "?"
		}
		return s
	}
	return ""
}
