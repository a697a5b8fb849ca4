package blocks

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

var aForm = Form{Place{"T1", "C1", "1795269720.000100"}, "1795269721.000200", "ASK1", chat.ViewDetail, 0}

func someDetails() render.Details {
	return render.Details{Title: text.RunLine("write_file", "files"), Parts: []render.Part{
		{Name: text.PartArguments, Text: render.ArgsOf([]byte(`{"path":"notes.txt","content":"<!channel> `+"```"+`"}`), "").JSON, Form: render.FormCode},
		{Name: text.LabelWhy, Text: "→ files asks for writes\n  *everybody* asks <!here>"},
		{Name: text.PartDigest, Text: strings.Repeat("7f3a", 16), Form: render.FormCode}, {Text: text.DigestMeans},
		{Name: text.PartAnswer, Text: "I'll **write** it, see [here](https://evil.example)", Form: render.FormMarkdown},
	}}
}

func TestViews(t *testing.T) {
	edit, ok := EncodeEditForm(aForm, "Run write_file from files", looks.HelloArgs)
	if !ok {
		t.Fatal("short arguments cannot be edited")
	}
	for name, v := range map[string]slack.ModalViewRequest{"view_details": EncodeDetails(someDetails(), aForm, moreOf("ASK1"), "Recorded."), "view_deny": EncodeDenyForm(aForm, "Run write_file from files"), "view_edit": edit} {
		if err := checkView(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		looks.Golden(t, name+".json", pretty(t, v))
		looks.Golden(t, name+".txt", []byte(dump(Message{Blocks: v.Blocks.BlockSet})))
		if f, ok := ParseForm(v.PrivateMetadata); !ok || f != aForm {
			t.Errorf("%s remembers %+v, %v", name, f, ok)
		}
	}
}

// What the other side of the click looks for.
func TestViewNames(t *testing.T) {
	deny := EncodeDenyForm(aForm, "x")
	edit, _ := EncodeEditForm(aForm, "x", "{}")
	if deny.CallbackID != "nod:deny" || edit.CallbackID != "nod:edit" {
		t.Errorf("%q, %q", deny.CallbackID, edit.CallbackID)
	}
	for want, v := range map[string]slack.ModalViewRequest{"reason": deny, "args": edit} {
		found := false
		for _, b := range v.Blocks.BlockSet {
			in, ok := b.(*slack.InputBlock)
			found = found || ok && in.BlockID == want
		}
		if !found {
			t.Errorf("no input %q", want)
		}
	}
	if s := dump(Message{Blocks: edit.Blocks.BlockSet}); !strings.Contains(s, "Nothing runs before somebody allows the edited call") {
		t.Error(s)
	}
}

// Turning through the details shows all of them once, the digest first, in pages that Slack takes.
func TestDetailsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := render.Details{Title: hostile.Text(t, "title")}
		var want strings.Builder // "Digest" is no name that nastyText makes, so the order stays
		for range rapid.IntRange(0, 60).Draw(t, "parts") {
			p := render.Part{Name: hostile.Text(t, "name"), Text: hostile.Text(t, "text"), Form: render.Form(rapid.IntRange(0, 2).Draw(t, "form"))}
			d.Parts = append(d.Parts, p)
			shown, _ := text.Visible(p.Text)
			want.WriteString(shown)
		}
		var got strings.Builder
		f := aForm
		for page := 0; ; page++ {
			if page > 5000 {
				t.Fatal("there is always a next page")
			}
			v := EncodeDetails(d, f, nil, "")
			if err := checkView(v); err != nil {
				t.Fatal(err)
			}
			size, next := 0, -1
			for _, b := range v.Blocks.BlockSet {
				switch b := b.(type) {
				case *slack.SectionBlock:
					size += surface.Width(b.Text.Text)
					if b.Text.Type == slack.PlainTextType && b.Text.Text != surface.SayNothing {
						got.WriteString(b.Text.Text)
					}
					if b.Text.Type == slack.MarkdownType && strings.ContainsAny(b.Text.Text, "<>") {
						t.Fatalf("a name is alive: %q", b.Text.Text)
					}
				case *slack.RichTextBlock:
					s := b.Elements[0].(*slack.RichTextPreformatted).Elements[0].(*slack.RichTextSectionTextElement).Text
					size += surface.Width(s)
					got.WriteString(s)
				case *slack.ActionBlock:
					for _, e := range b.Elements.ElementSet {
						if e := e.(*slack.ButtonBlockElement); e.ActionID == "nod:page:next" {
							next, _ = strconv.Atoi(e.Value)
						}
					}
				}
			}
			if size > pageRoom+maxHeader {
				t.Fatalf("a page of %d characters", size)
			}
			if next < 0 {
				break
			}
			if next != page+1 {
				t.Fatalf("page %d leads to %d", page, next)
			}
			f.Page = next
		}
		// Space at the edges of a piece, and pieces of nothing else, are not content; a long title may stand as a section.
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if !strings.HasSuffix(bare(got.String()), bare(want.String())) {
			t.Fatalf("something is missing: %d of %d", len(bare(got.String())), len(bare(want.String())))
		}
	})
}

