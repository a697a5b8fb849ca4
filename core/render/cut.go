package render

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/text"
)

// minCut is the least that a cut leaves: "… 999,999 more characters".
const minCut = 25

// wordsRoom is what the words of a cut of n characters may take.
func wordsRoom(n int) int {
	return utf8.RuneCountInString(text.MoreCharacters(n)) + utf8.RuneCountInString(" …")
}

// bytesPerChar is how many bytes a cut grants each character: the ratio of Floor.
const bytesPerChar = 3

// fits reports whether s keeps a cut of limit characters. Cuts count bytes too, because platforms do.
func fits(s string, limit int) bool {
	return len(s) <= limit*bytesPerChar && utf8.RuneCountInString(s) <= limit
}

// shortened cuts s to limit characters (at least minCut): its head, then words that count what is left out.
func shortened(s string, limit int) string {
	out, _ := shorten(s, limit, 0, "")
	return out
}

// shorten keeps the head of s and, as tail parts of a quarter, its end. around stands on both sides of the
// words. It returns how many characters are left out; what an earlier cut had left out counts again.
func shorten(s string, limit, tail int, around string) (out string, left int) {
	limit = max(limit, minCut)
	if fits(s, limit) {
		return s, 0
	}
	room := limit - wordsRoom(len(s)) - 2*len(around)
	t := lastRunes(s, room*tail/4)
	h := firstRunes(s[:t], room-room*tail/4)
	left = count(s[h:t])
	words := text.MoreCharacters(left)
	if t < len(s) {
		words += " …"
	}
	return s[:h] + around + words + around + s[t:], left
}

// firstRunes is the end of the first n characters of s, of at most bytesPerChar bytes each on average.
func firstRunes(s string, n int) int {
	i, b := 0, n*bytesPerChar
	for ; n > 0; n-- {
		_, w := utf8.DecodeRuneInString(s[i:])
		if i+w > b {
			break
		}
		i += w
	}
	return i
}

