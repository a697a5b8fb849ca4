package blocks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Each level says the same in less room.
func TestShapesShrink(t *testing.T) {
	long := states()["asking"]
	long.Blocks[0] = render.Text{Markdown: strings.Repeat("words that the model wrote. ", 300)}
	of := MessageRenditions(render.Fit(long, Limits))
	last := 1 << 30
	for _, level := range []int{surface.LevelFull, surface.LevelHalf, surface.LevelPlain} {
		s, ok := of(level)
		if !ok {
			t.Fatalf("no level %d", level)
		}
		raw, err := json.Marshal(s.Blocks)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) >= last {
			t.Errorf("level %d has %d bytes, the one before %d", level, len(raw), last)
		}
		last = len(raw)
		if err := check(Message{s.Blocks, s.Text}); err != nil {
			t.Errorf("level %d: %v", level, err)
		}
	}
	if _, ok := of(surface.LevelText); ok {
		t.Error("an ask is said without its buttons")
	}
}

// Whatever a message holds: each of its renditions is one that Slack takes, so that a refusal leads to one that is taken.
func TestEveryRenditionIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(hostile.Message(t), Limits)
		of, beside := MessageRenditions(m), rapid.Bool().Draw(t, "beside")
		if beside {
			of = NoteRenditions(m, "https://team.slack.example/archives/C1/p1")
		}
		level := rapid.IntRange(surface.LevelHalf, surface.LevelText).Draw(t, "level")
		r, ok := of(level)
		if !ok {
			return
		}
		if level == surface.LevelText {
			r.Blocks = []slack.Block{} // words alone
		}
		if err := check(Message{r.Blocks, r.Text}); err != nil {
			t.Fatalf("level %d: %v", level, err)
		}
		if _, words := of(surface.LevelText); level == surface.LevelPlain && !words && !beside && len(pressable(t, Message{r.Blocks, r.Text})) == 0 {
			t.Fatal("an ask is shown without its buttons")
		}
	})
}

func TestAPlainRenditionOfEmoji(t *testing.T) {
	r, _ := MessageRenditions(render.Fit(render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("😀", 9000)}}}, Limits))(surface.LevelPlain)
	if err := check(Message{r.Blocks, r.Text}); err != nil {
		t.Error(err)
	}
}
