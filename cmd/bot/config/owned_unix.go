//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to this user, or to root.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}
