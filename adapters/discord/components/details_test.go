package components

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

var aDigest = strings.Repeat("7f3a", 16)

func someDetails() render.Details {
	return render.Details{Title: text.RunLine("write_file", "files"), Parts: []render.Part{
		{Name: text.PartArguments, Text: render.ArgsOf([]byte(`{"path":"notes.txt","content":"<@1> `+"```"+`"}`), "").JSON, Form: render.FormCode},
		{Name: text.PartDigest, Text: aDigest, Form: render.FormCode}, {Text: text.DigestMeans},
		{Name: text.LabelWhy, Text: "→ files asks for writes\n  *everybody* asks @here\n# x"},
		{Name: text.PartAnswer, Text: "I'll **write** it, see [here](https://evil.example)", Form: render.FormMarkdown},
	}}
}

func TestDetails(t *testing.T) {
	long := someDetails()
	long.Parts[0].Text = strings.Repeat("{\"a\": \"b\"}\n", 2000)
	longer := someDetails()
	longer.Parts = append(longer.Parts, render.Part{Name: text.PartResult, Text: rep(20_000), Form: render.FormCode})
	for name, d := range map[string]render.Details{"view_details": someDetails(), "view_details_args": long, "view_details_file": longer} {
		p := Details(d)
		if err := check(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		inert(t, p, nil)
		looks.Golden(t, name+".json", pretty(t, p))
		looks.Golden(t, name+".txt", []byte(dump(p)))
	}
	if p := Details(someDetails()); len(p.Files) != 0 {
		t.Error("a file for what has room")
	}
	if p := Details(long); len(p.Files) != 1 || p.Files[0].Name != "arguments.json" || string(p.Files[0].Data) != strings.Trim(long.Parts[0].Text, "\n") {
		t.Errorf("%+v", p.Files)
	}
	if p := Details(longer); len(p.Files) != 1 || p.Files[0].Name != "details.txt" || !strings.Contains(string(p.Files[0].Data), rep(20_000)) {
		t.Errorf("%+v", p.Files)
	}
	if s := dump(Details(render.Details{})); !strings.Contains(s, surface.SayNothing) {
		t.Error(s)
	}
}

// Everything is there once, in the message or in its file, the digest in the message, and nothing of it is markup.
func TestDetailsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := render.Details{Title: hostile.Text(t, "title"), Parts: []render.Part{{Name: text.PartDigest, Text: aDigest, Form: render.FormCode}}}
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			name := rapid.SampledFrom([]string{"", text.PartArguments, text.PartRan, text.PartResult, hostile.Text(t, "name")}).Draw(t, "which")
			d.Parts = append(d.Parts, render.Part{Name: name, Text: hostile.Text(t, "text"), Form: render.Form(rapid.IntRange(0, 2).Draw(t, "form"))})
		}
		p := Details(d)
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		inert(t, p, nil)
		read := dump(Payload{Components: p.Components})
		if !strings.Contains(read, aDigest) {
			t.Fatal("the digest is not in the message")
		}
		for _, f := range p.Files {
			read += string(f.Data)
		}
		// Lines, spaces at their ends and runs of backticks are drawn otherwise.
		bare := func(s string) string {
			return strings.NewReplacer("│", "", "`", "", `\u{60}`, "", "▎", "", "⌊", "").Replace(strings.Join(strings.Fields(s), ""))
		}
		whole := bare(read)
		for _, part := range d.Parts {
			shown, _ := text.Visible(part.Text)
			for l := range strings.SplitSeq(shown, "\n") {
				if l = bare(l); !strings.Contains(whole, l) {
					t.Fatalf("%q is missing in %q", l, whole)
				}
			}
		}
	})
}

// Of a turn with many calls, each digest that has room stands in the message, and all stand in the file.
func TestDetailsOfATurn(t *testing.T) {
	var d render.Details
	for range 40 {
		d.Parts = append(d.Parts, someDetails().Parts...)
	}
	p := Details(d)
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(dump(p), aDigest); n < 10 || n == 40 {
		t.Errorf("%d digests in the message", n)
	}
	if n := strings.Count(string(p.Files[0].Data), aDigest); n != 40 {
		t.Errorf("%d digests in the file", n)
	}
}

// Bytes count as well, and of two long arguments neither is in a file alone.
func TestDetailsThatNeedAFile(t *testing.T) {
	code := func(name, text string) render.Part { return render.Part{Name: name, Text: text, Form: render.FormCode} }
	if p := Details(render.Details{Parts: []render.Part{code(text.PartResult, strings.Repeat("中", 3450))}}); len(p.Files) != 1 {
		t.Error("10,350 bytes in the message")
	}
	p := Details(render.Details{Parts: []render.Part{code(text.PartArguments, rep(5000)), code(text.PartWrote, rep(6000))}})
	if len(p.Files) != 1 || p.Files[0].Name != fileDetails || !strings.Contains(string(p.Files[0].Data), rep(6000)) {
		t.Errorf("%d files", len(p.Files))
	}
}

// A file that Discord would refuse is cut, and says so.
func TestHugeDetails(t *testing.T) {
	for _, unit := range []string{"x", "中"} {
		d := render.Details{Parts: []render.Part{{Name: text.PartResult, Text: strings.Repeat(unit, 11<<20/len(unit)), Form: render.FormCode}}}
		p := Details(d)
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		if data := string(p.Files[0].Data); !utf8.ValidString(data) || !strings.HasSuffix(strings.TrimSpace(data), "more bytes") {
			t.Errorf("%q", data[len(data)-50:])
		}
	}
}
