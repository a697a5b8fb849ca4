package blocks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// A finished turn can be rated where there is room for that: no word of an answer is given up for it, and a workspace that refuses the buttons
// gets the message without them.
func TestRating(t *testing.T) {
	drawn := func(m render.Message, level int) Message {
		r, ok := TurnRenditions(m)(level)
		if !ok {
			t.Fatal(level)
		}
		p := Message{r.Blocks, r.Text}
		if err := check(p); err != nil {
			t.Error(err)
		}
		return p
	}
	rates := func(p Message) bool { return strings.Contains(string(rawJSON(p.Blocks)), "feedback_buttons") }
	done := states()["decided"]
	done.Token = "T1"
	p := drawn(done, surface.LevelFull)
	var got []string
	for _, b := range pressable(t, p) {
		if strings.HasSuffix(b, " T1") {
			got = append(got, b)
		}
	}
	if want := []string{"bad T1", "good T1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if rates(drawn(done, surface.LevelHalf)) {
		t.Error("refused, and sent again")
	}
	for _, name := range []string{"working", "asking", "failed"} {
		m := states()[name]
		m.Token = "T1"
		if rates(drawn(render.Fit(m, Limits), surface.LevelFull)) {
			t.Errorf("%s can be rated", name)
		}
	}
	for n := 8000; n < 9500; n += 50 {
		m := render.Fit(render.Message{State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: strings.Repeat("<&", n/2)}}}, Limits)
		with, without := drawn(m, surface.LevelFull), EncodeMessage(m)
		if string(rawJSON(with.Blocks[0])) != string(rawJSON(without.Blocks[0])) {
			t.Fatalf("%d: the answer is shorter for the buttons", n)
		}
	}
}
