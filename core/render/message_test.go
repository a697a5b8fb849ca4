package render_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Random messages: anything that a model, a server or a person could make of one.

func words(t *rapid.T, name string) string {
	s := rapid.StringOfN(rapid.RuneFrom([]rune("ab \n`~#\"{}é中😀\u200b")), 0, 40, -1).Draw(t, name)
	if rapid.IntRange(0, 9).Draw(t, name+" long") == 0 {
		s = strings.Repeat(s+"x", rapid.IntRange(1, 400).Draw(t, name+" times"))
	}
	return s
}

func line(t *rapid.T, name string) render.Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Span {
		switch rapid.IntRange(0, 5).Draw(t, "span") {
		case 0:
			return render.Strong(words(t, "strong"))
		case 1:
			return render.Person{User: chat.User{Platform: "web", Key: "u"}, Name: words(t, "name")}
		case 2:
			return render.Time{At: time.Unix(1, 0)}
		}
		return render.Plain(words(t, "plain"))
	}), 0, 5).Draw(t, name)
}

func choices(t *rapid.T, token string, most int) []render.Choice {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Choice {
		return render.Choice{
			Choice: rapid.SampledFrom([]chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Undo, chat.AskAgain, chat.ViewDetail, chat.Extend}).Draw(t, "choice"),
			Token:  token, Label: rapid.StringN(0, 60, -1).Draw(t, "label"),
		}
	}), 0, most).Draw(t, "choices")
}

func message(t *rapid.T) render.Message {
	calls := 0
	block := rapid.Custom(func(t *rapid.T) render.Block {
		calls++
		id := "c" + strconv.Itoa(calls)
		switch rapid.IntRange(0, 6).Draw(t, "block") {
		case 0:
			return render.Text{Markdown: words(t, "text"), Cut: rapid.Bool().Draw(t, "cut")}
		case 1:
			return render.Code{Language: "go", Source: words(t, "code")}
		case 2, 3:
			return render.Step{Call: id, State: rapid.SampledFrom([]render.StepState{render.StepDone, render.StepRunning, render.StepExpired, "odd"}).Draw(t, "state"),
				Title: words(t, "title"), Server: words(t, "server"), Detail: line(t, "detail"), Choices: choices(t, id, 2)}
		case 4:
			return render.Note{Line: line(t, "note"), Choices: choices(t, id, 2)}
		}
		a := render.Ask{Call: id, Token: "ask-" + id, Kind: render.AskPermission, Header: words(t, "header"), Run: words(t, "run"), Tool: words(t, "tool"),
			Brief: rapid.Bool().Draw(t, "brief"), Server: "s", Question: words(t, "question"), Says: words(t, "says"), Facts: line(t, "facts"),
			Warning: words(t, "warning"), Review: words(t, "review"), Footer: line(t, "footer"), More: choices(t, "ask-"+id, 4)}
		json := words(t, "args")
		a.Args = render.Args{JSON: json, Chars: utf8.RuneCountInString(json), Digest: strings.Repeat("7f3a", 16)}
		for i := range rapid.IntRange(0, 6).Draw(t, "rows") {
			a.Args.Rows = append(a.Args.Rows, render.Row{Name: "n" + strconv.Itoa(i) + words(t, "row"), Value: words(t, "value")})
		}
		a.Choices = append(choices(t, "ask-"+id, 4), render.Choice{Choice: chat.Deny, Token: "ask-" + id, Label: text.LabelDeny})
		return a
	})
	m := render.Message{Token: rapid.SampledFrom([]string{"", "turn"}).Draw(t, "token"), Blocks: rapid.SliceOfN(block, 0, 14).Draw(t, "blocks")}
	for _, c := range []chat.Choice{chat.ApproveAll, chat.DenyAll, chat.Stop} {
		if rapid.Bool().Draw(t, string(c)) {
			m.Choices = append(m.Choices, render.Choice{Choice: c, Token: "batch", Label: string(c)})
		}
	}
	return m
}

