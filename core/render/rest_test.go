package render_test

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/render"
)

// What a message shows and what follows it are together the whole text, in order, and no fence is left open.
func TestRest(t *testing.T) {
	limits := render.Floor
	word := rapid.SampledFrom([]string{"word ", "äöü ", "longer words ", "\n", "\n\n", "```go\n", "```\n", "~~~\n", "x := 1\n", strings.Repeat("z", 90) + " ", strings.Repeat("”", 90) + " ", strings.Repeat("😀", 700) + " "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 40, 400).Draw(t, "words"), "")
		m := render.Message{State: render.Done, Token: "t1", Blocks: []render.Block{render.Text{Markdown: "Before."}, render.Text{Markdown: text}}}
		rest := render.Rest(m, limits)
		if render.Within(m, limits) {
			if rest != nil {
				t.Fatalf("nothing is cut, and %q follows", rest)
			}
			return
		}
		shown := render.Fit(m, limits).Blocks
		head := shown[len(shown)-1].(render.Text).Markdown
		letters := func(s string) string {
			for _, mark := range []string{"```go", "```", "~~~"} { // opened and closed again where a cut falls into code
				s = strings.ReplaceAll(s, mark, "")
			}
			return strings.Join(strings.Fields(s), "")
		}
		whole, after := letters(text), letters(strings.Join(rest, "\n"))
		if !strings.HasSuffix(whole, after) {
			t.Fatalf("what follows is not the end of the text:\n%q\n%q", after, whole)
		}
		if before := strings.TrimSuffix(whole, after); !strings.HasPrefix(letters(head), before) {
			t.Fatalf("%q is neither in the message nor after it; the message:\n%s", before, head)
		}
		for i, part := range rest {
			if size := render.Measure(render.Message{Blocks: []render.Block{render.Text{Markdown: part}}}); size.Text > limits.Text || size.Bytes > 3*limits.Text || strings.Trim(part, "`~\n ") == "" {
				t.Fatalf("part %d has %d characters, %d bytes: %.20q", i, size.Text, size.Bytes, part)
			}
		}
	})
}

func TestRestEndsAtWords(t *testing.T) {
	lines := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("one two three\n", 500)}}}
	for i, part := range render.Rest(lines, render.Floor) {
		if !strings.HasPrefix(part, "one two three\n") {
			t.Errorf("part %d begins with %.20q", i, part)
		}
	}
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("abcdefghi ", 500)}}}
	for i, part := range render.Rest(m, render.Floor) {
		for _, w := range strings.Fields(part) {
			if w != "abcdefghi" {
				t.Errorf("part %d holds %q", i, w)
			}
		}
	}
}

// A cut is moved to the end of a line or a word where that costs little, and only there.
func TestCutsCostLittle(t *testing.T) {
	limits := render.Limits{Text: 600}
	for _, s := range []string{"A title\n" + strings.Repeat("x", 2000), "A title " + strings.Repeat("x", 2000), strings.Repeat("x", 2000) + "\nThe end."} {
		m := render.Message{Token: "t", Blocks: []render.Block{render.Text{Markdown: s}}}
		if size := render.Measure(render.Fit(m, limits)); size.Text < 550 {
			t.Errorf("%.12q: %d characters are left", s, size.Text)
		}
		if parts := render.Rest(m, limits); len(parts) > 4 {
			t.Errorf("%.12q: %d parts", s, len(parts))
		}
	}
	for _, s := range []string{"\x80" + strings.Repeat("x", 2000), strings.Repeat("”", 2000)} { // not even the first character is shown
		for _, part := range render.Rest(render.Message{Blocks: []render.Block{render.Text{Markdown: s}}}, render.Limits{Text: 1}) {
			if strings.HasPrefix(s, "”") && strings.Trim(part, "”") != "" {
				t.Errorf("%.40q", part)
			}
		}
	}
	for _, s := range []string{"one two three four five\nsix", "one two three four five six"} {
		if parts := render.Rest(render.Message{Blocks: []render.Block{render.Text{Markdown: s}}}, limits); parts != nil {
			t.Errorf("nothing is cut, and %q follows", parts)
		}
	}
	note := render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Strong("Halted"), render.Plain(strings.Repeat("x", 3000))}}}}
	if got := render.Fit(note, render.Limits{Chars: 1000}).Blocks[0].(render.Note).Line; got[0] != render.Strong("Halted") {
		t.Errorf("%v", got)
	}
	a := card(1)
	a.Args = render.ArgsOf([]byte(`{"`+strings.Repeat("n", 150)+`":1}`), "")
	out := render.Fit(render.Message{Blocks: []render.Block{a, render.Text{Markdown: strings.Repeat("x", 3000)}}}, render.Limits{Args: 200, Chars: 3000})
	if got := asks(out)[0].Args; got.Rows[0] != a.Args.Rows[0] {
		t.Errorf("%+v", got.Rows)
	}
}

