package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func wakeAt(b *bench) {
	release := func(wake time.Time) {
		b.Helper()
		l := b.claim(room, "me")
		w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: b.head(room), Lease: l, Release: true, Wake: wake})
		b.ok(err)
		if !w.Released {
			b.Fatal("not released")
		}
	}
	falls := func(from, to time.Duration) { // when the next chat falls due
		b.Helper()
		next, err := b.Store.NextDue(b.ctx)
		b.ok(err)
		if next < from || next > to {
			b.Errorf("the next falls due in %s, not %s to %s", next, from, to)
		}
	}
	falls(agent.Never, agent.Never)
	b.put(agent.Head{}, said("d1"))
	falls(0, 0)
	release(time.Now().Add(time.Hour))
	falls(50*time.Minute, 70*time.Minute)
	if got := b.sweep("you", 10); len(got) != 0 {
		b.Errorf("due in an hour, swept now: %+v", got)
	}
	release(time.Now().Add(-time.Hour))
	falls(0, 0)
	if got := b.sweep("me", 10); len(got) != 1 {
		b.Errorf("was due, not swept: %+v", got)
	}
	release(time.Time{})
	falls(agent.Never, agent.Never)
	if got := b.sweep("you", 10); len(got) != 0 {
		b.Errorf("never due, swept: %+v", got)
	}
	release(time.Now().Add(time.Hour))
	b.put(b.head(room), said("d2"))
	if got := b.sweep("you", 10); len(got) != 1 {
		b.Errorf("a message makes it due at once: %+v", got)
	}
}

func releaseWithWrite(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	l := b.claim(room, "me")
	w, err := b.Store.Append(b.ctx, agent.Write{
		Chat: room, Known: h, Lease: l, Release: true,
		Events:   []agent.Keyed{replied("w1"), {Op: "w2", Event: turn.Ended{Turn: "t1", Why: turn.Answered}}},
		Snapshot: &agent.Snapshot{Session: turn.Session{Chat: room, Dropped: 3}},
	})
	b.ok(err)
	if !w.Released || len(w.Entries) != 2 {
		b.Errorf("released=%v, entries %v", w.Released, ops(w.Entries))
	}
	if got := b.sweep("you", 10); len(got) != 0 {
		b.Errorf("swept %+v", got)
	}
	snap, _, _, err := b.Store.Load(b.ctx, room)
	if err != nil || snap.Head != w.Head {
		b.Errorf("snapshot at %+v, %v", snap.Head, err)
	}
	if next := b.claim(room, "you"); next.Token <= l.Token {
		b.Errorf("token %d after %d", next.Token, l.Token)
	}
}

func releaseStale(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	l := b.claim(room, "me")
	late := b.put(h, said("d2"))
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Release: true})
	b.ok(err)
	if w.Released || w.Head != late.Head || !slices.Equal(ops(w.Entries), []string{"d2"}) {
		b.Errorf("released=%v, head %+v, entries %v", w.Released, w.Head, ops(w.Entries))
	}
	if got := b.sweep("you", 10); len(got) != 0 {
		b.Errorf("swept %+v", got)
	}
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: w.Head, Lease: l, Events: []agent.Keyed{replied("w1")}})
	b.ok(err)
	// A fact that comes with a stale release is taken; the release is not.
	h = b.head(room)
	b.put(h, said("d3"))
	w, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Release: true, Events: []agent.Keyed{said("d4")}})
	b.ok(err)
	if w.Released || !slices.Equal(ops(w.Entries), []string{"d3", "d4"}) {
		b.Errorf("released=%v, entries %v", w.Released, ops(w.Entries))
	}
}

func releaseLost(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	l := b.claim(room, "me")
	b.Expire(b.T, room)
	got := b.sweep("you", 1)
	if len(got) != 1 {
		b.Fatalf("swept %+v", got)
	}
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Release: true})
	if !errors.Is(err, agent.ErrFenced) || w.Released || w.Holder != "you" {
		b.Errorf("released=%v, holder %q, error %v, want ErrFenced", w.Released, w.Holder, err)
	}
	if _, _, err := b.Store.Renew(b.ctx, got[0]); err != nil {
		b.Errorf("the later holder lost it: %v", err)
	}
	// A fact of the one who lost it is still a fact.
	w, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Release: true, Events: []agent.Keyed{said("d2")}})
	if err != nil || w.Released || w.Head.Seq != 2 || w.Holder != "you" {
		b.Errorf("released=%v, head %+v, holder %q, %v", w.Released, w.Head, w.Holder, err)
	}
}

// releaseRace is the one that loses messages when a release and an append are not one step each: after any order
// of the two, either the chat is due or its holder was told.
func releaseRace(b *bench) {
	other := b.second()
	for i := range 60 {
		id := chat.ID{Platform: "test", Key: fmt.Sprint(i)}
		l := b.claim(id, "me")
		var released agent.Written
		var wg sync.WaitGroup
		wg.Go(func() {
			w, err := b.Store.Append(b.ctx, agent.Write{Chat: id, Lease: l, Release: true})
			if err != nil {
				b.Error(err)
			}
			released = w
		})
		wg.Go(func() {
			if _, err := other.Append(b.ctx, agent.Write{Chat: id, Events: []agent.Keyed{said("d1")}}); err != nil {
				b.Error(err)
			}
		})
		wg.Wait()
		due := b.sweep("sweeper", 10)
		switch {
		case released.Released && (len(due) != 1 || due[0].Chat != id):
			b.Fatalf("round %d: released, and nobody is due to look at the message: %+v", i, due)
		case !released.Released && (len(due) != 0 || len(released.Entries) != 1):
			b.Fatalf("round %d: kept, told of %v, due %+v", i, ops(released.Entries), due)
		}
	}
}
