package embedded

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unreadable does what happens while dir can be written but not read, as where a process has no descriptor left. Root does without its rights meanwhile.
func unreadable(t *testing.T, dir string, do func()) {
	t.Helper()
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its rights
		var none [2]unix.CapUserData
		err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
		do()
		over <- err
	}()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// A directory that cannot be read is no empty one; and a snapshot of which it is not known whether it stays is in force: what the journal before it
// took on, the next process would not read.
func TestADirectoryThatCannotBeRead(t *testing.T) {
	dir, o := t.TempDir(), options()
	o.JournalMax = 0
	d, err := Open(dir, o, nothing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Close(), d.Release() })
	write(t, d, set, "k", "1")
	unreadable(t, dir, func() {
		if err := d.Sweep(); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("it swept: %v", err)
		}
	})
	_, err = d.Write(Write{Script: set, Keys: []string{"k"}, Args: []string{"2"}})
	if got := after(t, dir, "k"); (got == "2") != (err == nil) {
		t.Errorf("the write said %v, and the next process reads %q", err, got)
	}
	left := killed(t, dir)
	unreadable(t, left, func() {
		if _, err := Open(left, o, nothing); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("it began anew: %v", err)
		}
	})
	if got := after(t, left, "k"); got == "" {
		t.Error("all is forgotten")
	}
}
