package components

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func drawnPanel(t interface {
	Fatal(...any)
}, p render.Panel, at PanelPage) (Payload, string) {
	drawn, _ := Panel(p, at)
	if err := check(drawn); err != nil {
		t.Fatal(err, dump(drawn))
	}
	return drawn, dump(drawn)
}

// R22 R156
func TestPanels(t *testing.T) {
	many := samples.Panel()
	for i := range 8 {
		many.Tabs = append(many.Tabs, render.Act{Kind: render.ActGo, View: fmt.Sprint("server:", i), Label: fmt.Sprint("Server ", i)})
	}
	for i := range 40 {
		many.Sections[2].Rows = append(many.Sections[2].Rows, render.PanelRow{Line: samples.Plain(fmt.Sprint("grant ", i)), Acts: []render.Act{{Token: fmt.Sprint("revoke.", i), Label: "Revoke"}}})
	}
	for name, x := range map[string]struct {
		p  render.Panel
		at PanelPage
	}{
		"panel_chat": {samples.Panel(), PanelPage{}}, "panel_done": {samples.Panel(), PanelPage{Say: "Revoked."}}, "panel_empty": {render.Panel{Title: "Settings"}, PanelPage{}},
		"panel_page_1": {many, PanelPage{}}, "panel_page_3": {many, PanelPage{Page: 2}},
	} {
		p, s := drawnPanel(t, x.p, x.at)
		looks.Golden(t, name+".json", pretty(t, p))
		looks.Golden(t, name+".txt", []byte(s))
	}
}

func TestPrivateQuestions(t *testing.T) {
	s := samples.Grantable("ASK1")
	sample := samples.Wanting("WANT1", turn.Elicitation{Kind: turn.ElicitationURL, URL: "https://xn--pple-43d.example/sign-in?a=**b**&c=1", Message: "Sign in"})
	for name, p := range map[string]Payload{
		"view_confirm": Confirm(allowServer(s), "900000000000000009"),
		"view_address": Address("WANT1", "900000000000000009", sample.Turn.Calls[0]),
	} {
		if err := check(p); err != nil {
			t.Error(err)
		}
		looks.Golden(t, name+".json", pretty(t, p))
		looks.Golden(t, name+".txt", []byte(dump(p)))
	}
	w := samples.Wanting("WANT1", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()})
	m := ElicitationModal("WANT1", "900000000000000009", w.Turn.Calls[0], nil)
	if err := checkModal(m); err != nil {
		t.Error(err)
	}
	looks.Golden(t, "view_want.json", pretty(t, map[string]any{"title": m.Title, "custom_id": m.CustomID, "components": jsonOf(m.Components)}))
	looks.Golden(t, "view_want.txt", []byte("# "+m.Title+"\n"+dump(Payload{Components: m.Components})))
}

// whatIsThere are the acts that a page offers, by what a click on them would do.
func whatIsThere(t interface{ Fatalf(string, ...any) }, p Payload) (out []string) {
	for _, c := range clicksOn(p) {
		d, ok := ParsePanelAction(c.id)
		if c.id == "" {
			continue // a link
		}
		if !ok {
			t.Fatalf("a click on %+v says nothing", c)
		}
		switch d.What {
		case PanelPick:
			out = append(out, OptionValue(c.values[0]))
		case PanelDo, PanelFill:
			out = append(out, d.Token)
		case PanelGo:
			out = append(out, "go "+d.View)
		}
	}
	return out
}

