package render

import (
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/text"
)

// Rest is what of a message's last Text [Fit] leaves out, from the place of the cut to the end, in parts that each fit into one
// Text block. It is nil where nothing of it is cut. A code fence that a cut falls into is closed and opened again.
func Rest(m Message, l Limits) []string {
	whole, ok := lastText(m)
	shown, kept := lastText(Fit(m, l))
	if !ok || (kept && whole == shown) {
		return nil
	}
	at := 0
	for at < len(shown) && at < len(whole) && shown[at] == whole[at] {
		at++
	}
	for at > 0 && at < len(whole) && !utf8.RuneStart(whole[at]) {
		at--
	}
	at = wordEnd(whole, at)
	room := l.Text
	if room <= 0 {
		room = len(whole)
	}
	return parts(whole, at, max(room-2*len("\n```")-len(text.Continued), Floor.Text/2))
}

// parts splits s from a place on, at ends of lines where that costs little.
func parts(s string, from, room int) []string {
	var out []string
	for from < len(s) {
		head := ""
		if f := openFence(s[:from]); f != "" {
			head = f + "\n"
		}
		to, left := len(s), max(room-len(head), minCut) // a fence may be longer than any room
		if !fits(s[from:], left) {
			to = from + wordEnd(s[from:], firstRunes(s[from:], left))
		}
		part := head + strings.TrimLeft(s[from:to], "\n")
		if f := openFence(s[:to]); f != "" && to < len(s) {
			part += "\n" + f
		}
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
		from = to
	}
	return out
}

// wordEnd moves a cut back to the end of a line, or at least of a word, if that costs little.
func wordEnd(s string, i int) int {
	if j := lineEnd(s, i); j < i {
		return j
	}
	if j := strings.LastIndexByte(s[:i], ' '); j > 0 && i-j < i/4 && i < len(s) {
		return j
	}
	return i
}

func lastText(m Message) (string, bool) {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		if t, ok := m.Blocks[i].(Text); ok {
			return t.Markdown, true
		}
	}
	return "", false
}
