package replicas

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// What a driver leaves half done on the platform as another one takes its chat up.

// settled waits until whoever drives has nothing more to do while the platform keeps its answers.
func settled(w *World) {
	w.Helper()
	gone(w, func(g string) bool {
		head, rest, _ := strings.Cut(g, "\n")
		rests := strings.Contains(head, "[select") && strings.HasPrefix(rest, "github.com/nodhq/nod/core/agent.(*driver).wait(")
		asks := strings.Contains(g, "core/agent.(*driver).edited(") || strings.Contains(g, "core/agent.(*driver).postOnce(")
		return strings.Contains(g, "core/agent.(*driver).drive(") && !rests || strings.Contains(g, "core/agent.(*driver).begin.func1(") && !asks
	})
}

// unanswered has the platform keep the first answer that match wants, as long as the test goes on. asked opens with it.
func unanswered(w *World, match func(Op) bool) (asked *Latch) {
	asked, never := w.Latch(), w.Latch()
	var once sync.Once
	w.Platform.Trouble(func(op Op) (t Trouble) {
		if match(op) {
			once.Do(func() {
				t.Until, t.Late = never.C(), never.C()
				if op.Post {
					t.Until = nil
				}
				asked.Open()
			})
		}
		return t
	})
	return asked
}

// Whoever drove was killed before the last edit of a turn, and the next turn had begun, or all but ended: the edit is made all the same.
func TestATurnsLastEditSurvivesItsDriver(t *testing.T) {
	fails := func(Heard) (agent.Reply, error) {
		return agent.Reply{}, &agent.ModelError{Say: "Second.", Cause: errors.New("injected")}
	}
	for name, c := range map[string]struct {
		second Step
		spoken bool // the next one drives because somebody said something
	}{
		"the next turn is under way": {second: nil}, "somebody speaks": {second: nil, spoken: true},
		"the next turn ends": {second: Says("Second.")}, "the next turn fails": {second: fails},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Replicas: 2, Lease: time.Hour, Sweep: brief, Drain: brief}
			if c.spoken {
				o.Sweep = time.Hour
			}
			w, clock := clocked(t, o)
			held := unanswered(w, func(op Op) bool { return strings.Contains(render.PlainText(op.View), "First.") })
			queued, asked := w.Latch(), w.Latch()
			w.Model.When("one", func(h Heard) (agent.Reply, error) {
				<-queued.C()
				return agent.Reply{Text: "First."}, nil
			})
			w.Model.When("two", func(h Heard) (agent.Reply, error) {
				first := false
				select {
				case <-asked.C():
				default:
					first = true
					asked.Open()
				}
				if c.second != nil {
					return c.second(h)
				}
				if first {
					<-h.Ctx.Done()
					return agent.Reply{}, h.Ctx.Err()
				}
				return Says("Second.")(h)
			})
			w.Say(w.Replicas[0], Ana, "one")
			w.Shows(0)
			w.Say(w.Replicas[0], Ana, "two")
			queued.Open()
			<-held.C()
			<-asked.C()
			if c.second != nil {
				settled(w)
			}
			w.Replicas[0].Kill()
			clock(2 * time.Hour)
			if c.spoken {
				w.Say(w.Replicas[1], Ana, "and?")
			}
			has(w, "the first message", w.Over(0), "First.")
			has(w, "the second message", w.Over(1), "Second.")
		})
	}
}

// A turn was stopped while whoever drove had posted its message and did not know yet: whoever drives next looks for it before the turn ends.
func TestAStopWhileTheMessageIsPosted(t *testing.T) {
	for name, before := range map[string]bool{"before its driver is killed": true, "afterwards": false} {
		t.Run(name, func(t *testing.T) {
			w, clock := clocked(t, Options{Replicas: 2, Beside: true, Lease: time.Hour, Sweep: time.Hour, Drain: brief})
			posted := unanswered(w, func(op Op) bool { return op.Post })
			w.Model.When("go", func(h Heard) (agent.Reply, error) {
				<-h.Ctx.Done()
				return agent.Reply{}, h.Ctx.Err()
			})
			w.Say(w.Replicas[0], Ana, "go")
			<-posted.C()
			stop := w.Await(chat.Stop, "")
			if before {
				w.Deliver(w.Replicas[0], w.Click(Ana, stop))
				settled(w)
			}
			w.Replicas[0].Kill()
			clock(2 * time.Hour)
			if before {
				w.Say(w.Replicas[1], Ana, "hello?")
			} else {
				w.Deliver(w.Replicas[1], w.Click(Ana, stop))
			}
			has(w, "the message", w.Over(0), text.StoppedBy("Ana", 0))
		})
	}
}
