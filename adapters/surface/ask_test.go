package surface

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func TestTheSignAboveAQuestion(t *testing.T) {
	t.Parallel()
	for icon, want := range map[string]string{
		"": text.SymbolConfirm, " ": text.SymbolConfirm, " 📁 ": "📁", "👩🏽‍💻": "👩🏽‍💻", "💾💾💾💾💾": text.SymbolConfirm,
		"https://files.example/icon.png": text.SymbolConfirm, ":disk:": text.SymbolConfirm, // of one platform, where another would write it out
	} {
		if got := Small(render.Ask{Icon: icon, Header: "Allow it?", Run: "Run it"}); got != want+" Allow it? · Run it" {
			t.Errorf("%q: %q", icon, got)
		}
	}
}

func TestWhatIsShownOfArguments(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("l\n", n), "\n") }
	row := func(value string) []render.Row { return []render.Row{{Name: "a", Value: value}} }
	for name, x := range map[string]struct {
		of             render.Ask
		code, language string // what code begins with; of several lines, how many: "24"
		say            string
		all            bool
	}{
		"none":                {render.Ask{Args: render.Args{JSON: "{}"}}, "", "", text.NoArguments, true},
		"an input has none":   {render.Ask{Kind: render.AskInput}, "", "json", "", true},
		"short ones":          {render.Ask{Args: render.Args{JSON: "{…}", Rows: row("b")}}, "a: b", "", "", true},
		"of no object":        {render.Ask{Args: render.Args{JSON: "[1]"}}, "[1]", "json", "", true},
		"not all of them":     {render.Ask{Args: render.Args{JSON: "{", Rows: row("b"), Hidden: 5, Chars: 9}}, "{", "json", text.NotShown(5, 9), false},
		"ten":                 {render.Ask{Args: render.Args{JSON: "{", Rows: slices.Repeat(row("b"), maxRows)}}, "10", "", "", true},
		"eleven":              {render.Ask{Args: render.Args{JSON: "{", Rows: slices.Repeat(row("b"), maxRows+1)}}, "{", "json", "", true},
		"600 characters":      {render.Ask{Args: render.Args{JSON: "{", Rows: row(strings.Repeat("b", maxRowsText-3))}}, "a: bbb", "", "", true},
		"and one more":        {render.Ask{Args: render.Args{JSON: "{", Rows: row(strings.Repeat("b", maxRowsText-2))}}, "{", "json", "", true},
		"24 lines":            {render.Ask{Args: render.Args{JSON: "{", Rows: row(lines(maxRowsLines))}}, "24", "", "", true},
		"25 lines":            {render.Ask{Args: render.Args{JSON: "{", Rows: row(lines(maxRowsLines + 1))}}, "{", "json", "", true},
		"of JSON 25 lines":    {render.Ask{Args: render.Args{JSON: lines(25)}}, "25", "json", "", true},
		"and 26":              {render.Ask{Args: render.Args{JSON: lines(26), Chars: 51}}, "25", "json", "24 of 26 lines · " + text.NotShown(3, 51), false},
		"in a row of a list":  {render.Ask{Brief: true, Args: render.Args{JSON: lines(26), Chars: 51}}, "9", "json", "8 of 26 lines · " + text.NotShown(35, 51), false},
		"of a text that goes": {render.Ask{Args: render.Args{JSON: "{", Rows: row("b"), Diff: "- a\n+ b", Against: "as read"}}, "2", "diff", "as read", false},
	} {
		code, language, say, all := ArgsShown(x.of)
		if n := strings.Count(code, "\n"); n > 0 {
			code = text.Number(n + 1)
		}
		if !strings.HasPrefix(code, x.code) || (code == "") != (x.code == "") || language != x.language || say != x.say || all != x.all {
			t.Errorf("%s: %.20q as %q, %q, all: %v", name, code, language, say, all)
		}
	}
}

// labels are what choices say.
func labels(cs []render.Choice) (all []string) {
	for _, c := range cs {
		all = append(all, c.Label)
	}
	return all
}

func TestWhatACardOffers(t *testing.T) {
	t.Parallel()
	allow, more := render.Choice{Choice: chat.AllowOnce, Token: "a", Label: "Allow"}, render.Choice{Choice: chat.Extend, Token: "a", Label: "More time"}
	view, other := render.Choice{Choice: chat.ViewDetail, Token: "a", Label: "View"}, render.Choice{Choice: chat.ViewDetail, Token: "b", Label: "Another's"}
	both := []render.Choice{more, view}
	for name, x := range map[string]struct {
		ask       render.Ask
		all       bool
		row, more string
	}{
		"all arguments are shown":             {render.Ask{Choices: []render.Choice{allow}, More: both}, true, "Allow", "More time View"},
		"a button shows the others":           {render.Ask{Choices: []render.Choice{allow}, More: both}, false, "Allow " + text.LabelShowArguments, "More time"},
		"there is nothing that shows them":    {render.Ask{Choices: []render.Choice{allow}, More: both[:1]}, false, "Allow", "More time"},
		"it is there already":                 {render.Ask{Choices: []render.Choice{view}, More: both}, false, text.LabelShowArguments, "More time View"},
		"an input's details are no arguments": {render.Ask{Kind: render.AskInput, Choices: []render.Choice{allow, view}}, true, "Allow View", ""},
	} {
		x.ask.Token = "a"
		row, rest := Buttons(x.ask, x.all, 9)
		if r, m := strings.Join(labels(row), " "), strings.Join(labels(rest), " "); r != x.row || m != x.more {
			t.Errorf("%s: %q and %q", name, r, m)
		}
	}
	for name, x := range map[string]struct {
		row, more []render.Choice
		want      string
	}{
		"details become a button":         {[]render.Choice{allow}, both, "Allow " + text.LabelDetails + " | "},
		"they are one":                    {[]render.Choice{allow, view}, both, "Allow View | "},
		"those of another do not say all": {[]render.Choice{other}, []render.Choice{more, other}, "Another's | More time Another's"},
	} {
		row, rest := BehindDetails(render.Ask{Token: "a"}, x.row, x.more)
		if got := strings.Join(labels(row), " ") + " | " + strings.Join(labels(rest), " "); got != x.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
