package replicas

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// fewest is how many calls of the log an approval turn makes at least. Fewer is good news; then say so here.
const fewest = 8

// story is an approval turn told by a person who redelivers what was not taken, answers every card and, where an outcome
// is unknown, leaves it. It returns how often a run was approved.
func story(w *World) (approvals int) {
	w.Helper()
	w.Model.When("go", Calls(Call("write", `{"n":1}`), Call("read", `{}`)), Says("That is all."))
	deliver := func(in chat.Inbound) {
		for try := 0; ; try++ {
			r := w.Replicas[min(try/2, 1)]
			err := r.Engine.Accept(w.Context(), in)
			if err == nil {
				return
			}
			if try > 5 {
				w.Fatalf("nobody takes %T: %v", in, err)
			}
		}
	}
	deliver(w.SaidBy(Ana, "go"))
	pressed := map[string]bool{}
	for {
		var b Button
		over := false
		w.Until("there is a card to answer or the turn is over", func() bool {
			list := w.Platform.Messages(Room)
			if len(list) == 0 {
				return false
			}
			switch list[0].Now().State {
			case render.Done, render.Failed, render.Stopped:
				over = true
				return true
			}
			for _, x := range Buttons(list[0]) {
				if (x.Choice == chat.AllowOnce || x.Choice == chat.Leave) && !pressed[x.Token] {
					b = x
					return true
				}
			}
			return false
		})
		if over {
			return approvals
		}
		pressed[b.Token] = true
		if b.Choice == chat.AllowOnce {
			approvals++
		}
		deliver(w.Click(Ana, b))
	}
}

// Every call of the store of the replica that drives an approval turn fails, loses its reply, or is its last; another
// replica is there. Whatever happens, no approval runs twice, every call has one result and the turn ends.
// R67 R139
func TestCrashMatrix(t *testing.T) {
	goleak.VerifyNone(t)
	t.Cleanup(func() { goleak.VerifyNone(t) })
	// A driver whose lease lapses three times before it gets a step done gives the turn up, as it should: on a machine with much else to do
	// that must not come of waiting for a processor.
	o := Options{Replicas: 2, Lease: 3 * time.Second, Parallel: true}
	clean := New(t, o)
	story(clean)
	calls := clean.Replicas[0].Gate.Calls()
	equal(t, "runs without any fault", clean.Tools.Count("write"), 1)
	if len(calls) < fewest {
		t.Fatalf("a clean run makes %d calls of the log, at least %d were expected: %q", len(calls), fewest, calls)
	}
	var fired atomic.Int32
	points := 0
	t.Run("points", func(t *testing.T) {
		for k := 1; k <= len(calls); k++ {
			for _, f := range []Fault{Refused, ReplyLost, KillBefore, KillAfter} {
				points++
				t.Run(fmt.Sprintf("%02d %s %s", k, strings.ReplaceAll(calls[k-1], "append ", ""), f), func(t *testing.T) {
					t.Parallel()
					o := o
					o.Faults = func(n int, _ string) Fault {
						if n != k {
							return None
						}
						fired.Add(1)
						return f
					}
					w := New(t, o)
					approvals := story(w)
					if n := w.Tools.Count("write"); n > approvals {
						t.Errorf("%d runs for %d approvals", n, approvals)
					}
					list := w.Platform.Messages(Room)
					equal(t, "messages", len(list), 1)
					text := render.PlainText(list[0].Now())
					has(t, "the message", text, "That is all.")
					hasNot(t, "the message", text, "[Deny]", "[Leave it]", "[Stop]")
					if r := w.Model.Latest().Results(); len(r) != 2 {
						t.Errorf("results: %+v", r)
					}
					if w.Tools.Count("write") == 0 && !strings.Contains(text, "outcome unknown") {
						t.Error("it was approved, never ran, and nobody was told")
					}
				})
			}
		}
	})
	if n := int(fired.Load()); n < points*3/4 {
		t.Errorf("only %d of %d faults came to pass", n, points)
	}
}
