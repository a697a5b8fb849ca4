package render_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// choicesSaid are words for buttons, in their order.
func choicesSaid(cs []render.Choice) string {
	var out []string
	for _, c := range cs {
		out = append(out, string(c.Choice)+":"+c.Token)
	}
	return strings.Join(out, " ")
}

// Whatever Fit leaves out can be looked at: from the step or the card that it is missing from, or else from the message.
func TestWhatIsCutCanBeViewed(t *testing.T) {
	long := strings.Repeat("x", 3000)
	undo := func(call string) []render.Choice {
		return []render.Choice{{Choice: chat.ViewDetail, Token: call}, {Choice: chat.Undo, Token: call, Label: "Undo"}}
	}
	step := func(call, title, server string) render.Step {
		return render.Step{Call: call, State: render.StepDone, Title: title, Server: server}
	}
	steps := func(n int, choices []render.Choice) (out []render.Block) {
		for range n {
			out = append(out, render.Step{Call: "s", State: render.StepDone, Title: "read", Choices: choices})
		}
		return out
	}
	with := func(change func(*render.Ask)) render.Ask {
		a := card(1)
		change(&a)
		return a
	}
	longLine := render.Line{render.Plain(long)}
	for name, c := range map[string]struct {
		token  string
		blocks []render.Block
		limits render.Limits
		block  string // buttons of the first block
		whole  string // buttons of the message
	}{
		"a note":                           {"", []render.Block{render.Note{Line: longLine}, step("c1", "read", "")}, render.Limits{Chars: 1000}, "", "view:c1"},
		"a turn with a name":               {"turn", []render.Block{step("c1", long, "")}, render.Limits{Chars: 1000}, "", "view:turn"},
		"a step's title":                   {"", []render.Block{step("c1", long, "")}, render.Limits{Chars: 1000}, "view:c1", ""},
		"a step's server":                  {"", []render.Block{step("c1", "", long)}, render.Limits{Chars: 1000}, "view:c1", ""},
		"a step that shows it":             {"", []render.Block{render.Step{Call: "c1", Title: long, Choices: undo("c1")[:1]}}, render.Limits{Chars: 1000}, "view:c1", ""},
		"a step beside one that is cut":    {"", []render.Block{step("c1", "", ""), step("c2", long, "")}, render.Limits{Chars: 1000}, "", ""},
		"a step without a call":            {"", []render.Block{step("", long, ""), card(1)}, render.Limits{Chars: 1500}, "", "view:ask1"},
		"buttons that go":                  {"turn", steps(12, undo("s")[1:]), render.Limits{Choices: 5}, "", "view:turn"},
		"questions that follow":            {"turn", []render.Block{card(1), card(2)}, render.Limits{Asks: 1}, "allow_chat:ask1 allow_once:ask1 deny:ask1", "view:turn"},
		"steps that are folded":            {"turn", steps(4, undo("s")), render.Limits{Blocks: 1}, "undo:s undo:s undo:s undo:s", "view:turn"},
		"a card's facts":                   {"turn", []render.Block{with(func(a *render.Ask) { a.Facts = longLine })}, render.Limits{Chars: 1500}, "allow_chat:ask1 allow_once:ask1 deny:ask1 view:ask1", ""},
		"a card's footer":                  {"turn", []render.Block{with(func(a *render.Ask) { a.Footer = longLine })}, render.Limits{Chars: 1500}, "allow_chat:ask1 allow_once:ask1 deny:ask1 view:ask1", ""},
		"a card's changes":                 {"turn", []render.Block{with(func(a *render.Ask) { a.Args.Diff = long })}, render.Limits{Args: 1500}, "allow_chat:ask1 allow_once:ask1 deny:ask1 view:ask1", ""},
		"a card that is whole":             {"turn", []render.Block{card(1), render.Text{Markdown: long}}, render.Limits{Chars: 1500}, "allow_chat:ask1 allow_once:ask1 deny:ask1", "view:turn"},
		"nothing, of two texts in one":     {"turn", []render.Block{render.Text{Markdown: "a"}, render.Text{Markdown: "b"}}, render.Limits{Blocks: 1}, "", ""},
		"nothing, of three cards that fit": {"turn", []render.Block{card(1), card(2), card(3)}, render.Limits{Blocks: 3}, "allow_chat:ask1 allow_once:ask1 deny:ask1", ""},
	} {
		out := render.Fit(render.Message{Token: c.token, Blocks: c.blocks}, c.limits)
		block := ""
		switch b := out.Blocks[0].(type) {
		case render.Step:
			block = choicesSaid(b.Choices)
		case render.Note:
			block = choicesSaid(b.Choices)
		case render.Ask:
			block = choicesSaid(b.Choices)
		}
		if whole := choicesSaid(out.Choices); block != c.block || whole != c.whole {
			t.Errorf("%s: %q and %q, want %q and %q", name, block, whole, c.block, c.whole)
		}
		if strings.HasPrefix(name, "nothing") && len(out.Blocks) != min(len(c.blocks), c.limits.Blocks) {
			t.Errorf("%s:\n%s", name, render.PlainText(out))
		}
	}
	changes := with(func(a *render.Ask) { a.Args.Diff = long })
	if got := asks(render.Fit(render.Message{Blocks: []render.Block{changes}}, render.Limits{Args: 1500}))[0]; len(got.Args.Diff) > 1600 || got.Args.JSON != changes.Args.JSON || got.Run != changes.Run || got.Warning != changes.Warning {
		t.Errorf("more than the changes is cut: %+v", got)
	}
}

