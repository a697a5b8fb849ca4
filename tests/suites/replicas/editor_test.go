package replicas

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// A click that comes before the card's post is answered is shown as any other decision, not when progress has room.
func TestAClickWhileTheCardIsPosted(t *testing.T) {
	w := New(t, Options{})
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post {
			return Trouble{}
		}
		if !strings.Contains(render.PlainText(op.View), "Allow once") { // there is nothing to click yet
			return Transient(false)
		}
		s, err := w.Replicas[0].Engine.Session(t.Context(), op.Chat)
		if err != nil {
			t.Error(err)
		}
		for _, c := range turn.OpenAsks(s) {
			w.Deliver(w.Replicas[0], chat.Clicked{Envelope: w.Envelope(op.Chat, Ana), Token: string(c.Ask), Choice: chat.Deny})
		}
		return Trouble{}
	})
	w.Model.When("go", Calls(Call("write", `{}`)), Says("Then not."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Over(0)
	v := w.Platform.Messages(Room)[0].Versions
	has(w, "the post", render.PlainText(v[0].View), "Allow once")
	has(w, "the edit", render.PlainText(v[1].View), "denied by Ana")
	if v[1].Lane != agent.Decision {
		t.Errorf("it is drawn in lane %d", v[1].Lane)
	}
}

// While one edit is under way the deltas pile up into the next one.
func TestEditsCoalesce(t *testing.T) {
	w := New(t, Options{})
	slow, half := w.Latch(), w.Latch()
	var once sync.Once
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && strings.Contains(render.PlainText(op.View), "word-000") {
			held := false
			once.Do(func() { held = true })
			if held {
				half.Open()
				return Trouble{Until: slow.C()}
			}
		}
		return Trouble{}
	})
	const words = 400
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		stands(w)
		text := ""
		for i := range words {
			d := fmt.Sprintf("word-%03d ", i)
			text += d
			h.Stream(agent.Delta{Text: d})
			if i == 0 {
				<-half.C()
			}
		}
		slow.Open()
		return agent.Reply{Text: text}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "word-000", "word-399")
	if n := w.Platform.Edits(); n > 12 {
		t.Errorf("%d edits for %d deltas", n, words)
	}
	v := w.Platform.Messages(Room)[0].Versions
	for i := 2; i < len(v); i++ { // the first edit of an editor may repeat what was posted
		if reflect.DeepEqual(v[i].View, v[i-1].View) {
			t.Errorf("version %d equals the one before", i)
		}
	}
}

// While the model is at work nothing changes in a message that was just posted: it is not edited either.
func TestNothingNewIsNoEdit(t *testing.T) {
	w := New(t, Options{})
	gate := w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		<-gate.C()
		return Says("An answer.")(h)
	})
	w.Say(w.Replicas[0], Ana, "go")
	stands(w)
	gone(w, func(g string) bool { return strings.Contains(g, "core/agent.(*driver).edited(") || driving(g) })
	equal(w, "versions", len(w.Platform.Messages(Room)[0].Versions), 1)
	gate.Open()
	has(w, "the message", w.Over(0), "An answer.")
}

// A new message is answered at once although the last turn's final edit still waits for a busy platform.
func TestBusyPlatformHoldsUpNobody(t *testing.T) {
	w := New(t, Options{})
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && op.Ref == "m1" {
			return Busy(time.Hour)
		}
		return Trouble{}
	})
	w.Say(w.Replicas[0], Ana, "one")
	w.Until("the first turn is answered", func() bool { return len(w.Model.Heard()) == 1 && w.Platform.Edits() > 0 })
	w.Say(w.Replicas[0], Ana, "two")
	w.Over(1)
}

// notYet puts edits off for an hour.
func notYet() Trouble {
	return Trouble{Err: &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: time.Hour, Cause: errUnknown}}
}

