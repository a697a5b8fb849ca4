package replicas

import (
	"context"
	"fmt"
	"runtime"
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
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// later is a chat that another version of nod wrote: this one cannot read it.
var later = chat.ID{Platform: "fake", Workspace: "T1", Key: "later"}

// roll is a log that counts how often a halt asked which chats wait: the round before is over then. While it is lost, the answer is, too,
// and there has to be another round.
type roll struct {
	*Gate
	called, opened *atomic.Int32
	lost           *atomic.Bool
	also           []chat.ID // these wait, too
	work           bool      // only what a driver says of a turn is kept
	slow           <-chan struct{}
}

func (r roll) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	if r.work && slices.ContainsFunc(w.Events, func(k agent.Keyed) bool {
		_, stops := k.Event.(turn.StopAsked)
		return stops && !strings.HasPrefix(string(k.Op), "w:")
	}) {
		return agent.Written{}, ErrLine
	}
	return r.Gate.Append(ctx, w)
}

func (r roll) Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	r.called.Add(1)
	if r.slow != nil {
		<-r.slow
	}
	ids, err := r.Gate.Asking(ctx, match)
	if r.lost.Load() {
		return nil, ErrLine
	}
	return append(ids, r.also...), err
}

func (r roll) Load(ctx context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	if id == later {
		r.opened.Add(1)
		return agent.Snapshot{}, nil, agent.Head{}, fmt.Errorf("written by a newer version: %w", agent.ErrVersion)
	}
	return r.Gate.Load(ctx, id)
}

// halting is a world whose halt can be watched.
type halting struct {
	*World
	called, opened atomic.Int32
	lost           atomic.Bool
	work           bool
	slow           <-chan struct{} // it is not told who waits before
}

func newHalting(t *testing.T, also ...chat.ID) *halting {
	return (&halting{}).begin(t, also...)
}

func (x *halting) begin(t *testing.T, also ...chat.ID) *halting {
	x.World = New(t, Options{Engine: func(c *agent.Config) {
		r := roll{Gate: c.Log.(*Gate), called: &x.called, opened: &x.opened, lost: &x.lost, also: also, work: x.work, slow: x.slow}
		c.Log, c.Index = r, r
	}})
	return x
}

func (x *halting) halt() {
	x.Helper()
	if _, err := engine(x.World).ChangeAsAdmin(context.Background(), x.Envelope(Room, Root), "", permission.Halting(true)); err != nil {
		x.Fatal(err)
	}
}

// rounds waits until a halt that has to try again has gone through all chats that there are now.
func (x *halting) rounds() {
	x.Helper()
	for _, ask := range []string{"always", "never"} { // the first may have begun before
		n := x.called.Load()
		sets(x.World, "files", "drop", "ask", ask) // whoever hears that the settings moved looks at them at once
		x.Until("there is another round", func() bool { return x.called.Load() > n })
	}
}

