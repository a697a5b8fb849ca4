//go:build race

package harness

// Raced: this program has the race detector in it.
const Raced = true
