package surface

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Units is how much of a limit a character takes: two where it lies outside the Basic Multilingual Plane. Neither Slack nor Discord says
// how it counts those, and this is the larger of the two usual counts.
func Units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// Width is the length of s as the platforms' limits are counted here.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += Units(r)
	}
	return n
}

// Within cuts s to n characters; what is missing is said.
func Within(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	kept := fitting(s, n-Width(" "+text.MoreCharacters(utf8.RuneCountInString(s))))
	return kept + " " + text.MoreCharacters(utf8.RuneCountInString(s[len(kept):]))
}

// fitting is what of s fits into n characters.
func fitting(s string, n int) string {
	for i, r := range s {
		if n -= Units(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// AtMost cuts a label, of which the whole is to be had elsewhere.
func AtMost(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	return fitting(s, n-1) + "…"
}

// OneLine is text on one line: a second one could pass for ours. What hides in names and arguments was made visible where the card
// was made; this catches what a name brought along otherwise, and leaves emoji whole.
func OneLine(s string) string {
	return text.ProseLine(s)
}

// Label is text on one line without space around it, cut to n characters. It is never empty, because no platform takes a button or an option
// without words: then it is what instead says.
func Label(s string, n int, instead string) string {
	if s = strings.TrimSpace(AtMost(OneLine(s), n)); s == "" {
		return instead
	}
	return s
}

// JoinParts are the parts that there are, with a dot between them.
func JoinParts(parts ...string) string {
	var say []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			say = append(say, p)
		}
	}
	return strings.Join(say, " · ")
}

// JoinWords puts sentences behind each other, without those that say nothing.
func JoinWords(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" }), " ")
}

// Editable is the same JSON, indented where that fits into most characters, with every hidden character as an escape. No token of it changes.
func Editable(args string, most int) string {
	if !json.Valid([]byte(args)) || !utf8.ValidString(args) {
		return args
	}
	args = text.EscapeJSON(args)
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(args), "", "  ") == nil && Width(indented.String()) <= most {
		return indented.String()
	}
	return args
}

// VisiblePart is a part's text without empty lines around it, with nothing hidden in it.
func VisiblePart(p render.Part) string {
	s, _ := text.Visible(p.Text)
	return strings.Trim(s, "\n")
}

// DigestFirst moves a call's digest, and what is said of it, before everything else. Details of a turn have several: there each
// stays with its call.
func DigestFirst(parts []render.Part) []render.Part {
	at, n := 0, 0
	for i, p := range parts {
		if p.Name == text.PartDigest {
			at, n = i, n+1
		}
	}
	if n != 1 {
		return parts
	}
	end := at + 1
	for end < len(parts) && parts[end].Name == "" {
		end++
	}
	return slices.Concat(parts[at:end], parts[:at], parts[end:])
}

// Words are the words of a model's Markdown, about n characters of them, for whoever has them read out or sees them in a notification: no
// marks, and " · " between what stands apart.
func Words(md string, n int) string {
	if len(md) > 8*n {
		md = strings.ToValidUTF8(md[:8*n], "")
	}
	src := []byte(md)
	var b strings.Builder
	// The error is that of the function, which has none.
	_ = ast.Walk(Markdown.Parse(gtext.NewReader(src)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if node.Type() == ast.TypeBlock {
				b.WriteString("\n\n")
			}
			return ast.WalkContinue, nil
		}
		switch x := node.(type) {
		case *ast.Text:
			b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(x.Segment.Value(src)))))
			if x.SoftLineBreak() || x.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			b.Write(x.Label(src))
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			b.Write(x.Lines().Value(src))
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
