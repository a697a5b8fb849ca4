package render_test

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func TestChoicesStandInTheTableOnce(t *testing.T) {
	met := map[chat.Choice]bool{}
	for _, k := range text.Choices {
		if got, ok := text.KindOf(k.Choice); met[k.Choice] || !ok || got != k || !text.IsChoice(k.Choice) {
			t.Errorf("%s: %+v", k.Choice, got)
		}
		met[k.Choice] = true
	}
	for _, odd := range []chat.Choice{"", "allow", "Deny"} {
		if k, ok := text.KindOf(odd); ok || k != (text.ChoiceKind{}) || text.IsChoice(odd) {
			t.Errorf("%q is a choice: %+v", odd, k)
		}
	}
}

// Only what refuses may stand out, whatever style somebody asks for.
func TestOnlyRefusalsStandOut(t *testing.T) {
	for choice, want := range map[chat.Choice]bool{chat.Deny: true, chat.DenyAll: true, chat.DenyReason: true, chat.Decline: true, chat.AllowOnce: false, chat.Stop: false, "odd": false} {
		if got := render.StandsOut(render.Choice{Choice: choice, Style: render.Danger}); got != want {
			t.Errorf("%s: %v", choice, got)
		}
		if render.StandsOut(render.Choice{Choice: choice}) {
			t.Errorf("%s stands out by itself", choice)
		}
	}
	deny, reason := render.NewChoice(chat.Deny, "tok"), render.NewChoice(chat.DenyReason, "tok")
	if deny != (render.Choice{Choice: chat.Deny, Token: "tok", Label: text.LabelDeny, Style: render.Danger}) || reason.Style != render.Neutral {
		t.Errorf("%+v, %+v", deny, reason)
	}
}
