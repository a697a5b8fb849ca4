package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Log says what an [agent.Log], an [agent.Watcher] and an [agent.Finder] must do.
func Log(t *testing.T, open Open) {
	s := suite{t, open}
	s.run("an unknown chat is empty", emptyChat)
	s.run("what is written is read back", readBack)
	s.run("an operation is taken once", takenOnce)
	s.run("an operation is taken once by many at once", takenOnceByMany)
	s.run("a later operation of a write is taken once too", laterOpTakenOnce)
	s.run("the same operation in another chat is another one", opPerChat)
	s.run("a write without names or a chat is refused", malformed)
	s.run("facts are taken blind", factsBlind)
	s.run("choices are exact", choicesExact)
	s.run("work is exact and fenced", workFenced)
	s.run("the strictest event decides for the whole write", strictest)
	s.run("a stale write leaves nothing behind", staleLeavesNothing)
	s.run("of many exact writes on one head one wins", exactRace)
	s.run("another history is rewound", rewound)
	s.run("a lost tail is rewound", lostTail)
	s.run("a writer that knows nothing gets up to 64 entries", zeroKnown)
	s.run("readers and writers agree on the roll", rolls)
	s.run("a changed entry is found", tampered)
	s.run("a snapshot moves forward with a write", snapshots)
	s.run("a snapshot may race what people say", snapshotRace)
	s.run("a newer entry stops reading, not accepting", newer)
	s.run("stamps never go back", stamps)
	s.run("large and odd values survive", oddValues)
	s.run("a watcher hears of its chat", watch)
	s.run("asks and calls are found", find)
	s.run("a context that ended ends the call", ended)
}

func emptyChat(b *bench) {
	snap, entries, head, err := b.Store.Load(b.ctx, room)
	b.ok(err)
	if snap.Head != (agent.Head{}) || len(entries) != 0 || head != (agent.Head{}) {
		b.Errorf("Load gave %v, %v, %v", snap.Head, entries, head)
	}
	if got := b.history(room); len(got) != 0 {
		b.Errorf("History gave %v", got)
	}
	entries, head, err = b.Store.Tail(b.ctx, room, agent.Head{})
	b.ok(err)
	if len(entries) != 0 || head != (agent.Head{}) {
		b.Errorf("Tail gave %v, %v", entries, head)
	}
}

func readBack(b *bench) {
	start := time.Now().Add(-time.Minute)
	l := b.claim(room, "me")
	first := b.put(agent.Head{}, said("d1"), said("d2"))
	got, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: first.Head, Lease: l, Events: []agent.Keyed{replied("w1"), asked("w2", "a1", "c1")}})
	b.ok(err)
	all := append(slices.Clone(first.Entries), got.Entries...)
	if d := cmp.Diff([]string{"d1", "d2", "w1", "w2"}, ops(all)); d != "" {
		b.Fatal(d)
	}
	for i, e := range all {
		if e.Seq != uint64(i+1) {
			b.Errorf("entry %d has number %d", i+1, e.Seq)
		}
		if e.At.Before(start) {
			b.Errorf("entry %d is stamped %s", i+1, e.At)
		}
	}
	if d := cmp.Diff(said("d1").Event, all[0].Event); d != "" {
		b.Errorf("the event changed: %s", d)
	}
	if got.Head.Seq != 4 || got.Head.Tip != "w2" {
		b.Errorf("head is %+v", got.Head)
	}
	for _, st := range []Store{b.Store, b.second()} {
		_, loaded, head, err := st.Load(b.ctx, room)
		b.ok(err)
		tail, tailHead, err := st.Tail(b.ctx, room, first.Head)
		b.ok(err)
		hist, err := st.History(b.ctx, room)
		b.ok(err)
		for what, d := range map[string]string{
			"Load": cmp.Diff(all, loaded), "History": cmp.Diff(all, hist), "Tail": cmp.Diff(got.Entries, tail),
			"Load's head": cmp.Diff(got.Head, head), "Tail's head": cmp.Diff(got.Head, tailHead),
		} {
			if d != "" {
				b.Errorf("%s differs: %s", what, d)
			}
		}
	}
}

