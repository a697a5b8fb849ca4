package render

import (
	"slices"
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

// DiffLines is what goes and comes where one text replaces another, as [Args.WithDiff] reads it: of what stays, the lines around that.
func DiffLines(is, becomes string) string {
	d, _ := udiff.ToUnifiedDiff("", "", is, udiff.Lines(is, becomes), udiff.DefaultContextLines) // edits of the text itself always fit it
	var out []string
	add := func(mark, line string) {
		body, broken := strings.CutSuffix(line, "\n")
		if out = append(out, mark+body); !broken { // what ends a text without a line break is followed by a line that says so
			out = append(out, `\`)
		}
	}
	lines, at := slices.Collect(strings.Lines(is)), 0
	skip := func(to int) {
		if to-at > 1 {
			out = append(out, "@"+strconv.Itoa(to-at))
		} else if to-at == 1 { // to say that it is left out would take a line as well
			add(" ", lines[at])
		}
		at = to
	}
	marks := map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+", udiff.Equal: " "}
	for _, h := range d.Hunks {
		skip(h.FromLine - 1)
		for _, l := range h.Lines {
			add(marks[l.Kind], l.Content)
			if l.Kind != udiff.Insert {
				at++
			}
		}
	}
	skip(len(lines))
	return strings.Join(out, "\n")
}
