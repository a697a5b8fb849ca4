package embedded

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	nothing = func(*Server) error { return nil }
	set     = script("set", "return redis.call('SET', KEYS[1], ARGV[1])")
)

func options() Options {
	return Options{Now: time.Now, OpenJournal: OpenSegment, JournalMax: 1 << 20, Log: discard}
}

func write(t *testing.T, d *Server, s Script, key string, args ...string) {
	t.Helper()
	if _, err := d.Write(Write{Script: s, Keys: []string{key}, Args: args}); err != nil {
		t.Fatal(err)
	}
}

// killed is a copy of what a process that is killed now leaves.
func killed(t *testing.T, dir string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

// after says what a process finds that starts after this one was killed.
func after(t *testing.T, dir, key string) string {
	t.Helper()
	v, _ := open(t, killed(t, dir)).mem.Get(key)
	return v
}

// What cannot be read whole is refused with the reason, by who starts and by who only reads: neither goes on with a part.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	lines := func(s string) func([]byte) []byte {
		return func(b []byte) []byte {
			head, rest, _ := bytes.Cut(b, []byte("\n"))
			return append([]byte(strings.ReplaceAll(s, "HEAD", string(head))), rest...)
		}
	}
	dump := func(version int, keys ...Key) func([]byte) []byte {
		return func([]byte) []byte {
			var b bytes.Buffer
			out, _ := NewDumpWriter(&b, snapHead{version, 1})
			for _, k := range keys {
				_ = out.Put(k)
			}
			_, _ = out.End()
			return b.Bytes()
		}
	}
	k, v := []byte("k"), func(s ...string) (b [][]byte) {
		for _, s := range s {
			b = append(b, []byte(s))
		}
		return b
	}
	whole := frame(nil, frameScript, []byte(set.Source))
	was := record{time.UnixMilli(1 << 40), Write{Script: Script{SHA: set.SHA}, Keys: []string{"k", "l"}, Args: []string{"a", "b"}}}.encode()
	for name, c := range map[string]struct {
		file   string
		change func([]byte) []byte // nil: a directory stands in its place
		want   string
	}{
		"a snapshot of a newer build":       {"snapshot.1", dump(2), "version 2, and this build reads version 1"},
		"a head that is no snapshot's":      {"snapshot.1", lines("x"), "invalid character"},
		"a line that is no key":             {"snapshot.1", lines("HEAD\nx\n"), "invalid character"},
		"a snapshot without its end":        {"snapshot.1", func(b []byte) []byte { return b[:len(b)-2] }, "its end is missing"},
		"an end that is another's":          {"snapshot.1", lines("HEAD \n"), "checksum"},
		"a snapshot that is a directory":    {"snapshot.1", nil, "damaged"},
		"a text that has no value":          {"snapshot.1", dump(1, Key{Key: k, Type: "string"}), "does not fit"},
		"a hash with half a field":          {"snapshot.1", dump(1, Key{Key: k, Type: "hash", Value: v("a")}), "does not fit"},
		"a set whose member has no score":   {"snapshot.1", dump(1, Key{Key: k, Type: "zset", Value: v("a")}), "does not fit"},
		"a type that nod does not write":    {"snapshot.1", dump(1, Key{Key: k, Type: "set", Value: v("a", "b"), Score: []float64{1, 2}}), "does not fit"},
		"a key that is two things":          {"snapshot.1", dump(1, Key{Key: k, Type: "string", Value: v("a")}, Key{Key: k, Type: "zset", Value: v("a", "b"), Score: []float64{1, 2}}), "WRONGTYPE"},
		"a journal that cannot be read":     {"journal.1", nil, "is a directory"},
		"a write of a script that is lost":  {"journal.1", func([]byte) []byte { return frame(nil, frameWrite, was) }, "names a script that is not there"},
		"a record that says it is too long": {"journal.1", func([]byte) []byte { return frame(whole, frameWrite, []byte{2, 0xff, 0xff, 0xff, 0xff, 0x7f}) }, "not readable"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir)
			write(t, d, set, "k", "1")
			dir = killed(t, dir)
			path := filepath.Join(dir, c.file)
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.Remove(path)
			}
			if err == nil && c.change == nil {
				err = os.Mkdir(path, 0o700)
			} else if err == nil {
				err = os.WriteFile(path, c.change(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, options(), nothing); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it starts with %v", err)
			}
			if _, err := OpenToRead(dir, options()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is read with %v", err)
			}
		})
	}
	for cut := range was { // a record that another build wrote
		if err := replayFrames("cut", frame(whole, frameWrite, was[:cut]), func(record) { t.Errorf("%d bytes of a record are one", cut) }, false, discard); err == nil {
			t.Errorf("%d bytes of a record", cut)
		}
	}
}

