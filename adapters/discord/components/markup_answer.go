package components

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	mdtext "github.com/yuin/goldmark/text"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// A model's Markdown is read by a parser of Markdown and written anew in Discord's own: nothing is handed on as it was. Discord's
// parser and everybody else's do not agree on where code begins and ends (a star before a fence can swallow it), so text that only was
// looked through, and not written by us, could hide a link or a mention from whoever looked.
//
// What is written: emphasis that begins and ends in one line, code, lists, quotations, headings to the third degree, and links that
// say their host. Tables become code, because Discord has none; subtext, spoilers and underlines are not written: the first is for
// what was recorded, the second hides, the third is no Markdown.

// What is beyond these is shown as it was written. Messages are fitted to far less; a parser's work grows faster than its input.
const (
	maxAnswer = 64 << 10 // bytes
	maxLead   = 100      // characters before a line's words: indentation, quotes, list marks
	maxDepth  = 24       // of quotes, lists and emphasis in each other
)

// rewritten is a model's Markdown for a TextDisplay. alive are the hosts whose addresses stay links.
func rewritten(md string, alive hosts) string {
	md = text.Prose(md)
	if tangled(md) {
		var lines []string
		for l := range strings.SplitSeq(md, "\n") {
			lines = append(lines, literal(l))
		}
		return strings.TrimSpace(strings.Join(lines, "\n"))
	}
	w := &writer{src: []byte(md), alive: alive}
	return strings.Trim(strings.Join(w.blocks(surface.Markdown.Parse(mdtext.NewReader(w.src)), 0), "\n"), "\n")
}

func tangled(md string) bool {
	if len(md) > maxAnswer {
		return true
	}
	for line := range strings.SplitSeq(md, "\n") {
		if len(line)-len(strings.TrimLeft(line, " \t>-+*0123456789.)")) > maxLead {
			return true
		}
	}
	return false
}

// writer writes what a parser has read.
type writer struct {
	src   []byte
	alive hosts
}

// blocks are the lines of all blocks in a node.
func (w *writer) blocks(parent ast.Node, depth int) (out []string) {
	if depth > maxDepth {
		return w.paragraph(escapedMarks(w.plain(parent)))
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := w.block(n, depth)
		if len(lines) == 0 {
			continue
		}
		if n.HasBlankPreviousLines() || isFence(lines[0]) { // a fence that follows a list or a quotation at once could be taken for part of it
			out = blank(out)
		}
		out = append(out, lines...)
	}
	return out
}

// blank ends lines with one without words, if there are any.
func blank(lines []string) []string {
	if n := len(lines); n > 0 && lines[n-1] != "" {
		lines = append(lines, "")
	}
	return lines
}

func isFence(line string) bool { return strings.HasPrefix(line, "```") }

func (w *writer) block(n ast.Node, depth int) []string {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return w.paragraph(w.inline(n, depth))
	case *ast.Heading:
		return w.heading(n, depth)
	case *ast.Blockquote:
		return quoted(w.blocks(n, depth+1))
	case *ast.List:
		return w.list(n, depth)
	case *ast.FencedCodeBlock:
		return code(string(n.Language(w.src)), w.lines(n))
	case *ast.CodeBlock:
		return code("", w.lines(n))
	case *ast.HTMLBlock:
		s := w.lines(n)
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(w.src))
		}
		return w.paragraph(escapedMarks(s))
	case *ast.ThematicBreak:
		return []string{strings.Repeat("─", 12)}
	case *east.Table:
		return w.table(n)
	}
	return w.paragraph(escapedMarks(w.plain(n)))
}

// paragraph is inline text as lines of which none begins a block.
func (w *writer) paragraph(s string) (out []string) {
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		out = append(out, lineStart(strings.TrimSpace(l)))
	}
	if len(out) == 1 && out[0] == "" {
		return nil
	}
	return out
}

// heading: Discord has three degrees. https://support.discord.com/hc/en-us/articles/210298617
func (w *writer) heading(n *ast.Heading, depth int) []string {
	s := strings.TrimSpace(strings.ReplaceAll(w.inline(n, depth), "\n", " "))
	if s == "" {
		return nil
	}
	if _, whole := n.Parent().(*ast.Document); n.Level > 3 || !whole {
		return w.paragraph(emphasis("**", s))
	}
	return []string{strings.Repeat("#", n.Level) + " " + lineStart(s)}
}

