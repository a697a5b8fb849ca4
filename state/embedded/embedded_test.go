package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

func open(t *testing.T, dir string) *Server {
	t.Helper()
	d, err := Open(dir, Options{Now: time.Now, OpenJournal: OpenSegment, JournalMax: 1 << 20, Log: discard}, func(*Server) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Close(), d.Release() })
	return d
}

func script(name, source string) Script {
	sum := sha1.Sum([]byte(source))
	return Script{name, source, hex.EncodeToString(sum[:])}
}

func TestTheServerHasNoListener(t *testing.T) {
	if a := open(t, t.TempDir()).mem.Addr(); a != "" {
		t.Errorf("any program of this machine can write to %s", a)
	}
}

// Whatever byte is the last of a journal: every record whose frame is whole is read, and no other.
func TestAJournalCutAtEachByte(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	set, del := script("set", "return redis.call('SET', KEYS[1], ARGV[1])"), script("del", "return redis.call('DEL', KEYS[1])")
	for i, s := range []Script{set, set, del, set, del} {
		if _, err := d.Write(Write{Script: s, Keys: []string{"k"}, Args: []string{strconv.Itoa(i)}, Sure: i%2 == 0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Sweep(); err != nil { // a frame of its own kind
		t.Fatal(err)
	}
	journal, err := os.ReadFile(journalPath(dir, d.gen))
	if err != nil {
		t.Fatal(err)
	}
	var ends []int // of frames with a record
	for at := 0; at < len(journal); {
		kind, payload, ok := readFrame(journal[at:])
		if !ok {
			t.Fatalf("no frame at %d", at)
		}
		if at += frameHead + len(payload); kind != frameScript {
			ends = append(ends, at)
		}
	}
	var all []record
	take := func(to *[]record) func(record) { return func(r record) { *to = append(*to, r) } }
	if err := replayFrames("whole", journal, take(&all), false, discard); err != nil || len(all) != len(ends) || len(all) != 6 {
		t.Fatalf("%d records, want %d: %v", len(all), len(ends), err)
	}
	whole := 0
	for cut := range journal {
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		var got []record
		if err := replayFrames("cut", journal[:cut], take(&got), false, discard); err != nil || len(got) != whole || !reflect.DeepEqual(got, all[:whole:whole]) && whole > 0 {
			t.Fatalf("cut at byte %d of %d: %d records, want %d: %v", cut, len(journal), len(got), whole, err)
		}
	}
}

// Whatever byte of a journal is another one: what is read is what was recorded before it, and where a record that was synced stands behind it, nothing is.
func TestAJournalSpoiltAtEachByte(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	set := script("set", "return redis.call('SET', KEYS[1], ARGV[1])")
	for i := range 4 {
		if _, err := d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{strconv.Itoa(i)}, Sure: i == 2}); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(journalPath(dir, d.gen))
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	if err := replayFrames("whole", journal, func(r record) { all = append(all, r) }, true, discard); err != nil || len(all) != 4 {
		t.Fatalf("%d records: %v", len(all), err)
	}
	var ends []int // of frames with a record
	for at := 0; at < len(journal); {
		kind, payload, _ := readFrame(journal[at:])
		if at += frameHead + len(payload); kind != frameScript {
			ends = append(ends, at)
		}
	}
	for at := range journal {
		spoilt := slices.Clone(journal)
		spoilt[at] ^= 0x40
		var got []record
		err := replayFrames("spoilt", spoilt, func(r record) { got = append(got, r) }, true, discard)
		whole := 0
		for whole < len(ends) && ends[whole] <= at {
			whole++
		}
		if (err != nil) != (at < ends[2]) || len(got) != whole || whole > 0 && !reflect.DeepEqual(got, all[:whole]) {
			t.Fatalf("byte %d of %d: %d records, want %d: %v", at, len(journal), len(got), whole, err)
		}
	}
}

// Where the machine's clock was set back, or was wrong when it started, time goes on nonetheless: what has an end ends. Slower, until the machine's has caught up.
func TestTimeGoesOnWhereTheClockWasSetBack(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	begin := func() *Server {
		d, err := Open(dir, Options{Now: func() time.Time { return now }, OpenJournal: OpenSegment, JournalMax: 1 << 20, Log: discard}, func(*Server) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	end := func(d *Server) {
		if err := errors.Join(d.Close(), d.Release()); err != nil {
			t.Fatal(err)
		}
	}
	d := begin()
	was := d.Tick()
	end(d)
	now = now.Add(-time.Hour)
	d = begin()
	defer end(d)
	for range 1000 { // also where it is looked at all the time
		now = now.Add(time.Second / 1000 / 2)
		d.Tick()
	}
	if went := d.Tick().Sub(was); went < 150*time.Millisecond || went > 250*time.Millisecond {
		t.Errorf("within half a second it went on by %v", went)
	}
	now = now.Add(2 * time.Hour)
	if is := d.Tick(); !is.Equal(now.Truncate(time.Millisecond).UTC()) {
		t.Errorf("it is %v, and the machine's says %v", is, now)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(frame(nil, frameWrite, record{time.UnixMilli(1), Write{Script: Script{SHA: "s"}, Keys: []string{"k"}, Args: []string{"a"}}}.encode()))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if _, payload, ok := readFrame(b); ok {
			_, _ = decodeRecord(payload)
		}
		_, _ = decodeRecord(b)
	})
}