// Who starts in a directory that is not fit for it is told why, and leaves it to the next one.
func TestWhereNoStoreCanBe(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenToRead(dir, options()); !errors.Is(err, ErrNothing) {
		t.Errorf("nobody had it: %v", err)
	}
	if _, err := OpenToRead(filepath.Join(dir, "lock"), options()); !errors.Is(err, ErrNothing) {
		t.Errorf("it is not there: %v", err)
	}
	if _, err := Open(dir, options(), func(*Server) error { return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("what begins failed: %v", err)
	}
	d := open(t, dir)
	if err := errors.Join(d.Close(), d.Release()); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink("nowhere/at/all", link), os.Remove(filepath.Join(dir, "lock")), os.Mkdir(filepath.Join(dir, "lock"), 0o700)); err != nil {
		t.Fatal(err)
	}
	left := t.TempDir()
	if err := os.Mkdir(snapshotPath(left, 1)+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	d = open(t, left) // it can be read
	if _, err := d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{"1"}}); err == nil || !strings.Contains(err.Error(), "nothing is accepted") {
		t.Errorf("no snapshot at the start: %v", err)
	}
	gone := t.TempDir()
	if err := os.Symlink("nowhere", snapshotPath(gone, 3)); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{gone: "no such file", link: "file exists", dir: "is a directory"} {
		if _, err := Open(at, options(), nothing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// An error of a script is the caller's, not a result that is empty.
func TestAScriptThatFailsSaysSo(t *testing.T) {
	d := open(t, t.TempDir())
	if _, err := d.Write(Write{Script: script("bad", "return redis.error_reply('ERR no')")}); err == nil || !strings.Contains(err.Error(), "bad: ") {
		t.Error(err)
	}
}

// Where no snapshot can be written, the journal goes on and nothing is lost: neither now nor by a kill.
func TestASnapshotThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		stands string // a directory that is in the way
		begin  Script
	}{
		"its file cannot be made":      {"snapshot.2.tmp", set},
		"it cannot be put into force":  {"snapshot.2/in", set},
		"a key of a type that is new":  {"", script("sadd", "return redis.call('SADD', KEYS[1], 'a')")},
		"a number that no file can be": {"", script("zadd", "return redis.call('ZADD', KEYS[1], 'inf', 'a')")},
	} {
		t.Run(name, func(t *testing.T) {
			dir, o := t.TempDir(), options()
			o.JournalMax = 0
			d, err := Open(dir, o, nothing)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = d.Close(), d.Release() })
			write(t, d, c.begin, "other", "1")
			write(t, d, set, "k", "before")
			if c.stands != "" {
				if err := os.MkdirAll(filepath.Join(dir, c.stands), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Sweep(); err == nil || !strings.Contains(err.Error(), "snapshot") {
				t.Errorf("it swept: %v", err)
			}
			write(t, d, set, "l", "after")
			if c.stands != "" {
				if err := os.RemoveAll(filepath.Join(dir, strings.TrimSuffix(c.stands, "/in"))); err != nil {
					t.Fatal(err)
				}
			}
			left := killed(t, dir)
			if got := after(t, left, "k") + " " + after(t, left, "l"); got != "before after" {
				t.Errorf("the next process reads %q", got)
			}
		})
	}
}

// badDisk writes at most room bytes more, and opens no file where it is closed.
type badDisk struct {
	Segment
	room *int
}

func (b badDisk) Write(p []byte) (int, error) {
	if len(p) <= *b.room {
		return b.Segment.Write(p)
	}
	n, _ := b.Segment.Write(p[:*b.room])
	return n, syscall.ENOSPC
}

// Nothing is accepted that is not whole in the journal, until a new one could be begun.
func TestAFullDisk(t *testing.T) {
	for name, take := range map[string]func(*Server) error{
		"a write": func(d *Server) error {
			_, err := d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{"2"}})
			return err
		},
		"one for certain": func(d *Server) error {
			_, err := d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{"2"}, Sure: true})
			return err
		},
		"a sweep": (*Server).Sweep,
	} {
		t.Run(name, func(t *testing.T) {
			dir, o, now, room, closed := t.TempDir(), options(), time.Now(), 1<<20, false
			o.Now = func() time.Time { return now }
			o.OpenJournal = func(path string) (Segment, error) {
				if closed {
					return nil, syscall.ENOSPC
				}
				f, err := OpenSegment(path)
				return badDisk{f, &room}, err
			}
			d, err := Open(dir, o, nothing)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = d.Close(), d.Release() })
			write(t, d, set, "k", "1")
			room, closed = 5, true
			for range 3 {
				if err := take(d); !errors.Is(err, syscall.ENOSPC) || d.Ready() == nil {
					t.Errorf("accepted, %v", err)
				}
				if got := after(t, dir, "k"); got != "1" {
					t.Errorf("the next process reads %q", got)
				}
				now = now.Add(healApart)
			}
			// The snapshot of what was accepted has to be written first.
			if err := os.Mkdir(snapshotPath(dir, d.gen+1)+".tmp", 0o700); err != nil {
				t.Fatal(err)
			}
			room, closed = 1<<20, false
			for range 2 {
				if err := take(d); err == nil || d.Ready() == nil {
					t.Error("accepted without a journal")
				}
				now = now.Add(healApart)
			}
			now = now.Add(-healApart / 2)
			if err := os.Remove(snapshotPath(dir, d.gen+1) + ".tmp"); err != nil {
				t.Fatal(err)
			}
			if err := take(d); err == nil {
				t.Error("everything is written at each try, not at each second")
			}
			now = now.Add(healApart)
			if err := take(d); err != nil || d.Ready() != nil {
				t.Error(err)
			}
		})
	}
}

