// Package conformance holds one suite per seam, to be run against every implementation of it. [Log] and [Leases]
// say what a store of chats must do; whoever implements [agent.Log] and [agent.Leases] hands them an [Open]. [Platform] says what
// a chat surface must do, over a stand-in of its platform: whoever implements [agent.Platform] hands it an [OpenPlatform].
//
// The suites import no adapter and no store. They make no assertion on timing; where a lease must have run out,
// the implementation's own lever makes it so.
package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Store is everything that the suites use.
type Store interface {
	agent.Log
	agent.Leases
	agent.Watcher
	agent.Finder
}

// State is one empty store and the levers that the suites pull. A nil lever skips what needs it.
type State struct {
	Store Store
	// Replica opens another store on the same state, as another process would. nil: there can be only one.
	Replica func(*testing.T) Store
	// Expire lets the lease of a chat run out, as if its time had passed.
	Expire func(*testing.T, chat.ID)
	// Rewind sets the store's clock back.
	Rewind func(*testing.T, time.Duration)
	// Tamper changes a byte of a stored event behind the store's back.
	Tamper func(t *testing.T, id chat.ID, seq uint64)
	// Lose forgets the newest n entries and their operations, as a failover to a replica that lagged does.
	Lose func(t *testing.T, id chat.ID, n int)
	// Newer stores one more entry, of a version that this build does not know.
	Newer func(*testing.T, chat.ID)
}

// Open makes an empty store. It cleans up after itself with t.Cleanup.
type Open func(*testing.T) State

// deadline bounds a whole case: it is only reached by a store that hangs.
const deadline = 2 * time.Minute

// suite runs named cases, each on a store of its own.
type suite struct {
	t    *testing.T
	open Open
}

func (s suite) run(name string, test func(*bench)) {
	s.t.Run(name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		b := &bench{T: t, ctx: ctx, State: s.open(t)}
		test(b)
	})
}

// bench is one case at work.
type bench struct {
	*testing.T
	State
	ctx context.Context
}

var room = chat.ID{Platform: "test", Workspace: "T:1", Key: "room 1"}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// put appends events that must be taken, to room, on top of known.
func (b *bench) put(known agent.Head, events ...agent.Keyed) agent.Written {
	b.Helper()
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: known, Events: events})
	b.ok(err)
	return w
}

// claim takes a free chat, or the lease that owner has.
func (b *bench) claim(id chat.ID, owner string) agent.Lease {
	b.Helper()
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: id, Claim: owner})
	b.ok(err)
	if w.Lease.Token == 0 || w.Lease.Owner != owner || w.Lease.Chat != id {
		b.Fatalf("%s claims a free chat: got lease %+v, holder %q", owner, w.Lease, w.Holder)
	}
	return w.Lease
}

func (b *bench) head(id chat.ID) agent.Head {
	b.Helper()
	_, _, h, err := b.Store.Load(b.ctx, id)
	b.ok(err)
	return h
}

func (b *bench) history(id chat.ID) []turn.Entry {
	b.Helper()
	e, err := b.Store.History(b.ctx, id)
	b.ok(err)
	return e
}

// second is another replica's store, or the only one.
func (b *bench) second() Store {
	b.Helper()
	if b.Replica == nil {
		return b.Store
	}
	return b.Replica(b.T)
}

// receive waits for one value of a channel.
func receive[T any](b *bench, what string, c <-chan T) T {
	b.Helper()
	select {
	case v, ok := <-c:
		if !ok {
			b.Fatalf("%s: the channel is closed", what)
		}
		return v
	case <-b.ctx.Done():
		b.Fatalf("%s: nothing came", what)
	}
	panic("unreachable")
}

func ops(entries []turn.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Op
	}
	return out
}

// The events that the suites write: one of each class, and what is indexed.

func said(op string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Said{Delivery: chat.Delivery(op), By: ana, Name: "Ana", Text: "hello \x00 \u2028 wörld"}}
}

func decided(op, ask string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Decided{Ask: turn.AskID(ask), Choice: chat.AllowOnce, By: ana}}
}

func replied(op string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Replied{Turn: "t1", Text: "hi"}}
}

func started(op string, token uint64) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Started{Call: "c1", Run: "r1", Ask: "a1", Token: token}}
}

func asked(op, ask, call string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Ruled{
		Ask: turn.AskID(ask), Call: turn.CallID(call), Ruling: permission.Ruling{Verdict: permission.Ask},
	}}
}

var ana = chat.User{Platform: "test", Workspace: "T:1", Key: "U1"}
