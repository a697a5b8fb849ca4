package conformance

import (
	"fmt"
	"slices"
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
	s.run("what is written under a lease is taken once", leasedOpTakenOnce)
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
	if w := b.put(w.Head, said("d5"), said("d1")); !slices.Equal(ops(w.Entries), []string{"d5"}) {
		b.Errorf("the log's first, once more: %v", ops(w.Entries))
	}
}

// What a driver writes is taken once where the reply was lost, also a fact where people wrote between what it knew and the first try.
func leasedOpTakenOnce(b *bench) {
	first := b.put(agent.Head{}, said("d1"))
	shown := agent.Write{Chat: room, Known: first.Head, Lease: b.claim(room, "me"), Events: []agent.Keyed{{Op: "w1", Event: turn.Shown{Turn: "t", Message: "m"}}}}
	b.put(first.Head, said("d2"))
	for i, want := range [][]string{{"d2", "w1"}, {"d2", "w1", "d3"}} {
		got, err := b.Store.Append(b.ctx, shown)
		b.ok(err)
		if got.Repeated != (i == 1) || !slices.Equal(ops(got.Entries), want) {
			b.Errorf("time %d: repeated=%v, entries %v", i+1, got.Repeated, ops(got.Entries))
		}
		b.put(first.Head, said("d3"))
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
		"not readable":   {Chat: room, Events: []agent.Keyed{{Op: "d1", Event: turn.Said{Delivery: "d1", By: chat.User{Workspace: "nobody"}}}}},
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
