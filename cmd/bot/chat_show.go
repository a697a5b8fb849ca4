package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The forms of the API that a terminal shows.
type (
	shownMessage struct {
		ID     string       `json:"id"`
		Role   string       `json:"role"`
		Blocks []shownBlock `json:"blocks"`
	}
	shownBlock struct {
		Type      string        `json:"type"`
		Markdown  string        `json:"markdown"`
		Cut       bool          `json:"cut"`
		Source    string        `json:"source"`
		Call      string        `json:"tool_call_id"`
		State     string        `json:"state"`
		Title     string        `json:"title"`
		From      string        `json:"server_name"`
		Detail    []shownSpan   `json:"detail"`
		Request   string        `json:"request_id"`
		Kind      string        `json:"kind"`
		Header    string        `json:"header"`
		Run       string        `json:"run"`
		Facts     []shownFact   `json:"facts"`
		Arguments *shownArgs    `json:"arguments"`
		Server    *shownServer  `json:"server"`
		Question  string        `json:"question"`
		Describes string        `json:"describes"`
		Impact    string        `json:"impact"`
		Because   []shownSpan   `json:"because"`
		Model     string        `json:"model_said"`
		Warning   string        `json:"warning"`
		Review    string        `json:"review"`
		Footer    []shownSpan   `json:"footer"`
		Line      []shownSpan   `json:"line"`
		Choices   []shownChoice `json:"choices"`
	}
	shownSpan struct {
		Text, Strong, Person string
		Time                 *time.Time
	}
	shownFact   struct{ Symbol, Label string }
	shownServer struct{ Name, Description string }
	shownArgs   struct {
		JSON   string
		Rows   []shownRow
		Digest string
		Chars  int
		// Hidden, Escaped and Redacted count, as render.Args has them.
		Hidden, Escaped, Redacted int
	}
	shownRow struct {
		Name, Value string
		Hidden      int
	}
	shownChoice struct{ Choice, Label, Hint, Confirm string }
)

// line is the API's spans as render's.
func line(spans []shownSpan) (out render.Line) {
	for _, s := range spans {
		switch {
		case s.Time != nil:
			out = append(out, render.Time{At: *s.Time})
		case s.Person != "":
			out = append(out, render.Person{Name: s.Person})
		case s.Strong != "":
			out = append(out, render.Strong(s.Strong))
		default:
			out = append(out, render.Plain(s.Text))
		}
	}
	return out
}

// ask is a card as a terminal shows it: all of it but the buttons, with all arguments.
func (b shownBlock) ask() string {
	a := render.Ask{
		Kind: render.AskKind(b.Kind), Header: b.Header, Run: b.Run, Question: b.Question, Describes: b.Describes, Impact: b.Impact,
		Because: line(b.Because), Model: b.Model, Warning: b.Warning, Review: b.Review, Footer: line(b.Footer),
	}
	if b.Server != nil {
		a.Server = render.Server{Name: b.Server.Name, Description: b.Server.Description}
	}
	for _, f := range b.Facts {
		a.Facts = append(a.Facts, render.Fact{Symbol: f.Symbol, Label: f.Label})
	}
	if x := b.Arguments; x != nil {
		a.Args = render.Args{JSON: x.JSON, Digest: x.Digest, Chars: x.Chars, Hidden: x.Hidden, Escaped: x.Escaped, Redacted: x.Redacted}
		for _, r := range x.Rows {
			if r.Hidden > 0 { // a row is shortened: all of it stands in the JSON
				a.Args.Rows = nil
				break
			}
			a.Args.Rows = append(a.Args.Rows, render.Row{Name: r.Name, Value: r.Value})
		}
	}
	return render.PlainText(render.Message{Blocks: []render.Block{a}})
}

// offers finds one of an ask's buttons.
func (b shownBlock) offers(c chat.Choice) (shownChoice, bool) {
	for _, x := range b.Choices {
		if x.Choice == string(c) {
			return x, true
		}
	}
	return shownChoice{}, false
}

// paper is a terminal: what stands on it stays, so a message that changes is told by what is new in it.
type paper struct {
	out   io.Writer
	open  bool              // the last line has no end yet
	texts map[string]string // what was printed of each text of a message
	done  map[string]bool
}

func newPaper(out io.Writer) *paper {
	return &paper{out: out, texts: map[string]string{}, done: map[string]bool{}}
}

func (p *paper) say(text string) {
	p.endLine()
	fmt.Fprintln(p.out, text)
}

func (p *paper) endLine() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

// once says a line that was not said yet.
func (p *paper) once(key, text string) {
	if text != "" && !p.done[key] {
		p.done[key] = true
		p.say(text)
	}
}

// stream prints how a text goes on.
func (p *paper) stream(key, text string) {
	was := p.texts[key]
	p.texts[key] = text
	more, goesOn := strings.CutPrefix(text, was)
	switch {
	case more == "" && goesOn:
		return
	case !goesOn: // it is another text now
		p.endLine()
		more = text
	case was != "" && !p.open: // something was said in between
	}
	fmt.Fprint(p.out, more)
	p.open = !strings.HasSuffix(more, "\n")
}

// message prints what is new in a message of the bot. Asks are put elsewhere.
func (p *paper) message(m shownMessage) {
	texts := 0
	for _, b := range m.Blocks {
		switch b.Type {
		case "text":
			key := fmt.Sprintf("%s/text/%d", m.ID, texts)
			texts++
			if p.texts[key] == "" {
				p.endLine()
			}
			p.stream(key, render.Prose(b.Markdown))
			if b.Cut {
				p.once(key+"/cut", render.CutReply)
			}
		case "code":
			p.once(m.ID+"/code/"+b.Source, render.Prose(b.Source))
		case "step":
			p.step(m, b)
		case "note":
			text := render.PlainLine(line(b.Line))
			p.once(m.ID+"/note/"+text, text)
		}
	}
}

// step prints a call's line when it starts and when it is over.
func (p *paper) step(m shownMessage, b shownBlock) {
	state := render.StepState(b.State)
	if state == render.StepPending || state == render.StepWaiting {
		return
	}
	s := render.Step{State: state, Title: b.Title, Server: b.From, Detail: line(b.Detail)}
	p.once(m.ID+"/"+b.Call+"/"+b.State, render.PlainText(render.Message{Blocks: []render.Block{s}}))
}
