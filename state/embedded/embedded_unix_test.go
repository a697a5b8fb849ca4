//go:build unix

package embedded

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Whoever reads beside the process that writes starts again where a new generation took away the files that were read.
func TestReadWhileANewGenerationBegins(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	d.opt.JournalMax = 0 // each sweep begins one
	write := func(value string) {
		t.Helper()
		if _, err := d.Write(Write{Script: script("set", "return redis.call('SET', KEYS[1], ARGV[1])"), Keys: []string{"k"}, Args: []string{value}}); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	if err := d.Sweep(); err != nil {
		t.Fatal(err)
	}
	write("new") // in the journal only
	path := snapshotPath(dir, d.gen)
	snapshot, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // once it is being read
		if err == nil {
			err = d.Sweep()
		}
		if err == nil {
			_, err = f.Write(snapshot)
		}
		_ = f.Close()
		over <- err
	}()
	r, err := OpenToRead(dir, Options{Now: time.Now, Log: discard})
	if werr := <-over; err != nil || werr != nil {
		t.Fatal(err, werr)
	}
	defer r.Release()
	if got, err := r.mem.Get("k"); err != nil || got != "new" {
		t.Errorf("it reads %q, %v", got, err)
	}
}
