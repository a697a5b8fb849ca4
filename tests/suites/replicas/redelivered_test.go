package replicas

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// The same delivery again changes nothing and whispers nothing, whatever it chose.
func TestEveryChoiceDeliveredAgain(t *testing.T) {
	press := func(choice chat.Choice, tool string) func(*World) chat.Inbound {
		return func(w *World) chat.Inbound { return w.Click(Ana, w.Await(choice, tool)) }
	}
	for _, c := range []struct {
		name  string
		state func(*World)
		in    func(*World) chat.Inbound
	}{
		{"extend", twoAsks, press(chat.Extend, "write")},
		{"undo", pressed(chat.Deny), press(chat.Undo, "write")},
		{"happened", unknownOutcome, press(chat.Happened, "write")},
		{"run again", unknownOutcome, press(chat.RunAgain, "write")},
		{"deny all", twoAsks, press(chat.DenyAll, "")},
		{"stop", twoAsks, press(chat.Stop, "")},
		{"revoke", pressed(chat.AllowChat), func(w *World) chat.Inbound { return api(w, Ana, chat.Revoke, "*") }},
		{"mode", twoAsks, func(w *World) chat.Inbound { return command(w, Ana, "mode", "always") }},
		{"reset", twoAsks, func(w *World) chat.Inbound { return command(w, Ana, "reset") }},
		{"denial, undone since", twoAsks, func(w *World) chat.Inbound {
			in := w.Click(Ana, w.Await(chat.Deny, "write"))
			w.Deliver(w.Replicas[0], in)
			w.Press(w.Replicas[0], Ana, chat.Undo, "write")
			return in
		}},
		{"form", twoAsks, func(w *World) chat.Inbound {
			return chat.Clicked{Envelope: w.Envelope(Room, Ana), Token: string(callOf(w, "write").Ask), Choice: chat.Deny}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			c.state(w)
			in := c.in(w)
			told := w.Deliver(w.Replicas[0], in)
			if c.name != "revoke" {
				equal(w, "whisper", told, "")
			}
			before := recorded(w)
			equal(w, "whispers after the same again", w.Deliver(w.Replicas[0], in), told)
			equal(w, "recorded", recorded(w), before)
		})
	}
}

// A choice about the turn before leaves no trace.
func TestUndoInTheTurnBeforeLeavesNoTrace(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(0)
	old := callOf(w, "write")
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("the next turn asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write send" })
	refused(w, api(w, Ana, chat.Undo, string(old.Ask)), "too_late")
}

func TestCommandsOfNobody(t *testing.T) {
	for _, args := range [][]string{{"reset"}, {"mode", "always"}, {"mode", "tool"}} {
		t.Run(args[0], func(t *testing.T) {
			w := New(t, Options{})
			twoAsks(w)
			in := command(w, Ana, args[0], args[1:]...)
			in.User = chat.User{}
			if w.Deliver(w.Replicas[0], in) == "" {
				t.Error("taken")
			}
		})
	}
}
