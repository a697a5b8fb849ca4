package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

var room = chat.ID{Platform: "test", Key: "room"}

func said(op string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Said{Delivery: chat.Delivery(op), By: chat.User{Platform: "test", Key: "ana"}, Text: "hello"}}
}

func started(op string) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.Started{Call: "c", Run: "r", Ask: "a"}}
}

func mustAppend(t *testing.T, s *Store, w agent.Write) agent.Written {
	t.Helper()
	if w.Chat.IsZero() {
		w.Chat = room
	}
	got, err := s.Append(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func history(t *testing.T, s *Store) []turn.Entry {
	t.Helper()
	e, err := s.History(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// killed copies what a process that dies now leaves on disk.
func killed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func onlyJournal(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "journal.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("journals: %v, %v", found, err)
	}
	return found[0]
}

func generation(t *testing.T, dir string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(onlyJournal(t, dir)), "."))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// story writes a bit of everything.
func story(t *testing.T, s *Store) {
	t.Helper()
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	lease := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2"), said("d3")}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}, Snapshot: &agent.Snapshot{}})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Release: true, Wake: time.Now().Add(time.Hour), Events: []agent.Keyed{said("d4")}})
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	if _, err := OpenEmbedded(dir, Options{}); err == nil || !strings.Contains(err.Error(), "another nod is using it") {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openEmbedded(t, dir, Options{})
}

func TestAStartVoidsLeasesAndWakesWhatWasHeld(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	first, err := s.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	waits, silent := chat.ID{Platform: "test", Key: "waits"}, chat.ID{Platform: "test", Key: "silent"}
	for id, wake := range map[chat.ID]time.Time{waits: time.Now().Add(time.Hour), silent: {}} {
		c := mustAppend(t, s, agent.Write{Chat: id, Claim: "me"})
		mustAppend(t, s, agent.Write{Chat: id, Lease: c.Lease, Release: true, Wake: wake})
	}
	for round := range 2 {
		s = openEmbedded(t, killed(t, dir), Options{})
		if _, _, err := s.Renew(t.Context(), w.Lease); !errors.Is(err, agent.ErrFenced) {
			t.Errorf("round %d: the old lease: %v", round, err)
		}
		got, err := s.ClaimDue(t.Context(), "me", 10)
		if err != nil || len(got) != 1 || got[0].Chat != w.Lease.Chat || got[0].Token < w.Lease.Token+1000 {
			t.Fatalf("round %d: due %+v after token %d, %v", round, got, w.Lease.Token, err)
		}
		// What waits sleeps on until its deadline, so that a start costs nothing for it.
		if got := s.rdb.ZScore(t.Context(), keysOf(waits).due, waits.String()).Val(); got < float64(time.Now().Add(50*time.Minute).UnixMilli()) {
			t.Errorf("round %d: what waits for an hour is due at %.0f", round, got)
		}
		if e, err := s.Epoch(t.Context()); err != nil || e != first+1 {
			t.Errorf("round %d: epoch %d after %d, %v", round, e, first, err)
		}
	}
}

func TestTimeInTheEmbeddedStore(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	opt := Options{now: func() time.Time { return now }, journalMax: 1}
	s := openEmbedded(t, dir, opt)
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	before := s.disk.Tick()
	now = now.Add(-time.Hour) // somebody sets the machine's clock
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
	if got := s.disk.Tick(); got.Before(before) {
		t.Errorf("the store's clock went from %s to %s", before, got)
	}
	e := history(t, s)
	if e[1].At.Before(e[0].At) {
		t.Errorf("stamps go back: %s, %s", e[0].At, e[1].At)
	}
	mustAppend(t, s, agent.Write{Known: agent.Head{Seq: 2, Tip: "d2"}, Lease: w.Lease, Release: true, Wake: now.Add(3 * time.Hour)})
	if got, err := s.ClaimDue(t.Context(), "me", 1); err != nil || len(got) != 0 {
		t.Errorf("due %+v, %v", got, err)
	}
	now = now.Add(4 * time.Hour)
	if got, err := s.ClaimDue(t.Context(), "me", 1); err != nil || len(got) != 1 {
		t.Errorf("a deadline passed with nobody writing: due %+v, %v", got, err)
	}
	// Operations are forgotten after a day, but for the first one, and not before; the journal gets shorter meanwhile.
	gen := generation(t, dir)
	for range 3 {
		now = now.Add(6 * time.Hour)
		if err := s.disk.Sweep(); err != nil {
			t.Fatal(err)
		}
	}
	if now := generation(t, dir); now != gen+3 {
		t.Errorf("generation %d after %d", now, gen)
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("%d files, want lock, snapshot and journal", len(files))
	}
	if w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}}); !w.Repeated {
		t.Error("forgotten too early")
	}
	now = now.Add(12 * time.Hour)
	reopened := openEmbedded(t, killed(t, dir), opt) // time passes while it is off, too
	if w := mustAppend(t, reopened, agent.Write{Events: []agent.Keyed{said("d2")}}); w.Repeated {
		t.Error("not forgotten")
	}
	if w := mustAppend(t, reopened, agent.Write{Events: []agent.Keyed{said("d1")}}); !w.Repeated {
		t.Error("the first one is forgotten, and stands in the log")
	}
	if n := reopened.disk.Keys(); len(n) == 0 {
		t.Error("everything is gone")
	}
}

func TestCloseRefusesAndKeeps(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	for i := range 20 {
		mustAppend(t, s, agent.Write{Events: []agent.Keyed{said(fmt.Sprint("d", i))}})
	}
	want := history(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("a second Close:", err)
	}
	if _, err := s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("late")}}); !errors.Is(err, ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if _, err := s.Watch(t.Context(), room); !errors.Is(err, ErrClosed) {
		t.Errorf("Watch: %v", err)
	}
	if d := cmp.Diff(want, history(t, openEmbedded(t, dir, Options{}))); d != "" {
		t.Error(d)
	}
}
