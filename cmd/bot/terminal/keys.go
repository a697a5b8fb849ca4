package terminal

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
)

// keyboard is what a person types, line by line. A line belongs to the question that stood there when its first character came: what was
// typed before a question was shown never answers it.
type keyboard struct {
	lines chan typedLine // closed at the end of the input
	shown atomic.Int64   // how many questions were put so far
}

type typedLine struct {
	text string
	at   int64 // the question that it answers
}

func newKeyboard() *keyboard { return &keyboard{lines: make(chan typedLine)} }

// put says that a new question stands there, and returns its number.
func (k *keyboard) put() int64 { return k.shown.Add(1) }

// read reads in until its end. What follows the last line break is no line: nobody finished it.
func (k *keyboard) read(ctx context.Context, in io.Reader) {
	defer close(k.lines)
	var begun []byte
	var at int64
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		now := k.shown.Load()
		for _, c := range buf[:n] {
			if len(begun) == 0 {
				at = now
			}
			if c != '\n' {
				begun = append(begun, c)
				continue
			}
			select {
			case k.lines <- typedLine{strings.TrimRight(string(begun), "\r"), at}:
			case <-ctx.Done():
				return
			}
			begun = begun[:0]
		}
		if err != nil {
			return
		}
	}
}
