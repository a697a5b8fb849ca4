package card

import (
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// detail builds a line.
type detail struct{ line render.Line }

func (d *detail) text(s string) *detail {
	if s == "" {
		return d
	}
	if n := len(d.line); n > 0 {
		if p, ok := d.line[n-1].(render.Plain); ok {
			d.line[n-1] = p + render.Plain(s)
			return d
		}
	}
	d.line = append(d.line, render.Plain(s))
	return d
}

func (d *detail) sep() *detail {
	if len(d.line) == 0 {
		return d
	}
	return d.text(" · ")
}

func (d *detail) person(u chat.User, name string) *detail {
	d.line = append(d.line, render.Person{User: u, Name: nameFor(u, name)})
	return d
}

func (d *detail) strong(s string) *detail {
	if len(d.line) > 0 {
		d.text(" ")
	}
	d.line = append(d.line, render.Strong(s))
	return d
}

func (d *detail) time(at time.Time, until bool) *detail {
	d.line = append(d.line, render.Time{At: at, Until: until})
	return d
}

func nameFor(u chat.User, name string) string {
	if name = text.Clip(name, 80); name != "" {
		return name
	}
	return text.Clip(u.Key, 80)
}

func resultText(c turn.ToolCall) string {
	if c.Result == nil {
		return ""
	}
	return talk.Result(*c.Result).Text
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// lostWords are the words for a run that nobody knows the end of. Without word of it the process that ran it is gone;
// with it, that process has seen it through, and the server, the time or a person ended it.
func lostWords(c turn.ToolCall, interrupted, noAnswer string) string {
	if c.Lost == "" {
		return interrupted
	}
	return noAnswer
}
