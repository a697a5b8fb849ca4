package replicas

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

const brief = time.Second // a lease that runs out within a test, and not while a busy machine does something else

// R52
func TestKilledWhilePending(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 2, Lease: brief}, func(w *World) {
		w.Model.When("go", Calls(Call("write", `{}`)), Says("Written."))
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write")
		w.Replicas[0].Kill()
		equal(w, "whisper", w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write"), "")
		has(w, "the message", w.Over(0), "allowed once by Ana", "Written.")
		equal(w, "runs", w.Tools.Count("write"), 1)
		equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	})
}

func TestKilledWhileTheModelTalks(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 2, Lease: brief}, func(w *World) {
		var asked atomic.Int32
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			if asked.Add(1) == 1 {
				h.Stream(agent.Delta{Text: "Half of"})
				<-h.Ctx.Done()
				return agent.Reply{}, h.Ctx.Err()
			}
			return Says("A whole answer.")(h)
		})
		w.Say(w.Replicas[0], Ana, "go")
		w.Shows(0, "Half of")
		w.Replicas[0].Kill()
		text := w.Over(0)
		has(w, "the message", text, "A whole answer.")
		hasNot(w, "the message", text, "Half of")
		equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	})
}

// A lease that another replica took is known of before it ends, however short it is: a chat whose holder died goes on then, and not with some
// later look.
func TestALeaseIsSeenBeforeItEnds(t *testing.T) {
	w := New(t, Options{Lease: brief, Engine: func(c *agent.Config) { c.Sweep = 0 }})
	if e := w.Replicas[0].Engine; e.Sweep+e.Sweep/2 >= e.Lease { // half a Sweep more is the latest
		t.Errorf("with leases of %v it is looked every %v", e.Lease, e.Sweep)
	}
}

// A turn on which three drivers died is ended by the next.
func TestATurnThatItsDriversDieOn(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 1, Lease: brief}, func(w *World) {
		var asked atomic.Int32
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			asked.Add(1)
			<-h.Ctx.Done()
			return agent.Reply{}, h.Ctx.Err()
		})
		w.Say(w.Replicas[0], Ana, "go")
		for n := range int32(3) {
			// While the model is at work it is on record where the message stands: who dies before that leaves one that nobody knows of.
			w.Until("the model is asked, and the message is on record", func() bool {
				s, err := w.Replicas[n].Engine.Session(context.Background(), Room)
				return asked.Load() == n+1 && err == nil && s.Turn != nil && s.Turn.Shown != ""
			})
			w.Replicas[n].Kill()
			w.Start()
		}
		has(w, "the message", w.Over(0), text.EndProgress)
		equal(w, "requests to the model", asked.Load(), 3)
	})
}

// mortal is the log of a process that dies when it is about to record where a message stands.
type mortal struct {
	*Gate
	about, dies chan struct{}
	once        *sync.Once
}

func (m mortal) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	if slices.ContainsFunc(w.Events, func(k agent.Keyed) bool { _, shown := k.Event.(turn.Shown); return shown }) {
		m.once.Do(func() { close(m.about) })
		select {
		case <-m.dies:
		case <-ctx.Done():
		}
	}
	return m.Gate.Append(ctx, w)
}

// dyingUnseen brings a world to where so many drivers died between the post and its record: the log knows nothing of the message. As many
// more as spare would die as well.
func dyingUnseen(t *testing.T, backend Backend, deaths, spare int) *World {
	var mortals []mortal
	o := Options{Parallel: true, Backend: backend, Replicas: 1, Lease: 2 * brief, Beside: true}
	o.Engine = func(c *agent.Config) {
		if len(mortals) < deaths+spare {
			mortals = append(mortals, mortal{c.Log.(*Gate), make(chan struct{}), make(chan struct{}), &sync.Once{}})
			c.Log = mortals[len(mortals)-1]
		}
	}
	w := New(t, o)
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		<-h.Ctx.Done()
		return agent.Reply{}, h.Ctx.Err()
	})
	w.Say(w.Replicas[0], Ana, "go")
	for n := range deaths {
		<-mortals[n].about
		w.Replicas[n].Kill()
		close(mortals[n].dies)
		w.Start()
	}
	return w
}