// Whatever a view holds, all of it is to be had on one of its pages, each of which Discord takes.
func TestEveryActIsOnSomePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p render.Panel
		var want []string
		p.View = rapid.SampledFrom([]string{"", "servers", "#odd", strings.Repeat("v", 200)}).Draw(t, "view")
		p.Title, p.Banner = anyText(t, "title"), []render.Line{samples.Plain(anyText(t, "banner"))}
		for i := range rapid.IntRange(0, 30).Draw(t, "tabs") {
			p.Tabs = append(p.Tabs, render.Act{Kind: render.ActGo, View: fmt.Sprint("tab", i), Label: anyText(t, "tab"), Current: i%3 == 0})
		}
		n := 0
		token := func() string {
			n++
			tok := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"t", strings.Repeat("k", 37)}).Draw(t, "token"), n)
			want = append(want, tok)
			return tok
		}
		for range rapid.IntRange(0, 3).Draw(t, "sections") {
			s := render.Section{Title: anyText(t, "section"), Note: anyText(t, "note"), Empty: anyText(t, "empty")}
			for range rapid.SampledFrom([]int{0, 1, 3, 8}).Draw(t, "rows") {
				r := render.PanelRow{Line: samples.Plain(anyText(t, "line"))}
				for range rapid.IntRange(0, 2).Draw(t, "details") {
					r.Details = append(r.Details, samples.Plain(anyText(t, "detail")))
				}
				for range rapid.SampledFrom([]int{0, 1, 1, 2, 9}).Draw(t, "acts") {
					act := render.Act{Kind: rapid.SampledFrom([]render.ActKind{render.ActDo, render.ActFill, render.ActPick}).Draw(t, "kind"), Label: anyText(t, "label")}
					if act.Kind != render.ActPick {
						act.Token = token()
					}
					options := 0
					if act.Kind == render.ActPick {
						options = rapid.SampledFrom([]int{1, 2, 60}).Draw(t, "options")
					}
					label := anyText(t, "option")
					for range options {
						act.Options = append(act.Options, render.Option{Token: token(), Label: label, Current: n%2 == 0})
					}
					r.Acts = append(r.Acts, act)
				}
				s.Rows = append(s.Rows, r)
			}
			p.Sections = append(p.Sections, s)
		}
		var got []string
		var last string
		for page := 0; page < 400; page++ {
			drawn, s := drawnPanel(t, p, PanelPage{Page: page, Guild: "900000000000000001", Say: anyText(t, "say")})
			inert(t, drawn, func(string) bool { return false })
			if s == last {
				break
			}
			got, last = append(got, whatIsThere(t, drawn)...), s
			if !strings.Contains(s, sayNext) || strings.Contains(s, "·["+sayNext) {
				break
			}
		}
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "go ") })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d of %d: %q, want %q", len(got), len(want), got, want)
		}
	})
}

// anyText is a name as somebody else chose it.
func anyText(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "x", "**bold** @everyone <@1> [a](https://evil.example)", strings.Repeat("長い", 200), strings.Repeat("word ", 300), "a\nb\n# c", "\u202e", "```"}).Draw(t, label)
}

// Which rows a page has does not depend on what came of the last click, and it is said of all.
func TestPagesStay(t *testing.T) {
	t.Parallel()
	p := render.Panel{View: "v", Sections: []render.Section{{Title: "All"}, {Title: "None", Empty: "Nothing."}}}
	for i := range 100 {
		p.Sections[0].Rows = append(p.Sections[0].Rows, render.PanelRow{Line: samples.Plain(fmt.Sprint("row ", i, ".")), Details: []render.Line{samples.Plain(strings.Repeat("語", i*3))}})
	}
	for page := range 5 {
		var first []string
		for _, say := range []string{"", "x", strings.Repeat("語", 2000), strings.Repeat("*", 2000), "a\nb\nc"} {
			_, s := drawnPanel(t, p, PanelPage{Page: page, Say: say})
			var rows []string
			for i := range 100 {
				if row := fmt.Sprint("row ", i, "."); strings.Contains(s, row) {
					rows = append(rows, row)
				}
			}
			if first == nil {
				first = rows
			}
			if len(rows) == 0 || !slices.Equal(rows, first) || !strings.Contains(s, "of 100\n") || say != "" && !strings.Contains(s, "⟨"+say[:1]) && !strings.Contains(s, "⟨語") {
				t.Errorf("page %d: %v, not %v\n%s", page, rows, first, s)
			}
		}
	}
}

func TestParsePanelAction(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"nodp:d:0: tok =view", "nodp:d:12:900000000000000001 " + rep(40) + " #0123456789abcdef 2"} {
		if d, ok := ParsePanelAction(id); !ok || d.Token == "" || d.View == "" {
			t.Errorf("%q: %+v", id, d)
		}
	}
	for _, id := range []string{"", "nodp:", "nodp:q:0: tok =v", "nodp:d:: tok =v", "nodp:d:-1: tok =v", "nodp:d:0:x tok =v", "nodp:d:0: =v", "nodp:d:0: tok v", "nodp:d:0: " + rep(41) + " =v", "nodp:d:0: tok =v x", "xnodp:d:0: tok =v", "nodp:d:0: tok =ä", "nodp:d:0: tok =v\n", "nodp:d:9999: tok =v"} {
		if d, ok := ParsePanelAction(id); ok || d != (PanelAction{}) {
			t.Errorf("%q: %+v", id, d)
		}
	}
}

func allowServer(s turn.Session) render.Choice {
	c, _ := card.View(s, s.Turn, card.Live{}).Find(chat.AllowServer, "ASK1")
	return c
}
