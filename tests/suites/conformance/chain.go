package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

func rolls(b *bench) {
	seen := map[string]bool{}
	var known agent.Head
	for i := range 5 {
		var w agent.Written
		if i%2 == 0 {
			w = b.put(known, said(fmt.Sprintf("d%d", i)))
		} else {
			w = b.put(known, decided(fmt.Sprintf("c%d", i), "a1"))
		}
		known = w.Head
		if len(known.Roll) != 64 || strings.Trim(known.Roll, "0123456789abcdef") != "" || seen[known.Roll] {
			b.Fatalf("roll %q after %d entries: want a new hex SHA-256", known.Roll, i+1)
		}
		seen[known.Roll] = true
		if got := b.head(room); got != known {
			b.Errorf("Load says %+v, Append said %+v", got, known)
		}
		if _, got, err := b.second().Tail(b.ctx, room, agent.Head{}); err != nil || got != known {
			b.Errorf("Tail says %+v (%v), Append said %+v", got, err, known)
		}
	}
	// Who does not know the roll may still write; nobody invents one.
	w := b.put(agent.Head{Seq: known.Seq, Tip: known.Tip}, decided("x", "a1"))
	if w.Head.Roll != "" || w.Head.Seq != 6 {
		b.Errorf("head %+v", w.Head)
	}
	b.head(room)
}

func tampered(b *bench) {
	if b.Tamper == nil {
		b.Skip("no lever")
	}
	h1 := b.put(agent.Head{}, said("d1")).Head
	h2 := b.put(h1, said("d2")).Head
	h3 := b.put(h2, decided("c1", "a1")).Head
	b.head(room)
	b.Tamper(b.T, room, 2)
	says := func(what string, err error) {
		b.Helper()
		if err == nil || !strings.Contains(err.Error(), "entry 3") {
			b.Errorf("%s: error %v, want one that names entry 3, whose writer saw something else", what, err)
		}
		if errors.Is(err, agent.ErrRewound) {
			b.Errorf("%s: ErrRewound would have it loaded for ever", what)
		}
	}
	_, _, _, err := b.Store.Load(b.ctx, room)
	says("Load", err)
	_, err = b.Store.History(b.ctx, room)
	says("History", err)
	_, _, err = b.Store.Tail(b.ctx, room, h1)
	says("Tail", err)
	// Who saw the true entries finds nothing wrong with what came after.
	if _, _, err := b.Store.Tail(b.ctx, room, h3); err != nil {
		b.Error(err)
	}
}

func snapshots(b *bench) {
	l := b.claim(room, "me")
	h1 := b.put(agent.Head{}, said("d1"), said("d2")).Head
	fold := func(n int) turn.Session {
		return turn.Session{Chat: room, Dropped: n}
	}
	// Up to the head after the write.
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h1, Lease: l, Events: []agent.Keyed{replied("w1"), replied("w2")}, Snapshot: &agent.Snapshot{Session: fold(4)}})
	b.ok(err)
	snap, entries, head, err := b.Store.Load(b.ctx, room)
	b.ok(err)
	if snap.Head != w.Head || head != w.Head || snap.Session.Dropped != 4 || len(entries) != 0 {
		b.Errorf("snapshot at %+v of %d, entries %v, head %+v; want all at %+v", snap.Head, snap.Session.Dropped, ops(entries), head, w.Head)
	}
	// Up to Known, with an event after it.
	w2, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: w.Head, Events: []agent.Keyed{said("d3")}, Snapshot: &agent.Snapshot{Head: w.Head, Session: fold(5)}})
	b.ok(err)
	snap, entries, head, err = b.Store.Load(b.ctx, room)
	b.ok(err)
	if snap.Head != w.Head || !slices.Equal(ops(entries), []string{"d3"}) || head != w2.Head {
		b.Errorf("snapshot at %+v, entries %v, head %+v", snap.Head, ops(entries), head)
	}
	if snap.Session.Dropped != 4 {
		b.Error("a snapshot of the same place replaced the one there was")
	}
	// Never back, and never of a history that is not this one.
	for name, s := range map[string]agent.Write{
		"back":           {Chat: room, Known: h1, Snapshot: &agent.Snapshot{Head: h1, Session: fold(9)}},
		"another past":   {Chat: room, Known: agent.Head{Seq: 5, Tip: "x"}, Snapshot: &agent.Snapshot{Head: agent.Head{Seq: 5, Tip: "x"}, Session: fold(9)}},
		"not on top":     {Chat: room, Known: w.Head, Events: []agent.Keyed{said("d4")}, Snapshot: &agent.Snapshot{Session: fold(9)}},
		"a head to come": {Chat: room, Known: agent.Head{Seq: 99, Tip: "x"}, Snapshot: &agent.Snapshot{Head: agent.Head{Seq: 99, Tip: "x"}, Session: fold(9)}},
	} {
		_, err := b.Store.Append(b.ctx, s)
		b.ok(err)
		snap, _, _, err := b.Store.Load(b.ctx, room)
		b.ok(err)
		if snap.Session.Dropped != 4 || snap.Head.Seq != 4 {
			b.Errorf("%s: the snapshot is now %d at %d", name, snap.Session.Dropped, snap.Head.Seq)
		}
	}
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "d2", "w1", "w2", "d3", "d4"}) {
		b.Errorf("history is %v", got)
	}
	if b.Tamper != nil { // before the snapshot: history is the audit, a snapshot hides nothing
		h := b.head(room)
		b.put(h, decided("c1", "a1"))
		b.Tamper(b.T, room, 1)
		if _, err := b.Store.History(b.ctx, room); err == nil {
			b.Error("History did not find the change")
		}
	}
}

