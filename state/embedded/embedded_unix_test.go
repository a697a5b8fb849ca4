//go:build unix

package embedded

import (
	"os"
	"path/filepath"
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

// A command that root types leaves no file that nod, which is another user, could not read: it would not start any more.
func TestFilesBelongToWhomTheDirectoryDoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can leave files to others")
	}
	const nobody = 65534
	dir := t.TempDir()
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if _, err := d.Write(Write{Script: script("set", "return redis.call('SET', KEYS[1], '1')"), Keys: []string{"k"}}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		var is unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, f.Name()), &is); err != nil || is.Uid != nobody || is.Gid != nobody {
			t.Errorf("%s belongs to %d:%d, %v", f.Name(), is.Uid, is.Gid, err)
		}
	}
	// Nor does it write where a link leads that somebody put there.
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("hers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, snapshotPath(dir, d.gen+1)+".tmp"); err != nil {
		t.Fatal(err)
	}
	if err := d.Release(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if b, err := os.ReadFile(elsewhere); err != nil || string(b) != "hers" {
		t.Errorf("%q, %v", b, err)
	}
}

// Some file systems, such as shares of Windows, cannot sync a directory and say that this is no valid wish. /proc is one of them.
func TestADirectoryThatCannotBeSynced(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	if err := syncDir("/proc"); err != nil {
		t.Error(err)
	}
}
