package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
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

// story writes a bit of everything.
func story(t *testing.T, s *Store) {
	t.Helper()
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	lease := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2"), said("d3")}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}, Snapshot: &agent.Snapshot{}})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Release: true, Wake: time.Now().Add(time.Hour), Events: []agent.Keyed{said("d4")}})
}

func TestKilledAtEachByteOfTheJournal(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	story(t, s)
	full := history(t, s)
	left := killed(t, dir)
	path := onlyJournal(t, left)
	journal, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := history(t, openEmbedded(t, killed(t, left), Options{})); cmp.Diff(full, want) != "" {
		t.Fatal("the whole journal does not give the whole log: " + cmp.Diff(full, want))
	}
	// Reading: every byte.
	var all []record
	cuts := map[int]bool{0: true}
	var ends []int // of frames with a write
	for at := 0; at < len(journal); {
		kind, payload, ok := readFrame(journal[at:])
		if !ok {
			t.Fatalf("no frame at %d", at)
		}
		at += frameHead + len(payload)
		if kind != frameScript {
			ends = append(ends, at)
		}
		for _, i := range []int{1, frameHead - 1, frameHead, frameHead + 1, frameHead + len(payload) - 1, frameHead + len(payload)} {
			cuts[at-frameHead-len(payload)+i] = true
		}
	}
	take := func(to *[]record) func(record) { return func(r record) { *to = append(*to, r) } }
	if err := replayFrames("whole", journal, take(&all), discard); err != nil || len(all) != len(ends) {
		t.Fatalf("%d records, want %d: %v", len(all), len(ends), err)
	}
	whole := 0
	for cut := range journal {
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		var got []record
		if err := replayFrames("cut", journal[:cut], take(&got), discard); err != nil || len(got) != whole || !reflect.DeepEqual(got, all[:whole:whole]) && whole > 0 {
			t.Fatalf("cut at byte %d of %d: %d records, want %d: %v", cut, len(journal), len(got), whole, err)
		}
	}
	// Starting again: in front of, inside and behind every frame.
	before := 0
	for _, cut := range slices.Sorted(maps.Keys(cuts)) {
		if err := os.WriteFile(path, journal[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := openEmbedded(t, killed(t, left), Options{})
		got := history(t, s)
		if len(got) < before || !slices.EqualFunc(full[:len(got)], got, func(a, b turn.Entry) bool { return cmp.Equal(a, b) }) {
			t.Fatalf("cut at byte %d: %d entries after %d; %s", cut, len(got), before, cmp.Diff(full[:len(got)], got))
		}
		before = len(got)
		w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("after")}})
		if w.Head.Seq != uint64(before)+1 {
			t.Fatalf("cut at byte %d: head %+v", cut, w.Head)
		}
	}
	if before != len(full) {
		t.Errorf("the whole journal gave %d entries of %d", before, len(full))
	}
}

// flakyDisk writes at most room bytes more, and syncs while it may.
type flakyDisk struct {
	segment
	room    *int
	syncs   *int
	syncErr *error
}

func (f flakyDisk) Write(b []byte) (int, error) {
	if len(b) > *f.room {
		n, _ := f.segment.Write(b[:*f.room])
		*f.room = 0
		return n, syscall.ENOSPC
	}
	*f.room -= len(b)
	return f.segment.Write(b)
}

func (f flakyDisk) Sync() error {
	*f.syncs++
	if *f.syncErr != nil {
		return *f.syncErr
	}
	return f.segment.Sync()
}

func flaky(room, syncs *int, syncErr *error) Options {
	return Options{openJournal: func(path string) (segment, error) {
		f, err := openSegment(path)
		return flakyDisk{f, room, syncs, syncErr}, err
	}}
}

func TestAFullDiskAcceptsNothing(t *testing.T) {
	dir := t.TempDir()
	space, syncs := 1<<20, 0
	var syncErr error
	s := openEmbedded(t, dir, flaky(&space, &syncs, &syncErr))
	first := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	space = 50 // some of the next frame fits
	for i, w := range []agent.Write{
		{Chat: room, Events: []agent.Keyed{said("d2")}},
		{Chat: room, Known: first.Head, Lease: first.Lease, Events: []agent.Keyed{started("w1")}},
	} {
		if _, err := s.Append(t.Context(), w); err == nil || !strings.Contains(err.Error(), "cannot be written") {
			t.Errorf("write %d: error %v", i, err)
		}
		space = 1 << 20 // room again: still nothing, until somebody has looked at it
	}
	if _, err := s.ClaimDue(t.Context(), "me", 1); err != nil {
		t.Errorf("nothing is due, so nothing has to be written: %v", err)
	}
	if _, _, err := s.Renew(t.Context(), first.Lease); err == nil {
		t.Error("renewed")
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("it says that it is ready")
	}
	if err := s.disk.sweep(); err == nil {
		t.Error("it swept")
	}
	if got := history(t, s); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
	left := killed(t, dir)
	journal, err := os.ReadFile(onlyJournal(t, left))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(journal); {
		_, payload, ok := readFrame(journal[at:])
		if !ok {
			t.Fatalf("half a frame was left at byte %d of %d", at, len(journal))
		}
		at += frameHead + len(payload)
	}
	s = openEmbedded(t, left, Options{})
	if got := history(t, s); len(got) != 1 {
		t.Errorf("%d entries after a restart", len(got))
	}
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
}

