package blocks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func someLink(l render.ChatLink) string {
	if l.Chat == "" {
		return ""
	}
	return "https://acme.slack.com/archives/C1/p1?thread_ts=1&cid=C1"
}

// R22 R156
func TestPanelViews(t *testing.T) {
	f := PanelForm{Place: Place{"T1", "C1", "1795269720.000100"}, View: "start"}
	home := EncodeHome(samples.FirstPanel(), PanelForm{View: "start"}, "Revoked: write_file of files.", someLink)
	if err := checkHome(home); err != nil {
		t.Error(err)
	}
	looks.Golden(t, "view_home.json", pretty(t, home))
	looks.Golden(t, "view_home.txt", []byte(dump(Message{Blocks: home.Blocks.BlockSet})))
	fill, ok := EncodeFillForm(samples.FirstPanel().Sections[1].Rows[0].Acts[2], f)
	if !ok {
		t.Fatal("no form")
	}
	for name, v := range map[string]slack.ModalViewRequest{
		"view_panel": EncodePanel(samples.GrantsPanel(), f, "", someLink), "view_panel_page": EncodePanel(samples.LongPanel(), PanelForm{View: "long", Page: 2}, "Done.", someLink), "view_fill": fill,
	} {
		if err := checkView(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		looks.Golden(t, name+".json", pretty(t, v))
		looks.Golden(t, name+".txt", []byte(dump(Message{Blocks: v.Blocks.BlockSet})))
	}
}

// clicksIn are the tokens, views and addresses that can be clicked in a view.
func clicksIn(blocks []slack.Block) (out []string) {
	visit(decoded(rawJSON(blocks)), "", func(_, kind string, n map[string]any) {
		id, _ := n["action_id"].(string)
		verb, _, _ := strings.Cut(strings.TrimPrefix(id, PanelPrefix), ":")
		switch {
		case !strings.HasPrefix(id, PanelPrefix):
		case kind == "static_select":
			for _, o := range n["options"].([]any) {
				out = append(out, verb+" "+o.(map[string]any)["value"].(string))
			}
		default:
			v, _ := n["value"].(string)
			out = append(out, verb+" "+v)
		}
	})
	return out
}

// A view takes 100 blocks: what is more is on further pages, and everything is to be had.
func TestEverythingOfALongPanelIsToBeHad(t *testing.T) {
	seen := map[string]bool{}
	pages := 0
	for f := (PanelForm{View: "long"}); ; f.Page++ {
		at := f
		blocks := encodePanelPage(samples.LongPanel(), &at, "", someLink)
		if at.Page != f.Page {
			break
		}
		pages++
		if err := checkView(EncodePanel(samples.LongPanel(), f, "", someLink)); err != nil {
			t.Fatal(err)
		}
		clicks := clicksIn(blocks)
		for _, c := range clicks {
			seen[c] = true
		}
		if f.Page > 0 && !slices.Contains(clicks, fmt.Sprint("page ", f.Page-1)) {
			t.Errorf("page %d does not lead back: %v", f.Page, clicks)
		}
	}
	for i := range 200 {
		if !seen[fmt.Sprint("do row-", i)] {
			t.Errorf("row %d is on none of %d pages", i, pages)
		}
	}
	if pages < 3 {
		t.Errorf("%d pages", pages)
	}
}

func anyWords(t *rapid.T, name string) string {
	return rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{" ", "\n", "<!channel> *x* `y` <https://evil.example|ok> & </b>", "\u202e\u200b", "😀"}), rapid.StringN(0, 200, -1),
		rapid.Custom(func(t *rapid.T) string { return strings.Repeat("long ", rapid.IntRange(1, 3000).Draw(t, "times")) })).Draw(t, name)
}

func anySpans(t *rapid.T, name string) render.Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Span {
		switch rapid.IntRange(0, 3).Draw(t, "span") {
		case 0:
			return render.Strong(anyWords(t, "strong"))
		case 1:
			return samples.Ana
		case 2:
			return render.Time{At: looks.TwoPM, Until: true}
		}
		return render.Plain(anyWords(t, "plain"))
	}), 0, 14).Draw(t, name)
}