// lastRunes is the start of the last n characters of s.
func lastRunes(s string, n int) int {
	i := len(s)
	for ; n > 0; n-- {
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	return i
}

var moreWords = regexp.MustCompile(`… ([0-9,]{1,12}) more characters?(?: …)?`)

// count is how many characters s stands for: its own, and those that the words of an earlier cut in it speak of. Whoever forges such words
// can make the number larger, never smaller.
func count(s string) int {
	n := utf8.RuneCountInString(s)
	for _, m := range moreWords.FindAllStringSubmatch(s, -1) {
		said, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")) // what is no number speaks of nothing
		n += max(0, said-utf8.RuneCountInString(m[0]))
	}
	return n
}

// cutMarkdown is [shortened] for Markdown: head and tail are kept, the words stand in a paragraph of their own, and
// a code fence that the cut would leave open is closed before them and opened again after them.
func cutMarkdown(s string, limit int) string {
	limit = max(limit, minCut)
	if fits(s, limit) {
		return s
	}
	for room := limit - wordsRoom(len(s)) - 4; room > 0; {
		t := lineStart(s, lastRunes(s, room/4))
		h := lineEnd(s, firstRunes(s[:t], room-room/4))
		head, tail := closed(s[:h]), fencesIn(s[:t]).reopened(s[:t], s[t:])
		words := text.MoreCharacters(count(s[h:t]))
		if tail != "" {
			words += " …\n\n"
		}
		if head != "" {
			words = "\n\n" + words
		}
		out := head + words + tail
		if fits(out, limit) {
			return out
		}
		room -= max(1, utf8.RuneCountInString(out)-limit, (len(out)-limit*bytesPerChar)/4)
	}
	return text.MoreCharacters(count(s))
}

// lineEnd moves a cut back to the end of a line, if that costs little.
func lineEnd(s string, i int) int {
	if j := strings.LastIndexByte(s[:i], '\n'); i-j < i/4 && i < len(s) {
		return j
	}
	return i
}

// lineStart moves a cut forward to the start of a line, if that costs little.
func lineStart(s string, i int) int {
	if j := strings.IndexByte(s[i:], '\n'); j+1 < (len(s)-i)/4 {
		return i + j + 1
	}
	return i
}

// cutLine shortens a line to limit characters: whole spans from its start, then words.
func cutLine(l Line, limit int) Line {
	limit = max(limit, minCut)
	whole := lineExtent(l)
	if whole.chars <= limit {
		return l
	}
	room := limit - wordsRoom(whole.bytes)
	kept, left := Line{}, 0
	for i, s := range l {
		if n := utf8.RuneCountInString(spanText(s)); n <= room {
			kept, room = append(kept, s), room-n
			continue
		}
		if p, ok := s.(Plain); ok { // part of it, where it is text
			if h := firstRunes(string(p), room); h > 0 {
				kept, s = append(kept, p[:h]), p[h:]
			}
		}
		for _, s := range append(Line{s}, l[i+1:]...) {
			left += count(spanText(s))
		}
		return append(kept, Plain(text.MoreCharacters(left)))
	}
	return l
}

// cutArgs shortens what is shown of a call's arguments, keeping head and tail of every part, and counts it.
func cutArgs(a Args, limit int) Args {
	limit = max(limit, minCut)
	if !fits(a.JSON, limit) {
		// The words stand on a line of their own: JSON cannot hold a line like that.
		out, left := shorten(a.JSON, limit, 1, "\n")
		a.JSON, a.Hidden = out, left
	}
	if !fits(a.Diff, limit) {
		out, left := shorten(a.Diff, limit, 1, "\n")
		a.Diff, a.Hidden = out, max(a.Hidden, left)
	}
	before := hiddenIn(a.Rows)
	a.Rows = cutRows(a.Rows, limit)
	if after := hiddenIn(a.Rows); after > before {
		a.Hidden = max(a.Hidden, after) // a surface that draws the rows must not say "shown in full"
	}
	return a
}

func hiddenIn(rows []Row) (n int) {
	for _, r := range rows {
		n += r.Hidden
	}
	return n
}

func cutRows(rows []Row, limit int) []Row {
	if rowsExtent(rows).chars <= limit {
		return rows
	}
	names, values := make([]int, len(rows)), make([]int, len(rows)) // what each takes
	for i, r := range rows {
		names[i], values[i] = utf8.RuneCountInString(r.Name), utf8.RuneCountInString(r.Value)
	}
	each := search(minCut, limit, func(v int) bool {
		sum := 0
		for i := range rows {
			sum += min(names[i], max(minCut, v/2)) + min(values[i], v)
		}
		return sum <= limit
	})
	short := shortRows(rows, each)
	if rowsExtent(short).chars <= limit {
		return short
	}
	n := 0
	for have := rowsExtent(short[:1]); have.chars <= limit-minCut; have = have.plus(rowsExtent(short[n : n+1])) {
		n++
	}
	left := 0
	for _, r := range rows[n:] {
		left += utf8.RuneCountInString(r.Value) + r.Hidden
	}
	return append(short[:n:n], Row{Name: "…", Value: text.MoreArguments(len(rows) - n), Hidden: left})
}

func shortRows(rows []Row, each int) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		r.Name = shortened(r.Name, max(minCut, each/2))
		v, left := shorten(r.Value, each, 1, " ")
		if left > 0 {
			r.Value, r.Hidden = v, left
		}
		out[i] = r
	}
	return out
}

// search returns the largest k in [lo, hi] that ok takes, assuming that smaller is easier; lo if none does.
func search(lo, hi int, ok func(int) bool) int {
	for lo < hi {
		if mid := lo + (hi-lo+1)/2; ok(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Rest is what of a message's last Text [Fit] leaves out, from the place of the cut to the end, in parts that each fit into one
// Text block. It is nil where nothing of it is cut. A code fence that a cut falls into is closed and opened again.
func Rest(m Message, l Limits) []string {
	whole, shown := lastText(m), lastText(Fit(m, l))
	at := 0
	for at < min(len(shown), len(whole)) && shown[at] == whole[at] {
		at++
	}
	for at > 0 && at < len(whole) && !utf8.RuneStart(whole[at]) {
		at--
	}
	at = wordEnd(whole, at)
	return parts(whole, at, max(l.finite().Text-2*len("\n```")-len(text.Continued), Floor.Text/2))
}

// parts splits s from a place on, at ends of lines where that costs little.
func parts(s string, from, room int) []string {
	var out []string
	var f fences
	line := 0 // that from stands in: f is before it
	for from < len(s) {
		line = from - len(f.lines(s[line:from]))
		here := f.within(s[line:from])
		to, left := len(s), max(room-len(here.open), minCut) // a fence may be longer than any room
		if !fits(s[from:], left) {
			to = from + wordEnd(s[from:], firstRunes(s[from:], left))
		}
		part := strings.TrimLeft(here.reopened(s[:from], s[from:to]), "\n")
		if to < len(s) {
			part = closed(part)
		}
		if strings.Trim(part, "`~\n ") != "" { // and not code without a line
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
	if j := strings.LastIndexByte(s[:i], ' '); i-j < i/4 && i < len(s) {
		return j
	}
	return i
}

func lastText(m Message) string {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		if t, ok := m.Blocks[i].(Text); ok {
			return t.Markdown
		}
	}
	return ""
}