// What a start, or who reads beside the one that writes, tells of a journal's end.
func TestWhatIsToldOfAJournalsEnd(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	write(t, d, set, "k", "1")
	first, err := os.ReadFile(journalPath(dir, d.gen))
	if err != nil {
		t.Fatal(err)
	}
	write(t, d, set, "k", "2")
	write(t, d, set, "k", "3")
	all, err := os.ReadFile(journalPath(dir, d.gen))
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(all)
	damaged[len(first)+frameHead] ^= 0x40
	for name, c := range map[string]struct {
		journal            []byte
		starts, read, kept string
	}{
		"whole":   {all, "", "", ""},
		"torn":    {all[:len(all)-1], "level=WARN", "", ""},
		"damaged": {damaged, "records lost", "is not read", string(damaged)},
	} {
		left := killed(t, dir)
		path := journalPath(left, d.gen)
		if err := os.WriteFile(path, c.journal, 0o600); err != nil {
			t.Fatal(err)
		}
		says := func(what, want string, open func(Options) (*Server, error)) {
			var log bytes.Buffer
			o := options()
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			d, err := open(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Release(); err != nil {
				t.Errorf("%s %s: %v", name, what, err)
			}
			if got := log.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%s %s: it says %q, want %q", name, what, got, want)
			}
		}
		says("is read", c.read, func(o Options) (*Server, error) { return OpenToRead(left, o) })
		if _, err := os.Stat(path + ".bad"); err == nil {
			t.Errorf("%s: who only reads wrote", name)
		}
		if c.kept != "" { // where it cannot be kept, nobody goes on from it
			if err := os.Mkdir(path+".bad", 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(left, options(), nothing); err == nil || !strings.Contains(err.Error(), "cannot be kept") {
				t.Errorf("%s: %v", name, err)
			}
			if err := os.Remove(path + ".bad"); err != nil {
				t.Fatal(err)
			}
		}
		says("at a start", c.starts, func(o Options) (*Server, error) { return Open(left, o, nothing) })
		if b, _ := os.ReadFile(path + ".bad"); string(b) != c.kept {
			t.Errorf("%s: %d bytes were kept, want %d", name, len(b), len(c.kept))
		}
	}
}

// A key ends when it was told to, also where the process was stopped before a sweep, and who only reads sees no more of it.
func TestAKeyEndsAfterAStop(t *testing.T) {
	dir, now, o := t.TempDir(), time.Now(), options()
	o.Now = func() time.Time { return now }
	d, err := Open(dir, o, nothing)
	if err != nil {
		t.Fatal(err)
	}
	write(t, d, script("setex", "return redis.call('SET', KEYS[1], '1', 'EX', '60')"), "k")
	now = now.Add(40 * time.Second)
	d.Tick()
	if err := errors.Join(d.Close(), d.Release()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Second)
	if d, err = Open(dir, o, nothing); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Close(), d.Release() })
	if left := d.mem.TTL("k"); left > 10*time.Second || left < 9*time.Second {
		t.Errorf("after 50 s of a minute it has %s left", left)
	}
	now = now.Add(11 * time.Second)
	if err := d.Sweep(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenToRead(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if keys := r.Keys(); len(keys) != 0 {
		t.Errorf("who reads sees %v", keys)
	}
	if err := r.Release(); err != nil {
		t.Error(err)
	}
}

// A snapshot holds everything, so one that fails is not tried again at each write.
func TestAFailedSnapshotIsTriedOnceASecond(t *testing.T) {
	dir, o, now, room := t.TempDir(), options(), time.Now(), 1<<20
	o.Now = func() time.Time { return now }
	o.OpenJournal = func(path string) (Segment, error) {
		f, err := OpenSegment(path)
		return badDisk{f, &room}, err
	}
	d, err := Open(dir, o, nothing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Close(), d.Release() })
	tmp := snapshotPath(dir, d.gen+1) + ".tmp"
	for _, step := range []struct {
		room  int
		stuck bool
		after time.Duration
		taken bool
	}{{5, false, 0, false}, {1 << 20, true, healApart, false}, {1 << 20, false, 0, false}, {1 << 20, false, healApart, true}} {
		room, now = step.room, now.Add(step.after)
		_ = os.Remove(tmp)
		if step.stuck {
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{"1"}}); (err == nil) != step.taken {
			t.Errorf("%+v: %v", step, err)
		}
	}
}
