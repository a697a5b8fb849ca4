package card

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Brief is a message of one line.
func Brief(state render.State, line ...render.Span) render.Message {
	return render.Message{State: state, Blocks: []render.Block{render.Note{Line: line}}}
}

// Announcement says beside a turn's message that a call waits, with others of which there are more, for these people.
func Announcement(c turn.ToolCall, more int, people []render.Person) render.Message {
	var line render.Line
	for _, p := range people {
		line = append(line, p, render.Plain(", "))
	}
	return Brief(render.Waiting, append(line, render.Plain(text.NudgeLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server), more)))...)
}

// Escalation says beside a turn's message that nobody answered a call for so long, and that these people may.
func Escalation(c turn.ToolCall, waited time.Duration, people []render.Person) render.Message {
	m := Announcement(c, 0, people)
	note := m.Blocks[0].(render.Note)
	note.Line = append(note.Line, render.Plain(text.EscalatedAfter(waited)))
	m.Blocks[0] = note
	return m
}

// EndNote says beside its message how a turn came out, for whoever asked.
func EndNote(s turn.Session, t *turn.Turn, requester render.Person) render.Message {
	return Brief(View(s, t, Live{}).State, requester, render.Plain(text.EndLine(t.End == turn.Answered, t.EndAt.Sub(t.At))))
}

// Below stands where a turn's message was, which goes on below.
func Below(state render.State) render.Message { return Brief(state, render.Plain(text.GoesOnBelow)) }

// Part is a message in which a long answer goes on.
func Part(of render.Message, markdown string) render.Message {
	m := Brief(render.Done, render.Plain(text.Continued))
	m.Hosts, m.Blocks = of.Hosts, slices.Concat(m.Blocks, []render.Block{render.Text{Markdown: markdown}})
	return m
}
