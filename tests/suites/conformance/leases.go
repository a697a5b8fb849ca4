package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// Leases says what an [agent.Leases] must do, together with the claims and releases of [agent.Log].
func Leases(t *testing.T, open Open) {
	s := suite{t, open}
	s.run("a free chat is claimed with a write", claimWithWrite)
	s.run("reclaiming gives the same token", reclaim)
	s.run("a lease that ran out is fenced by a later one", laterToken)
	s.run("leases that ended without work are counted", barren)
	s.run("of many owners one gets the chat", claimRace)
	s.run("of many sweeps one gets each chat", sweepRace)
	s.run("a repeated write answers as the first did", repeatedClaim)
	s.run("a written chat is due until it is claimed", dueOnWrite)
	s.run("a held chat is not due", heldNotDue)
	s.run("the longest due comes first", dueOrder)
	s.run("a release sets when the chat is due again", wakeAt)
	s.run("a release with a write", releaseWithWrite)
	s.run("a release of what was not folded keeps the lease", releaseStale)
	s.run("a lost lease cannot be released", releaseLost)
	s.run("no message falls between release and append", releaseRace)
	s.run("a renewal prolongs and tells the head", renew)
	s.run("the holder is woken by others", wakes)
	s.run("a sweep needs an owner", sweepArguments)
}

func (b *bench) sweep(owner string, n int) []agent.Lease {
	b.Helper()
	l, err := b.Store.ClaimDue(b.ctx, owner, n)
	b.ok(err)
	return l
}

func claimWithWrite(b *bench) {
	before := time.Now()
	w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Claim: "me", Events: []agent.Keyed{said("d1")}})
	b.ok(err)
	if w.Lease.Chat != room || w.Lease.Owner != "me" || w.Lease.Token == 0 || w.Holder != "" {
		b.Errorf("lease %+v, holder %q", w.Lease, w.Holder)
	}
	if !w.Lease.Until.After(before) {
		b.Errorf("it ends at %s", w.Lease.Until)
	}
	// Another owner is told who has it, and its message is in the log all the same.
	w2, err := b.second().Append(b.ctx, agent.Write{Chat: room, Claim: "you", Events: []agent.Keyed{said("d2")}})
	b.ok(err)
	if w2.Lease != (agent.Lease{}) || w2.Holder != "me" || w2.Head.Seq != 2 {
		b.Errorf("lease %+v, holder %q, head %+v", w2.Lease, w2.Holder, w2.Head)
	}
	// The lease is good for work.
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: w2.Head, Lease: w.Lease, Events: []agent.Keyed{replied("w1")}})
	b.ok(err)
}

func reclaim(b *bench) {
	l := b.claim(room, "me")
	if again := b.claim(room, "me"); again.Token != l.Token {
		b.Errorf("token %d, then %d", l.Token, again.Token)
	}
	_, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Lease: l, Release: true})
	b.ok(err)
	if next := b.claim(room, "me"); next.Token <= l.Token {
		b.Errorf("token %d after %d was given back", next.Token, l.Token)
	}
}

func laterToken(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	old := b.claim(room, "me")
	b.Expire(b.T, room)
	got := b.sweep("you", 10)
	if len(got) != 1 || got[0].Chat != room || got[0].Token <= old.Token || got[0].Owner != "you" {
		b.Fatalf("swept %+v after %+v", got, old)
	}
	if _, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: old, Events: []agent.Keyed{started("w1", old.Token)}}); !errors.Is(err, agent.ErrFenced) {
		b.Errorf("work of the old one: %v, want ErrFenced", err)
	}
	if _, _, err := b.Store.Renew(b.ctx, old); !errors.Is(err, agent.ErrFenced) {
		b.Errorf("renewal of the old one: %v, want ErrFenced", err)
	}
	_, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: got[0], Events: []agent.Keyed{started("w2", got[0].Token)}})
	b.ok(err)
	// Its own owner gets a new token too, once it ran out.
	b.Expire(b.T, room)
	if next := b.claim(room, "you"); next.Token <= got[0].Token {
		b.Errorf("token %d, then %d", got[0].Token, next.Token)
	}
}

// barren: a chat that its drivers die on shows it to the next one; work, or a release, starts the count anew.
func barren(b *bench) {
	h := b.put(agent.Head{}, said("d1")).Head
	lapse := func(want int) (l agent.Lease) {
		b.Helper()
		if want%2 == 0 {
			l = b.claim(room, "me")
		} else if swept := b.sweep("you", 10); len(swept) == 1 {
			l = swept[0]
		}
		if l.Barren != want || l.Token == 0 {
			b.Fatalf("lease %+v after %d that lapsed", l, want)
		}
		b.Expire(b.T, room)
		return l
	}
	for n := range 4 {
		lapse(n)
	}
	if l := b.claim(room, "me"); l.Barren != 4 {
		b.Fatalf("lease %+v", l)
	} else if again := b.claim(room, "me"); again.Barren != 4 {
		b.Errorf("reclaimed: %+v", again)
	} else {
		w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Events: []agent.Keyed{started("w1", l.Token)}})
		b.ok(err)
		h = w.Head
	}
	b.Expire(b.T, room)
	lapse(1)
	l := b.claim(room, "me")
	if w, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Release: true, Wake: time.Now()}); err != nil || !w.Released {
		b.Fatalf("released %v: %v", w.Released, err)
	}
	lapse(0)
}