func TestATurnThatItsDriversDieOnUnseen(t *testing.T) {
	t.Parallel()
	for _, b := range Backends() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			w := dyingUnseen(t, b, 3, 0)
			has(w, "the message", w.Over(0), text.EndProgress)
			equal(w, "messages", len(w.Platform.Messages(Room)), 1)
		})
	}
	t.Run("over the look for the message, too", func(t *testing.T) {
		t.Parallel()
		w := dyingUnseen(t, Lightest, 6, 1)
		w.Until("the turn is over", func() bool {
			s, err := w.Replicas[6].Engine.Session(context.Background(), Room)
			return err == nil && s.Turn == nil && s.Last != nil && s.Last.End == turn.NoProgress
		})
	})
}

// interrupted brings a world to the Unknown card: replica 0 was killed while write ran, replica 1 found it.
func interrupted(w *World) {
	w.Helper()
	hold := w.Latch()
	var runs atomic.Int32
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(i Invocation) (turn.Result, error) {
		if runs.Add(1) == 1 {
			<-hold.C()
		}
		return turn.Result{Text: "write ok"}, nil
	}})
	w.Model.When("go", Calls(Call("write", `{"n":1}`), Call("read", `{"n":2}`)), Says("I see."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Until("the tool runs", func() bool { return w.Tools.Count("write") == 1 })
	w.Replicas[0].Kill()
	w.Until("it was asked what happened", func() bool { // perhaps not for long
		list := w.Platform.Messages(Room)
		return len(list) > 0 && slices.ContainsFunc(list[0].Versions, func(v Version) bool {
			text := render.PlainText(v.View)
			return strings.Contains(text, "It may have happened.") && strings.Contains(text, "[It happened] [Run again] [Leave it]") && strings.Contains(text, "[Stop]")
		})
	})
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	o := Options{Parallel: true, Replicas: 2, Lease: brief}
	check := func(w *World, text string, runs int, result string, failed bool) {
		equal(w, "runs", w.Tools.Count("write"), runs)
		r := w.Model.Latest().Results()
		if len(r) != 2 || r[0].IsError != failed {
			w.Fatalf("results: %+v", r)
		}
		has(w, "the result", r[0].Text, result)
		has(w, "the message", text, "I see.")
		hasNot(w, "the message", text, "[Run again]")
		equal(w, "requests to the model", len(w.Model.Heard()), 2)
	}
	t.Run("happened", func(t *testing.T) {
		both(t, o, func(w *World) {
			interrupted(w)
			has(w, "Ben's whisper", w.Press(w.Replicas[1], Ben, chat.Happened, "write"), "Only")
			w.Press(w.Replicas[1], Ana, chat.Happened, "write")
			text := w.Over(0)
			check(w, text, 1, "a person says that it happened", true)
			has(w, "the message", text, "it happened, says Ana")
		})
	})
	t.Run("run again", func(t *testing.T) {
		both(t, o, func(w *World) {
			interrupted(w)
			again := w.Await(chat.RunAgain, "write")
			w.Deliver(w.Replicas[1], w.Click(Ana, again))
			w.Until("it is asked again", func() bool { _, ok := w.Button(Room, chat.AllowOnce, "write"); return ok })
			if w.Deliver(w.Replicas[1], w.Click(Ana, again)) == "" {
				w.Error("Run again was taken twice")
			}
			equal(w, "runs before the second decision", w.Tools.Count("write"), 1)
			w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
			text := w.Over(0)
			check(w, text, 2, "write ok", false)
			var runs []Effect
			for _, e := range w.Tools.Effects() {
				if e.Name == "write" {
					runs = append(runs, e)
				}
			}
			if runs[0].Call != runs[1].Call || runs[0].Digest != runs[1].Digest || runs[0].Run == runs[1].Run {
				w.Errorf("the second run is not the same call: %+v", runs)
			}
		})
	})
	t.Run("leave", func(t *testing.T) {
		both(t, o, func(w *World) {
			interrupted(w)
			w.Press(w.Replicas[1], Ana, chat.Leave, "write")
			check(w, w.Over(0), 1, "Outcome unknown; do not repeat.", true)
		})
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		w := New(t, o)
		interrupted(w)
		w.Press(w.Replicas[1], Ana, chat.Stop, "")
		has(w, "the message", w.Over(0), "it may have happened", "Stopped by Ana")
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
}

func TestUnknownOutcomeDeadline(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true, Replicas: 2, Lease: 3 * time.Second})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Timeout = 5 * time.Second }) // a busy machine clicks late, too
	interrupted(w)
	text := w.Over(0)
	has(w, "the message", text, "it may have happened", "I see.")
	has(w, "the result", w.Model.Latest().Results()[0].Text, "Outcome unknown; do not repeat.")
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// A trusted server's word that repeating does no harm (SAFETY 1) is the only way to a second run without a click.
func TestRecoveryRule(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range []struct {
		name    string
		trusted bool
		runs    int
	}{{"trusted", true, 2}, {"untrusted", false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := New(t, Options{Parallel: true, Replicas: 2, Lease: brief})
			w.SetPolicy(func(p *permission.Policy, _ tools) {
				s := p.Servers["files"]
				s.Trusted = c.trusted
				p.Servers["files"] = s
			})
			hold := w.Latch()
			var runs atomic.Int32
			w.Tools.Put(Tool{Server: "files", Name: "write", Hints: permission.Hints{Idempotent: &yes}, Run: func(Invocation) (turn.Result, error) {
				if runs.Add(1) == 1 {
					<-hold.C()
				}
				return turn.Result{Text: "write ok"}, nil
			}})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			w.Until("the tool runs", func() bool { return w.Tools.Count("write") == 1 })
			w.Replicas[0].Kill()
			if !c.trusted {
				w.Press(w.Replicas[1], Ana, chat.Leave, "write")
			}
			w.Over(0)
			equal(w, "runs", w.Tools.Count("write"), c.runs)
		})
	}
}

