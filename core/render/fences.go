package render

import (
	"regexp"
	"slices"
	"strings"
)

// fences follows the code fences of a Markdown text, line by line, and the lists that they stand in. Quotations are not followed.
type fences struct {
	open  string // the fence that is open, or ""
	at    int    // the column that its lines begin at, because of the list around it
	loose bool   // it was indented outside of any list that is known: where it ends is not certain
	items []item // that are open, the outermost first
	words bool   // the line before may be a paragraph's, which few lists may interrupt
}

// item is an item of a list: where what belongs to it begins, and the sign of its list.
type item struct {
	at   int
	sign byte
}

var listMark = regexp.MustCompile(`^(?:[-+*]|(\d{1,9})[.)])(?:[ \t]|$)`)

// next takes a line and reports whether it is code, or opens or closes some. https://spec.commonmark.org/0.31.2/#list-items
func (f *fences) next(line string) (code bool) {
	at, bare := indented(0, strings.TrimRight(line, " \t\r\n"))
	if f.open != "" && !f.ends(line) {
		if strings.HasPrefix(bare, f.open) && strings.Trim(bare, f.open[:1]) == "" {
			f.open = ""
		}
		return true
	}
	f.open = ""
	if bare == "" {
		f.words = false
		return false
	}
	in, last := 0, item{}
	for n := len(f.items); n > 0 && at < f.items[n-1].at; n-- {
		last, f.items = f.items[n-1], f.items[:n-1]
	}
	if n := len(f.items); n > 0 {
		in = f.items[n-1].at
	}
	for at-in < 4 {
		m := listMark.FindStringSubmatch(bare)
		if m == nil {
			break
		}
		n := len(strings.TrimRight(m[0], " \t"))
		sign := bare[n-1]
		to, rest := indented(at+n, bare[n:])
		if (rest == "" || m[1] != "" && m[1] != "1") && f.words && last.sign != sign {
			break
		}
		if in = to; rest == "" || to-at-n > 4 {
			in = at + n + 1
		}
		f.items, f.words = append(f.items, item{in, sign}), false
		at, bare = to, rest
	}
	run := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
	if run == "" {
		run = bare[:len(bare)-len(strings.TrimLeft(bare, "~"))]
	}
	if code = len(run) > 2 && at-in < 4 && (run[0] == '~' || !strings.Contains(bare[len(run):], "`")); code {
		f.open, f.at, f.loose = run, in, at > 0 && len(f.items) == 0
	}
	f.words = !code && bare != ""
	return code
}

// ends reports whether the item that the code stands in ends before a line, and the code with it.
func (f *fences) ends(line string) bool {
	at, bare := indented(0, strings.TrimRight(line, "\r\n"))
	return f.open != "" && at < f.at && bare != ""
}

// indented is the column after the space that a line begins with, where it begins at one, and what follows.
func indented(at int, line string) (to int, bare string) {
	for bare = line; bare != "" && (bare[0] == ' ' || bare[0] == '\t'); bare = bare[1:] {
		if at++; bare[0] == '\t' {
			at = (at + 3) / 4 * 4
		}
	}
	return at, bare
}

// closed is Markdown without an open fence.
func closed(s string) string {
	if f := fencesIn(s); f.open != "" {
		s += "\n" + strings.Repeat(" ", f.at) + f.open
	}
	return s
}

// reopened is what follows the piece of Markdown that f has gone through, to stand for itself: code goes on in a fence of its own, outside of any list.
func (f fences) reopened(before, s string) string {
	after := strings.TrimLeft(s, "\n")
	if f.open == "" || after == "" {
		return s
	}
	fence, out := f.open+"\n", f.open+"\n"
	if after == s && !strings.HasSuffix(before, "\n") { // the rest of a line
		_, after, _ = strings.Cut(s, "\n")
		out += strings.TrimSuffix(s, after)
	}
	for after != "" && f.open != "" {
		line, rest, _ := strings.Cut(after, "\n")
		if f.ends(line) {
			return out + fence + after
		}
		f.next(line)
		out += outdented(after[:len(after)-len(rest)], f.at)
		after = rest
	}
	return out + after
}

// outdented is a line without the first columns of the space that it begins with.
func outdented(line string, n int) string {
	to, bare := indented(0, line)
	return strings.Repeat(" ", max(0, to-n)) + bare
}

func fencesIn(s string) (f fences) {
	f.next(f.lines(s))
	return f
}

// lines goes through the whole lines of s and gives the rest of it.
func (f *fences) lines(s string) (rest string) {
	for {
		line, after, ok := strings.Cut(s, "\n")
		if !ok {
			return s
		}
		f.next(line)
		s = after
	}
}

// within is f after a part of its next line, which f itself stays before.
func (f fences) within(part string) fences {
	f.items = slices.Clone(f.items)
	f.next(part)
	return f
}