// Code in a list or a quotation that a cut falls into ends there, and goes on after the cut: nothing else becomes code, and no code becomes text.
func TestCutInListedCode(t *testing.T) {
	line := "x := value // [not](https://a.link)\n"
	for _, in := range []string{"", "   ", "    ", "\t", "   no end", "    no end"} {
		in, open := strings.CutSuffix(in, "no end") // with the item the code ends
		fence := "```\n"
		if open {
			fence = ""
		}
		text := "1. before\n" + strings.TrimSuffix(strings.ReplaceAll("\n```go\n"+strings.Repeat(line, 100)+fence, "\n", "\n"+in), in) + "\nAfter the code:\n- a\n  - b"
		m := render.Message{Token: "t", Blocks: []render.Block{render.Text{Markdown: text}}}
		shown := render.Fit(m, render.Floor).Blocks[0].(render.Text).Markdown
		code := 0
		parts := append([]string{shown}, render.Rest(m, render.Floor)...)
		if end := parts[len(parts)-1]; !strings.HasSuffix(end, "- a\n  - b") {
			t.Errorf("%q: %v, the end became %q", in, open, end)
		}
		for i, md := range parts {
			walk(md, func(n ast.Node) {
				switch n.(type) {
				case *ast.FencedCodeBlock:
					for j := range n.Lines().Len() {
						got := n.Lines().At(j)
						l := strings.TrimSuffix(string(got.Value([]byte(md))), "\n")
						bare := strings.TrimLeft(l, " ") // a cut may fall into the space before a line
						if bare == "" && !open || len(l)-len(bare) > 2 || !strings.HasSuffix(line, bare+"\n") && !strings.HasPrefix(line, bare) {
							t.Errorf("%q: in code of part %d stands %q", in, i, l)
						}
						code++
					}
				case *ast.Link, *ast.CodeBlock:
					t.Errorf("%q: code became something else in part %d:\n%s", in, i, md)
				}
			})
		}
		if code < 100 {
			t.Errorf("%q: %d lines of code are left", in, code)
		}
	}
}

// Where a cut falls into code, the code is closed before the words of the cut, and nowhere else. A real parser says what is code.
func TestACutKnowsWhatIsCode(t *testing.T) {
	for _, before := range []string{
		"", "```\n", "```\nx\n``` y\n", "```\nx\n```\n", "~~~ a`b\n", "``` a`b\n", "    ```\n    ", "- a\n  ```\n  x\n", "- a\n  ```\n  ",
		"a\n14. ```\n    ", "a\n1. ```\n   ", "14. ```\n    ", "1. a\n2. ```\n   ", "a\n*\n  ```\n", "-\n  ```\n ", "-\n  ```\n  ", "-      ```\n       ",
		"```\nx\n```\n14. ```\n    ", "-\n14. ```\n    ",
	} {
		md, code := before+strings.Repeat("word ", 1000), false
		walk(md, func(n ast.Node) {
			code = code || n.Kind() == ast.KindFencedCodeBlock && n.Lines().Len() > 0 && n.NextSibling() == nil && strings.Contains(string(n.Lines().Value([]byte(md))), "word ")
		})
		shown := render.Fit(render.Message{Token: "t", Blocks: []render.Block{render.Text{Markdown: md}}}, render.Floor).Blocks[0].(render.Text).Markdown
		head, tail, _ := strings.Cut(shown, "\n\n… ")
		_, tail, _ = strings.Cut(tail, " …\n\n")
		if closed := strings.HasSuffix(head, "```") || strings.HasSuffix(head, "~~~"); closed != code || strings.ContainsAny(tail, "`~") != code || strings.HasPrefix(tail, "\n") {
			t.Errorf("%q: %v, closed %v, and then %.20q", before, code, closed, tail)
		}
	}
}
