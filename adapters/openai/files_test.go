package openai

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakellm"
)

// TestAServiceThatTakesNoPictures: the model is asked again without them, and both it and the person are told.
func TestAServiceThatTakesNoPictures(t *testing.T) {
	talk := []turn.Utterance{{Role: turn.RoleUser, Name: "Ana", Text: "hi", Files: []turn.FileRead{
		{Name: "p.png", Picture: &turn.Picture{Key: "k", Type: "image/png", Data: []byte("picture")}}, {Name: "a.csv", Text: "stock;17", Chars: 8}, {Name: "b.zip", Why: "it is no text"},
	}}}
	const unseen, shown = "p.png (a picture), which cannot be shown to you now.", "p.png (a picture), shown below."
	for _, c := range []struct {
		strict   fakellm.Strict
		requests int
		pictures int
		say      string
		faults   []string
	}{
		{fakellm.Strict{}, 1, 1, shown, nil},
		{fakellm.Strict{NoPictures: true}, 2, 0, unseen, []string{text.NoPictures}},
	} {
		b := connect(t, strict(c.strict))
		r, _, _, err := b.ask(t, talk)
		if err != nil || !strings.HasPrefix(r.Text, "You said: hi") || !slices.Equal(r.Faults, c.faults) {
			t.Errorf("%+v: %+v, %v", c.strict, r, err)
		}
		all := b.llm.Requests()
		if len(all) != c.requests {
			t.Fatalf("%+v: %d requests", c.strict, len(all))
		}
		body, refused := fakellm.Check(all[len(all)-1].Body)
		if refused != nil {
			t.Fatal(refused)
		}
		last := body.Messages[len(body.Messages)-1]
		if last.Pictures != c.pictures || !strings.Contains(*last.Content, c.say) || !strings.Contains(*last.Content, "stock;17") || strings.Contains(*last.Content, "b.zip, as untrusted") || strings.Count(*last.Content, "Say so if it matters.") != 1 {
			t.Errorf("%+v: %d pictures beside %s", c.strict, last.Pictures, *last.Content)
		}
	}
	b := connect(t, strict(fakellm.Strict{NoPictures: true}))
	if r, _, _, err := b.ask(t, hi); err != nil || len(r.Faults) > 0 {
		t.Errorf("without a picture: %+v, %v", r, err)
	}
}
