package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the directory for this process. The system lets go of it when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := create(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		_ = f.Close()
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			err = ErrInUse
		}
		return nil, err
	}
	return f, nil
}

func create(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|os.O_CREATE, 0o600)
}

// syncDir does nothing: a directory cannot be synced here.
func syncDir(string) error { return nil }
