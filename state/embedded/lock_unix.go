//go:build unix

package embedded

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockFile takes the directory for this process. The system lets go of it when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := create(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // a descriptor
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, err
	}
	return f, nil
}

// create opens a file for writing, for whom its directory belongs to: root may be typing a command, and what it left nod could not read. It follows no
// link, which would lead root anywhere.
func create(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|os.O_CREATE|unix.O_NOFOLLOW, 0o600) //nolint:gosec // our own directory
	var dir unix.Stat_t
	if unix.Stat(filepath.Dir(path), &dir) == nil {
		_ = f.Chown(int(dir.Uid), int(dir.Gid)) // who may not do this does without
	}
	return f, err
}

// syncDir makes a rename or a new file survive a power cut, where the file system can: one that cannot says that the wish is not valid.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // our own directory
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // read only
	if err := d.Sync(); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