func TestStartedAndDecidedAreSynced(t *testing.T) {
	space, syncs := 1<<20, 0
	var syncErr error
	s := openEmbedded(t, t.TempDir(), flaky(&space, &syncs, &syncErr))
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	if syncs != 0 {
		t.Errorf("a message was synced %d times", syncs)
	}
	lease := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{{Op: "c1", Event: turn.Decided{Ask: "a", By: chat.User{Platform: "test", Key: "ana"}}}}})
	if syncs != 2 {
		t.Errorf("a start and a decision were synced %d times", syncs)
	}
	syncErr = errors.New("the disk is gone")
	if _, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w2")}}); !errors.Is(err, syncErr) {
		t.Errorf("error %v", err)
	}
	if n := len(history(t, s)); n != 3 {
		t.Errorf("%d entries: one that is not on the disk is in the log", n)
	}
	syncErr = nil
	if _, err := s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("d2")}}); err == nil {
		t.Error("after a failed sync nobody knows what the disk holds, and it went on")
	}
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

func TestAStartVoidsLeasesAndWakesEverybody(t *testing.T) {
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
		if err != nil || len(got) != 2 {
			t.Fatalf("round %d: due %+v, %v", round, got, err)
		}
		for _, l := range got {
			if l.Chat == silent || l.Token < w.Lease.Token+1000 {
				t.Errorf("round %d: claimed %+v after token %d", round, l, w.Lease.Token)
			}
		}
		if e, err := s.Epoch(t.Context()); err != nil || e != first+1 {
			t.Errorf("round %d: epoch %d after %d, %v", round, e, first, err)
		}
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	unsynced := killed(t, dir)
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}})
	synced := killed(t, dir)
	spoil := func(path string, at int) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 0x40
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(onlyJournal(t, unsynced))
	if err != nil {
		t.Fatal(err)
	}
	last := len(journal) - 5
	// A power cut may spoil what was not synced, and only that.
	spoil(onlyJournal(t, unsynced), last)
	if n := len(history(t, openEmbedded(t, unsynced, Options{}))); n != 0 {
		t.Errorf("%d entries", n)
	}
	spoil(onlyJournal(t, synced), last)
	if _, err := OpenEmbedded(synced, Options{Log: discard}); err == nil || !strings.Contains(err.Error(), "damaged at byte") {
		t.Errorf("a start that was recorded would be forgotten: %v", err)
	}
	snaps, _ := filepath.Glob(filepath.Join(dir, "snapshot.*"))
	if len(snaps) != 1 {
		t.Fatal(snaps)
	}
	for name, change := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-3] },
		"changed": func(b []byte) []byte { return bytes.Replace(b, []byte(`"at":1`), []byte(`"at":2`), 1) },
		"emptied": func([]byte) []byte { return nil },
		"newer":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"snapshot":1`), []byte(`"snapshot":2`), 1) },
	} {
		bad := killed(t, dir)
		path := filepath.Join(bad, filepath.Base(snaps[0]))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenEmbedded(bad, Options{Log: discard}); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("snapshot %s: error %v", name, err)
		}
	}
}

func TestAnOldJournalIsReplayedWithItsOwnScripts(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	want := history(t, s)
	left := killed(t, dir)
	was := appendScript
	t.Cleanup(func() { appendScript = was })
	appendScript = script{"append", "return redis.error_reply('ERR a newer build')", digest("newer")}
	if d := cmp.Diff(want, history(t, openEmbedded(t, left, Options{}))); d != "" {
		t.Error(d)
	}
}

func TestTimeInTheEmbeddedStore(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	opt := Options{now: func() time.Time { return now }, journalMax: 1}
	s := openEmbedded(t, dir, opt)
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	now = now.Add(-time.Hour) // somebody sets the machine's clock
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
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
	// Operations are forgotten after a day, and not before; the journal gets shorter meanwhile.
	gen := s.disk.journal.gen
	for range 3 {
		now = now.Add(6 * time.Hour)
		if err := s.disk.sweep(); err != nil {
			t.Fatal(err)
		}
	}
	if s.disk.journal.gen != gen+3 {
		t.Errorf("generation %d after %d", s.disk.journal.gen, gen)
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("%d files, want lock, snapshot and journal", len(files))
	}
	if w := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}}); !w.Repeated {
		t.Error("forgotten too early")
	}
	now = now.Add(12 * time.Hour)
	reopened := openEmbedded(t, killed(t, dir), opt) // time passes while it is off, too
	if w := mustAppend(t, reopened, agent.Write{Events: []agent.Keyed{said("d1")}}); w.Repeated {
		t.Error("not forgotten")
	}
	if n := reopened.disk.mem.Keys(); len(n) == 0 {
		t.Error("everything is gone")
	}
}

func TestTheEmbeddedStoreHasNoListener(t *testing.T) {
	s := openEmbedded(t, t.TempDir(), Options{})
	if a := s.disk.mem.Addr(); a != "" {
		t.Errorf("any program of this machine can write to %s", a)
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
