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
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// What an approval turn asks of its chat's log, one round trip each: everything becomes durable before somebody is told of it, and
// nothing is read that is known. docs/performance.md lists them with what the platforms add.
func TestTripsOfAnApprovalTurn(t *testing.T) {
	w := New(t, Options{})
	r := w.Replicas[0]
	w.Say(r, Ana, "hello") // what servers say of their tools is recorded with the first turn
	w.Over(0)
	idle(w)
	w.Platform.Earlier(func(context.Context, chat.MessageRef, chat.Earlier) ([]chat.Quote, error) {
		return []chat.Quote{{Name: "Ben", Text: "so"}}, nil
	})
	calls := func(words string, earlier *chat.Earlier) []string {
		before := len(r.Gate.Calls())
		door := w.Latch() // the model takes its time, as models do: its reply and the post's record could change places
		w.Model.When(words, func(h Heard) (agent.Reply, error) { <-door.C(); return Calls(Call("write", `{"n":1}`))(h) }, Says("That is all."))
		in := w.SaidBy(Ana, words)
		in.Earlier = earlier
		n := len(w.Platform.Messages(Room))
		w.Deliver(r, in)
		w.Deliver(r, in) // as Slack does
		stands(w)
		door.Open()
		seen(w)
		idle(w)
		w.Press(r, Ana, chat.AllowOnce, "write")
		w.Over(n)
		idle(w)
		return slices.DeleteFunc(r.Gate.Calls()[before:], func(what string) bool { return what == "tail" }) // the looks at the settings, which time brings
	}
	want := []string{
		"append said+claim", "append shown", "append replied+ruled", "append shown+release",
		"append decided+claim", "append started", "append finished", "append replied+ended", "append release",
	}
	// On a busy machine an edit may be under way when it goes on record that the card was seen, which then waits for no release: once more.
	for try := range 5 {
		// What was said before comes along with the reply, or with where the message stands.
		plain, leaning := strings.Join(calls(fmt.Sprint("go", try), nil), "\n"), strings.Join(calls(fmt.Sprint("and", try), &chat.Earlier{}), "\n")
		alone := strings.NewReplacer("+earlier_read", "", "earlier_read+", "").Replace(leaning)
		if all := strings.Join(want, "\n"); plain == all && alone == all && leaning != alone {
			return
		}
		t.Logf("calls:\n%s\nand where people said more before:\n%s", plain, leaning)
	}
	t.Error("none of these took as few round trips as it can")
}

// A delivery that comes twice at once is told from the log only once, and from then on the log is asked.
func TestADeliveryIsAskedOfTheLogAgainLater(t *testing.T) {
	w := New(t, Options{})
	r := w.Replicas[0]
	said := func() (n int) {
		for _, what := range r.Gate.Calls() {
			if strings.HasPrefix(what, "append said") {
				n++
			}
		}
		return n
	}
	var in chat.Said
	before, known := 0, false
	for try := 0; !known; try++ { // on a busy machine the second one may come when a second has passed
		if try == 20 {
			t.Fatal("the log is asked about what was recorded just now")
		}
		in, before = w.SaidBy(Ana, "hello"), said()
		w.Deliver(r, in)
		idle(w) // or the chat's driver knows it
		w.Deliver(r, in)
		known = said() == before+1
	}
	for over := time.Now().Add(time.Minute); said() == before+1; {
		if time.Now().After(over) {
			t.Fatal("this process answers for what it recorded a minute ago")
		}
		w.Deliver(r, in)
	}
}

// A chat that is over is given back with the next write that goes out. What somebody says meanwhile does not wait for that.
func TestNobodyWaitsForAChatToBeGivenBack(t *testing.T) {
	w := New(t, Options{Replicas: 2, Lease: time.Minute})
	r := w.Replicas[0]
	released := func(calls []string) int {
		return len(slices.DeleteFunc(calls, func(what string) bool { return what != "append release" }))
	}
	w.Say(r, Ana, "hello")
	w.Over(0)
	idle(w) // also the settings' log, into which the tools were recorded
	for n := 1; n < 20; n++ {
		asked, given := released(r.Gate.Calls()), released(r.Gate.Taken())
		w.Say(r, Ana, "hello")
		w.Over(n)
		w.Until("the chat is to be given back", func() bool { return released(r.Gate.Calls()) > asked })
		n++
		w.Say(w.Replicas[1], Ana, "hello again")
		if released(r.Gate.Taken()) > given {
			w.Over(n)
			idle(w)
			continue // it was given back before that was said: once more
		}
		w.Over(n)
		equal(t, "given back before it was answered", released(r.Gate.Taken()), given)
		return
	}
	t.Fatal("a chat is given back at once")
}

// counter counts the snapshots that a log took, and how far it has come.
type counter struct {
	agent.Log
	snapshots, entries *atomic.Int64
}

func (c counter) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	got, err := c.Log.Append(ctx, w)
	if err == nil && w.Chat == Room {
		c.entries.Store(max(c.entries.Load(), int64(got.Head.Seq))) //nolint:gosec // a place in a log
		if w.Snapshot != nil {
			c.snapshots.Add(1)
		}
	}
	return got, err
}

// A chat in which people go on talking is never given back. What a snapshot of it holds is sent once all the same, not with each turn.
func TestASnapshotIsSentOnce(t *testing.T) {
	var snapshots, entries atomic.Int64
	w := New(t, Options{Lease: time.Minute, Engine: func(c *agent.Config) { c.Log = counter{c.Log, &snapshots, &entries} }})
	for n := 0; entries.Load() < 256+40; n++ {
		w.Say(w.Replicas[0], Ana, "hello")
		w.Over(n)
	}
	if n := snapshots.Load(); n > 1 {
		t.Errorf("%d snapshots were sent in %d entries", n, entries.Load())
	}
}