// A chat of which only the last edit is left to do, and that later, is given back until then, for a replica drives only so many. Whoever takes it
// up draws: when it is time, when somebody speaks before, and when the replica stops.
func TestAnEditThatIsPutOffKeepsNoDriver(t *testing.T) {
	for name, then := range map[string]func(*World, func(time.Duration)){
		"its time comes":  func(_ *World, clock func(time.Duration)) { clock(2 * time.Hour) },
		"somebody speaks": func(w *World, _ func(time.Duration)) { w.Say(w.Replicas[1], Ana, "two") },
		"a restart": func(w *World, clock func(time.Duration)) {
			w.Replicas[0].Stop()
			clock(2 * time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, clock := clocked(t, Options{Replicas: 2, Lease: time.Hour, Sweep: brief})
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Post {
					return Trouble{}
				}
				return notYet()
			})
			w.Model.When("one", func(Heard) (agent.Reply, error) {
				w.Until("the message is there", func() bool { return len(w.Platform.Messages(Room)) == 1 })
				return agent.Reply{Text: "First."}, nil
			})
			w.Model.When("two", Says("Second."))
			w.Say(w.Replicas[0], Ana, "one")
			w.Until("its end is on record", func() bool { s := session(w); return s.Turn == nil && s.Last != nil })
			idle(w)
			hasNot(w, "the message", render.PlainText(w.Platform.Messages(Room)[0].Now()), "First.")
			w.Platform.Trouble(nil)
			then(w, clock)
			has(w, "the first message", w.Over(0), "First.")
		})
	}
}

// Whoever takes up a turn repaints it as a final, which may be put off; a question that comes then is not.
func TestAQuestionDoesNotWaitWithARepaint(t *testing.T) {
	w, clock := clocked(t, Options{Replicas: 2, Lease: time.Hour, Sweep: brief, Drain: brief})
	asked, refused := w.Latch(), w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		select {
		case <-asked.C():
			<-refused.C()
			return Calls(Call("write", `{}`))(h)
		default:
			asked.Open()
			<-h.Ctx.Done()
			return agent.Reply{}, h.Ctx.Err()
		}
	})
	w.Say(w.Replicas[0], Ana, "go")
	<-asked.C()
	stands(w)
	w.Platform.Trouble(func(op Op) Trouble {
		if op.Lane != agent.Final {
			return Trouble{}
		}
		refused.Open()
		return notYet()
	})
	w.Replicas[0].Kill()
	clock(2 * time.Hour)
	w.Await(chat.AllowOnce, "write")
}

// Progress keeps its pace, from the post on; a decision does not wait for it.
func TestDecisionsGoBeforeThePace(t *testing.T) {
	w := New(t, Options{})
	w.Platform.Pace(time.Hour)
	more, called := w.Latch(), w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: "First words."})
		<-more.C()
		h.Stream(agent.Delta{Text: " More words."})
		<-called.C()
		return agent.Reply{Text: "First words. More words.", Calls: []agent.ReplyCall{Call("write", `{}`)}}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it is posted", func() bool { return len(w.Platform.Messages(Room)) == 1 })
	more.Open()
	called.Open()
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	progress := 0
	versions := w.Platform.Messages(Room)[0].Versions
	if !strings.Contains(render.PlainText(versions[0].View), "First words.") {
		progress-- // the first words after an empty post wait for nothing
	}
	for _, v := range versions {
		if v.Lane == agent.Progress {
			progress++
		}
	}
	if progress > 0 {
		t.Errorf("%d progress edits within one pace of the post", progress)
	}
}

func TestTransientFaults(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			w := New(t, Options{Parallel: true})
			w.Platform.Trouble(func(op Op) Trouble {
				if op.N%2 == 1 {
					return Transient(lost)
				}
				return Trouble{}
			})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			w.Over(0)
			equal(w, "messages", len(w.Platform.Messages(Room)), 1)
			equal(w, "ran", w.Tools.Ran(), "write")
		})
	}
}

// An edit whose answer got lost may stand there. Where the message should look as before it, it is edited back.
func TestAnEditThatLandedAllTheSameIsTakenBack(t *testing.T) {
	w := New(t, Options{})
	var lost atomic.Bool
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && strings.Contains(render.PlainText(op.View), "It waits.") && !lost.Swap(true) {
			return Transient(true)
		}
		return Trouble{}
	})
	gate := w.Latch()
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		stands(w)
		h.Stream(agent.Delta{Note: "It waits."})
		w.Until("it landed", func() bool { return lost.Load() && strings.Contains(w.Text(0), "It waits.") })
		h.Stream(agent.Delta{})
		<-gate.C()
		return Says("An answer.")(h)
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it came, and is gone again", func() bool { return lost.Load() && strings.Contains(w.Text(0), text.Thinking) })
	gate.Open()
	has(w, "the message", w.Over(0), "An answer.")
}