// zombie brings a world to the Unknown card while the run goes on at a replica that lost its lease. answer lets the run end;
// its result then reaches a replica that is connected again.
func zombie(w *World) (answer func()) {
	w.Helper()
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "write", Stubborn: true, Run: func(Invocation) (turn.Result, error) {
		<-hold.C()
		return turn.Result{Text: "written at last"}, nil
	}})
	w.Model.When("go", Calls(Call("write", `{}`)), Says("I see."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Until("the tool runs", func() bool { return w.Tools.Count("write") == 1 })
	w.Replicas[0].Gate.Cut()
	w.Shows(0, "It may have happened.")
	w.Replicas[0].Gate.Heal()
	return hold.Open
}

func TestLateResultBeforeTheAnswer(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 2, Lease: brief}, func(w *World) {
		answer := zombie(w)
		answer()
		text := w.Over(0)
		hasNot(w, "the message", text, "[It happened]")
		r := w.Model.Latest().Results()
		if len(r) != 1 || r[0].Text != "written at last" || r[0].IsError {
			w.Errorf("the model heard %+v", r)
		}
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
}

func TestLateResultAfterTheAnswer(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 2, Lease: brief}, func(w *World) {
		answer := zombie(w)
		w.Press(w.Replicas[1], Ana, chat.Leave, "write")
		w.Over(0)
		answer()
		w.Until("the late result is recorded", func() bool {
			return slices.Contains(w.Replicas[0].Gate.Taken(), "append finished")
		})
		w.Say(w.Replicas[1], Ana, "and?")
		w.Over(1)
		h := w.Model.Latest()
		has(w, "the note to the model", h.Notes(), "A late result", "written at last")
		n := 0
		for _, u := range h.Talk {
			for _, c := range u.Calls {
				n++
				has(w, "the first result stands", c.Result.Text, "Outcome unknown")
			}
		}
		equal(w, "results", n, 1)
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
}

// A replica that is cut off does nothing more, and the chat goes on elsewhere.
func TestCutOffWhilePending(t *testing.T) {
	w := New(t, Options{Replicas: 2, Lease: brief})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Replicas[0].Gate.Cut()
	if err := w.Replicas[0].Engine.Accept(t.Context(), w.Click(Ana, w.Await(chat.Deny, "write"))); err == nil {
		t.Error("a click was acknowledged although nothing could be recorded")
	}
	w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
	w.Over(0)
	w.Replicas[0].Gate.Heal()
	w.Say(w.Replicas[0], Ana, "and now?")
	w.Over(1)
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// A tool whose outcome its adapter does not know asks, on the replica that still holds the chat.
func TestOutcomeUnknownToTheAdapter(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
		return turn.Result{}, errUnknown
	}})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Shows(0, "It may have happened.", "the server did not answer in time")
	w.Press(w.Replicas[0], Ana, chat.Happened, "write")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
}
