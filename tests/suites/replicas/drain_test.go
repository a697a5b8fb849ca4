package replicas

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// A soft stop lets a running tool finish, starts nothing new and gives the chat back: the lease is so long that
// another replica could not go on before a test's patience ends if it had to run out.
func TestDrain(t *testing.T) {
	both(t, Options{Replicas: 2, Lease: time.Minute}, func(w *World) {
		hold := w.Latch()
		w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
			<-hold.C()
			return turn.Result{Text: "write ok"}, nil
		}})
		w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)), Says("Both done."))
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[0], Ana, chat.ApproveAll, "")
		w.Ran("write")
		stopped := soft(w)
		select {
		case <-stopped:
			w.Error("the stop did not wait for the tool")
		default:
		}
		hold.Open()
		<-stopped
		has(w, "the message", w.Over(0), "Both done.")
		e := w.Tools.Effects()
		equal(w, "ran", w.Tools.Ran(), "write send")
		equal(w, "who ran the second", e[1].Replica, "r1")
		r := w.Model.Latest().Results()
		equal(w, "the first result", r[0].Text, "write ok")
	})
}

// soft begins to stop replica 0 and returns when it does: then it drives nothing new, and what people say to it another
// replica answers at once, although the leases are long.
func soft(w *World) (stopped <-chan struct{}) {
	w.Helper()
	stopped = w.Replicas[0].Soft()
	for n := 1; ; n++ {
		in := w.SaidBy(Ana, "hello")
		in.Chat = Other
		w.Deliver(w.Replicas[0], in)
		var list []Message
		w.Until("the other chat is answered", func() bool {
			list = w.Platform.Messages(Other)
			return len(list) == n && list[n-1].Now().State == render.Done
		})
		if list[n-1].Versions[0].Replica == "r1" {
			return stopped
		}
	}
}

// A reply that streams during the stop is finished and recorded, and the model is not asked for it again.
func TestDrainWhileTheModelTalks(t *testing.T) {
	w := New(t, Options{Replicas: 2, Lease: time.Minute})
	hold := w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: "Once upon a time"})
		<-hold.C()
		return Calls(Call("touch", `{}`))(h)
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Shows(0, "Once upon a time")
	stopped := soft(w)
	hold.Open()
	<-stopped
	w.Over(0)
	asked := 0
	for _, h := range w.Model.Heard() {
		if text, _ := h.Last(); text == "go" {
			asked++
		}
	}
	equal(w, "requests", asked, 2)
	e := w.Tools.Effects()
	if len(e) != 1 || e[0].Replica != "r1" {
		t.Errorf("the ledger: %+v", e)
	}
}

// What outlasts the drain is cut, and is then of unknown outcome.
func TestDrainIsOver(t *testing.T) {
	w := New(t, Options{Replicas: 2, Lease: brief, Drain: 100 * time.Millisecond})
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
		<-hold.C()
		return turn.Result{}, nil
	}})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Ran("write")
	<-w.Replicas[0].Soft()
	w.Press(w.Replicas[1], Ana, chat.Leave, "write")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}
