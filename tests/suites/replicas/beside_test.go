package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// lately proposes calls once the turn's message is on record, and at least so long ago that a stamp of the log can tell.
func lately(w *World, calls ...agent.ReplyCall) {
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		if _, step := h.Last(); step > 0 {
			return agent.Reply{Text: "All done."}, nil
		}
		stands(w)
		for from := time.Now(); time.Since(from) < 5*time.Millisecond; {
			h.Stream(agent.Delta{Text: "."})
		}
		return agent.Reply{Text: "Let me see.", Calls: calls}, nil
	})
}

func noteText(n Note) string { return render.PlainText(n.View) }

// An ask that opens long after its message was posted is announced beside it, and that is taken away once it is decided.
func TestNudge(t *testing.T) {
	both(t, Options{Replicas: 2, Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }}, func(w *World) {
		lately(w, Call("write", `{}`), Call("send", `{}`))
		w.Say(w.Replicas[0], Ana, "go")
		w.Until("a nudge", func() bool { return len(w.Platform.Notes()) == 1 })
		n := w.Platform.Notes()[0]
		has(w, "the nudge", noteText(n), "Ana, a tool call waits for your answer: Run write from files (and 1 other)")
		equal(w, "the nudge leads to", n.Beside, w.Platform.Messages(Room)[0].Ref)
		equal(w, "it has a link", n.Link, true)
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
		w.Shows(0, "allowed once by Ana")
		equal(w, "while another ask is open the nudge is gone", w.Platform.Notes()[0].Gone, false)
		w.Press(w.Replicas[1], Ana, chat.Deny, "send")
		w.Over(0)
		w.Until("the nudge is gone", func() bool { return w.Platform.Notes()[0].Gone })
		equal(w, "nudges", len(w.Platform.Notes()), 1)
	})
}

// A notification for which the platform takes long, and one that stood there meanwhile, are gone in the end, though their turn and the next one
// are over by then.
func TestASlowNotificationIsTakenAway(t *testing.T) {
	for _, before := range []int{0, 1} {
		t.Run(fmt.Sprintf("with %d before it", before), func(t *testing.T) {
			w := New(t, Options{Beside: true, Engine: func(c *agent.Config) {
				c.Nudge = time.Nanosecond
				c.Escalate = time.Duration(before) // the second
			}})
			w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) { p.Escalate = []chat.User{Ben} })
			asked, taken := make(chan struct{}, 9), make(chan struct{})
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Note && op.Post && len(w.Platform.Notes()) == before {
					asked <- struct{}{}
					<-taken
				}
				return Trouble{}
			})
			lately(w, Call("write", `{}`))
			w.Model.When("also", Says("Two."))
			w.Say(w.Replicas[0], Ana, "go")
			<-asked
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			w.Over(0)
			w.Say(w.Replicas[0], Ana, "also")
			has(w, "the next answer", w.Over(1), "Two.")
			close(taken)
			w.Until("nothing of it stands", func() bool {
				notes := w.Platform.Notes()
				return len(notes) == before+1 && !slices.ContainsFunc(notes, func(n Note) bool { return !n.Gone })
			})
		})
	}
}

// The end of a long turn is announced to whoever asked, where somebody else has clicked, and stays.
func TestALongTurnsEndIsAnnounced(t *testing.T) {
	both(t, Options{Beside: true, Replicas: 2, Engine: func(c *agent.Config) { c.Long = time.Nanosecond }}, func(w *World) {
		w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) {
			p.Approvers = permission.Approvers{Rule: permission.ApproversAnyone}
		})
		lately(w, Call("write", `{}`))
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[1], Ben, chat.AllowOnce, "write")
		w.Over(0)
		w.Until("it is announced", func() bool { return len(w.Platform.Notes()) == 1 })
		n := w.Platform.Notes()[0]
		has(w, "it", noteText(n), "Ana, this is done, after ")
		equal(w, "it leads to", n.Beside, w.Platform.Messages(Room)[0].Ref)
		equal(w, "it has a link", n.Link, true)
		equal(w, "looked for what nobody can have posted", w.Platform.Seeks(), 0)
	})
}

// A platform that refuses a nudge is not asked again, and the turn goes on.
func TestNudgeRefused(t *testing.T) {
	for name, no := range map[string]func() Trouble{"forbidden": Forbidden, "gone": Gone} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }})
			var tries atomic.Int32
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Note {
					tries.Add(1)
					return no()
				}
				return Trouble{}
			})
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			w.Until("it was tried", func() bool { return tries.Load() > 0 })
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			w.Over(0)
			equal(w, "attempts", tries.Load(), 1)
		})
	}
}