func takenOnce(b *bench) {
	first := b.put(agent.Head{}, said("d1"))
	if first.Repeated {
		b.Error("the first one is no repeat")
	}
	b.put(agent.Head{}, said("d2"))
	again := b.put(agent.Head{}, said("d1"))
	if !again.Repeated {
		b.Error("the second one is a repeat")
	}
	if d := cmp.Diff([]string{"d1", "d2"}, ops(again.Entries)); d != "" {
		b.Error(d)
	}
	knew := b.put(first.Head, said("d1"))
	if d := cmp.Diff([]string{"d2"}, ops(knew.Entries)); d != "" || knew.Head.Seq != 2 {
		b.Errorf("a repeat by one who knows the first gives the rest: %s %+v", d, knew.Head)
	}
	if got := ops(b.history(room)); !slices.Equal(got, []string{"d1", "d2"}) {
		b.Errorf("log is %v", got)
	}
	// Exact ones too: the repeat of a decision that was taken is no stale decision.
	h := b.head(room)
	b.put(h, decided("click", "a1"))
	b.put(h, said("d3"))
	again, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Events: []agent.Keyed{decided("click", "a1")}})
	b.ok(err)
	if !again.Repeated || !slices.Equal(ops(again.Entries), []string{"click", "d3"}) {
		b.Errorf("repeated=%v, entries %v", again.Repeated, ops(again.Entries))
	}
}

func takenOnceByMany(b *bench) {
	other := b.second()
	var wrote atomic.Int32
	var wg sync.WaitGroup
	for i := range 48 {
		wg.Go(func() {
			st := b.Store
			if i%2 == 1 {
				st = other
			}
			w, err := st.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{said(fmt.Sprintf("d%d", i%6))}})
			if err != nil {
				b.Error(err)
			} else if !w.Repeated {
				wrote.Add(1)
			}
		})
	}
	wg.Wait()
	if wrote.Load() != 6 {
		b.Errorf("%d of 48 were told that they wrote, want 6", wrote.Load())
	}
	got := ops(b.history(room))
	slices.Sort(got)
	if d := cmp.Diff([]string{"d0", "d1", "d2", "d3", "d4", "d5"}, got); d != "" {
		b.Error(d)
	}
}

func laterOpTakenOnce(b *bench) {
	b.put(agent.Head{}, said("d1"), said("d2"))
	if w := b.put(agent.Head{}, said("d2")); !w.Repeated {
		b.Error("d2 was taken with d1")
	}
	w := b.put(agent.Head{}, said("d3"), said("d2"), said("d4"))
	if d := cmp.Diff([]string{"d1", "d2", "d3", "d4"}, ops(w.Entries)); d != "" || w.Head.Seq != 4 {
		b.Errorf("%s head %+v", d, w.Head)
	}
	if d := cmp.Diff(w.Entries, b.history(room)); d != "" {
		b.Error(d)
	}
}

func opPerChat(b *bench) {
	// Enough chats that two of them share whatever the store groups chats by.
	for i := range 70 {
		w, err := b.Store.Append(b.ctx, agent.Write{Chat: chat.ID{Platform: "test", Key: fmt.Sprint(i)}, Events: []agent.Keyed{said("same")}})
		b.ok(err)
		if w.Repeated || w.Head.Seq != 1 {
			b.Fatalf("chat %d: repeated=%v, head %+v", i, w.Repeated, w.Head)
		}
	}
}

func malformed(b *bench) {
	for name, w := range map[string]agent.Write{
		"no chat":        {Events: []agent.Keyed{said("d1")}},
		"no operation":   {Chat: room, Events: []agent.Keyed{said("")}},
		"one op for two": {Chat: room, Events: []agent.Keyed{said("d1"), said("d1")}},
		"no event":       {Chat: room, Events: []agent.Keyed{{Op: "d1"}}},
	} {
		if _, err := b.Store.Append(b.ctx, w); err == nil {
			b.Errorf("%s: taken", name)
		}
	}
	if got := b.history(room); len(got) != 0 {
		b.Errorf("log is %v", ops(got))
	}
}

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

func zeroKnown(b *bench) {
	var known agent.Head
	for i := range 64 {
		known = b.put(known, said(fmt.Sprintf("d%d", i))).Head
	}
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room})
	b.ok(err)
	if w.Missing || len(w.Entries) != 64 || w.Head != known {
		b.Errorf("64 entries: missing=%v, %d entries, head %+v", w.Missing, len(w.Entries), w.Head)
	}
	w = b.put(agent.Head{}, said("last"))
	if !w.Missing || len(w.Entries) != 0 || w.Head.Seq != 65 || w.Head.Tip != "last" {
		b.Errorf("65 entries: missing=%v, %d entries, head %+v", w.Missing, len(w.Entries), w.Head)
	}
	if w = b.put(known, said("more")); w.Missing || len(w.Entries) != 2 {
		b.Errorf("who knows all but two gets two: missing=%v, %v", w.Missing, ops(w.Entries))
	}
	if n := len(b.history(room)); n != 66 {
		b.Errorf("history has %d", n)
	}
}

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

