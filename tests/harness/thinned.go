package harness

import (
	"hash/fnv"
	"slices"
)

// Thinned leaves, where the race detector is in the program, one of every few cases of a corpus whose thousands of cases run the same code:
// with it each takes four times as long. Without it all of them run. Which ones are left depends on their names alone.
func Thinned[T any](all []T, name func(T) string) []T {
	if !Raced {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name(x)))
		return h.Sum32()%30 != 0
	})
}
