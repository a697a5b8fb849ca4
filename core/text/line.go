package text

import (
	"strings"
	"unicode/utf8"
)

// joined puts text on one line.
var joined = strings.NewReplacer("\n", " ⏎ ", "\t", " ")

// OneLine is untrusted text on one line, with nothing hidden in it: a second line could pass for one of ours.
func OneLine(s string) string {
	s, _ = Visible(s)
	return joined.Replace(s)
}

// ProseLine is [Prose] on one line.
func ProseLine(s string) string { return joined.Replace(Prose(s)) }

// Inline is [OneLine] without the space around it.
func Inline(s string) string {
	s, _ = Visible(s)
	return joined.Replace(strings.TrimSpace(s))
}

// Clip is [Inline], shortened to n characters, which it then says.
func Clip(s string, n int) string { return Cut(Inline(s), n) }

// Cut is s in at most n characters: where there are more, the last is "…".
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return Head(s, n-1)
}

// Head is the first n characters of s, and "…" where there are more.
func Head(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// Shorten is the first n characters of s, and how many more there are.
func Shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + MoreCharacters(len(r)-n)
	}
	return s
}

// HeadBytes is what of s fits into n bytes with its last character whole.
func HeadBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