func limits(t *rapid.T) render.Limits {
	n := func(name string, floor int) int {
		switch rapid.IntRange(0, 3).Draw(t, name+" kind") {
		case 0:
			return 0
		case 1:
			return floor
		}
		return floor + rapid.IntRange(0, 4*floor).Draw(t, name)
	}
	f := render.Floor
	return render.Limits{Chars: n("chars", f.Chars), Bytes: n("bytes", f.Bytes), Blocks: n("blocks", f.Blocks), Text: n("text", f.Text),
		Args: n("args", f.Args), Label: n("label", f.Label), Asks: n("asks", f.Asks), Choices: n("choices", f.Choices)}
}

// What is counted, on one message that has everything.
func TestMeasure(t *testing.T) {
	choice := []render.Choice{{Choice: chat.Deny, Label: "Deny it"}}
	m := render.Message{
		Choices: choice,
		Blocks: []render.Block{
			render.Text{Markdown: "é23"},
			render.Code{Language: "go", Source: "1234"},
			render.Step{Title: "12", Server: "12", Detail: render.Line{render.Plain("1"), render.Strong("1"), render.Person{Name: "Ana"}, render.Time{}}, Choices: choice},
			render.Note{Line: render.Line{render.Person{User: chat.User{Key: "U1"}}}, Choices: choice},
			render.Ask{
				Header: "1", Run: "1", Tool: "not counted", Server: "not counted", Says: "1", Facts: render.Line{render.Plain("1")},
				Args: render.Args{JSON: "12345", Rows: []render.Row{{Name: "123", Value: "123"}}}, Question: "1", Warning: "1", Review: "1",
				Footer: render.Line{render.Plain("1")}, Choices: choice, More: []render.Choice{{Label: "Edit arguments"}},
			},
		},
	}
	chars := 3 + 6 + 4 + 2 + 3 + 20 + 2 + 8 + 6
	want := render.Size{Chars: chars, Bytes: chars + 1, Blocks: 5, Text: 4, Args: 6, Label: 14, Asks: 1, Choices: 4}
	if got := render.Measure(m); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := render.Measure(render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Channel("odd")}}}}); got.Chars != 3 {
		t.Errorf("%+v", got)
	}
	if render.Within(render.Message{Blocks: []render.Block{card(1), card(2)}}, render.Limits{Asks: 1}) {
		t.Error("two asks are one")
	}
	if !render.Within(m, render.Limits{}) {
		t.Error("zero limits limit")
	}
	for name, l := range map[string]render.Limits{
		"chars": {Chars: want.Chars - 1}, "bytes": {Bytes: want.Bytes - 1}, "blocks": {Blocks: 4}, "text": {Text: 3}, "args": {Args: 5}, "label": {Label: 13}, "choices": {Choices: 3},
	} {
		if render.Within(m, l) {
			t.Errorf("%s: not seen", name)
		}
	}
	if exact := (render.Limits{Chars: want.Chars, Bytes: want.Bytes, Blocks: 5, Text: 4, Args: 6, Label: 14, Asks: 1, Choices: 4}); !render.Within(m, exact) {
		t.Error("the exact size is too much")
	}
}

// Every state has its own word, and an unknown one is never drawn as done.
func TestMarks(t *testing.T) {
	words := map[string]bool{}
	for s, mark := range map[render.StepState]string{
		render.StepPending: "·", render.StepWaiting: "⚠️", render.StepRunning: "⟳", render.StepDone: "✓", render.StepFailed: "✕", render.StepDenied: "✕",
		render.StepExpired: "⌛", render.StepCancelled: "✕", render.StepUnknown: "❓",
	} {
		if got := render.Mark(s); got != mark {
			t.Errorf("%s: %s", s, got)
		}
		words[render.MarkWord(s)] = true
	}
	if len(words) != 9 || render.Mark("new") != "❓" || render.MarkWord("new") != render.MarkWord(render.StepUnknown) {
		t.Error(words)
	}
}