// quoted puts lines into a quotation. Discord knows no quotation in another: the inner one keeps its sign. Code stands below it,
// because there a fence would be read line by line.
func quoted(lines []string) (out []string) {
	fence := false
	for _, l := range lines {
		edge := isFence(l)
		switch {
		case fence, edge, l == "":
			out = append(out, l)
		case strings.HasPrefix(l, "> "):
			out = append(out, `> \`+l)
		default:
			out = append(out, "> "+l)
		}
		fence = fence != edge
	}
	return out
}

func (w *writer) list(n *ast.List, depth int) (out []string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		lines := w.blocks(item, depth+1)
		if len(lines) == 0 {
			continue
		}
		fence := false
		for i, l := range lines {
			edge := isFence(l)
			switch {
			case edge && !fence: // code leaves the list: it is not to be taken apart where it looks like items
				out = append(blank(out), l)
			case fence, l == "":
				out = append(out, l)
			case i == 0:
				out = append(out, mark+l)
			default:
				out = append(out, strings.Repeat(" ", len(mark))+l)
			}
			fence = fence != edge
		}
	}
	return out
}

// code is a fence with the lines around it that keep it apart.
func code(language, s string) []string {
	f := fenced(language, s)
	if f == "" {
		return nil
	}
	return strings.Split(f, "\n")
}

func (w *writer) lines(n ast.Node) string { return string(n.Lines().Value(w.src)) }

// inline is what stands in the lines of a block.
func (w *writer) inline(parent ast.Node, depth int) string {
	if depth > maxDepth {
		return escapedMarks(w.plain(parent))
	}
	out := ""
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		piece := w.span(n, depth)
		if out != "" && piece != "" && strings.IndexByte("*~`", piece[0]) >= 0 && out[len(out)-1] == piece[0] {
			out += " " // two runs of the same sign would become one
		}
		out += piece
	}
	return out
}

func (w *writer) span(n ast.Node, depth int) string {
	switch n := n.(type) {
	case *ast.Text:
		s := escapedMarks(w.words(n))
		if n.HardLineBreak() || n.SoftLineBreak() {
			s += "\n"
		}
		return s
	case *ast.String:
		return escapedMarks(string(n.Value))
	case *ast.CodeSpan:
		return codeSpan(strings.ReplaceAll(w.plain(n), "\n", " "))
	case *ast.Emphasis:
		return emphasis(strings.Repeat("*", min(n.Level, 2)), w.inline(n, depth+1))
	case *east.Strikethrough:
		return emphasis("~~", w.inline(n, depth+1))
	case *ast.Link:
		return link(w.plain(n), string(n.Destination), w.alive)
	case *ast.Image:
		return image(w.plain(n), string(n.Destination))
	case *ast.AutoLink:
		if n.AutoLinkType == ast.AutoLinkEmail {
			return escapedMarks(string(n.Label(w.src)))
		}
		return link("", string(n.URL(w.src)), w.alive)
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "☑ "
		}
		return "☐ "
	case *ast.RawHTML:
		if s := string(n.Segments.Value(w.src)); !render.IsBreak(s) {
			return escapedMarks(s)
		}
		return "\n"
	}
	return escapedMarks(w.plain(n))
}

// escapedMarks is literal text of perhaps several lines.
func escapedMarks(s string) string {
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		out = append(out, literalWords(surface.OneLine(l)))
	}
	return strings.Join(out, "\n")
}

// emphasis puts text between marks if Discord will see it end where it does; else it stands without. In several lines, each is
// marked by itself.
func emphasis(mark, s string) string {
	if strings.Contains(s, "\n") {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			lines[i] = emphasis(mark, l)
		}
		return strings.Join(lines, "\n")
	}
	trimmed := strings.TrimSpace(s)
	if trimmed == "" || strings.Contains(s, mark) || strings.IndexByte("*~", trimmed[0]) >= 0 || strings.IndexByte(`*~\`, trimmed[len(trimmed)-1]) >= 0 {
		return s
	}
	return strings.Replace(s, trimmed, mark+trimmed+mark, 1)
}

// plain is all the text below a node, without any markup but what says something: where a link leads, and what is struck out.
func (w *writer) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(x ast.Node, entering bool) (ast.WalkStatus, error) {
		switch x := x.(type) {
		case *ast.Link:
			if dest := string(x.Destination); !entering && x != n && dest != "" && !strings.HasSuffix(b.String(), dest) {
				b.WriteString(" (" + dest + ")")
			}
		case *east.Strikethrough:
			b.WriteString("~~")
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch x := x.(type) {
		case *ast.Text:
			b.WriteString(w.words(x))
			if x.SoftLineBreak() || x.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(x.Value)
		case *ast.AutoLink:
			b.Write(x.Label(w.src))
		case *ast.RawHTML:
			if s := string(x.Segments.Value(w.src)); render.IsBreak(s) {
				b.WriteByte(' ')
			} else {
				b.WriteString(s)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			b.WriteString(w.lines(x))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// words are the text of a node, backslashes and entities resolved.
func (w *writer) words(n *ast.Text) string {
	v := string(n.Value(w.src))
	if _, code := n.Parent().(*ast.CodeSpan); code || n.IsRaw() {
		return v
	}
	return render.Unescape(v)
}

// maxPad is how far cells of a table are padded, so that one long cell does not widen every row.
const maxPad = 24

// table is a table as code, its columns aligned where that does not make it much longer.
func (w *writer) table(t ast.Node) []string {
	var rows [][]string
	var wide []int
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			s := strings.TrimSpace(surface.OneLine(w.plain(c)))
			if len(row) == len(wide) {
				wide = append(wide, 0)
			}
			wide[len(row)] = min(max(wide[len(row)], utf8.RuneCountInString(s)), maxPad)
			row = append(row, s)
		}
		rows = append(rows, row)
	}
	words, signs := 0, 0
	for _, row := range rows {
		for i, s := range row {
			n := utf8.RuneCountInString(s)
			words, signs = words+n, signs+max(n, wide[i])
		}
	}
	if signs > words*3/2+100 {
		clear(wide)
	}
	var lines []string
	for i, row := range rows {
		lines = append(lines, tableRow(row, wide, " ", " │ "))
		if i == 0 && len(rows) > 1 {
			lines = append(lines, tableRow(make([]string, len(row)), wide, "─", "─┼─"))
		}
	}
	return code("", strings.Join(lines, "\n"))
}

func tableRow(cells []string, wide []int, pad, between string) string {
	var b strings.Builder
	for i, s := range cells {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(s)
		if i < len(cells)-1 || pad != " " {
			b.WriteString(strings.Repeat(pad, max(0, wide[i]-utf8.RuneCountInString(s))))
		}
	}
	return b.String()
}
