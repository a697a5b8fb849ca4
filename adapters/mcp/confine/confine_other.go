//go:build !linux

package confine

import (
	"errors"
	"os/exec"
)

// Main does nothing here: only Linux can confine.
func Main() {}

// Able says why programs are not confined.
func Able() (version int, err error) { return 0, errors.New("only Linux has Landlock") }

// Start starts cmd, without bounds.
func Start(cmd *exec.Cmd, _ Bounds) error { return cmd.Start() }

// Harden does nothing here: what a process shows to others of its user is for the system to say.
func Harden() error { return nil }
