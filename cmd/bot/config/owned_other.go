//go:build !unix

package config

import "io/fs"

// owned is true: this system has no directory in which everybody may put a file for others.
func owned(fs.FileInfo) bool { return true }
