package replicas

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// short gives tools a deadline that comes within the test.
func short(w *World, names ...string) {
	w.SetPolicy(func(_ *permission.Policy, files tools) {
		d := 600 * time.Millisecond
		for _, n := range names {
			s := files[n]
			s.Timeout = &d
			files[n] = s
		}
	})
}

// R114
func TestExpiry(t *testing.T) {
	both(t, Options{Sweep: time.Hour}, func(w *World) { // the local timer alone must do
		short(w, "write")
		w.Model.When("go", Calls(Call("write", `{"n":1}`)), Says("Nobody answered me."))
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write")
		late := w.Await(chat.AllowOnce, "write")
		text := w.Over(0)
		has(w, "the message", text, "nobody answered in 0.6 s", "not run", "[Ask again]", "Nobody answered me.")
		hasNot(w, "the message", text, "denied", "[Deny]")
		r := w.Model.Latest().Results()
		if len(r) != 1 || !r[0].IsError {
			w.Fatalf("results: %+v", r)
		}
		has(w, "the result", r[0].Text, "timed out", "was not run")
		hasNot(w, "the result", r[0].Text, "denied")
		has(w, "a late click", w.Deliver(w.Replicas[0], w.Click(Ana, late)), "expired")

		// Ask again after the turn is over: a new turn with the same bytes.
		again := w.Await(chat.AskAgain, "write")
		has(w, "Ben's whisper", w.Deliver(w.Replicas[0], w.Click(Ben, again)), "Only")
		equal(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, again)), "")
		if got := w.Deliver(w.Replicas[0], w.Click(Ana, again)); got == "" {
			w.Error("Ask again was taken twice")
		}
		w.Until("it is asked for again, in a message of its own", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
		w.Until("the first message no longer offers that", func() bool { return !strings.Contains(w.Text(0), "[Ask again]") })
		allow(w, "write")
		w.Over(1)
		equal(w, "ran", args(w), `{"n":1}`)
		h := w.Model.Latest()
		if len(h.Talk) < 4 {
			w.Fatalf("talk: %+v", h.Talk)
		}
		equal(w, "the new result", h.Results()[0].Text, "write ok")
		calls := map[string]bool{}
		for _, u := range h.Talk {
			for _, c := range u.Calls {
				calls[string(c.ID)] = true
			}
		}
		equal(w, "calls that the model knows", len(calls), 2)
	})
}

// allow presses Allow once on an ask with a short deadline, asking again where the test was too slow.
func allow(w *World, tool string) {
	w.Helper()
	for w.Press(w.Replicas[0], Ana, chat.AllowOnce, tool) != "" {
		w.Press(w.Replicas[0], Ana, chat.AskAgain, tool)
	}
}

// Before its batch is settled, Ask again reopens the very call.
// C9
func TestAskAgainWithinTheBatch(t *testing.T) {
	w := New(t, Options{Sweep: time.Hour})
	short(w, "write")
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Shows(0, "nobody answered", "Run send from files")
	again := w.Await(chat.AskAgain, "write")
	equal(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, again)), "")
	if got := w.Deliver(w.Replicas[0], w.Click(Ana, again)); got == "" {
		t.Error("Ask again was taken twice")
	}
	allow(w, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write send")
	equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	equal(w, "results", len(w.Model.Latest().Results()), 2)
}

