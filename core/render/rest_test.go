package render_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/render"
)

// What a message shows and what follows it are together the whole text, in order, and no fence is left open.
func TestRest(t *testing.T) {
	limits := render.Floor
	word := rapid.SampledFrom([]string{"word ", "äöü ", "longer words ", "\n", "\n\n", "```go\n", "```\n", "~~~\n", "x := 1\n", strings.Repeat("z", 90) + " "})
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
			if size := render.Measure(render.Message{Blocks: []render.Block{render.Text{Markdown: part}}}); size.Text > limits.Text {
				t.Fatalf("part %d has %d characters", i, size.Text)
			}
		}
	})
}

func TestRestEndsAtWords(t *testing.T) {
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("abcdefghi ", 500)}}}
	for i, part := range render.Rest(m, render.Floor) {
		for _, w := range strings.Fields(part) {
			if w != "abcdefghi" {
				t.Errorf("part %d holds %q", i, w)
			}
		}
	}
}
