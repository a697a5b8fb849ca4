package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state/embedded"
)

// frameHead is how long the head of a frame in the journal is, and healApart how long after a failure a new journal is tried.
const (
	frameHead = 10
	healApart = time.Second
)

// wholeFrame is how long the payload of the journal's next frame is, if the frame is whole: embedded/journal.go says what one is.
func wholeFrame(b []byte) (payload int, ok bool) {
	if len(b) < frameHead || b[0] != 'N' {
		return 0, false
	}
	payload = int(binary.BigEndian.Uint32(b[2:6]))
	if payload > len(b)-frameHead {
		return 0, false
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(b[1:2], table), table, b[frameHead:frameHead+payload])
	return payload, sum == binary.BigEndian.Uint32(b[6:frameHead])
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
	cuts := map[int]bool{0: true}
	for at := 0; at < len(journal); {
		payload, ok := wholeFrame(journal[at:])
		if !ok {
			t.Fatalf("no frame at %d", at)
		}
		for _, i := range []int{1, frameHead - 1, frameHead, frameHead + 1, frameHead + payload - 1, frameHead + payload} {
			cuts[at+i] = true
		}
		at += frameHead + payload
	}
	// Starting again: in front of, inside and behind every frame. That every byte can be the last is for the package embedded to show.
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
	embedded.Segment
	room    *int
	syncs   *int
	syncErr *error
}

func (f flakyDisk) Write(b []byte) (int, error) {
	if len(b) > *f.room {
		n, _ := f.Segment.Write(b[:*f.room])
		*f.room = 0
		return n, syscall.ENOSPC
	}
	*f.room -= len(b)
	return f.Segment.Write(b)
}

func (f flakyDisk) Sync() error {
	*f.syncs++
	if *f.syncErr != nil {
		return *f.syncErr
	}
	return f.Segment.Sync()
}

func flaky(room, syncs *int, syncErr *error) Options {
	return Options{openJournal: func(path string) (embedded.Segment, error) {
		f, err := embedded.OpenSegment(path)
		return flakyDisk{f, room, syncs, syncErr}, err
	}}
}

func TestAFullDiskAcceptsNothing(t *testing.T) {
	dir := t.TempDir()
	space, syncs := 1<<20, 0
	var syncErr error
	o, now := flaky(&space, &syncs, &syncErr), time.Now()
	o.now = func() time.Time { return now }
	s := openEmbedded(t, dir, o)
	first := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	space = 50 // some of the next frame fits
	for i, w := range []agent.Write{
		{Chat: room, Events: []agent.Keyed{said("d2")}},
		{Chat: room, Known: first.Head, Lease: first.Lease, Events: []agent.Keyed{started("w1")}},
	} {
		if _, err := s.Append(t.Context(), w); err == nil || !strings.Contains(err.Error(), "cannot be written") {
			t.Errorf("write %d: error %v", i, err)
		}
		space = 1 << 20 // room again: still nothing, until a new journal is begun
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
	if err := s.disk.Sweep(); err == nil {
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
		payload, ok := wholeFrame(journal[at:])
		if !ok {
			t.Fatalf("half a frame was left at byte %d of %d", at, len(journal))
		}
		at += frameHead + payload
	}
	again := openEmbedded(t, left, Options{})
	if got := history(t, again); len(got) != 1 {
		t.Errorf("%d entries after a restart", len(got))
	}
	mustAppend(t, again, agent.Write{Events: []agent.Keyed{said("d2")}})

	now = now.Add(healApart) // there is room, and the same process goes on, with all that it accepted
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d3")}})
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it is not ready: %v", err)
	}
	if got := history(t, openEmbedded(t, killed(t, dir), Options{})); len(got) != 2 {
		t.Errorf("%d entries in the new journal", len(got))
	}
}

// A process that starts on a full disk reads what is there, says that it takes nothing, and takes it when there is room.
func TestAStartOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	dir = killed(t, dir)
	space, syncs, now := -1, 0, time.Now()
	var syncErr error
	o := flaky(&space, &syncs, &syncErr)
	o.now = func() time.Time { return now }
	open := o.openJournal
	o.openJournal = func(path string) (embedded.Segment, error) {
		if space < 0 {
			return nil, errors.New("no space left on device")
		}
		return open(path)
	}
	s = openEmbedded(t, dir, o)
	if got := history(t, s); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
	if _, err := s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("d2")}}); err == nil || s.Ping(t.Context()) == nil {
		t.Errorf("accepted, %v", err)
	}
	space, now = 1<<20, now.Add(healApart)
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
	if got := history(t, openEmbedded(t, killed(t, dir), Options{})); len(got) != 2 {
		t.Errorf("%d entries after a restart", len(got))
	}
}

// A directory that cannot be written is told from one that another process has.
func TestADirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lock"), 0o700); err != nil { // a file that cannot be opened, to root either
		t.Fatal(err)
	}
	if _, err := OpenEmbedded(dir, Options{Log: discard}); err == nil || !strings.Contains(err.Error(), "cannot be written") || strings.Contains(err.Error(), "another nod") {
		t.Errorf("error %v", err)
	}
}

// Whole records behind a damaged one are lost, but not silently, and not their file.
func TestADamagedJournalIsKept(t *testing.T) {
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
	upTo, err := os.ReadFile(onlyJournal(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d2")}})
	mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d3")}})
	left := killed(t, dir)
	path := onlyJournal(t, left)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(upTo)+frameHead+3] ^= 0x40
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s = openEmbedded(t, left, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := history(t, s); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
	if kept, err := os.ReadFile(path + ".bad"); err != nil || !bytes.Equal(kept, b) {
		t.Errorf("the file was not kept: %v", err)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), `"records lost"=1`) {
		t.Errorf("the log says:\n%s", log.String())
	}
	snapshot := strings.Replace(path, "journal.", "snapshot.", 1) + ".bad"
	if _, err := os.Stat(snapshot); err != nil {
		t.Error(err)
	}
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
		t.Error("after a failed sync nobody knows what the disk holds, and it went on with the same file")
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
	lost := killed(t, dir)
	if err := os.Remove(filepath.Join(lost, filepath.Base(snaps[0]))); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEmbedded(lost, Options{Log: discard}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("a snapshot that is gone: %v", err)
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
	appendScript = script{embedded.Script{Name: "append", Source: "return redis.error_reply('ERR a newer build')", SHA: digest("newer")}}
	if d := cmp.Diff(want, history(t, openEmbedded(t, left, Options{}))); d != "" {
		t.Error(d)
	}
}