// What people cannot see they cannot answer: the turn ends with a record and nothing runs.
func TestMessageGone(t *testing.T) {
	for name, trouble := range map[string]func() Trouble{"gone": Gone, "forbidden": Forbidden} {
		for _, posting := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s posting=%v", name, posting), func(t *testing.T) {
				w := New(t, Options{Replicas: 2})
				broken := w.Latch()
				w.Platform.Trouble(func(op Op) Trouble {
					if op.Post == posting && op.Chat == Room && (op.Post || op.Ref == "m1") {
						broken.Open()
						return trouble()
					}
					return Trouble{}
				})
				w.Model.When("go", func(h Heard) (agent.Reply, error) {
					if posting {
						<-broken.C()
					} else {
						stands(w) // or what is posted has the question, and nothing is edited
					}
					return agent.Reply{Calls: []agent.ReplyCall{Call("write", `{}`)}}, nil
				})
				w.Say(w.Replicas[0], Ana, "go")
				<-broken.C()
				w.Until("the turn is over", func() bool {
					s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
					return err == nil && s.Turn == nil && s.Last != nil && s.Last.End == turn.MessageGone
				})
				w.Platform.Trouble(nil)
				w.Say(w.Replicas[1], Ana, "are you there?")
				w.Until("the next turn answers", func() bool {
					list := w.Platform.Messages(Room)
					return len(list) > 0 && strings.Contains(render.PlainText(list[len(list)-1].Now()), "All done.")
				})
				equal(w, "ran", w.Tools.Ran(), "")
			})
		}
	}
}

// A chat that cannot be posted to while a tool runs is not hammered.
func TestForbiddenWhileAToolRuns(t *testing.T) {
	w := New(t, Options{})
	ended, hold := w.Latch(), w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "touch", Stubborn: true, Run: func(i Invocation) (turn.Result, error) {
		<-i.Ctx.Done()
		ended.Open()
		<-hold.C()
		return turn.Result{Text: "touched"}, nil
	}})
	running := w.Latch()
	w.Platform.Trouble(func(op Op) Trouble {
		<-running.C()
		if op.N > 20 {
			hold.Open()
		}
		return Forbidden()
	})
	w.Model.When("go", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Ran("touch")
	running.Open()
	<-ended.C()
	posts := w.Platform.Posts()
	w.Say(w.Replicas[0], Ben, "anybody?") // something to do meanwhile
	hold.Open()
	w.Until("both turns are over", func() bool {
		s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
		return err == nil && s.Turn == nil
	})
	if n := w.Platform.Posts(); n > 8 {
		t.Errorf("%d posts to a chat that forbids them (%d when the tool was cancelled)", n, posts)
	}
}

// A tool's progress is shown while it runs.
func TestProgressIsShown(t *testing.T) {
	w := New(t, Options{})
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(i Invocation) (turn.Result, error) {
		i.Progress(turn.Progress{Done: 1, Total: 4, Message: "counting"})
		<-hold.C()
		return turn.Result{Text: "touched"}, nil
	}})
	w.Model.When("go", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Shows(0, "25 %", "counting")
	hold.Open()
	hasNot(w, "the message", w.Over(0), "25 %")
}

// What is only progress waits for room; what is urgent does not wait with it.
func TestProgressHasNoRoom(t *testing.T) {
	w := New(t, Options{})
	progress := w.Latch()
	w.Platform.Trouble(func(op Op) Trouble {
		if op.Post || op.Lane != agent.Progress {
			return Trouble{}
		}
		progress.Open()
		return notYet()
	})
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		stands(w)
		h.Stream(agent.Delta{Text: "a"})
		<-progress.C()
		return agent.Reply{Text: "a and the end."}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "a and the end.")
}

// The end comes while progress is being refused: it does not wait for when progress may come again.
func TestTheEndComesWhileProgressIsRefused(t *testing.T) {
	w := New(t, Options{})
	progress, ended := w.Latch(), w.Latch()
	w.Platform.Trouble(func(op Op) Trouble {
		if op.Post || op.Lane != agent.Progress {
			return Trouble{}
		}
		progress.Open()
		return Trouble{Until: ended.C(), Err: &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: time.Hour, Cause: errUnknown}}
	})
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		stands(w)
		h.Stream(agent.Delta{Text: "a"})
		<-progress.C()
		return agent.Reply{Text: "a and the end."}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("the end is on record", func() bool { s := session(w); return s.Turn == nil && s.Last != nil && s.Last.End != "" })
	ended.Open()
	has(w, "the message", w.Over(0), "a and the end.")
}
