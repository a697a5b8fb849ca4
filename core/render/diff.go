package render

import (
	"strconv"
	"strings"

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