func snapshotRace(b *bench) {
	other := b.second()
	var known agent.Head
	for i := range 40 {
		known = b.put(known, said(fmt.Sprintf("d%d", i))).Head
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := other.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{said(fmt.Sprintf("r%d", i))}})
			if err != nil {
				b.Error(err)
			}
		})
		wg.Go(func() {
			_, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: known, Snapshot: &agent.Snapshot{Head: known, Session: turn.Session{Dropped: int(known.Seq)}}})
			if err != nil {
				b.Error(err)
			}
		})
		wg.Go(func() {
			_, err := other.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{said(fmt.Sprintf("r%d", i))}})
			if err != nil {
				b.Error(err)
			}
		})
		wg.Wait()
		snap, entries, head, err := b.Store.Load(b.ctx, room)
		b.ok(err)
		if snap.Head != known || snap.Session.Dropped != int(known.Seq) || len(entries) != 1 || head.Seq != known.Seq+1 {
			b.Fatalf("round %d: snapshot %+v of %d, entries %v, head %+v", i, snap.Head, snap.Session.Dropped, ops(entries), head)
		}
		known = head
	}
	if n := len(b.history(room)); n != 80 {
		b.Errorf("%d entries, want 80", n)
	}
}

func newer(b *bench) {
	if b.Newer == nil {
		b.Skip("no lever")
	}
	h := b.put(agent.Head{}, said("d1")).Head
	b.Newer(b.T, room)
	_, _, _, err := b.Store.Load(b.ctx, room)
	_, histErr := b.Store.History(b.ctx, room)
	_, _, tailErr := b.Store.Tail(b.ctx, room, h)
	_, staleErr := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Events: []agent.Keyed{decided("c1", "a1")}})
	for what, err := range map[string]error{"Load": err, "History": histErr, "Tail": tailErr, "a choice": staleErr} {
		if !errors.Is(err, agent.ErrVersion) {
			b.Errorf("%s: error %v, want ErrVersion", what, err)
		}
	}
	w := b.put(h, said("d2"))
	if !w.Missing || w.Head.Seq != 3 {
		b.Errorf("a fact is taken, and its writer told to load: missing=%v head=%+v", w.Missing, w.Head)
	}
	if w := b.put(h, said("d2")); !w.Repeated || w.Head.Seq != 3 {
		b.Errorf("repeated=%v head=%+v", w.Repeated, w.Head)
	}
}

func stamps(b *bench) {
	var known agent.Head
	for i := range 20 {
		if b.Rewind != nil && i%5 == 4 {
			b.Rewind(b.T, time.Hour)
		}
		known = b.put(known, said(fmt.Sprintf("d%d", i)), said(fmt.Sprintf("e%d", i))).Head
	}
	var last time.Time
	for _, e := range b.history(room) {
		if e.At.Before(last) {
			b.Errorf("entry %d is stamped %s, the one before %s", e.Seq, e.At, last)
		}
		last = e.At
	}
}