// A replica that stops in the middle of a nudge, or of taking it away, leaves that to the next one.
func TestNudgeOutlivesItsReplica(t *testing.T) {
	t.Parallel()
	for name, posting := range map[string]bool{"posting": true, "removing": false} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Parallel: true, Beside: true, Replicas: 2, Drain: time.Millisecond, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }})
			never, begun := w.Latch(), w.Latch()
			var once atomic.Bool
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Note && op.Post == posting && !once.Swap(true) {
					begun.Open()
					return Trouble{Until: never.C()}
				}
				return Trouble{}
			})
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			if !posting {
				w.Until("a nudge", func() bool { return len(w.Platform.Notes()) == 1 })
				w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			}
			<-begun.C()
			w.Replicas[0].Stop()
			w.Until("the other replica went on", func() bool {
				n := w.Platform.Notes()
				return len(n) == 1 && n[0].Gone == !posting
			})
			if posting {
				w.Press(w.Replicas[1], Ana, chat.Deny, "write")
			}
			w.Over(0)
		})
	}
}

// A nudge whose answer was lost is found again, not posted twice.
func TestNudgeOnce(t *testing.T) {
	w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }})
	var lost atomic.Bool
	w.Platform.Trouble(func(op Op) Trouble {
		if op.Note && op.Post && !lost.Swap(true) {
			return Transient(true)
		}
		return Trouble{}
	})
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("found", func() bool { return w.Platform.Seeks() > 0 })
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	w.Until("the nudge is gone", func() bool { return w.Platform.Notes()[0].Gone })
	equal(w, "nudges", len(w.Platform.Notes()), 1)
}

// The turn's message is one although the answer to its post was lost, and although the poster died before it said so.
func TestOneMessageWhereThePlatformCannotPromiseIt(t *testing.T) {
	t.Run("lost answer", func(t *testing.T) {
		w := New(t, Options{Beside: true})
		var lost atomic.Bool
		w.Platform.Trouble(func(op Op) Trouble {
			if op.Post && !lost.Swap(true) {
				return Transient(true)
			}
			return Trouble{}
		})
		w.Say(w.Replicas[0], Ana, "hi")
		w.Over(0)
		equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	})
	t.Run("death", func(t *testing.T) {
		w := New(t, Options{Beside: true, Replicas: 2, Lease: 300 * time.Millisecond})
		var once atomic.Bool
		hold := w.Latch()
		w.Platform.Trouble(func(op Op) Trouble {
			if op.Post && !once.Swap(true) {
				w.Replicas[0].Kill()
				return Trouble{Commit: true, Err: context.Canceled}
			}
			return Trouble{}
		})
		w.Model.When("hi", func(h Heard) (agent.Reply, error) { <-hold.C(); return agent.Reply{Text: "Hello."}, nil })
		w.Say(w.Replicas[0], Ana, "hi")
		hold.Open()
		has(w, "the message", w.Over(0), "Hello.")
		equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	})
	t.Run("no look without need", func(t *testing.T) {
		w := New(t, Options{Beside: true})
		w.Say(w.Replicas[0], Ana, "hi")
		w.Over(0)
		w.Say(w.Replicas[0], Ana, "again")
		w.Over(1)
		equal(w, "looked", w.Platform.Seeks(), 0)
	})
}

// What of a long answer has no room in the message follows beside it, whole.
func TestLongAnswerGoesOn(t *testing.T) {
	both(t, Options{Beside: true}, func(w *World) {
		var b strings.Builder
		for b.Len() < 20_000 {
			b.WriteString("Line after line of an answer that is too long for one message.\n")
		}
		b.WriteString("```go\n")
		for b.Len() < 24_000 {
			b.WriteString("fmt.Println(\"hello\")\n")
		}
		b.WriteString("```\nThe end.")
		w.Model.When("go", Says(b.String()))
		hold := w.Latch()
		w.Model.When("next", func(Heard) (agent.Reply, error) { <-hold.C(); return agent.Reply{Text: "Yes."}, nil })
		w.Say(w.Replicas[0], Ana, "go")
		w.Say(w.Replicas[0], Ben, "next")
		w.Over(0)
		w.Until("the rest, while the next turn runs", func() bool {
			n := w.Platform.Notes()
			return len(n) > 0 && strings.Contains(noteText(n[len(n)-1]), "The end.")
		})
		read := w.Platform.Messages(Room)[0].Now().Blocks[0].(render.Text).Markdown
		head, _, _ := strings.Cut(read, "\n\n… ")
		var parts []string
		for _, n := range w.Platform.Notes() {
			parts = append(parts, n.View.Blocks[1].(render.Text).Markdown)
		}
		strip := func(s string) string {
			return strings.Join(strings.FieldsFunc(strings.ReplaceAll(strings.ReplaceAll(s, "```go", ""), "```", ""), func(r rune) bool { return r == '\n' }), "\n")
		}
		if got, want := strip(head+"\n"+strings.Join(parts, "\n")), strip(b.String()); got != want {
			t.Errorf("head and parts are not the whole answer: %d characters of %d", len(got), len(want))
		}
		for i, p := range parts {
			equal(w, "the rest stands beside", w.Platform.Notes()[i].Beside, w.Platform.Messages(Room)[0].Ref)
			if strings.Count(p, "```")%2 != 0 {
				t.Errorf("part %d leaves a fence open", i)
			}
		}
	})
}

