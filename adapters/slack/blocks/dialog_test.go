package blocks

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// Slack's own dialog asks on a button, with all of the text; what is longer than it takes is asked by us.
func TestDialogs(t *testing.T) {
	b := render.Choice{Choice: chat.Accept, Token: "t", Label: "Accept…", Confirm: "Accept <!channel> *all*?"}
	p := EncodeMessage(render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain("x")}, Choices: []render.Choice{b}}}})
	raw := string(rawJSON(p.Blocks))
	if err := check(p); err != nil || !strings.Contains(raw, `"text":{"type":"plain_text","text":"Accept <!channel> *all*?"`) || !strings.Contains(raw, `"style":"danger"`) || !strings.Contains(raw, `"nod:accept:1"`) {
		t.Errorf("%v %s", err, raw)
	}
	b.Confirm = rep(301)
	p = EncodeMessage(render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain("x")}, Choices: []render.Choice{b}}}})
	if raw = string(rawJSON(p.Blocks)); check(p) != nil || strings.Contains(raw, `"confirm"`) || !strings.Contains(raw, `"nod:?accept:1"`) {
		t.Error(raw)
	}
	c := render.Choice{Choice: chat.AllowExact, Token: "t", Label: text.LabelAllowExact, Confirm: strings.Repeat("All of <it> *here*. ", 400) + "THE END"}
	p = EncodeConfirmation(c, aForm)
	if raw = string(rawJSON(p.Blocks)); check(p) != nil || !strings.Contains(raw, "THE END") || strings.Contains(raw, "mrkdwn") {
		t.Errorf("%v %s", check(p), raw)
	}
	c.Confirm = text.ConfirmPins("write_file", "files", "with path = “notes.txt”")
	looks.Golden(t, "note_confirm.json", pretty(t, EncodeConfirmation(c, Form{Place: Place{"T1", "C1", "1795269720.000100"}, Message: "1795269721.000200", Token: "ASK1", Choice: chat.AllowExact})))
}

// A label that is nothing but dots still gives a dialog whose button says something.
func TestDialogsOfAlmostNoLabel(t *testing.T) {
	for _, label := range []string{"", " ", "…", " … "} {
		b := render.Choice{Choice: chat.Accept, Token: "t", Label: label, Confirm: "Sure?"}
		if err := check(EncodeMessage(render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain("x")}, Choices: []render.Choice{b}}}})); err != nil {
			t.Errorf("%q: %v", label, err)
		}
		if err := check(EncodeConfirmation(b, aForm)); err != nil {
			t.Errorf("%q: %v", label, err)
		}
	}
}
