package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// later lets more time pass than any lease lasts.
func later(m *miniredis.Miniredis, by time.Duration) { m.SetTime(time.Now().Add(by)) }

// A lease of before is not given back once more when its successor was.
func TestAnOldLeaseIsNotGivenBack(t *testing.T) {
	s, m := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	later(m, time.Hour)
	next := mustAppend(t, s, agent.Write{Known: w.Head, Claim: "you"})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: next.Lease, Release: true})
	got, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Release: true})
	if !errors.Is(err, agent.ErrFenced) || got.Released {
		t.Errorf("%+v, %v", got, err)
	}
}

// A place in the log that was lost is another history, not an error of the script.
func TestAPlaceThatWasLost(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1"), said("d2")}})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d3")}})
	if err := s.rdb.LTrim(t.Context(), keysOf(room).log, 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d4")}}); !got.Missing {
		t.Errorf("%+v", got)
	}
}

// Nothing remembers the operation of what the log tells by itself: its first entry, and what a driver writes.
func TestWhatNeedsNoOpKey(t *testing.T) {
	s, m := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{{Op: "w1", Event: turn.Shown{Turn: "t", Message: "m"}}}})
	remembered := func() int { return strings.Count(strings.Join(m.Keys(), " "), ":op:") }
	if n := remembered(); n != 0 {
		t.Errorf("%d operations are remembered, want none", n)
	}
	mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2")}})
	if n := remembered(); n != 1 {
		t.Errorf("%d operations are remembered, want that of the second message", n)
	}
}

// Who else holds the chat is told: not oneself, and nobody whose lease is over.
func TestWhoElseHoldsAChat(t *testing.T) {
	s, m := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	own := mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}})
	if own.Holder != "" {
		t.Errorf("whoever works there is told of %q", own.Holder)
	}
	if got := mustAppend(t, s, agent.Write{Known: own.Head, Events: []agent.Keyed{said("d2")}}); got.Holder != "me" {
		t.Errorf("others are told of %q", got.Holder)
	}
	later(m, time.Hour)
	if got := mustAppend(t, s, agent.Write{Known: own.Head, Events: []agent.Keyed{said("d3")}}); got.Holder != "" {
		t.Errorf("%q holds it although its lease is over", got.Holder)
	}
}

// A repeat says that the lease was given back where that was asked for and is so, and brings a lease only while it lasts.
func TestWhatARepeatSaysOfTheLease(t *testing.T) {
	s, m := mini(t, Options{})
	first := []agent.Keyed{said("d1")}
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: first})
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true, Events: first}); !got.Repeated || got.Released {
		t.Errorf("held still: %+v", got)
	}
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me", Events: first}); !got.Repeated || got.Lease.Token != w.Lease.Token {
		t.Errorf("claimed again: %+v", got)
	}
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true})
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Events: first}); !got.Repeated || got.Released {
		t.Errorf("given back, which was not asked for: %+v", got)
	}
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true, Events: first}); !got.Repeated || !got.Released {
		t.Errorf("given back: %+v", got)
	}
	mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"})
	later(m, time.Hour)
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me", Events: first}); !got.Repeated || got.Lease.Token != 0 {
		t.Errorf("a lease that is over: %+v", got)
	}
}

// What is said in a chat is no sign of life of whoever drives it: only work is.
func TestOnlyWorkIsASignOfLife(t *testing.T) {
	s, m := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	later(m, time.Hour)
	w = mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"})
	if w.Lease.Barren != 1 {
		t.Fatalf("%+v", w.Lease)
	}
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2")}})
	if w = mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"}); w.Lease.Barren != 1 {
		t.Errorf("after a message: %+v", w.Lease)
	}
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}})
	if w = mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"}); w.Lease.Barren != 0 {
		t.Errorf("after work: %+v", w.Lease)
	}
	later(m, 2*time.Hour)
	if w = mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"}); w.Lease.Barren != 1 {
		t.Errorf("after work and another lease that ended: %+v", w.Lease)
	}
}

// A fold up to the end of a write is not kept when part of the write stood in the log before: it counts too many.
func TestNoSnapshotOfAWriteThatWasThereInPart(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	fold := &agent.Snapshot{Session: turn.Session{Chat: room, Dropped: 3}}
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2"), said("d1")}, Snapshot: fold})
	snap, entries, head, err := s.Load(t.Context(), room)
	if err != nil || head.Seq != 2 || len(entries) != 2 || snap.Session.Dropped != 0 || w.Head.Seq != 2 {
		t.Errorf("%d entries behind %+v, head %+v, %v", len(entries), snap, head, err)
	}
}

// Giving back twice leaves the chat asleep until it was meant to wake.
func TestGivingBackTwiceWakesNobody(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	back := agent.Write{Known: w.Head, Lease: w.Lease, Release: true, Wake: time.Now().Add(time.Hour)}
	for range 2 {
		if got := mustAppend(t, s, back); !got.Released {
			t.Errorf("%+v", got)
		}
	}
	if due, err := s.ClaimDue(t.Context(), "you", 1); err != nil || len(due) != 0 {
		t.Errorf("%+v, %v", due, err)
	}
}

// Who has not seen the last message does not give the chat back: nobody would look at it.
func TestNothingIsGivenBackBeforeTheLastMessageWasSeen(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	last := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
	if got := mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true}); got.Released || len(got.Entries) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := s.Append(t.Context(), agent.Write{Chat: room, Known: last.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}); err != nil {
		t.Errorf("the lease is held still: %v", err)
	}
}

// What is said in a chat that was claimed and given back while it was empty does not fade with that emptiness. The settings' log never
// fades at all.
func TestNothingSaidFadesWithAnEmptyChat(t *testing.T) {
	s, _ := mini(t, Options{Keep: time.Hour})
	fades := func(key string) bool {
		d, err := s.rdb.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return d > 0
	}
	w := mustAppend(t, s, agent.Write{Claim: "me"})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	if k := keysOf(room); fades(k.head) || fades(k.log) {
		t.Error("it fades while somebody has to look at it")
	}
	own := mustAppend(t, s, agent.Write{Chat: agent.SettingsChat, Claim: "me", Events: []agent.Keyed{said("d1")}})
	mustAppend(t, s, agent.Write{Chat: agent.SettingsChat, Known: own.Head, Lease: own.Lease, Release: true})
	if k := keysOf(agent.SettingsChat); fades(k.head) || fades(k.log) {
		t.Error("the settings fade")
	}
}
