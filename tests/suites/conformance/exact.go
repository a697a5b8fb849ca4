package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func factsBlind(b *bench) {
	first := b.put(agent.Head{}, said("d1"))
	b.put(agent.Head{}, said("d2"))
	w := b.put(first.Head, said("d3"))
	if d := cmp.Diff([]string{"d2", "d3"}, ops(w.Entries)); d != "" {
		b.Errorf("a late fact brings what came before it: %s", d)
	}
	for name, known := range map[string]agent.Head{
		"a longer log":  {Seq: 99, Tip: "x"},
		"another tip":   {Seq: w.Head.Seq, Tip: "x"},
		"another past":  {Seq: 1, Tip: "x"},
		"a tip of none": {Tip: "x"},
	} {
		w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: known, Events: []agent.Keyed{said(name)}})
		if err != nil || !w.Missing || len(w.Entries) != 0 {
			b.Errorf("known of %s: err %v, missing %v, %d entries; a fact is taken, and its writer told to load", name, err, w.Missing, len(w.Entries))
		}
	}
	if n := len(b.history(room)); n != 7 {
		b.Errorf("%d entries, want 7", n)
	}
}

func choicesExact(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	w := b.put(h, decided("c1", "a1"))
	if d := cmp.Diff([]string{"c1"}, ops(w.Entries)); d != "" {
		b.Error(d)
	}
	got, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Events: []agent.Keyed{decided("c2", "a1")}})
	if !errors.Is(err, agent.ErrStale) {
		b.Fatalf("error %v, want ErrStale", err)
	}
	if d := cmp.Diff(w.Entries, got.Entries); d != "" || got.Head != w.Head {
		b.Errorf("a stale choice gets the tail: %s, head %+v", d, got.Head)
	}
	// Choices need no lease, whoever holds it.
	b.claim(room, "somebody")
	b.put(got.Head, decided("c2", "a1"))
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "c1", "c2"}) {
		b.Errorf("log is %v", got)
	}
	// On an empty log nothing is known, and that is exact too.
	empty := chat.ID{Platform: "test", Key: "empty"}
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: empty, Events: []agent.Keyed{decided("c1", "a1")}})
	b.ok(err)
}

func workFenced(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	l := b.claim(room, "me")
	write := func(l agent.Lease, h agent.Head, op string) error {
		_, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Events: []agent.Keyed{replied(op)}})
		return err
	}
	elsewhere, wrongOwner, wrongToken, later := l, l, l, l
	elsewhere.Chat.Key = "room 2"
	wrongOwner.Owner = "you"
	wrongToken.Token--
	later.Token++
	for name, bad := range map[string]agent.Lease{"none": {}, "another chat's": elsewhere, "another owner's": wrongOwner, "an earlier one": wrongToken, "a later one": later} {
		if err := write(bad, h, "w "+name); !errors.Is(err, agent.ErrFenced) {
			b.Errorf("lease %s: error %v, want ErrFenced", name, err)
		}
	}
	b.ok(write(l, h, "w1"))
	if err := write(l, h, "w2"); !errors.Is(err, agent.ErrStale) {
		b.Errorf("error %v, want ErrStale", err)
	}
	h = b.head(room)
	b.Expire(b.T, room)
	if err := write(l, h, "w3"); !errors.Is(err, agent.ErrFenced) {
		b.Errorf("a lease that ran out: error %v, want ErrFenced", err)
	}
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "w1"}) {
		b.Errorf("log is %v", got)
	}
}

func strictest(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	l := b.claim(room, "me")
	b.put(h, said("d2"))
	for name, events := range map[string][]agent.Keyed{
		"fact and choice":         {said("x1"), decided("x2", "a1")},
		"choice, fact and work":   {decided("x3", "a1"), said("x4"), replied("x5")},
		"work in front of a fact": {replied("x6"), said("x7")},
	} {
		if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Events: events}); !errors.Is(err, agent.ErrStale) {
			b.Errorf("%s: error %v, want ErrStale", name, err)
		}
	}
	if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: b.head(room), Events: []agent.Keyed{said("x8"), replied("x9")}}); !errors.Is(err, agent.ErrFenced) {
		b.Errorf("fact and work without a lease: error %v, want ErrFenced", err)
	}
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "d2"}) {
		b.Errorf("log is %v", got)
	}
}

