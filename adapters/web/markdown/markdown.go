// Package markdown reads the Markdown of people, models and tools into a tree that a page can draw without ever reading HTML.
//
// Start with [Parse]: a [Node] for each element, which the page (adapters/web/assets) makes an element of and sets the text of. Raw HTML
// stays text, an image becomes a link to it, and a link is one only to http, https and mailto. Parsing is bounded, because its work
// grows faster than its input: what is beyond the bounds is one paragraph of the source.
//
// It is a pure function of a string. It may import goldmark and core/render, which shows hidden characters. A new element of Markdown is
// a case of nodesOf, with its letters in [Node] and in the page's script.
package markdown

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	mdtext "github.com/yuin/goldmark/text"

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

var parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList))

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
	return nodesOf(parser.Parser().Parse(mdtext.NewReader(b)), b, 0)
}

// tooLarge reports whether a text is beyond the bounds.
func tooLarge(src string) bool {
	if len(src) > maxMarkdown || strings.Count(src, "\n") > maxLines {
		return true
	}
	marks, widest, rows := 0, 0, 0
	for line := range strings.SplitSeq(src, "\n") {
		for _, mark := range []string{"*", "_", "~", "[", "]", "<", ">", "`", "&"} {
			marks += strings.Count(line, mark)
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

func nodeOf(n ast.Node, src []byte, depth int) []Node {
	if depth > maxDepth {
		return []Node{{Type: "text", Text: plain(n, src)}}
	}
	with := func(x Node) []Node {
		x.Kids = nodesOf(n, src, depth+1)
		return []Node{x}
	}
	switch n := n.(type) {
	case *ast.Paragraph:
		return with(Node{Type: "p"})
	case *ast.TextBlock:
		return nodesOf(n, src, depth+1)
	case *ast.Heading:
		return with(Node{Type: "h", Level: n.Level})
	case *ast.Blockquote:
		return with(Node{Type: "quote"})
	case *ast.List:
		if n.IsOrdered() {
			return with(Node{Type: "ol", Level: n.Start})
		}
		return with(Node{Type: "ul"})
	case *ast.ListItem:
		return with(Node{Type: "li"})
	case *ast.ThematicBreak:
		return []Node{{Type: "hr"}}
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
		out := []Node{{Type: "text", Text: unescape(n, src)}}
		switch {
		case n.HardLineBreak():
			out = append(out, Node{Type: "br"})
		case n.SoftLineBreak():
			out[0].Text += "\n"
		}
		return out
	case *ast.String:
		return []Node{{Type: "text", Text: string(n.Value)}}
	case *ast.CodeSpan:
		return []Node{{Type: "code", Text: plain(n, src)}}
	case *ast.Emphasis:
		if n.Level == 2 {
			return with(Node{Type: "strong"})
		}
		return with(Node{Type: "em"})
	case *ast.RawHTML:
		var s strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			s.Write(seg.Value(src))
		}
		return []Node{{Type: "text", Text: s.String()}}
	case *ast.Link:
		return link(string(n.Destination), nodesOf(n, src, depth+1))
	case *ast.Image:
		return link(string(n.Destination), []Node{{Type: "text", Text: "🖼 " + plain(n, src)}})
	case *ast.AutoLink:
		dest := string(n.URL(src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(dest, "mailto:") {
			dest = "mailto:" + dest
		}
		return link(dest, []Node{{Type: "text", Text: string(n.Label(src))}})
	case *east.Strikethrough:
		return with(Node{Type: "del"})
	case *east.TaskCheckBox:
		if n.IsChecked {
			return []Node{{Type: "check", Level: 1}}
		}
		return []Node{{Type: "check"}}
	case *east.Table:
		return with(Node{Type: "table"})
	case *east.TableHeader:
		return with(Node{Type: "head"})
	case *east.TableRow:
		return with(Node{Type: "row"})
	case *east.TableCell:
		align := n.Alignment.String()
		if align == "none" {
			align = ""
		}
		return with(Node{Type: "cell", Align: align})
	}
	return []Node{{Type: "text", Text: plain(n, src)}}
}

// link keeps a link only where it leads somewhere harmless and absolute; otherwise its words and its target stand there as
// text. Links inside a label lose their own.
func link(dest string, kids []Node) []Node {
	u, err := url.Parse(dest)
	ok := err == nil && (((u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil) || (u.Scheme == "mailto" && u.Opaque != ""))
	if !ok {
		if dest == "" {
			return kids
		}
		return append(kids, Node{Type: "text", Text: " (" + dest + ")"})
	}
	return []Node{{Type: "a", Href: u.String(), Kids: unlinked(kids)}}
}

func unlinked(kids []Node) (out []Node) {
	for _, k := range kids {
		if k.Type == "a" {
			out = append(out, unlinked(k.Kids)...)
			continue
		}
		k.Kids = unlinked(k.Kids)
		out = append(out, k)
	}
	return out
}

func lines(n ast.Node, src []byte) string {
	var s strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		s.Write(seg.Value(src))
	}
	return s.String()
}

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
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			s.WriteString(lines(x, src))
		}
		return ast.WalkContinue, nil
	})
	return s.String()
}

// unescape resolves backslashes and entities of a text node.
func unescape(n *ast.Text, src []byte) string {
	v := string(n.Value(src))
	if n.IsRaw() {
		return v
	}
	return render.Unescape(v)
}
