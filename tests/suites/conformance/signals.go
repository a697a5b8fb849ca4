package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func oddValues(b *bench) {
	big := strings.Repeat("a line of text\n", 70_000) + "\x00\xff%\r"
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
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Events: []agent.Keyed{{Op: "u", Event: turn.Withdrawn{Ask: "x", By: ana, Next: "next"}}}})
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