// anyPanel is a panel as it could come, with whatever servers, tools and people are called.
func anyPanel(t *rapid.T) render.Panel {
	n := 0
	act := rapid.Custom(func(t *rapid.T) render.Act {
		n++
		a := render.Act{Kind: render.ActKind(rapid.IntRange(0, 5).Draw(t, "kind")), Token: fmt.Sprint("t", n), View: rapid.SampledFrom([]string{"", "v1", "a b", strings.Repeat("v", 200)}).Draw(t, "view"), Label: anyWords(t, "label"),
			Hint: anyWords(t, "hint"), Confirm: anyWords(t, "confirm"), Value: anyWords(t, "value"), Max: rapid.IntRange(0, 9000).Draw(t, "max"), Like: anyWords(t, "like"),
			Style: rapid.SampledFrom([]render.Style{render.Neutral, render.Danger}).Draw(t, "style"), Link: render.ChatLink{Chat: rapid.SampledFrom([]string{"", "slack:T1:C1/1.1"}).Draw(t, "link")}}
		for i := range rapid.IntRange(0, 230).Draw(t, "options") {
			a.Options = append(a.Options, render.Option{Token: fmt.Sprint("o", n, ".", i), Label: rapid.SampledFrom([]string{"", "x", strings.Repeat("y", 90), "<!here>"}).Draw(t, "option"), Current: rapid.Bool().Draw(t, "current")})
		}
		return a
	})
	row := rapid.Custom(func(t *rapid.T) render.PanelRow {
		return render.PanelRow{Line: anySpans(t, "line"), Details: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Line { return anySpans(t, "detail") }), 0, 4).Draw(t, "details"),
			Acts: rapid.SliceOfN(act, 0, 4).Draw(t, "acts")}
	})
	section := rapid.Custom(func(t *rapid.T) render.Section {
		return render.Section{Title: anyWords(t, "heading"), Note: anyWords(t, "note"), Empty: anyWords(t, "empty"), Rows: rapid.SliceOfN(row, 0, 12).Draw(t, "rows")}
	})
	return render.Panel{View: "v", Title: anyWords(t, "title"), Banner: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Line { return anySpans(t, "banner") }), 0, 3).Draw(t, "banners"),
		Tabs: rapid.SliceOfN(act, 0, 4).Draw(t, "tabs"), Sections: rapid.SliceOfN(section, 0, 4).Draw(t, "sections")}
}