// C9
func TestMoreTime(t *testing.T) {
	w := New(t, Options{Sweep: time.Hour})
	short(w, "write", "send")
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	before := expires(w, "write")
	equal(w, "whisper", w.Press(w.Replicas[0], Ana, chat.Extend, "write"), "")
	// Five minutes more than the deadline in the log, which is that of the card but for the moment in which the card came to be seen.
	w.Until("the card shows the new deadline", func() bool { return expires(w, "write").Sub(before) >= 4*time.Minute })
	w.Await(chat.AskAgain, "send") // the old deadline has passed: it was the same
	equal(w, "whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}

func expires(w *World, tool string) (at time.Time) {
	w.Until("there is a card of "+tool, func() bool {
		for _, m := range w.Platform.Messages(Room) {
			for _, b := range m.Now().Blocks {
				if a, ok := b.(render.Ask); ok && a.Tool == tool {
					at = a.Expires
					return true
				}
			}
		}
		return false
	})
	return at
}

// A replica that never held a chat looks when that chat's deadline comes, not when its next sweep would.
func TestExpiryOnAnotherReplica(t *testing.T) {
	w := New(t, Options{Sweep: time.Hour})
	short(w, "write")
	w.Model.When("go", Calls(Call("write", `{}`)), Says("Too bad."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Replicas[0].Kill()
	w.Start() // it finds nothing due yet, unless the machine is slow
	has(w, "the message", w.Over(0), "nobody answered", "Too bad.")
}

// broken are leases that cannot be looked at once they are to be.
type broken struct {
	*Gate
	fails func(look string) bool
}

func (b broken) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	if b.fails("claim") {
		return nil, ErrLine
	}
	return b.Gate.ClaimDue(ctx, owner, n)
}

func (b broken) NextDue(ctx context.Context) (time.Duration, error) {
	if b.fails("next") {
		return 0, ErrLine
	}
	return b.Gate.NextDue(ctx)
}

// A replica whose look for what is due failed looks again soon, not only with its next sweep, and says it once.
func TestALookThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	for _, look := range []string{"claim", "next"} {
		t.Run(look, func(t *testing.T) {
			var left atomic.Int32
			w := New(t, Options{Parallel: true, Sweep: time.Hour, Engine: func(c *agent.Config) {
				c.Leases = broken{c.Log.(*Gate), func(what string) bool { return what == look && left.Add(-1) >= 0 }}
			}})
			short(w, "write")
			w.Model.When("go", Calls(Call("write", `{}`)), Says("Too bad."))
			w.Say(w.Replicas[0], Ana, "go")
			w.Asks("write")
			w.Replicas[0].Kill()
			left.Store(2)
			w.Start()
			has(w, "the message", w.Over(0), "nobody answered", "Too bad.")
			equal(w, "warnings", w.Lines("sweep for due chats failed; trying again"), 1)
		})
	}
}

// What a crashed replica held goes on when its leases end, however much it is: more than one look takes over.
func TestManyLeasesOfTheDead(t *testing.T) {
	const rooms = 70 // a look claims 64
	// The lease is long enough for a slow machine: a chat on which leases end again and again is given up.
	w := New(t, Options{Sweep: time.Hour, Lease: 6 * time.Second, Engine: func(c *agent.Config) { c.Replying = rooms }})
	var asked atomic.Int32
	var dead atomic.Bool
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		if asked.Add(1); !dead.Load() {
			<-h.Ctx.Done()
			return agent.Reply{}, h.Ctx.Err()
		}
		return Says("A whole answer.")(h)
	})
	for i := range rooms {
		equal(w, "whisper", w.Deliver(w.Replicas[0], inRoom(w, i, "go")), "")
	}
	w.Until("the model is asked in all", func() bool { return asked.Load() >= rooms })
	dead.Store(true)
	w.Replicas[0].Kill()
	w.Start()
	for i := range rooms {
		w.Until("the answer comes", func() bool {
			m := w.Platform.Messages(roomOf(i))
			return len(m) > 0 && strings.Contains(render.PlainText(m[len(m)-1].Now()), "A whole answer.")
		})
	}
}

// A deadline that passes while no replica lives is noticed by the next one.
func TestExpiryWithNobodyThere(t *testing.T) {
	w := New(t, Options{Lease: 300 * time.Millisecond})
	short(w, "write")
	w.Model.When("go", Calls(Call("write", `{}`)), Says("Too bad."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Replicas[0].Kill()
	w.Start()
	has(w, "the message", w.Over(0), "nobody answered", "Too bad.")
	equal(w, "ran", w.Tools.Ran(), "")
}