func claimRace(b *bench) {
	other := b.second()
	for round := range 10 {
		id := chat.ID{Platform: "test", Key: fmt.Sprint(round)}
		leases := make([]agent.Written, 12)
		var wg sync.WaitGroup
		for i := range leases {
			wg.Go(func() {
				st := b.Store
				if i%2 == 1 {
					st = other
				}
				w, err := st.Append(b.ctx, agent.Write{Chat: id, Claim: fmt.Sprintf("o%d", i), Events: []agent.Keyed{said(fmt.Sprintf("d%d", i))}})
				if err != nil {
					b.Error(err)
				}
				leases[i] = w
			})
		}
		wg.Wait()
		var owner string
		for _, w := range leases {
			if w.Lease.Token != 0 {
				if owner != "" {
					b.Fatalf("%s and %s both got it", owner, w.Lease.Owner)
				}
				owner = w.Lease.Owner
			}
		}
		for _, w := range leases {
			if owner == "" || (w.Lease.Token == 0 && w.Holder != owner) {
				b.Fatalf("owner %q, but one was told %q", owner, w.Holder)
			}
		}
	}
}

func sweepRace(b *bench) {
	const chats = 60
	for i := range chats {
		_, err := b.Store.Append(b.ctx, agent.Write{Chat: chat.ID{Platform: "test", Key: fmt.Sprint(i)}, Events: []agent.Keyed{said("d1")}})
		b.ok(err)
	}
	other := b.second()
	got := make([][]agent.Lease, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			st := b.Store
			if i%2 == 1 {
				st = other
			}
			for range 4 {
				l, err := st.ClaimDue(b.ctx, fmt.Sprintf("o%d", i), 20)
				if err != nil {
					b.Error(err)
				}
				if len(l) > 20 {
					b.Errorf("asked for 20, got %d", len(l))
				}
				got[i] = append(got[i], l...)
			}
		})
	}
	wg.Wait()
	seen := map[chat.ID]bool{}
	for _, ls := range got {
		for _, l := range ls {
			if seen[l.Chat] {
				b.Errorf("%s was claimed twice", l.Chat)
			}
			seen[l.Chat] = true
		}
	}
	if len(seen) != chats {
		b.Errorf("%d of %d chats were claimed", len(seen), chats)
	}
}

func repeatedClaim(b *bench) {
	write := agent.Write{Chat: room, Claim: "me", Events: []agent.Keyed{said("d1")}}
	w, err := b.Store.Append(b.ctx, write)
	b.ok(err)
	again, err := b.Store.Append(b.ctx, write)
	b.ok(err)
	if !again.Repeated || again.Lease.Token != w.Lease.Token || again.Head != w.Head {
		b.Errorf("first %+v, then %+v", w, again)
	}
	elsewhere := write
	elsewhere.Claim = "you"
	if got, err := b.second().Append(b.ctx, elsewhere); err != nil || !got.Repeated || got.Holder != "me" || got.Lease.Token != 0 {
		b.Errorf("delivered to another replica: %+v, %v", got, err)
	}
	// The same for a write that gives the lease back.
	end := agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{replied("w1")}, Release: true}
	for i := range 2 {
		got, err := b.Store.Append(b.ctx, end)
		b.ok(err)
		if !got.Released || got.Repeated != (i == 1) {
			b.Errorf("time %d: released=%v repeated=%v", i+1, got.Released, got.Repeated)
		}
	}
	// And for one that is nothing but that.
	l := b.claim(room, "me")
	for range 2 {
		got, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: b.head(room), Lease: l, Release: true})
		if err != nil || !got.Released {
			b.Errorf("released=%v, %v", got.Released, err)
		}
	}
}

func dueOnWrite(b *bench) {
	if got := b.sweep("me", 10); len(got) != 0 {
		b.Errorf("an empty store has %v due", got)
	}
	b.put(agent.Head{}, said("d1"))
	got := b.sweep("me", 10)
	if len(got) != 1 || got[0].Chat != room || got[0].Owner != "me" || got[0].Token == 0 || got[0].Until.IsZero() {
		b.Fatalf("swept %+v", got)
	}
	if again := b.sweep("me", 10); len(again) != 0 {
		b.Errorf("swept again: %+v", again)
	}
	_, err := b.Store.Append(b.ctx, agent.Write{Chat: room, Known: b.head(room), Lease: got[0], Release: true})
	b.ok(err)
	// A touch makes it due as a message does.
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: room})
	b.ok(err)
	if got := b.sweep("me", 10); len(got) != 1 {
		b.Errorf("after a touch: %+v", got)
	}
}

