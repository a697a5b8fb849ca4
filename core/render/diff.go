package render

import (
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/nodhq/nod/core/text"
)

// WithDiff draws, in place of the text that the argument of that name is, what of the text before goes and comes. lines are as
// turn.Previewed has them; against says what they were made against. What an argument says stands behind its name, and a line of the text
// behind its mark: neither can look like the other, or like words of ours.
func (a Args) WithDiff(name, lines, against string) Args {
	var rows, drawn []string
	var p printer
	gone, come, stay := 0, 0, 0
	for l := range strings.SplitSeq(lines, "\n") {
		if l == "" {
			continue
		}
		mark, body := l[:1], l[1:]
		switch mark {
		case "@":
			n, _ := strconv.Atoi(body)
			stay += n
			drawn = append(drawn, text.DiffGap(n))
			continue
		case `\`:
			drawn = append(drawn, text.DiffEnd)
			continue
		case "-":
			gone++
		case "+":
			come++
		default:
			mark = " "
			stay++
		}
		drawn = append(drawn, strings.TrimRight(mark+" "+p.line(body), " "))
	}
	for _, r := range a.Rows {
		if r.Name != name {
			rows = append(rows, r.Name+": "+r.Value)
		}
	}
	rows = append(rows, name+": "+text.DiffHead(gone, come, stay))
	a.Diff, a.Against, a.Escaped = strings.Join(append(rows, drawn...), "\n"), against, max(a.Escaped, p.escaped)
	return a
}

// diffContext is how many lines stand around a change.
const diffContext = 3

// DiffLines is what goes and comes where one text replaces another, as [Args.WithDiff] reads it.
func DiffLines(is, becomes string) string { return folded(lineByLine(is, becomes)) }

// lineByLine are all lines of two texts, each with the mark of what becomes of it and with its line break.
func lineByLine(is, becomes string) (lines []string) {
	add := func(mark, of string) {
		for l := range strings.Lines(of) {
			lines = append(lines, mark+l)
		}
	}
	at := 0
	for _, e := range udiff.Lines(is, becomes) {
		add(" ", is[at:e.Start])
		add("-", is[e.Start:e.End])
		add("+", e.New)
		at = e.End
	}
	add(" ", is[at:])
	return lines
}

// folded are marked lines without most of those that stay.
func folded(lines []string) string {
	var out []string
	stays := func(i int) bool { return i >= 0 && i < len(lines) && lines[i][0] == ' ' }
	for i := 0; i < len(lines); {
		n := 0
		for stays(i + n) {
			n++
		}
		from, to := i, i+n // of the lines that need not be shown
		if i > 0 {
			from += diffContext
		}
		if i+n < len(lines) {
			to -= diffContext
		}
		if to-from < 2 {
			from, to = i+n, i+n
		}
		for ; i < from; i++ {
			out = append(out, markedLine(lines[i])...)
		}
		if from < to {
			out = append(out, "@"+strconv.Itoa(to-from))
			i = to
			continue
		}
		if i < len(lines) {
			out = append(out, markedLine(lines[i])...)
			i++
		}
	}
	return strings.Join(out, "\n")
}

// markedLine is a line as it is kept. What ends a text without a line break is followed by a line that says so.
func markedLine(l string) []string {
	if body, broken := strings.CutSuffix(l, "\n"); broken {
		return []string{body}
	}
	return []string{l, `\`}
}
