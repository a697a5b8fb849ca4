package components

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// answerOf is a message with an answer.
func answerOf(text string) render.Message {
	return render.Message{State: render.Working, Blocks: []render.Block{render.Text{Markdown: text}}}
}

func TestPlainShapesKeepTheLimitsWhateverTheTextIs(t *testing.T) {
	for _, text := range []string{strings.Repeat("`", 5000), strings.Repeat("𝕏", 5000), strings.Repeat("```\n", 1000), ""} {
		m := answerOf(text)
		m.State, m.Blocks = render.Waiting, append(m.Blocks, cardOf(1, looks.HelloArgs))
		of := renditionsOf(m, func(m render.Message) Payload { return encode(m, nil) })
		for level := surface.LevelFull; ; level++ {
			s, ok := of(level)
			if !ok {
				break
			}
			if level == surface.LevelPlain {
				if err := check(s.Payload); err != nil || len(findRows(s.Components)) == 0 {
					t.Errorf("%.8q…: %v, %d rows", text, err, len(findRows(s.Components)))
				}
			}
		}
		if _, ok := of(surface.LevelText); ok {
			t.Error("there is a shape of a question without buttons")
		}
	}
	if _, ok := Turn(answerOf("x"), nil)(surface.LevelText); !ok {
		t.Error("a message without a question has no shape of text alone")
	}
}

func TestEachIsNamedOnce(t *testing.T) {
	if got := fmt.Sprint(first([]string{"2", "1", "2", "3", "4"}, 3)); got != "[1 2 3]" {
		t.Error(got)
	}
}

func TestButtonsOfSectionsAreKept(t *testing.T) {
	b := discordgo.Button{Label: "Stop", CustomID: "nod:stop:1"}
	in := []discordgo.MessageComponent{
		discordgo.Container{Components: []discordgo.MessageComponent{
			discordgo.Section{Components: []discordgo.MessageComponent{discordgo.TextDisplay{Content: "x"}}, Accessory: b},
			discordgo.Section{Accessory: b},
			discordgo.Section{Accessory: discordgo.Thumbnail{}},
		}},
		discordgo.Container{Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{b}}}},
	}
	if got := findRows(in); len(got) != 3 {
		t.Errorf("%d rows, want 3", len(got))
	}
}