func heldNotDue(b *bench) {
	l := b.claim(room, "me")
	h := b.put(agent.Head{}, said("d1")).Head
	b.put(h, decided("c1", "a1"))
	if got := b.sweep("you", 10); len(got) != 0 {
		b.Errorf("swept %+v", got)
	}
	if _, _, err := b.Store.Renew(b.ctx, l); err != nil {
		b.Error(err)
	}
}

func dueOrder(b *bench) {
	now := time.Now()
	ids := make([]chat.ID, 12)
	for i := range ids {
		ids[i] = chat.ID{Platform: "test", Key: fmt.Sprint((i * 7) % len(ids))}
		l := b.claim(ids[i], "setup")
		_, err := b.Store.Append(b.ctx, agent.Write{Chat: ids[i], Lease: l, Release: true, Wake: now.Add(-2*time.Hour + time.Duration(i)*time.Minute)})
		b.ok(err)
	}
	for i := 0; i < len(ids); i += 3 {
		got := b.sweep("me", 3)
		var order []chat.ID
		for _, l := range got {
			order = append(order, l.Chat)
		}
		if !slices.Equal(order, ids[i:i+3]) {
			b.Errorf("sweep %d: %v, want %v", i/3, order, ids[i:i+3])
		}
	}
}

func renew(b *bench) {
	h := b.put(agent.Head{}, said("d1"), said("odd %name")).Head
	l := b.claim(room, "me")
	got, head, err := b.Store.Renew(b.ctx, l)
	b.ok(err)
	if got.Token != l.Token || got.Owner != l.Owner || got.Chat != l.Chat || got.Until.Before(l.Until) {
		b.Errorf("%+v became %+v", l, got)
	}
	if head.Seq != h.Seq || head.Tip != h.Tip {
		b.Errorf("head %+v, want %+v", head, h)
	}
	for name, bad := range map[string]agent.Lease{
		"another owner": {Chat: room, Owner: "you", Token: l.Token},
		"another token": {Chat: room, Owner: "me", Token: l.Token + 1},
		"another chat":  {Chat: chat.ID{Platform: "test", Key: "x"}, Owner: "me", Token: l.Token},
		"nobody":        {Chat: room},
	} {
		if _, _, err := b.Store.Renew(b.ctx, bad); !errors.Is(err, agent.ErrFenced) {
			b.Errorf("%s: %v, want ErrFenced", name, err)
		}
	}
	b.Expire(b.T, room)
	if _, _, err := b.Store.Renew(b.ctx, l); !errors.Is(err, agent.ErrFenced) {
		b.Errorf("a lease that ran out: %v, want ErrFenced", err)
	}
}

func wakes(b *bench) {
	// Names of its own: what other cases published may still be on its way.
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	mine, err := b.Store.Wakes(ctx, "the waker")
	b.ok(err)
	yours, err := b.Store.Wakes(ctx, "the other")
	b.ok(err)
	l := b.claim(room, "the waker")
	other := b.second()
	for i, w := range []agent.Write{
		{Chat: room, Events: []agent.Keyed{said("d1")}},
		{Chat: room, Claim: "the other", Events: []agent.Keyed{said("d2")}},
		{Chat: room, Claim: "the other"},
		{Chat: room},
	} {
		_, err := other.Append(b.ctx, w)
		b.ok(err)
		if got := receive(b, fmt.Sprintf("write %d", i), mine); got != room {
			b.Errorf("write %d woke %v", i, got)
		}
	}
	// Its own writes do not wake it.
	h := b.head(room)
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Known: h, Lease: l, Events: []agent.Keyed{replied("w1")}})
	b.ok(err)
	_, err = b.Store.Append(b.ctx, agent.Write{Chat: room, Claim: "the waker", Events: []agent.Keyed{said("d3")}})
	b.ok(err)
	_, err = other.Append(b.ctx, agent.Write{Chat: chat.ID{Platform: "test", Key: "marker"}, Claim: "the waker"})
	b.ok(err)
	_, err = other.Append(b.ctx, agent.Write{Chat: chat.ID{Platform: "test", Key: "marker"}, Events: []agent.Keyed{said("m")}})
	b.ok(err)
	if got := receive(b, "marker", mine); got.Key != "marker" {
		b.Errorf("its own write woke %v", got)
	}
	select {
	case got := <-yours:
		b.Errorf("the other one was woken for %v", got)
	default:
	}
	cancel()
	for range mine { //nolint:revive // until it is closed
	}
}

func sweepArguments(b *bench) {
	b.put(agent.Head{}, said("d1"))
	if _, err := b.Store.ClaimDue(b.ctx, "", 1); err == nil {
		b.Error("nobody claimed something")
	}
	if _, err := b.Store.ClaimDue(b.ctx, "me", 0); err == nil {
		b.Error("none were asked for")
	}
}
