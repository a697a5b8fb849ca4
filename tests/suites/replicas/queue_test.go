package replicas

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

func TestMessagesDuringATurn(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("go", Calls(Call("write", `{}`)))
		first := w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write")
		a, b := w.Replicas[0], w.Replicas[1]
		w.Say(b, Ana, "ana one")
		edited := w.Say(a, Ana, "ana two")
		deleted := w.Say(b, Ana, "ana three")
		w.Say(a, Ben, "ben one")
		w.Say(b, Ana, "ana four")
		w.Shows(0, "5 more messages wait")
		w.Deliver(a, chat.Edited{Envelope: w.Envelope(Room, Ana), Message: edited, Text: "ana two, corrected"})
		w.Deliver(a, chat.Edited{Envelope: w.Envelope(Room, Ben), Message: edited, Text: "ben was here"}) // not his
		w.Deliver(b, chat.Deleted{Envelope: w.Envelope(Room, Ana), Message: deleted})
		w.Shows(0, "4 more messages wait")
		w.Deliver(b, chat.Edited{Envelope: w.Envelope(Room, Ana), Message: first, Text: "go away"}) // already read
		w.Deliver(a, chat.Deleted{Envelope: w.Envelope(Room, Ana), Message: first})
		w.Shows(0, "2 later edits", "not taken over")
		w.Press(a, Ana, chat.AllowOnce, "write")
		w.Over(3)
		var turns []string
		for _, h := range w.Model.Heard() {
			last, step := h.Last()
			if step == 0 {
				turns = append(turns, last)
			}
		}
		equal(w, "the turns", strings.Join(turns, "|"), "go|ana one\n\nana two, corrected|ben one|ana four")
		equal(w, "messages", len(w.Platform.Messages(Room)), 4)
		for _, u := range w.Model.Latest().Talk {
			if u.Role == turn.RoleUser && strings.HasPrefix(u.Text, "ben") {
				equal(w, "who said it", u.By, Ben)
			}
		}
	})
}

// The person whose turn it is decides, not the one whose message waited behind.
func TestTheNextTurnIsTheNextPersons(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Model.When("ben", Calls(Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Say(w.Replicas[0], Ben, "ben")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Until("Ben's card", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "send" })
	has(w, "Ana's whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send"), "Only Ben")
	equal(w, "Ben's whisper", w.Press(w.Replicas[0], Ben, chat.AllowOnce, "send"), "")
	w.Over(1)
	equal(w, "ran", w.Tools.Ran(), "send")
}

func TestMessagesThatAreRefused(t *testing.T) {
	w := New(t, Options{})
	for _, text := range []string{"", "  \n", "\xff\xfe", strings.Repeat("x", 1<<20)} {
		in := w.SaidBy(Ana, text)
		if err := w.Replicas[0].Engine.Accept(t.Context(), in); err == nil {
			t.Errorf("%.10q was taken", text)
		}
	}
	equal(w, "messages", len(w.Platform.Messages(Room)), 0)
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
}

// Turns that are over before their message is there, or before its last edit got through, are shown in full all the same.
func TestFastTurnsOnASlowPlatform(t *testing.T) {
	w := New(t, Options{})
	slow := w.Latch()
	w.Platform.Trouble(func(Op) Trouble { return Trouble{Until: slow.C()} })
	failing := func(Heard) (agent.Reply, error) { return agent.Reply{}, &agent.ModelError{Say: "No answer to two."} }
	w.Model.When("two", failing)
	w.Model.When("go", Says("An answer to go."))
	w.Model.When("three", Says("An answer to three."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("the first message is being posted", func() bool { return w.Platform.Posts() == 1 })
	for _, x := range []struct {
		by   chat.User
		text string
	}{{Ben, "two"}, {Ana, "three"}, {Ben, "four"}} {
		w.Say(w.Replicas[0], x.by, x.text)
	}
	slow.Open()
	for n, words := range []string{"An answer to go.", "No answer to two.", "An answer to three.", "All done."} {
		has(w, "the message", w.Over(n), words)
	}
	equal(w, "messages", len(w.Platform.Messages(Room)), 4)
}

// The last edit of a turn waits for a busy platform while two more turns come and go.
func TestLastEditOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true})
	var busy atomic.Bool
	busy.Store(true)
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && op.Ref == "m1" && busy.Load() {
			return Transient(false)
		}
		return Trouble{}
	})
	w.Model.When("go", Calls(Call("read", `{}`)), Says("An answer to go."))
	w.Say(w.Replicas[0], Ana, "go")
	for n := 1; n < 4; n++ {
		w.Say(w.Replicas[0], Ben, "more")
		w.Over(n)
	}
	busy.Store(false)
	has(w, "the first message", w.Over(0), "An answer to go.")
}
