package replicas

import (
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// Stop keeps the words that people saw, marked as cut, on the page and for the model.
func TestStopWhileTheModelTalks(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			h.Stream(agent.Delta{Text: "Half of an answer"})
			<-h.Ctx.Done()
			return agent.Reply{}, h.Ctx.Err()
		})
		w.Say(w.Replicas[0], Ana, "go")
		w.Shows(0, "Half of an answer")
		w.Press(w.Replicas[1], Ana, chat.Stop, "")
		shown := w.Over(0)
		has(w, "the message", shown, "Half of an answer", text.CutReply, "Stopped by Ana")
		hasNot(w, "the message", shown, "[Stop]")
		equal(w, "state", w.Platform.Messages(Room)[0].Now().State, render.Stopped)
		w.Say(w.Replicas[0], Ana, "what did you say?")
		w.Over(1)
		said := ""
		for _, u := range w.Model.Latest().Talk {
			if u.Role == turn.RoleAssistant {
				said += u.Text
			}
		}
		has(w, "what the model is told that it said", said, "Half of an answer", "cut short")
	})
}

// A reply that was whole when Stop came starts nothing.
func TestStopWhileTheModelDecides(t *testing.T) {
	w := New(t, Options{})
	hold := w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: "I will touch it."})
		<-hold.C()
		return agent.Reply{Text: "I will touch it.", Calls: []agent.ReplyCall{Call("touch", `{}`)}}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Shows(0, "I will touch it.")
	w.Press(w.Replicas[0], Ana, chat.Stop, "")
	hold.Open()
	has(w, "the message", w.Over(0), "I will touch it.", "Stopped by Ana")
	equal(w, "ran", w.Tools.Ran(), "")
}

func TestStopWhilePending(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		twoAsks(w)
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send") // decided, not started
		button := w.Await(chat.AllowOnce, "write")
		stop := w.Await(chat.Stop, "")
		w.Say(w.Replicas[1], Ana, "and then this")
		w.Say(w.Replicas[1], Ben, "and that")
		w.Shows(0, "2 more messages wait")
		w.Press(w.Replicas[1], Ana, chat.Stop, "")
		text := w.Over(0)
		has(w, "the message", text, "cancelled", "Stopped by Ana; 2 waiting messages dropped.")
		has(w, "a click after that", w.Deliver(w.Replicas[0], w.Click(Ana, button)), "stopped")
		has(w, "a second stop", w.Deliver(w.Replicas[0], w.Click(Ana, stop)), "nothing to stop")
		w.Say(w.Replicas[0], Ana, "hello")
		w.Over(1)
		equal(w, "ran", w.Tools.Ran(), "")
		h := w.Model.Latest()
		for _, u := range h.Talk {
			hasNot(w, "the talk", u.Text, "and then this", "and that")
			for _, c := range u.Calls {
				has(w, "the result", c.Result.Text, "cancelled")
			}
		}
	})
}

// An old turn's Stop does not stop the next one.
func TestStopNamesItsTurn(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	old := w.Await(chat.Stop, "")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "go again")
	w.Until("the second card", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	has(w, "the whisper", w.Deliver(w.Replicas[0], w.Click(Ana, old)), "nothing to stop")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(1)
	equal(w, "ran", w.Tools.Ran(), "write")
}

func TestStopWhileAToolRuns(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		cancelled, hold := w.Latch(), w.Latch()
		w.Tools.Put(Tool{Server: "files", Name: "touch", Stubborn: true, Run: func(i Invocation) (turn.Result, error) {
			<-i.Ctx.Done() // the server hears of it
			cancelled.Open()
			<-hold.C()
			return turn.Result{Text: "half touched", IsError: true}, nil
		}})
		w.Model.When("go", Calls(Call("touch", `{}`), Call("touch", `{"n":2}`)), Says("No more of this."))
		w.Say(w.Replicas[0], Ana, "go")
		w.Ran("touch")
		w.Press(w.Replicas[1], Ana, chat.Stop, "")
		<-cancelled.C()
		w.Shows(0, "Stopping", "running", "cancelled")
		equal(w, "state", w.Platform.Messages(Room)[0].Now().State, render.Working)
		hold.Open()
		has(w, "the message", w.Over(0), "half touched", "Stopped by Ana")
		w.Say(w.Replicas[0], Ana, "so?")
		w.Over(1)
		equal(w, "ran", w.Tools.Ran(), "touch")
		for _, u := range w.Model.Latest().Talk {
			hasNot(w, "the talk", u.Text, "No more of this.")
			if len(u.Calls) == 2 {
				equal(w, "the first result", u.Calls[0].Result.Text, "half touched")
				has(w, "the second result", u.Calls[1].Result.Text, "cancelled")
			}
		}
	})
}

// A tool that gives no answer when it is cancelled leaves its outcome unknown, and nobody is asked in a stopped turn.
func TestStopWhileAToolRunsAndIsLost(t *testing.T) {
	w := New(t, Options{})
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(Invocation) (turn.Result, error) { <-hold.C(); return turn.Result{}, nil }})
	w.Model.When("go", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Ran("touch")
	w.Press(w.Replicas[0], Ana, chat.Stop, "")
	text := w.Over(0)
	has(w, "the message", text, "it may have happened", "Stopped by Ana")
	hasNot(w, "the message", text, "[Run again]")
}
