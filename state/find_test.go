package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// asks opens n asks in a chat and leaves it waiting; settled, with nothing to wait for.
func asks(t *testing.T, s *Store, id chat.ID, n int, settled bool) {
	t.Helper()
	w := mustAppend(t, s, agent.Write{Chat: id, Claim: "me", Events: []agent.Keyed{said("d")}})
	var events []agent.Keyed
	for i := range n {
		events = append(events, agent.Keyed{Op: agent.OpID(fmt.Sprint("w", i)), Event: turn.Ruled{
			Call: turn.CallID(fmt.Sprint("call", i, id.Key)), Ask: turn.AskID(fmt.Sprint("ask", i, id.Key)),
			Ruling: permission.Ruling{Verdict: permission.Ask},
		}})
	}
	write := agent.Write{Chat: id, Known: w.Head, Lease: w.Lease, Events: events, Release: true}
	if !settled {
		write.Wake = time.Now().Add(time.Hour)
	}
	mustAppend(t, s, write)
}

// Of a chat in which nobody names a call alone, the index holds what asks about it, and no more.
func TestByCall(t *testing.T) {
	s, m := mini(t, Options{ByCall: func(id chat.ID) bool { return id.Key == "both" }})
	for key, want := range map[string]bool{"both": true, "asks": false} {
		id := chat.ID{Platform: "test", Key: key}
		asks(t, s, id, 1, false)
		if got, found, err := s.Find(t.Context(), "ask0"+key); got != id || !found || err != nil {
			t.Errorf("%s: %v, %v, %v", key, got, found, err)
		}
		if _, found, err := s.Find(t.Context(), "call0"+key); found != want || err != nil {
			t.Errorf("%s: found by its call is %v, %v", key, found, err)
		}
		if ids, err := m.HKeys(keysOf(id).asks); err != nil || slices.Contains(ids, "call0"+key) != want {
			t.Errorf("%s: %v, %v", key, ids, err)
		}
	}
}

func TestAsking(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *Store{
		"Redis":    func(t *testing.T) *Store { return openStore(t, Options{URL: startRedis(t)}) },
		"mini":     func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s },
		"embedded": func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) },
		"Cluster":  func(t *testing.T) *Store { return openStore(t, Options{URL: cluster(t)}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if got, err := s.Asking(t.Context(), nil); err != nil || len(got) != 0 {
				t.Fatalf("an empty store: %v, %v", got, err)
			}
			var want []chat.ID
			for i := range 150 {
				id := chat.ID{Platform: "slack", Workspace: "T1", Key: fmt.Sprintf("C%d/171.%d", i%3, i)}
				asks(t, s, id, 1+i%3, false)
				if i%3 == 1 {
					want = append(want, id)
				}
			}
			asks(t, s, chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/settled"}, 2, true)
			quiet := chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/works"} // due, and it never asked
			mustAppend(t, s, agent.Write{Chat: quiet, Claim: "me", Events: []agent.Keyed{said("d")}})

			got, err := s.Asking(t.Context(), func(id chat.ID) bool { return strings.HasPrefix(id.Key, "C1/") })
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got, func(a, b chat.ID) int { return strings.Compare(a.Key, b.Key) })
			slices.SortFunc(want, func(a, b chat.ID) int { return strings.Compare(a.Key, b.Key) })
			if !slices.Equal(got, want) {
				t.Errorf("%d chats, want %d: %v", len(got), len(want), got)
			}
			if all, err := s.Asking(t.Context(), nil); err != nil || len(all) != 150 {
				t.Errorf("%d chats of 150, %v", len(all), err)
			}
		})
	}
}

// Many asks in one bucket come in several pages; a page that comes twice is no second chat.
func TestAskingPages(t *testing.T) {
	s := openStore(t, Options{URL: startRedis(t)})
	ctx := t.Context()
	n := 0
	for i := 0; n < 2500; i++ {
		id := chat.ID{Platform: "slack", Key: fmt.Sprint(i)}
		if k := keysOf(id); k.asks == asksKey(7) {
			n++
			if err := errors.Join(s.rdb.HSet(ctx, k.asks, fmt.Sprint("a", i), id.String(), fmt.Sprint("b", i), id.String()).Err(),
				s.rdb.ZAdd(ctx, k.due, redis.Z{Score: 1, Member: id.String()}).Err()); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := s.Asking(ctx, nil)
	seen := map[chat.ID]bool{}
	for _, id := range got {
		seen[id] = true
	}
	if err != nil || len(got) != n || len(seen) != n {
		t.Errorf("%d chats, %d different, of %d, %v", len(got), len(seen), n, err)
	}
}

func TestAskingTellsOfWhatItCannotRead(t *testing.T) {
	m := miniredis.RunT(t)
	s := openStore(t, Options{URL: "redis://" + m.Addr()})
	if _, err := m.ZAdd(dueKey(3), 1, "no chat"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Asking(t.Context(), nil); !errors.Is(err, ErrBroken) {
		t.Errorf("error %v", err)
	}
	m.Del(dueKey(3))
	m.HSet(dueKey(3), "another", "type")
	if _, err := s.Asking(t.Context(), nil); err == nil {
		t.Error("no error")
	}
}
