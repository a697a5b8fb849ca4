package card

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// line is a line that is being built.
type line struct{ render.Line }

func (d *line) text(s string) *line {
	if n := len(d.Line) - 1; n >= 0 {
		if p, ok := d.Line[n].(render.Plain); ok {
			d.Line[n] = p + render.Plain(s)
			return d
		}
	}
	if s != "" {
		d.Line = append(d.Line, render.Plain(s))
	}
	return d
}

func (d *line) sep() *line {
	if len(d.Line) == 0 {
		return d
	}
	return d.text(" · ")
}

func (d *line) person(u chat.User, name string) *line {
	d.Line = append(d.Line, render.Person{User: u, Name: nameFor(u, name)})
	return d
}

// deciders begin a sentence about who can answer.
func (d *line) deciders(who []string) {
	for i, name := range who {
		switch {
		case i == 0:
			name = text.Capital(name)
		case i == len(who)-1:
			d.text(" or ")
		default:
			d.text(", ")
		}
		if u, err := chat.ParseUser(who[i]); err == nil {
			d.Line = append(d.Line, render.Person{User: u})
		} else {
			d.text(text.Inline(name))
		}
	}
}

// voters are those who allowed a call that several people have to allow.
func (d *line) voters(c turn.ToolCall) *line {
	for i, x := range c.Votes {
		if i > 0 {
			d.text(", ")
		}
		d.person(x.By, x.Name)
	}
	return d
}

// strong comes behind other words.
func (d *line) strong(s string) *line {
	if !strings.HasSuffix(render.PlainLine(d.Line[len(d.Line)-1:]), " ") {
		d.text(" ")
	}
	d.Line = append(d.Line, render.Strong(s))
	return d
}

func (d *line) time(at time.Time, until bool) *line {
	d.Line = append(d.Line, render.Time{At: at, Until: until})
	return d
}

func nameFor(u chat.User, name string) string {
	return cmp.Or(text.Clip(name, 80), text.Clip(u.Key, 80))
}

func runLine(c turn.ToolCall) string {
	return text.RunLine(text.Inline(c.Tool.Name), text.Inline(c.Tool.Server))
}

// lastEdit says who changed a call's arguments last.
func lastEdit(c turn.ToolCall) string {
	return text.EditedBy(text.Clip(c.Edits[len(c.Edits)-1].Name, 80))
}

// resultLine is the first line of a call's result.
func resultLine(c turn.ToolCall) string {
	if c.Result == nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(talk.Result(*c.Result).Text), "\n")
	return text.Clip(first, 160)
}

// lostWords are the words for a run that nobody knows the end of. Without word of it the process that ran it is gone;
// with it, that process has seen it through, and the server, the time or a person ended it.
func lostWords(c turn.ToolCall, interrupted, noAnswer string) string {
	if c.Lost == "" {
		return interrupted
	}
	return noAnswer
}

// grantedBy names the grant that let a call run: what it was for, whose it was, and its end.
func (v viewer) grantedBy(d *line, c turn.ToolCall) {
	g := c.Cover
	if g == nil { // of a call that was recorded before this was kept
		g = v.s.Grant(c.Grant)
	}
	if g == nil {
		d.text(text.ByEarlierGrant)
		return
	}
	d.text(text.ByGrant(turn.ChoiceOf(*g))).person(g.By, g.Name)
	if !c.StartedAt.IsZero() && g.Of > 0 {
		d.text(text.UseOf(g.Of-g.Uses, g.Of))
	}
	d.until(*g)
}

// until says when a grant ends by itself.
func (d *line) until(g permission.Grant) {
	if !g.Until.IsZero() {
		d.text(text.UntilAt).time(g.Until, true)
	}
}

// GrantWhat is what a grant allows, in words; the names inside are untrusted.
func GrantWhat(g permission.Grant) string {
	what := permission.GrantedWhat(g)
	if len(g.Pins) > 0 {
		what += " " + pin.Label(g.Pins)
	}
	return what
}
