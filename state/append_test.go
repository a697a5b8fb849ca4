package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// Who knows the log up to somewhere is given what came since, much more than one who knows nothing; only what is far behind has to load.
func TestHowMuchAWriteBrings(t *testing.T) {
	s, _ := mini(t, Options{})
	first := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("first")}})
	known := first.Head
	for i := range 520 {
		w := mustAppend(t, s, agent.Write{Known: known, Events: []agent.Keyed{said(fmt.Sprintf("d%d", i))}})
		known = w.Head
	}
	for _, c := range []struct {
		op      string
		known   agent.Head
		entries int
		missing bool
	}{{"nothing known", agent.Head{}, 0, true}, {"too little known", first.Head, 0, true}, {"two unknown", known, 3, false}} {
		got := mustAppend(t, s, agent.Write{Known: c.known, Events: []agent.Keyed{said(c.op)}})
		if len(got.Entries) != c.entries || got.Missing != c.missing {
			t.Errorf("%s: %d entries, missing %v", c.op, len(got.Entries), got.Missing)
		}
		if c.op == "two unknown" {
			known = got.Head
		}
	}
	early := known
	for i := range 100 {
		mustAppend(t, s, agent.Write{Events: []agent.Keyed{said(fmt.Sprintf("e%d", i))}})
	}
	if got := mustAppend(t, s, agent.Write{Known: early, Events: []agent.Keyed{said("late")}}); len(got.Entries) != 101 || got.Missing {
		t.Errorf("a hundred behind: %d entries, missing %v", len(got.Entries), got.Missing)
	}
}

// A repeat says that the lease was given back only where that was asked for.
func TestARepeatReleasesNothingByItself(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	again := mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d1")}})
	if !again.Repeated || again.Released {
		t.Errorf("%+v", again)
	}
	if again.Holder != "me" {
		t.Errorf("the holder is %q", again.Holder)
	}
}

// A chat that waits for somebody to drive it keeps its place, whatever else is said in it.
func TestWaitingChatsKeepTheirPlace(t *testing.T) {
	s, m := mini(t, Options{})
	at := time.Now()
	first, second := chat.ID{Platform: "test", Key: "first"}, chat.ID{Platform: "test", Key: "second"}
	for i, id := range []chat.ID{first, second, first} {
		m.SetTime(at.Add(time.Duration(i) * time.Second))
		mustAppend(t, s, agent.Write{Chat: id, Events: []agent.Keyed{said(fmt.Sprintf("d%d", i))}})
	}
	got, err := s.ClaimDue(t.Context(), "me", 1)
	if err != nil || len(got) != 1 || got[0].Chat != first {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where logs are kept for ever a silent one does not fade, nor is it gone at once.
func TestASilentChatIsKeptForEver(t *testing.T) {
	s, _ := mini(t, Options{Keep: -1})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true})
	if d, err := s.rdb.PTTL(t.Context(), keysOf(room).log).Result(); err != nil || d != -1 {
		t.Errorf("the log fades in %v, %v", d, err)
	}
	if got, err := s.History(t.Context(), room); err != nil || len(got) != 1 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

// Nobody gives back what nobody took.
func TestNoLeaseCannotBeReleased(t *testing.T) {
	s, _ := mini(t, Options{})
	w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	if got, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Release: true}); !errors.Is(err, agent.ErrFenced) || got.Released {
		t.Errorf("%+v, %v", got, err)
	}
	// And the chat still waits for somebody.
	if due, err := s.ClaimDue(t.Context(), "me", 1); err != nil || len(due) != 1 {
		t.Errorf("%+v, %v", due, err)
	}
}
