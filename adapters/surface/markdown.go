package surface

import (
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown reads what models write: GitHub's Markdown, with emphasis as it is meant where no spaces stand between words.
var Markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithInlineParsers(
	util.Prioritized(eastern{parser.NewEmphasisParser()}, 450), util.Prioritized(eastern{extension.NewStrikethroughParser()}, 450), // before their own, at 500
))).Parser()

// eastern lets marks open and close next to Chinese, Japanese and Korean. CommonMark sees in **「重要」**です a mark between a bracket and a
// letter, which closes nothing. https://github.com/commonmark/commonmark-spec/issues/650
type eastern struct{ parser.InlineParser }

func (p eastern) Parse(parent ast.Node, block gtext.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	n := p.InlineParser.Parse(parent, block, pc)
	if d, ok := n.(*parser.Delimiter); ok && d.Char != '_' {
		line, _ := block.PeekLine()
		after, _ := utf8.DecodeRune(line)
		d.CanOpen = d.CanOpen || unspaced(before) && !unicode.IsSpace(after)
		d.CanClose = d.CanClose || unspaced(after) && !unicode.IsSpace(before)
	}
	return n
}

// unspaced reports whether r is of a writing without spaces between words, its punctuation included, and ー, which is no script's own.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) || r > 0x3000 && r < 0x3100 || r > 0xFF00 && r < 0xFFF0
}