func TestDigestIsOnTheFirstPage(t *testing.T) {
	d := someDetails()
	d.Parts[0].Text = rep(50_000)
	v := EncodeDetails(d, aForm, nil, "")
	if s := dump(Message{Blocks: v.Blocks.BlockSet}); !strings.Contains(s, strings.Repeat("7f3a", 16)) || !strings.Contains(s, "Page 1 of 6") {
		t.Error(s[:min(len(s), 600)])
	}
	two := d
	two.Parts = append(someDetails().Parts, someDetails().Parts...)
	if !reflect.DeepEqual(surface.DigestFirst(two.Parts), two.Parts) {
		t.Error("a digest left its call")
	}
	last := aForm
	last.Page = 99
	v = EncodeDetails(d, last, nil, "")
	s := dump(Message{Blocks: v.Blocks.BlockSet})
	if !strings.Contains(s, "Page 6 of 6") || strings.Contains(s, "[Next]") || !strings.Contains(s, "[Previous]") {
		t.Error(s[:min(len(s), 600)])
	}
	if f, _ := ParseForm(v.PrivateMetadata); f.Page != 5 {
		t.Errorf("the form is at page %d", f.Page)
	}
}

// Arguments that are offered for a change are the same JSON, with nothing hidden in it; longer ones are not offered.
func TestEditable(t *testing.T) {
	for _, args := range []string{`{"a":"x\u200by` + "\u200b\u202e\U000E0041" + `","n":1.00,"n":2}`, `[]`, `{"a":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`} {
		v, ok := EncodeEditForm(aForm, "x", args)
		if !ok {
			t.Fatal(args)
		}
		var got string
		for _, b := range v.Blocks.BlockSet {
			if in, ok := b.(*slack.InputBlock); ok {
				got = in.Element.(*slack.PlainTextInputBlockElement).InitialValue
			}
		}
		var a, b any
		if json.Unmarshal([]byte(args), &a) != nil || json.Unmarshal([]byte(got), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s became %s", args, got)
		}
		if _, n := text.Visible(got); n != 0 {
			t.Errorf("%d hidden characters in %q", n, got)
		}
		if strings.Contains(args, "1.00") && !strings.Contains(got, "1.00") {
			t.Error("a number lost its digits")
		}
	}
	if _, ok := EncodeEditForm(aForm, "x", `{"a":"`+rep(2992)+`"}`); !ok {
		t.Error("3,000 characters are not offered")
	}
	for _, args := range []string{`{"a":"` + rep(2993) + `"}`, "", `{"a":"` + strings.Repeat("\u200b", 600) + `"}`} {
		if _, ok := EncodeEditForm(aForm, "x", args); ok {
			t.Errorf("%d characters are offered", len(args))
		}
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add(aForm.Metadata())
	f.Add(`{"v":1,"team":"T1","channel":"C1","thread":"1.2","token":"x","choice":"deny"}`)
	f.Add(`{"v":2}`)
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseForm(s)
		if !ok {
			if got != (Form{}) {
				t.Fatalf("%+v of what is no form", got)
			}
			return
		}
		if _, ok := PlaceOf(got.Place.Chat()); !ok || !text.IsChoice(got.Choice) || got.Token == "" || got.Page < 0 {
			t.Fatalf("%+v", got)
		}
		if again, ok := ParseForm(got.Metadata()); !ok && got.Metadata() != "" || ok && again != got {
			t.Fatalf("%+v became %+v, %v", got, again, ok)
		}
	})
}

func TestParseForm(t *testing.T) {
	good := aForm.Metadata()
	if f, ok := ParseForm(good); !ok || f != aForm {
		t.Fatalf("%+v, %v", f, ok)
	}
	for name, bad := range map[string]string{
		"empty": "", "not JSON": "x", "too long": good + strings.Repeat(" ", 3000), "two": good + good, "version": strings.Replace(good, `"v":1`, `"v":2`, 1),
		"no team": strings.Replace(good, "T1", "", 1), "no channel": strings.Replace(good, "C1", "", 1), "no thread": strings.Replace(good, "1795269720.000100", "x", 1),
		"message": strings.Replace(good, "1795269721.000200", "../x", 1), "no token": strings.Replace(good, "ASK1", "", 1), "choice": strings.Replace(good, `"view"`, `"approve"`, 1),
		"page": strings.Replace(good, `"choice"`, `"page":-1,"choice"`, 1), "far page": strings.Replace(good, `"choice"`, `"page":100001,"choice"`, 1), "a field": strings.Replace(good, `"choice"`, `"admin":true,"choice"`, 1),
	} {
		if bad == good {
			t.Fatalf("%s: not another form", name)
		}
		if f, ok := ParseForm(bad); ok || f != (Form{}) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	long := aForm
	long.Token = rep(4000)
	if long.Metadata() != "" {
		t.Error("a form of 4,000 characters")
	}
}

// What its form cannot hold is not offered to be edited, neither on the card nor in its details.
func TestWhatIsTooLongToEditIsNotOffered(t *testing.T) {
	for args, want := range map[string]bool{
		`{"a":"` + rep(2992) + `"}`: true, `{"a":"` + rep(2993) + `"}`: false, `{"a":"` + strings.Repeat("\u200b", 499) + `"}`: false, `{"a":"` + strings.Repeat("😀", 1497) + `"}`: false,
	} {
		m := asked(1, func(_ int, c *turn.ToolCall) { c.Args = []byte(args) })
		a, _ := m.Blocks[len(m.Blocks)-1].(render.Ask)
		for where, drawn := range map[string]any{"card": EncodeMessage(m), "details": EncodeDetails(someDetails(), aForm, slices.Concat(a.Choices, a.More), "")} {
			if got := strings.Contains(string(pretty(t, drawn)), text.LabelEdit); got != want {
				t.Errorf("%.20s of %d bytes, on the %s: %v", args, len(args), where, got)
			}
		}
		if _, ok := EncodeEditForm(aForm, "x", args); ok != want {
			t.Errorf("%.20s of %d bytes, the form: %v", args, len(args), ok)
		}
	}
}
