package replicas

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// R56 R57 R61 R75
func TestOneTurnIsOneMessage(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("please write", Calls(Call("write", `{"path":"a.txt","text":"hi"}`)), Says("It is written."))
		w.Say(w.Replicas[0], Ana, "please write")
		w.Asks("write")
		has(w, "the card", w.Text(0), "Allow tool call from files?", "Run write from files", "a.txt", "Ana can answer",
			"[Allow for this chat] [Allow once] [Deny]", "Review each action carefully before approving")
		equal(w, "runs before the click", w.Tools.Ran(), "")
		equal(w, "whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "")
		text := w.Over(0)
		has(w, "the message", text, "Let me see.", "allowed once by Ana", "It is written.")
		hasNot(w, "the message", text, "[Deny]", "[Stop]")
		list := w.Platform.Messages(Room)
		equal(w, "messages", len(list), 1)
		equal(w, "state", list[0].Now().State, render.Done)
		e := w.Tools.Effects()
		if len(e) != 1 || e[0].Args != `{"path":"a.txt","text":"hi"}` || e[0].Chat != Room {
			t.Errorf("the ledger: %+v", e)
		}
		heard := w.Model.Heard()
		equal(w, "requests to the model", len(heard), 2)
		r := heard[1].Results()
		if len(r) != 1 || r[0].Text != "write ok" || r[0].IsError {
			t.Errorf("the model heard %+v", r)
		}
	})
}