// Where a file can be attached, only so much goes on in messages: then all of it is in the file.
func TestLongAnswerGoesOnInAFile(t *testing.T) {
	for size, file := range map[int]bool{14_000: false, 60_000: true} { // parts of 3,000 characters: four follow the first message, or nineteen
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w := New(t, Options{Beside: true, Files: true})
			answer := strings.TrimSpace(strings.Repeat("Line after line of an answer that is too long for one message.\n", size/63))
			w.Model.When("go", Says(answer))
			w.Say(w.Replicas[0], Ana, "go")
			w.Over(0)
			w.Until("all of it is there", func() bool {
				s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
				return err == nil && s.Last != nil && slices.ContainsFunc(s.Last.Beside, func(b turn.Beside) bool { return b.Slot == turn.RestDone })
			})
			notes := w.Platform.Notes()
			last := notes[len(notes)-1]
			equal(w, "notes", len(notes), 4)
			equal(w, "a file", len(last.File.Data) > 0, file)
			if file {
				equal(w, "the file", string(last.File.Data), answer)
				has(w, "what stands above it", noteText(last), "All of it is in this file.")
			}
		})
	}
}

// When the message that asks is deleted, or its place archived, nobody can answer: the turn ends, on record, and nothing ran.
func TestMessageDeletedWhileAsking(t *testing.T) {
	for name, deleted := range map[string]func(w *World, env chat.Envelope) chat.Deleted{
		"message": func(w *World, env chat.Envelope) chat.Deleted {
			return chat.Deleted{Envelope: env, Message: w.Platform.Messages(Room)[0].Ref}
		},
		"place": func(_ *World, env chat.Envelope) chat.Deleted { return chat.Deleted{Envelope: env, All: true} },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			ask := w.Await(chat.AllowOnce, "write")
			w.Platform.Trouble(func(Op) Trouble { return Gone() })
			w.Deliver(w.Replicas[0], deleted(w, chat.Envelope{Delivery: "gone", Chat: Room}))
			w.Until("the turn is over", func() bool {
				s, err := w.Replicas[0].Engine.Session(context.Background(), Room)
				return err == nil && s.Turn == nil && s.Last != nil && s.Last.End == turn.MessageGone
			})
			if w.Deliver(w.Replicas[0], w.Click(Ana, ask)) == "" {
				t.Error("a click on what is gone was taken")
			}
			equal(w, "ran", w.Tools.Ran(), "")
		})
	}
}

// That the message of a turn that is over is gone takes the next turn along in nothing.
func TestAMessageGoneLate(t *testing.T) {
	w := New(t, Options{})
	late, tried := w.Latch(), w.Latch()
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && op.Ref == "m1" && op.View.State == render.Done {
			tried.Open()
			return Trouble{Until: late.C(), Err: Gone().Err}
		}
		return Trouble{}
	})
	hold := w.Latch()
	w.Model.When("second", func(Heard) (agent.Reply, error) { <-hold.C(); return agent.Reply{Text: "Here I am."}, nil })
	w.Say(w.Replicas[0], Ana, "first")
	<-tried.C()
	w.Say(w.Replicas[0], Ana, "second")
	w.Until("the second turn's message", func() bool { return len(w.Platform.Messages(Room)) == 2 })
	late.Open()
	w.Until("the first is known to be gone", func() bool { return w.Logged("a turn's message is gone") })
	hold.Open()
	has(w, "the second message", w.Over(1), "Here I am.")
	equal(w, "the second turn", w.Platform.Messages(Room)[1].Now().State, render.Done)
}