// Where blocks have to go, what is over goes first, and what people are asked is counted once.
func TestWhatGoesFirst(t *testing.T) {
	for _, state := range []render.StepState{render.StepRunning, render.StepWaiting, render.StepPending, render.StepUnknown} {
		m := render.Message{Blocks: []render.Block{render.Step{State: state, Title: "live"}, render.Step{State: render.StepDone, Title: "over"}, render.Step{State: render.StepFailed, Title: "over"}}}
		if said := render.PlainText(render.Fit(m, render.Limits{Blocks: 2})); !strings.Contains(said, "live") || strings.Contains(said, "over") {
			t.Errorf("%s:\n%s", state, said)
		}
	}
	var asked render.Message
	for i := range 5 {
		asked.Blocks = append(asked.Blocks, card(i+1))
	}
	if said := render.PlainText(render.Fit(asked, render.Limits{Blocks: 4})); strings.Contains(said, "earlier step") || !strings.Contains(said, "4 more questions") {
		t.Errorf("%s", said)
	}
	undo := []render.Choice{{Choice: chat.Undo, Token: "c", Label: "Undo"}}
	for _, cut := range []int{0, 1} {
		texts := []render.Block{render.Text{Markdown: "a", Cut: cut == 0}, render.Text{Markdown: "b", Cut: cut == 1}, render.Note{Choices: undo}, render.Note{Line: render.Line{render.Plain("said")}}, render.Note{}}
		want := []render.Block{render.Text{Markdown: "a\n\nb", Cut: true}, render.Note{Line: render.Line{render.Plain("said")}, Choices: undo}}
		if got := render.Fit(render.Message{Blocks: texts}, render.Limits{Blocks: 4}).Blocks; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got := render.Fit(render.Message{Blocks: texts[:3]}, render.Limits{Blocks: 2}).Blocks; len(got) != 2 || got[1].(render.Note).Choices == nil {
			t.Errorf("%+v", got)
		}
	}
}

// Of too many buttons a card keeps its answers, and what is not needed goes from no other card.
func TestWhichButtonsStay(t *testing.T) {
	many := card(1)
	many.More = nil
	many.Choices = nil
	for _, c := range []chat.Choice{chat.Extend, chat.Edit, chat.AllowHour, chat.AllowChat, chat.ViewDetail, chat.AllowOnce, chat.Deny} {
		many.Choices = append(many.Choices, render.Choice{Choice: c, Token: "ask1", Label: string(c)})
	}
	m := render.Message{Blocks: []render.Block{many, many}}
	is := asks(render.Fit(m, render.Limits{Choices: 13}))
	if got := choicesSaid(is[1].Choices); got != "extend:ask1 allow_chat:ask1 view:ask1 allow_once:ask1 deny:ask1" || choicesSaid(is[1].More) != "edit:ask1 allow_hour:ask1" {
		t.Errorf("%s, and behind ⋯ %s", got, choicesSaid(is[1].More))
	}
	if !slices.Equal(is[0].Choices, many.Choices) {
		t.Errorf("%s", choicesSaid(is[0].Choices))
	}
	undo := render.Step{State: render.StepDone, Title: "read", Choices: []render.Choice{{Choice: chat.Undo, Token: "s", Label: "Undo"}}}
	below := render.Fit(render.Message{Blocks: slices.Concat([]render.Block{card(1)}, slices.Repeat([]render.Block{undo}, 20))}, render.Limits{Choices: render.Floor.Choices})
	if is := asks(below); choicesSaid(is[0].Choices) != "allow_chat:ask1 allow_once:ask1 deny:ask1" || below.Blocks[20].(render.Step).Choices == nil {
		t.Errorf("a question above steps lost what answers it:\n%s", render.PlainText(below))
	}
	label := strings.Repeat("x", 40)
	got := render.Fit(render.Message{Choices: []render.Choice{{Label: label}, {Label: label + "y", Hint: "why"}}}, render.Floor).Choices
	if got[0] != (render.Choice{Label: label}) || got[1] != (render.Choice{Label: label[:39] + "…", Hint: label + "y (why)"}) {
		t.Errorf("%+v", got)
	}
}

// A button is found by what it does and for what, wherever it stands.
func TestFind(t *testing.T) {
	a := card(1)
	m := render.Message{Choices: []render.Choice{{Choice: chat.Stop, Token: "turn"}}, Blocks: []render.Block{render.Step{Choices: []render.Choice{{Choice: chat.Undo, Token: "c1"}}}, a}}
	for _, c := range []render.Choice{{Choice: chat.Stop, Token: "turn"}, {Choice: chat.Undo, Token: "c1"}, {Choice: chat.Deny, Token: "ask1"}, {Choice: chat.ViewDetail, Token: "ask1"}} {
		if got, ok := m.Find(c.Choice, c.Token); !ok || got.Choice != c.Choice || got.Token != c.Token {
			t.Errorf("%+v: %+v", c, got)
		}
		if got, ok := m.Find(c.Choice, "other"); ok || got.Choice != "" {
			t.Errorf("%+v", got)
		}
		if want := c.Choice == chat.ViewDetail; a.Opens(c) != want || a.Opens(render.Choice{Choice: c.Choice, Token: "other"}) {
			t.Errorf("%+v opens: %v", c, !want)
		}
	}
	for want, a := range map[string]render.Ask{"h · r": {Header: "h", Run: "r"}, "h": {Header: "h"}, "r": {Run: "r"}} {
		if got := a.Small(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if c := render.NewChoice(chat.AllowOnce, "t"); c.Style != render.Neutral {
		t.Errorf("%+v", c)
	}
}
