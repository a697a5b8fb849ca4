package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// View is the message of the open turn, or of the last one, as text; every line of it is well made.
func (x *Script) View(live card.Live) (render.Message, string) {
	x.T.Helper()
	tn := x.Session.Turn
	if tn == nil {
		tn = x.Session.Last
	}
	m := card.View(x.Session, tn, live)
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			wellMade(x.T, b.Detail)
		case render.Ask:
			wellMade(x.T, b.Footer)
			wellMade(x.T, b.Facts)
		case render.Note:
			wellMade(x.T, b.Line)
		}
	}
	return m, render.PlainText(m)
}

// wellMade: words stand in one piece, so that they can be measured and cut, and no separator begins or ends a line.
func wellMade(t *testing.T, l render.Line) {
	t.Helper()
	for i, s := range l {
		p, ok := s.(render.Plain)
		if ok && i > 0 {
			_, split := l[i-1].(render.Plain)
			if split {
				t.Errorf("%q falls into pieces: %q", render.PlainLine(l), l)
			}
		}
		if ok && p == "" {
			t.Errorf("an empty piece in %q", l)
		}
	}
	if text := render.PlainLine(l); strings.HasPrefix(text, " · ") || strings.HasSuffix(text, " · ") || strings.Contains(text, " ·  · ") {
		t.Errorf("%q has a separator too many", text)
	}
}

// Shows and hides look for text in the message.
func (x *Script) Shows(texts ...string) *Script {
	x.T.Helper()
	_, text := x.View(card.Live{})
	for _, w := range texts {
		if !strings.Contains(text, w) {
			x.T.Errorf("%q does not stand in the message:\n%s", w, text)
		}
	}
	return x
}

func (x *Script) Hides(texts ...string) *Script {
	x.T.Helper()
	_, text := x.View(card.Live{})
	for _, w := range texts {
		if strings.Contains(text, w) {
			x.T.Errorf("%q stands in the message:\n%s", w, text)
		}
	}
	return x
}

// Buttons are a message's choices, those of asks as choice:ask, in order.
func Buttons(m render.Message) []string {
	var all []render.Choice
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			all = append(all, b.Choices...)
		case render.Ask:
			all = append(append(all, b.Choices...), b.More...)
		case render.Note:
			all = append(all, b.Choices...)
		}
	}
	var names []string
	for _, c := range append(all, m.Choices...) {
		if strings.HasPrefix(c.Token, "all-") {
			c.Token = "all"
		}
		names = append(names, fmt.Sprintf("%s:%s", c.Choice, c.Token))
	}
	return names
}

func (x *Script) Offers(want ...string) *Script {
	x.T.Helper()
	m, _ := x.View(card.Live{})
	if got := Buttons(m); !slices.Equal(got, want) {
		x.T.Errorf("offered %q, want %q", got, want)
	}
	return x
}

func (x *Script) State(want render.State) *Script {
	x.T.Helper()
	if m, _ := x.View(card.Live{}); m.State != want {
		x.T.Errorf("the turn is %s, want %s", m.State, want)
	}
	return x
}

// Reads is everything that the details of a token say, or "" where there are none.
func (x *Script) Reads(token string) string {
	d, found := card.Details(x.Session, token)
	if found == (len(d.Parts) == 0) {
		x.T.Errorf("%q: found %v with %d parts", token, found, len(d.Parts))
	}
	var b strings.Builder
	for _, p := range d.Parts {
		b.WriteString(p.Name + "\n" + p.Text + "\n")
	}
	return d.Title + "\n" + b.String()
}

func (x *Script) Details(token string, want ...string) {
	x.T.Helper()
	got := x.Reads(token)
	for _, w := range want {
		if !strings.Contains(got, w) {
			x.T.Errorf("the details of %q do not say %q:\n%s", token, w, got)
		}
	}
}

// Told is what became of what c1's server wants, or "".
func (x *Script) Told() string {
	x.T.Helper()
	w := x.Call("c1").Elicitation
	if w == nil || w.Fill == nil {
		return ""
	}
	return w.Fill.Action + string(w.Fill.Content)
}

// Wants checks whether the asking is open, wherever people look: as a card with its buttons, in the turn's state and in what waits.
func (x *Script) Wants(ask turn.AskID, open bool) *Script {
	x.T.Helper()
	c, found := x.Session.FindElicitation(ask)
	m, _ := x.View(card.Live{})
	card := slices.Contains(Buttons(m), string(chat.Answer)+":"+string(ask)) && slices.Contains(Buttons(m), string(chat.Decline)+":"+string(ask))
	waits := slices.ContainsFunc(turn.Waits(x.Session), func(w turn.Wait) bool { return w.Ask == ask && w.Call == "c1" })
	if found != open || found && c.ID != "c1" || card != open || waits != open || open && m.State != render.Waiting {
		x.T.Errorf("%s: wanted %v, of %q; card %v, waits %v, the turn is %s; want %v of all", ask, found, c.ID, card, waits, m.State, open)
	}
	return x
}

// RunAll starts and finishes whatever may run and returns the order.
func (x *Script) RunAll(ran []string) []string {
	for n := 0; n < 20; n++ {
		var run *turn.RunTool
		for _, c := range turn.Next(x.Session, x.Now, turn.Env{}) {
			if r, ok := c.(turn.RunTool); ok {
				run = &r
			}
		}
		if run == nil {
			return ran
		}
		id := string(run.Call)
		ran = append(ran, id)
		x.Starts(id, fmt.Sprintf("r-%s-%d", id, len(ran))).Put(turn.Finished{Call: run.Call, Run: turn.RunID(fmt.Sprintf("r-%s-%d", id, len(ran))), Result: turn.Result{Text: "ok"}})
	}
	x.T.Fatal("it never ends")
	return nil
}

// Line is a record in a form for tables.
func Line(r audit.Record) string {
	out := fmt.Sprintf("%d %s %s by %s", r.Seq, r.Kind, r.Outcome, r.Name)
	for _, f := range []struct{ name, value string }{
		{"call", string(r.Call)}, {"choice", r.Choice}, {"rule", r.Rule}, {"grant", string(r.Grant)}, {"run", string(r.Run)}, {"note", r.Note},
	} {
		if f.value != "" {
			out += " " + f.name + "=" + f.value
		}
	}
	if r.MS != 0 {
		out += fmt.Sprintf(" %dms", r.MS)
	}
	return out
}

// Audits checks the records of what was put since the log had from entries.
func (x *Script) Audits(from int, want ...string) *Script {
	x.T.Helper()
	var got []string
	for _, r := range audit.Records(x.Session.Chat, x.Log) {
		if int(r.Seq) > from { //nolint:gosec // a test's small numbers
			got = append(got, Line(r))
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		x.T.Errorf("records:\n%s\nwant:\n%s", g, w)
	}
	return x
}
