package replicas

import (
	"errors"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

var errUnknown = errors.New("the server did not answer in time")

func twoAsks(w *World) {
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send")
	seen(w)
}

// R174
func TestUndoWithinTheBatch(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		twoAsks(w)
		for _, first := range []chat.Choice{chat.AllowOnce, chat.Deny} {
			w.Press(w.Replicas[0], Ana, first, "write")
			w.Asks("send")
			has(w, "Ben's whisper", w.Press(w.Replicas[1], Ben, chat.Undo, "write"), "Only")
			equal(w, "whisper", w.Press(w.Replicas[1], Ana, chat.Undo, "write"), "")
			w.Asks("write", "send")
		}
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "send")
		w.Over(0)
		equal(w, "ran", w.Tools.Ran(), "send")
	})
}

// A click on a card that was undone and asked again decides nothing.
func TestClickOnAnUndoneAsk(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	old := w.Await(chat.AllowOnce, "write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Press(w.Replicas[0], Ana, chat.Undo, "write")
	if w.Deliver(w.Replicas[0], w.Click(Ana, old)) == "" {
		t.Error("the button of an earlier asking was taken")
	}
	w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "")
}

func TestUndoRevokesTheGrantItMade(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Shows(0, "write of files is allowed in this chat for Ana's requests")
	w.Press(w.Replicas[0], Ana, chat.Undo, "write")
	w.Asks("write", "send")
	hasNot(w, "the message", w.Text(0), "is allowed in this chat")
	w.Press(w.Replicas[0], Ana, chat.ApproveAll, "")
	w.Over(0)
	w.Model.When("again", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "again")
	w.Until("the next turn asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	equal(w, "ran", w.Tools.Ran(), "write send")
}

// R174
func TestUndoTooLate(t *testing.T) {
	w := New(t, Options{})
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
		<-hold.C()
		return turn.Result{Text: "write ok"}, nil
	}})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	undo := w.Await(chat.Undo, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
	w.Ran("write")
	has(w, "the whisper", w.Deliver(w.Replicas[0], w.Click(Ana, undo)), "Too late: it started at")
	hold.Open()
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write send")
}

// A granted call that waits for its turn behind an ask goes back to asking when the grant is revoked.
func TestRevokeBeforeStart(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("first", Calls(Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "first")
		w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
		w.Over(0)
		w.Model.When("second", Calls(Call("send", `{}`), Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "second")
		w.Asks("send")
		has(w, "the waiting call", w.Text(1), "allowed for this chat by Ana")
		has(w, "Ben's whisper", w.Press(w.Replicas[0], Ben, chat.Revoke, ""), "Only")
		has(w, "whisper", w.Press(w.Replicas[1], Ana, chat.Revoke, ""), "Revoked")
		w.Asks("send", "write")
		w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
		w.Over(1)
		equal(w, "ran", w.Tools.Ran(), "write")
	})
}
