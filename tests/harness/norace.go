//go:build !race

package harness

const Raced = false