// Whatever the settings hold, every page of them is a view that Slack takes, as a modal and as a Home tab.
func TestEveryPanelIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPanel(t)
		say := anyWords(t, "say")
		for page := 0; page < 40; page++ {
			f := PanelForm{View: "v", Page: page}
			if err := checkView(EncodePanel(p, f, say, someLink)); err != nil {
				t.Fatal(err)
			}
			if err := checkHome(EncodeHome(p, f, say, someLink)); err != nil {
				t.Fatal(err)
			}
			if encodePanelPage(p, &f, say, someLink); f.Page != page {
				break
			}
		}
		for _, s := range p.Sections {
			for _, r := range s.Rows {
				for _, a := range r.Acts {
					if v, ok := EncodeFillForm(a, PanelForm{View: "v"}); ok {
						if err := checkView(v); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	})
}

// Nothing that servers, tools and people are called is alive in a panel.
func TestNamesInAPanelAreInert(t *testing.T) {
	const bad = "<!channel> <@U1> <https://evil.example|ok> *bold* `code`"
	p := render.Panel{View: "v", Title: bad, Banner: []render.Line{{render.Plain(bad)}}, Tabs: []render.Act{{Kind: render.ActGo, View: "v", Label: bad}}, Sections: []render.Section{{Title: bad, Note: bad, Empty: bad},
		{Title: bad, Rows: []render.PanelRow{{Line: render.Line{render.Plain(bad), render.Strong(bad), render.Person{Name: bad}}, Details: []render.Line{{render.Plain(bad)}},
			Acts: []render.Act{{Kind: render.ActPick, Label: bad, Confirm: bad, Options: []render.Option{{Token: "t", Label: bad}}}, {Kind: render.ActDo, Token: "t", Label: bad, Confirm: strings.Repeat(bad, 20)}}}}}}}
	visit(decoded(rawJSON(EncodeHome(p, PanelForm{}, bad, someLink))), "", func(at, kind string, n map[string]any) {
		s, _ := n["text"].(string)
		if kind == "mrkdwn" && (strings.Contains(s, "<") || strings.ContainsAny(strings.Trim(s, "*"), "*`")) {
			t.Errorf("%s: %q", at, s)
		}
		if kind == "link" || kind == "user" {
			t.Errorf("%s is alive: %v", at, n)
		}
	})
}

// A long confirmation stands in full beside its button.
// R112
func TestALongConfirmationIsShownInFull(t *testing.T) {
	long := strings.Repeat("All of this is granted. ", 40) + "THE END"
	p := render.Panel{View: "v", Sections: []render.Section{{Title: "x", Rows: []render.PanelRow{{Line: render.Line{render.Plain("row")}, Acts: []render.Act{{Kind: render.ActDo, Token: "t", Label: "Trust", Confirm: long}}}}}}}
	v := EncodePanel(p, PanelForm{}, "", someLink)
	if err := checkView(v); err != nil {
		t.Error(err)
	}
	raw := string(rawJSON(v))
	if !strings.Contains(raw, "THE END") || !strings.Contains(raw, `"confirm":{`) {
		t.Error(raw)
	}
}

func TestAFormThatWouldLoseSomethingIsNotOpened(t *testing.T) {
	for _, a := range []render.Act{{Kind: render.ActFill, Token: "t", Label: "x", Value: rep(3001)}, {Kind: render.ActFill, Token: "t", Label: "x", Value: rep(11), Max: 10}} {
		if _, ok := EncodeFillForm(a, PanelForm{}); ok {
			t.Errorf("%d characters in %d", len(a.Value), a.Max)
		}
	}
}

func TestWhatAPanelRemembers(t *testing.T) {
	for _, f := range []PanelForm{{}, {View: "install:files"}, {Place: Place{"T1", "C1", "1.2"}, View: strings.Repeat("v", 200), Page: 7, Token: rep(40)}} {
		if got, ok := ParsePanelForm(f.Metadata()); !ok || got != f {
			t.Errorf("%+v comes back as %+v, %v", f, got, ok)
		}
	}
	for _, s := range []string{
		"", "{", `{"v":2,"view":""}`, `{"v":1,"view":"","more":1}`, `{"v":1,"view":"a b"}`, `{"v":1,"view":"` + rep(201) + `"}`, `{"v":1,"view":"","page":-1}`, `{"v":1,"view":"","page":100001}`,
		`{"v":1,"view":"","team":"T1"}`, `{"v":1,"view":"","team":"T1","channel":"C1","thread":"x"}`, `{"v":1,"view":"","channel":"C1","thread":"1.2"}`, `{"v":1,"view":"","token":"a b"}`, `{"v":1,"view":"","token":"` + rep(41) + `"}`,
		`{"v":1,"view":""}{}`, `{"v":1,"view":"` + rep(3000) + `"}`, Form{Place: Place{"T1", "C1", "1.2"}, Token: "t", Choice: "deny"}.Metadata(),
	} {
		if f, ok := ParsePanelForm(s); ok {
			t.Errorf("%q is %+v", s, f)
		}
	}
}

func FuzzParsePanel(f *testing.F) {
	f.Add(PanelForm{Place: Place{"T1", "C1", "1.2"}, View: "grants", Page: 3, Token: "t"}.Metadata())
	f.Add(`{"v":1,"view":""}`)
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParsePanelForm(s)
		if !ok {
			return
		}
		if again, ok := ParsePanelForm(got.Metadata()); !ok || again != got {
			t.Fatalf("%q is %+v, and then %+v, %v", s, got, again, ok)
		}
	})
}

// A channel is named as Slack names it, where it is one of Slack's; an ID of elsewhere is words.
func TestAChannelIsNamed(t *testing.T) {
	line := render.Line{render.Plain("in "), render.Channel("slack:T1:C042"), render.Plain(" and "), render.Channel("discord:9:123456789012345678"), render.Plain(" and "), render.Channel("slack:T1:C1>")}
	rich, small := rawJSON(richLine(line)), rawJSON(contextLine(line))
	for _, want := range []string{`{"type":"channel","channel_id":"C042"}`, "channel 123456789012345678 on Discord", `channel C1> on Slack`} {
		if !strings.Contains(string(rich), want) {
			t.Errorf("%s is not in %s", want, rich)
		}
	}
	if want := `in <#C042> and channel 123456789012345678 on Discord and`; !strings.Contains(string(small), want) {
		t.Errorf("%s is not in %s", want, small)
	}
}
