package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
)

// scriptRoom is how much longer than its script a mutant may be, in bytes.
const scriptRoom = 128

// A script cannot ask which mutant is awake. It is compiled in with room behind it, and each of its mutants is written over it in the
// binary: linking anew for each would take longer than the tests.

// padded is a script with its room.
func padded(text []byte, room int) []byte {
	return append(slices.Clone(text), bytes.Repeat([]byte("\n"), room)...)
}

// patch writes b's binary anew with a mutant's script in the place of the script.
func (b *binary) patch(m Mutant) error {
	src, err := os.ReadFile(m.path)
	if err != nil {
		return err
	}
	text := woven(src, []Mutant{m}, func(int) int { return 0 })
	room := len(src) + scriptRoom - len(text)
	if room < 0 {
		return fmt.Errorf("%s: the mutant needs %d bytes more than there is room for", m, -room)
	}
	if b.whole == nil {
		if b.whole, err = os.ReadFile(b.file); err != nil {
			return err
		}
	}
	was := padded(src, scriptRoom)
	if bytes.Count(b.whole, was) != 1 {
		return fmt.Errorf("%s is not once in the tests in %s", m.File, b.dir)
	}
	// A file that is executed cannot be written to, and one that was is not always free at once.
	if err := os.Remove(b.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(b.file, bytes.Replace(b.whole, was, padded(text, room), 1), 0o700) //nolint:gosec // it is run
}