func staleLeavesNothing(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	w := b.put(h, said("d2"))
	_, err := b.Store.Append(b.ctx, agent.Write{
		Chat: room, Known: h, Claim: "me", Events: []agent.Keyed{decided("c1", "a1"), asked("c2", "ask-x", "call-x")},
		Snapshot: &agent.Snapshot{Head: h, Session: turn.Session{Chat: room}}, Lease: agent.Lease{Chat: room, Owner: "me", Token: 1},
	})
	if !errors.Is(err, agent.ErrStale) && !errors.Is(err, agent.ErrFenced) {
		b.Fatalf("error %v", err)
	}
	if _, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Claim: "me", Events: []agent.Keyed{decided("c1", "a1")}}); !errors.Is(err, agent.ErrStale) {
		b.Fatalf("error %v, want ErrStale", err)
	}
	snap, entries, head, err := b.Store.Load(b.ctx, room)
	b.ok(err)
	if snap.Head.Seq != 0 || len(entries) != 2 || head != w.Head {
		b.Errorf("snapshot %+v, entries %v, head %+v", snap.Head, ops(entries), head)
	}
	if _, found, err := b.Store.Find(b.ctx, "ask-x"); found || err != nil {
		b.Errorf("its ask is found: %v %v", found, err)
	}
	b.claim(room, "you") // nobody else has it
	// The operation was not used up.
	got := b.put(w.Head, decided("c1", "a1"))
	if got.Repeated || got.Head.Seq != 3 {
		b.Errorf("repeated=%v head=%+v", got.Repeated, got.Head)
	}
}

func exactRace(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	other := b.second()
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			st := b.Store
			if i%2 == 1 {
				st = other
			}
			w, err := st.Append(b.ctx, agent.Write{Chat: room, Known: h, Events: []agent.Keyed{decided(fmt.Sprintf("c%d", i), "a1")}})
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, agent.ErrStale) && len(w.Entries) == 1:
				lost.Add(1)
			default:
				b.Errorf("error %v, tail %v", err, ops(w.Entries))
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 15 {
		b.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

func rewound(b *bench) {
	b.put(agent.Head{}, said("d1"))
	h := b.put(agent.Head{}, said("d2")).Head
	l := b.claim(room, "me")
	for name, known := range map[string]agent.Head{
		"a longer log": {Seq: 3, Tip: "d3"},
		"another tip":  {Seq: 2, Tip: "other"},
		"another past": {Seq: 1, Tip: "other"},
		"no number":    {Tip: "d2"},
	} {
		for _, ev := range []agent.Keyed{decided("x1", "a1"), replied("x2")} {
			if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: known, Lease: l, Events: []agent.Keyed{ev}}); !errors.Is(err, agent.ErrRewound) {
				b.Errorf("%s: append of %s: error %v, want ErrRewound", name, ev.Event.Kind(), err)
			}
		}
		if _, _, err := b.Store.Tail(b.ctx, room, known); !errors.Is(err, agent.ErrRewound) {
			b.Errorf("%s: tail: error %v, want ErrRewound", name, err)
		}
	}
	if got := b.head(room); got != b.head(room) || got.Seq != h.Seq {
		b.Errorf("head %+v", got)
	}
}

func lostTail(b *bench) {
	if b.Lose == nil {
		b.Skip("no lever")
	}
	h1 := b.put(agent.Head{}, said("d1")).Head
	h2 := b.put(h1, said("d2")).Head
	b.Lose(b.T, room, 1)
	if _, _, err := b.Store.Tail(b.ctx, room, h2); !errors.Is(err, agent.ErrRewound) {
		b.Errorf("tail: error %v, want ErrRewound", err)
	}
	if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h2, Events: []agent.Keyed{decided("c1", "a1")}}); !errors.Is(err, agent.ErrRewound) {
		b.Errorf("append: error %v, want ErrRewound", err)
	}
	// The same length again, but another history.
	b.put(h1, said("d9"))
	if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h2, Events: []agent.Keyed{decided("c1", "a1")}}); !errors.Is(err, agent.ErrRewound) {
		b.Errorf("equal length: error %v, want ErrRewound", err)
	}
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "d9"}) {
		b.Errorf("log is %v", got)
	}
}