// A halt stops what stands, and nothing else: what is over stays as it is, what somebody stopped is stopped by them, and what began since
// ends by itself and says that nod is halted.
func TestWhatAHaltLeavesAlone(t *testing.T) {
	stops := func(x *halting) int { return strings.Count(kinds(x.World), "stopped") }
	t.Run("a turn that is over", func(t *testing.T) {
		x := newHalting(t)
		door := x.Latch()
		x.Platform.Trouble(func(op Op) Trouble {
			if op.Post {
				return Trouble{}
			}
			return Trouble{Until: door.C()} // its last look is still owed
		})
		x.Model.When("go", Says("That is all."))
		x.Say(x.Replicas[0], Ana, "go")
		x.Until("the turn is over", func() bool { return strings.HasSuffix(kinds(x.World), "ended") })
		x.lost.Store(true)
		x.halt()
		x.rounds()
		x.lost.Store(false)
		door.Open()
		has(t, "the message", x.Over(0), "That is all.")
		equal(t, "stops", stops(x), 0)
	})
	t.Run("a turn that somebody stopped", func(t *testing.T) {
		x := newHalting(t)
		door := x.Latch()
		x.Tools.Put(Tool{Server: "files", Name: "touch", Stubborn: true, Run: func(Invocation) (turn.Result, error) {
			<-door.C()
			return turn.Result{Text: "touched"}, nil
		}})
		x.Model.When("go", Calls(Call("touch", `{}`)))
		x.Say(x.Replicas[0], Ana, "go")
		x.Ran("touch")
		x.Press(x.Replicas[0], Ana, chat.Stop, "")
		x.lost.Store(true)
		x.halt()
		x.rounds()
		x.lost.Store(false)
		door.Open()
		has(t, "the message", x.Over(0), "Stopped by Ana")
		equal(t, "stops", stops(x), 1)
	})
	t.Run("a turn that its driver ends first", func(t *testing.T) {
		x := (&halting{work: true}).begin(t)
		twoAsks(x.World)
		x.halt()
		x.Press(x.Replicas[0], Ana, chat.AllowOnce, "write") // so that somebody looks at it
		has(t, "the message", x.Over(0), "Stopped by Root")
		equal(t, "stops", stops(x), 1)
		equal(t, "ran", x.Tools.Ran(), "")
	})
	t.Run("a turn that began since", func(t *testing.T) {
		x := newHalting(t)
		x.lost.Store(true)
		x.halt()
		for at := settingsOf(x.World).Halted.At; time.Since(at) <= time.Millisecond; runtime.Gosched() { // as fine as the log's clock is
		}
		door := x.Latch()
		var posting atomic.Bool
		x.Platform.Trouble(func(op Op) Trouble {
			posting.Store(true)
			return Trouble{Until: door.C()}
		})
		x.Say(x.Replicas[0], Ana, "go")
		x.Until("its message is on the way", posting.Load)
		x.rounds()
		x.lost.Store(false)
		door.Open()
		said := x.Over(0)
		has(t, "the message", said, text.HaltedBy("Root"))
		hasNot(t, "the message", said, "Stopped by")
		equal(t, "stops", stops(x), 0)
		equal(t, "requests to the model", len(x.Model.Heard()), 0)
	})
}

// A halt that could not be carried out everywhere is tried again, and says so; one that was is not, and neither is a chat which only
// another version of nod can stop.
func TestWhenAHaltIsTriedAgain(t *testing.T) {
	t.Run("it is not known who waits", func(t *testing.T) {
		x := newHalting(t)
		twoAsks(x.World)
		idle(x.World)
		x.lost.Store(true)
		x.halt()
		x.Until("it is said", func() bool { return x.Logged("it is not known which chats wait; trying again") })
		x.lost.Store(false)
		has(t, "the message", x.Over(0), "Stopped by Root")
		equal(t, "ran", x.Tools.Ran(), "")
	})
	t.Run("what runs is stopped before it is known who waits", func(t *testing.T) {
		told := make(chan struct{})
		x := (&halting{slow: told}).begin(t)
		tell := sync.OnceFunc(func() { close(told) })
		t.Cleanup(tell)
		x.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(Invocation) (turn.Result, error) {
			<-told
			return turn.Result{Text: "touched"}, nil
		}})
		x.Model.When("go", Calls(Call("touch", `{}`)))
		x.Say(x.Replicas[0], Ana, "go")
		x.Ran("touch")
		x.halt()
		x.Until("it is stopped", func() bool { return strings.Contains(kinds(x.World), "stopped") })
		tell()
		has(t, "the message", x.Over(0), "Stopped by Root")
	})
	t.Run("all are stopped", func(t *testing.T) {
		x := newHalting(t, later)
		twoAsks(x.World)
		x.halt()
		has(t, "the message", x.Over(0), "Stopped by Root")
		x.Until("the other one was looked at", func() bool { return x.opened.Load() > 0 })
		idle(x.World)
		if x.Logged("a turn could not be stopped") {
			t.Error("it is said to be tried again")
		}
		equal(t, "rounds", x.called.Load(), 1)
	})
}
