package replicas

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
		asks := strings.Contains(g, "core/agent.(*driver).edited(") || strings.Contains(g, "core/agent.(*driver).postOnce(")
		return driving(g) || strings.Contains(g, "core/agent.(*driver).begin.func1(") && !asks
	})
}

// driving reports whether a stack is of somebody who drives and does not rest.
func driving(g string) bool {
	head, rest, _ := strings.Cut(g, "\n")
	rests := strings.Contains(head, "[select") && strings.HasPrefix(rest, "github.com/nodhq/nod/core/agent.(*driver).wait(")
	return strings.Contains(g, "core/agent.(*driver).drive(") && !rests
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

// late has the platform keep the first call that match wants, whoever waits for it or has given up, until it may land.
func late(w *World, match func(Op) bool) (asked, land *Latch) {
	asked, land = w.Latch(), w.Latch()
	var once atomic.Bool
	w.Platform.Trouble(func(op Op) Trouble {
		if match(op) && !once.Swap(true) {
			asked.Open()
			<-land.C()
		}
		return Trouble{}
	})
	return asked, land
}

// An edit of whoever lost the chat lands after those of whoever has it now: it does not stay.
func TestAnEditThatComesAfterTheChatWasLost(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true})
	asked, land := late(w, func(op Op) bool { return !op.Post && strings.Contains(render.PlainText(op.View), "Half of") })
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		select {
		case <-asked.C():
			return agent.Reply{Text: "A whole answer."}, nil
		default:
		}
		stands(w)
		h.Stream(agent.Delta{Text: "Half of"})
		<-h.Ctx.Done()
		return agent.Reply{}, h.Ctx.Err()
	})
	w.Say(w.Replicas[0], Ana, "go")
	<-asked.C()
	w.Replicas[0].Gate.Cut()
	w.Start()
	whole := w.Over(0)
	w.Replicas[0].Gate.Heal()
	land.Open()
	w.Until("the late edit came, and what it undid is there again", func() bool {
		m := w.Platform.Messages(Room)[0]
		came := slices.ContainsFunc(m.Versions, func(v Version) bool { return strings.Contains(render.PlainText(v.View), "Half of") })
		return came && render.PlainText(m.Now()) == whole
	})
}

// lostAtItsPost is a chat that its replica loses while its post of the turn's message is on the way, until it may land.
func lostAtItsPost(t *testing.T) (w *World, land *Latch) {
	t.Helper()
	w = New(t, Options{Parallel: true, Beside: true})
	asked, land := late(w, func(op Op) bool { return op.Post })
	w.Say(w.Replicas[0], Ana, "go")
	<-asked.C()
	w.Replicas[0].Gate.Cut()
	return w, land
}

// A post of whoever lost the chat lands after whoever has it now looked for it and posted another: it is taken away.
func TestAPostThatComesAfterTheChatWasLost(t *testing.T) {
	t.Parallel()
	w, land := lostAtItsPost(t)
	w.Start()
	first := w.Over(0)
	w.Replicas[0].Gate.Heal()
	land.Open()
	w.Until("it is there, and taken away", secondIsGone(w))
	equal(w, "what is left", w.Text(0), first)
}

// secondIsGone reports whether a second message that comes from now on was taken away, although the platform fails at first.
func secondIsGone(w *World) func() bool {
	var tries atomic.Int32
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && op.Ref == "m2" && tries.Add(1) == 1 {
			return Transient(false)
		}
		return Trouble{}
	})
	return func() bool { return tries.Load() > 1 && len(w.Platform.Messages(Room)) == 1 }
}

// The post of whoever lost the chat lands, and is on record, while whoever has it now posts another: that one is taken away.
func TestAPostThatLandsWhereAnotherIsOnRecord(t *testing.T) {
	t.Parallel()
	w, land := lostAtItsPost(t)
	askedAgain, landAgain := late(w, func(op Op) bool { return op.Post })
	w.Start()
	<-askedAgain.C()
	w.Replicas[0].Gate.Heal()
	land.Open()
	first := w.Over(0)
	gone := secondIsGone(w)
	landAgain.Open()
	w.Until("the second came, and is taken away", gone)
	equal(w, "what is left", w.Text(0), first)
}

// As with messages: of two notes that say the same, posted by who had the chat and by who has it now, one is left.
func TestOfTwoNotesOneIsLeft(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"the first lands when the second is on record": false, "the second lands when the first is on record": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := New(t, Options{Parallel: true, Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }})
			nudges := func(op Op) bool { return op.Note && op.Post }
			asked, land := late(w, nudges)
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			<-asked.C()
			w.Replicas[0].Gate.Cut()
			landToo := land
			if second {
				var askedToo *Latch
				askedToo, landToo = late(w, nudges)
				w.Start()
				<-askedToo.C()
			} else {
				w.Start()
			}
			onRecord := func(n int) {
				w.Until("a note is on record", func() bool {
					s, err := w.Replicas[n].Engine.Session(t.Context(), Room)
					return err == nil && s.Turn != nil && len(s.Turn.Beside) > 0
				})
			}
			if !second {
				onRecord(1)
			}
			w.Replicas[0].Gate.Heal()
			land.Open()
			if second {
				onRecord(1)
				landToo.Open()
			}
			w.Until("both came, and one is left", func() bool {
				all := w.Platform.Notes()
				return len(all) == 2 && all[0].Gone != all[1].Gone
			})
			gone := slices.IndexFunc(w.Platform.Notes(), func(n Note) bool { return n.Gone })
			equal(w, "which one is left", session(w).Turn.Beside[0].Message, w.Platform.Notes()[1-gone].Ref)
		})
	}
}

// regained is the leases of a replica; has opens once the engine has taken up a chat again that it lost.
type regained struct {
	agent.Leases
	lost, claimed atomic.Bool
	has           *Latch
}

func (r *regained) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	lost := r.lost.Load()
	leases, err := r.Leases.ClaimDue(ctx, owner, n)
	r.claimed.Store(lost && len(leases) > 0)
	return leases, err
}

func (r *regained) NextDue(ctx context.Context) (time.Duration, error) {
	if r.claimed.Load() {
		r.has.Open()
	}
	return r.Leases.NextDue(ctx)
}

// A replica ended a turn, lost the chat before it had announced that, and has it again: it looks whether somebody did meanwhile.
func TestAnEndIsAnnouncedOnceByWhoeverHasTheChatAgain(t *testing.T) {
	t.Parallel()
	leases := &regained{has: NewLatch()}
	w := New(t, Options{Parallel: true, Beside: true, Engine: func(c *agent.Config) {
		c.Long = time.Nanosecond
		if leases.Leases == nil {
			leases.Leases, c.Leases = c.Leases, leases
		}
	}})
	t.Cleanup(leases.has.Open)
	asked, next := w.Latch(), make(chan *Replica, 1)
	var posts atomic.Int32
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post || !op.Note {
			return Trouble{}
		}
		switch posts.Add(1) {
		case 1:
			asked.Open()
			<-leases.has.C()
			return Transient(false)
		case 2:
			(<-next).Kill()
			leases.lost.Store(true)
			w.Replicas[0].Gate.Heal()
			return Trouble{Err: context.Canceled, Commit: true}
		}
		return Trouble{}
	})
	lately(w)
	w.Say(w.Replicas[0], Ana, "go")
	<-asked.C()
	w.Replicas[0].Gate.Cut()
	next <- w.Start()
	w.Until("it is on record that it was announced", func() bool {
		s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
		return err == nil && s.Last != nil && len(s.Last.Beside) > 0
	})
	equal(w, "announced", len(w.Platform.Notes()), 1)
}
