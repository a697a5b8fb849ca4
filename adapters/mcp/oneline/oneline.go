// Package oneline makes one line of what a server sent, for logs, errors and sentences: nothing in it moves a terminal or hides.
package oneline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is words of ours that people may read: no address and nothing of a server's is in them.
type Error struct{ Say string }

func (e *Error) Error() string { return e.Say }

// Printable drops what would move a terminal or hide in a line.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, s)
}

// Brief is one printable line of at most n runes.
func Brief(s string, n int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
