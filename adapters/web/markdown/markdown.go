// Package markdown reads the Markdown of people, models and tools into a tree that a page can draw without ever reading HTML.
//
// Start with [Parse]: a [Node] for each element, which the page (adapters/web/assets) makes an element of and sets the text of. Raw HTML
// stays text, an image becomes a link to it, and a link is one only to http, https and mailto. Parsing is bounded, because its work
// grows faster than its input: what is beyond the bounds is one paragraph of the source.
//
// It is a pure function of a string. It may import goldmark, adapters/surface, whose parser reads Markdown, and core/render. A new element of Markdown is
// a case of nodeOf or leafOf, with its letters in [Node] and in the page's script.
package markdown

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	mdtext "github.com/yuin/goldmark/text"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Node is a piece of parsed Markdown.
type Node struct {
	Type  string `json:"t"` // text p h ul ol li pre quote hr table row head cell em strong del code a br check
	Text  string `json:"s,omitempty"`
	Href  string `json:"href,omitempty"`
	Lang  string `json:"lang,omitempty"`  // pre
	Level int    `json:"n,omitempty"`     // h: 1–6; ol: its first number; check: 1 when ticked
	Align string `json:"align,omitempty"` // cell
	Kids  []Node `json:"c,omitempty"`
}

// maxDepth bounds nesting: a model may write ten thousand ">".
const maxDepth = 24

// What is beyond these is shown as it was written: a parser's work grows faster than its input, and a table's cells are padded
// to the widest row.
const (
	maxMarkdown = 64 << 10 // bytes
	maxLines    = 4000
	maxMarks    = 4000 // characters that may open something
	maxCells    = 20_000
	maxLead     = 100 // characters before a line's words: indentation, quotes, list marks
)

// Parse never fails: what it does not know becomes text.
func Parse(src string) []Node {
	src = text.Prose(src)
	if tooLarge(src) {
		return []Node{{Type: "p", Kids: []Node{{Type: "text", Text: src}}}}
	}
	b := []byte(src)
	return nodesOf(surface.Markdown.Parse(mdtext.NewReader(b)), b, 0)
}

// tooLarge reports whether a text is beyond the bounds.
func tooLarge(src string) bool {
	if len(src) > maxMarkdown || strings.Count(src, "\n") > maxLines {
		return true
	}
	marks, widest, rows := 0, 0, 0
	for line := range strings.SplitSeq(src, "\n") {
		for _, mark := range "*_~[]<>`&" {
			marks += strings.Count(line, string(mark))
		}
		lead := len(line) - len(strings.TrimLeft(line, " \t>-+*0123456789.)"))
		widest = max(widest, strings.Count(line, "|"))
		rows++
		if marks > maxMarks || lead > maxLead || widest*rows > maxCells {
			return true
		}
	}
	return false
}

func nodesOf(parent ast.Node, src []byte, depth int) (out []Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, nodeOf(n, src, depth)...)
	}
	return out
}

// elements are those that are what stands in them, under a name.
var elements = map[ast.NodeKind]string{
	ast.KindParagraph: "p", ast.KindBlockquote: "quote", ast.KindListItem: "li", ast.KindThematicBreak: "hr",
	east.KindStrikethrough: "del", east.KindTable: "table", east.KindTableHeader: "head", east.KindTableRow: "row",
}

func nodeOf(n ast.Node, src []byte, depth int) []Node {
	if depth > maxDepth {
		return []Node{{Type: "text", Text: plain(n, src)}}
	}
	x := Node{Type: elements[n.Kind()]}
	switch n := n.(type) {
	case *ast.TextBlock:
		return nodesOf(n, src, depth+1)
	case *ast.Link:
		return link(string(n.Destination), nodesOf(n, src, depth+1))
	case *ast.Heading:
		x = Node{Type: "h", Level: n.Level}
	case *ast.List:
		if x.Type = "ul"; n.IsOrdered() {
			x = Node{Type: "ol", Level: n.Start}
		}
	case *ast.Emphasis:
		if x.Type = "em"; n.Level == 2 {
			x.Type = "strong"
		}
	case *east.TableCell:
		x = Node{Type: "cell", Align: strings.Replace(n.Alignment.String(), "none", "", 1)}
	}
	if x.Type == "" {
		return leafOf(n, src)
	}
	x.Kids = nodesOf(n, src, depth+1)
	return []Node{x}
}

