package surface

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// Words are the words of a model's Markdown, about n characters of them, for whoever has them read out or sees them in a notification: no
// marks, and " · " between what stands apart.
func Words(md string, n int) string {
	if len(md) > 8*n {
		md = strings.ToValidUTF8(md[:8*n], "")
	}
	src := []byte(md)
	var b strings.Builder
	write := func(s []byte) {
		b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(s))))
	}
	// The error is that of the function, which has none.
	_ = ast.Walk(markdown.Parse(text.NewReader(src)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch x := node.(type) {
		case *ast.Text:
			if entering {
				write(x.Segment.Value(src))
				if x.SoftLineBreak() || x.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.AutoLink:
			if entering {
				b.Write(x.Label(src))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			if entering {
				b.Write(x.Lines().Value(src))
			}
		}
		if !entering && node.Type() == ast.TypeBlock {
			b.WriteString("\n\n")
		}
		return ast.WalkContinue, nil
	})
	var parts []string
	for part := range strings.SplitSeq(b.String(), "\n\n") {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			parts = append(parts, part)
		}
	}
	return AtMost(strings.Join(parts, " · "), n)
}
