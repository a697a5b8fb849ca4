package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// The forms of the API that a terminal shows.
type (
	message struct {
		ID     string
		Role   string
		Blocks []block
	}
	// block is any of the API's blocks. The fields of an ask have the same names there as in render, so it is read as one; those that are
	// written in another way stand here.
	block struct {
		Type       string
		Markdown   string
		Cut        bool
		Source     string
		State      render.StepState
		Title      string
		ServerName string `json:"server_name"`
		ToolCallID string `json:"tool_call_id"`
		RequestID  string `json:"request_id"`
		render.Ask
		Arguments                   render.Args
		Facts, Footer, Detail, Line []span
		Choices, More               []choice
	}
	span struct {
		Text, Strong, Person string
		Time                 time.Time
	}
	choice struct{ Choice, Token, Label, Hint, Confirm string }
)

// line is the API's spans as render's.
func line(spans []span) (out render.Line) {
	for _, s := range spans {
		switch {
		case !s.Time.IsZero():
			out = append(out, render.Time{At: s.Time})
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

// card is an ask as a terminal shows it: all of it but the buttons, with all arguments.
func (b block) card() string {
	a := b.Ask
	a.Facts, a.Footer, a.Args = line(b.Facts), line(b.Footer), b.Arguments
	if slices.ContainsFunc(a.Args.Rows, func(r render.Row) bool { return r.Hidden > 0 }) { // one is shortened: all of it stands in the JSON
		a.Args.Rows = nil
	}
	return render.PlainText(render.Message{Blocks: []render.Block{a}})
}

// screen is a terminal: what stands on it stays, so a message that changes is told by what is new in it.
type screen struct {
	out   io.Writer
	open  bool              // the last line has no end yet
	texts map[string]string // what was printed of each text of a message
	done  map[string]bool   // the lines that are said once
}

func newScreen(out io.Writer) *screen {
	return &screen{out: out, texts: map[string]string{}, done: map[string]bool{}}
}

func (s *screen) say(text string) {
	s.endLine()
	fmt.Fprintln(s.out, text)
}

// ask prints what is to be answered on the same line.
func (s *screen) ask(text string) {
	s.endLine()
	fmt.Fprint(s.out, text)
	s.open = true
}

func (s *screen) endLine() {
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// once says a line that was not said yet.
func (s *screen) once(key, text string) {
	if !s.done[key] {
		s.done[key] = true
		s.say(text)
	}
}

// stream prints how a text goes on; one that is another text now is printed whole, on a line of its own.
func (s *screen) stream(key, text string) {
	before := s.texts[key]
	s.texts[key] = text
	more, goesOn := strings.CutPrefix(text, before)
	if before == "" || !goesOn {
		s.endLine()
		more = text
	}
	if more != "" {
		fmt.Fprint(s.out, more)
		s.open = !strings.HasSuffix(more, "\n")
	}
}

// show prints what is new in a message of the bot. Asks are put elsewhere.
func (s *screen) show(m message) {
	texts := 0
	for _, b := range m.Blocks {
		switch b.Type {
		case "text":
			key := fmt.Sprintf("%s/text/%d", m.ID, texts)
			texts++
			s.stream(key, text.Prose(b.Markdown))
			if b.Cut {
				s.once(key+"/cut", text.CutReply)
			}
		case "code":
			s.once(m.ID+"/code/"+b.Source, text.Prose(b.Source))
		case "step":
			if b.State != render.StepPending && b.State != render.StepWaiting { // a line when it starts, and one when it is over
				step := render.Step{State: b.State, Title: b.Title, Server: b.ServerName, Detail: line(b.Detail)}
				s.once(m.ID+"/"+b.ToolCallID+"/"+string(b.State), render.PlainText(render.Message{Blocks: []render.Block{step}}))
			}
		case "note":
			text := render.PlainLine(line(b.Line))
			s.once(m.ID+"/note/"+text, text)
		}
	}
}
