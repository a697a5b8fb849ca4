package replicas

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// Who posted anew what a tool's server asks died before that was on record: whoever takes the chat up takes it away, for nobody could answer there.
func TestWhatAServerAsksIsPostedAnewByWhoDies(t *testing.T) {
	w := New(t, Options{Beside: true, Replicas: 2, Lease: 300 * time.Millisecond, Drain: brief}) // who is killed still has something to say
	var posted, died atomic.Bool
	never := make(chan struct{})
	w.Platform.Trouble(func(op Op) Trouble {
		asks := slices.ContainsFunc(op.View.Blocks, func(b render.Block) bool {
			a, is := b.(render.Ask)
			return is && a.Kind == render.AskInput
		})
		switch {
		case died.Load() || !asks:
			return Trouble{}
		case posted.Load():
			return Trouble{Until: never} // so that who posted it cannot find out
		case !op.Post && op.Lane == agent.Question:
			return Busy(time.Hour)
		case op.Post:
			posted.Store(true)
			return Trouble{Late: never} // it stands there
		}
		return Trouble{}
	})
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
		_, err := in.Ask(turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which?", Fields: []turn.FormField{{Name: "which", Type: "string"}}})
		return turn.Result{Text: "ok"}, err
	}})
	lately(w, Call("touch", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("what its server asks is posted below", func() bool { return len(w.Platform.Messages(Room)) == 2 })
	died.Store(true)
	w.Replicas[0].Kill()
	w.Until("one is left, and asks what became of the call", func() bool {
		_, asks := w.Button(Room, chat.Leave, "touch")
		return asks && len(w.Platform.Messages(Room)) == 1
	})
	w.Deliver(w.Replicas[1], w.Click(Ana, w.Await(chat.Leave, "touch")))
	w.Over(0)
}

// Who posted a question anew loses the chat before that is on record, and lives on: it takes away what it posted, for whoever has the chat now
// draws the question where it stood.
func TestWhatIsPostedAnewByWhoLosesTheChat(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]bool{"it lands when another drives": true, "and nobody is told where it stands": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := New(t, Options{Parallel: true, Beside: true})
			asked, land, never := w.Latch(), w.Latch(), w.Latch()
			var posted, removed atomic.Bool
			w.Platform.Trouble(func(op Op) (t Trouble) {
				asks := slices.ContainsFunc(op.View.Blocks, func(b render.Block) bool { _, is := b.(render.Ask); return is })
				switch {
				case op.Post && asks && !posted.Swap(true):
					asked.Open()
					<-land.C()
					if !answered {
						t.Late = never.C()
					}
				case !op.Post && op.Lane == agent.Question && !posted.Load():
					return Busy(time.Hour)
				case !op.Post && op.Ref == "m2":
					removed.Store(true)
				}
				return t
			})
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			<-asked.C()
			w.Replicas[0].Gate.Cut()
			second := w.Start()
			allow := w.Await(chat.AllowOnce, "write")
			settled(w) // it has looked for what may have been posted
			w.Replicas[0].Gate.Heal()
			land.Open()
			w.Until("it came, and is taken away", func() bool { return removed.Load() && len(w.Platform.Messages(Room)) == 1 })
			w.Deliver(second, w.Click(Ana, allow))
			has(w, "what stands there", w.Over(0), "All done.")
		})
	}
}

// Nobody heard that a message was posted, and it is found again: its question is there for people to see, and is not posted once more.
func TestAQuestionThatIsFoundAgainIsSeen(t *testing.T) {
	w := New(t, Options{Beside: true})
	var lost atomic.Bool
	w.Platform.Trouble(func(op Op) Trouble {
		switch {
		case op.Post && !asking(op.View):
			return Busy(time.Millisecond) // the first that is let out has the question
		case op.Post && !lost.Swap(true):
			return Transient(true)
		case !op.Post && op.Lane == agent.Question:
			return Busy(time.Hour)
		}
		return Trouble{}
	})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it is looked for", func() bool { return w.Platform.Seeks() > 0 })
	settled(w)
	equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
}