// leafOf gives what nothing of ours stands in: text, code, and what becomes text.
func leafOf(n ast.Node, src []byte) []Node {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		return []Node{{Type: "pre", Text: lines(n, src), Lang: string(n.Language(src))}}
	case *ast.CodeBlock:
		return []Node{{Type: "pre", Text: lines(n, src)}}
	case *ast.HTMLBlock:
		s := lines(n, src)
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(src))
		}
		return []Node{{Type: "p", Kids: []Node{{Type: "text", Text: strings.TrimRight(s, "\n")}}}}
	case *ast.Text:
		s := string(n.Value(src))
		if !n.IsRaw() {
			s = render.Unescape(s)
		}
		switch {
		case n.HardLineBreak():
			return []Node{{Type: "text", Text: s}, {Type: "br"}}
		case n.SoftLineBreak():
			s += "\n"
		}
		return []Node{{Type: "text", Text: s}}
	case *ast.String:
		return []Node{{Type: "text", Text: string(n.Value)}}
	case *ast.CodeSpan:
		return []Node{{Type: "code", Text: plain(n, src)}}
	case *ast.RawHTML:
		s := string(n.Segments.Value(src))
		if render.IsBreak(s) {
			return []Node{{Type: "br"}}
		}
		return []Node{{Type: "text", Text: s}}
	case *ast.Image:
		return link(string(n.Destination), []Node{{Type: "text", Text: "🖼 " + plain(n, src)}})
	case *ast.AutoLink:
		dest := string(n.URL(src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(dest, "mailto:") {
			dest = "mailto:" + dest
		}
		return link(dest, []Node{{Type: "text", Text: string(n.Label(src))}})
	case *east.TaskCheckBox:
		if n.IsChecked {
			return []Node{{Type: "check", Level: 1}}
		}
		return []Node{{Type: "check"}}
	}
	return []Node{{Type: "text", Text: plain(n, src)}}
}

// link keeps a link only where it leads somewhere harmless and absolute; otherwise its words and its target stand there as
// text. Links inside a label lose their own.
func link(dest string, kids []Node) []Node {
	u, err := url.Parse(dest)
	ok := err == nil && (((u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil) || (u.Scheme == "mailto" && u.Opaque != ""))
	switch {
	case ok:
		return []Node{{Type: "a", Href: u.String(), Kids: unlinked(kids)}}
	case dest == "":
		return kids
	}
	return append(kids, Node{Type: "text", Text: " (" + dest + ")"})
}

func unlinked(kids []Node) (out []Node) {
	for _, k := range kids {
		if k.Kids = unlinked(k.Kids); k.Type == "a" {
			out = append(out, k.Kids...)
		} else {
			out = append(out, k)
		}
	}
	return out
}

func lines(n ast.Node, src []byte) string { return string(n.Lines().Value(src)) }

// plain is all the text below a node.
func plain(n ast.Node, src []byte) string {
	var s strings.Builder
	_ = ast.Walk(n, func(x ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch x := x.(type) {
		case *ast.Text:
			s.Write(x.Value(src))
			if x.SoftLineBreak() || x.HardLineBreak() {
				s.WriteByte('\n')
			}
		case *ast.String:
			s.Write(x.Value)
		case *ast.RawHTML:
			s.Write(x.Segments.Value(src))
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			s.WriteString(lines(x, src))
		}
		return ast.WalkContinue, nil
	})
	return s.String()
}