func oddValues(b *bench) {
	big := strings.Repeat("x\x00\xff\n%\r", 200_000)
	names := []string{"with space", "with\nline", "100%", "%20", "ünï", "\x7f", "-", strings.Repeat("long", 100)}
	var known agent.Head
	for _, op := range names {
		k := agent.Keyed{Op: agent.OpID(op), Event: turn.Said{Delivery: chat.Delivery(op), By: ana, Text: "t"}}
		w := b.put(known, k)
		if w.Head.Tip != agent.OpID(op) {
			b.Errorf("tip %q, want %q", w.Head.Tip, op)
		}
		if again := b.put(known, k); !again.Repeated {
			b.Errorf("%q is not recognised", op)
		}
		known = w.Head
		w = b.put(known, decided("then "+op, "a"))
		known = w.Head
	}
	w := b.put(known, agent.Keyed{Op: "big", Event: turn.Said{Delivery: "big", By: ana, Text: big}})
	_, entries, head, err := b.Store.Load(b.ctx, room)
	b.ok(err)
	if head != w.Head || len(entries) != 2*len(names)+1 {
		b.Fatalf("head %+v, %d entries", head, len(entries))
	}
	for i, op := range names {
		if entries[2*i].Op != op {
			b.Errorf("op %q came back as %q", op, entries[2*i].Op)
		}
	}
	if d := cmp.Diff(w.Entries[0], entries[len(entries)-1]); d != "" {
		b.Error("the large one differs between its writer and its readers")
	}
}

func watch(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	elsewhere := chat.ID{Platform: "test", Key: "room 2"}
	mine, err := b.Store.Watch(ctx, room)
	b.ok(err)
	same, err := b.Store.Watch(ctx, room)
	b.ok(err)
	quiet, err := b.Store.Watch(ctx, elsewhere)
	b.ok(err)
	other := b.second()
	w, err := other.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{said("d1")}})
	b.ok(err)
	receive(b, "watch", mine)
	receive(b, "a second watch of the same chat", same)
	// Then the first of two leaves.
	again, leave := context.WithCancel(ctx)
	third, err := b.Store.Watch(again, room)
	b.ok(err)
	leave()
	for range third { //nolint:revive // until it is closed
	}
	_, err = other.Append(b.ctx, agent.Write{Chat: room, Known: w.Head, Events: []agent.Keyed{decided("c1", "a1")}})
	b.ok(err)
	receive(b, "watch after another one left", mine)
	select {
	case <-quiet:
		b.Error("another chat's watcher was told")
	default:
	}
	cancel()
	for range mine { //nolint:revive // until it is closed
	}
	// A new watch of a chat that everybody had left.
	fresh, err := b.Store.Watch(b.ctx, room)
	b.ok(err)
	_, err = other.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{said("d2")}})
	b.ok(err)
	receive(b, "watch again", fresh)
}

func find(b *bench) {
	ids := make([]chat.ID, 20)
	for i := range ids {
		ids[i] = chat.ID{Platform: "test", Workspace: "W", Key: fmt.Sprintf("%d:%%", i)}
		w, err := b.Store.Append(b.ctx, agent.Write{Chat: ids[i], Claim: "me"})
		b.ok(err)
		_, err = b.Store.Append(b.ctx, agent.Write{Chat: ids[i], Lease: w.Lease, Events: []agent.Keyed{asked("w1", fmt.Sprintf("ask%d", i), fmt.Sprintf("call%d", i))}})
		b.ok(err)
	}
	other := b.second()
	for i, id := range ids {
		for _, what := range []string{"ask", "call"} {
			got, found, err := other.Find(b.ctx, fmt.Sprintf("%s%d", what, i))
			if err != nil || !found || got != id {
				b.Errorf("%s%d: %v %v %v", what, i, got, found, err)
			}
		}
	}
	for _, none := range []string{"ask99", "", "ask1 "} {
		if got, found, err := b.Store.Find(b.ctx, none); found || err != nil {
			b.Errorf("%q: %v %v %v", none, got, found, err)
		}
	}
	// A later asking of the same call.
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{{Op: "u", Event: turn.Withdrawn{Ask: "x", Next: "next"}}}})
	b.ok(err)
	if got, found, err := b.Store.Find(b.ctx, "next"); err != nil || !found || got != room {
		b.Errorf("after %+v: %v %v %v", w.Head, got, found, err)
	}
}

func ended(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if b.Replica != nil { // in one process there is nothing to wait for
		if _, err := b.Store.Append(ctx, agent.Write{Chat: room, Events: []agent.Keyed{said("d1")}}); err == nil {
			b.Error("Append: no error")
		}
	}
	if _, _, _, err := b.Store.Load(ctx, room); err == nil {
		b.Error("Load: no error")
	}
}
