package replicas

import (
	"context"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// older is the log as a release reads it for which the room's entries are too new.
type older struct{ *Gate }

func (o older) too(id chat.ID, err error) error {
	if err == nil && id == Room {
		return agent.ErrVersion
	}
	return err
}

func (o older) Load(ctx context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	snap, entries, head, err := o.Gate.Load(ctx, id)
	return snap, entries, head, o.too(id, err)
}

func (o older) Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	entries, head, err := o.Gate.Tail(ctx, id, known)
	return entries, head, o.too(id, err)
}

// Append answers as the store does of what a fact follows on, and of what it would take exactly.
func (o older) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	if len(w.Events) > 0 && turn.ClassOf(w.Events[0].Event) != turn.Fact && o.too(w.Chat, nil) != nil {
		return agent.Written{}, agent.ErrVersion
	}
	got, err := o.Gate.Append(ctx, w)
	if o.too(w.Chat, err) != err {
		got.Entries, got.Missing = nil, true
	}
	return got, err
}

// While releases run side by side, what comes to a replica that is too old for a chat is kept, and passed on at once to one that is not, as
// often as it takes; people are told. A lease that runs out would take an hour here.
func TestANewerReplicaGoesOn(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true, Backend: Lightest, Lease: time.Hour, Engine: func(c *agent.Config) {
		if c.Owner == "r0" {
			c.Log = older{c.Log.(*Gate)}
		}
	}})
	w.Model.When("go", Calls(Call("write", `{}`)))
	has(w, "the whisper", w.Deliver(w.Replicas[0], w.SaidBy(Ana, "go")), "Your message is kept", "newer")
	w.Until("it is given back again and again", func() bool {
		n := 0
		for _, call := range w.Replicas[0].Gate.Taken() {
			if call == "append release" {
				n++
			}
		}
		return n > 3 // as often as drivers may die on a turn before it is ended
	})
	w.Start()
	w.Asks("write")
	has(w, "the whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "Nothing was done", "newer")
	equal(w, "whisper", w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write"), "")
	has(w, "the message", w.Over(0), "allowed once by Ana", "All done.")
	equal(w, "runs", w.Tools.Count("write"), 1)
}
