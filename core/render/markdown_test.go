package render_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/render"
)

// A real Markdown parser is the second opinion of everything here.
var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM))

func walk(md string, see func(ast.Node)) []byte {
	src := []byte(md)
	_ = ast.Walk(gfm.Parser().Parse(text.NewReader(src)), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if in {
			see(n)
		}
		return ast.WalkContinue, nil
	})
	return src
}

// nodeText is what a reader sees of a node.
func nodeText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(unescape(n.Segment.Value(src)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func unescape(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) && b[i+1] < 0x80 && (unicode.IsPunct(rune(b[i+1])) || unicode.IsSymbol(rune(b[i+1]))) {
			i++
		}
		out = append(out, b[i])
	}
	return out
}

func TestFence(t *testing.T) {
	for in, want := range map[string]string{
		"a":            "```\na\n```",
		"a\n```\nb":    "````\na\n```\nb\n````",
		"``````":       "```````\n``````\n```````",
		"~~~":          "```\n~~~\n```",
		"":             "```\n\n```",
		"<b>@everyone": "```\n<b>@everyone\n```",
	} {
		if got := render.Fence(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := render.FenceAs("json\n# x", "{}"); got != "```json#x\n{}\n```" {
		t.Errorf("%q", got)
	}
	if got := render.FenceAs("c++-é2", "") + render.Fence3("", "a`b``c"); got != "```c++-2\n\n``````\na`b``c\n```" {
		t.Errorf("%q", got)
	}
	if got := render.Fence3("json", "a```b````"); strings.Count(got, "```") != 2 || !strings.Contains(got, `a\u{60}\u{60}\u{60}b`) {
		t.Errorf("%q", got)
	}
}

func FuzzFence(f *testing.F) {
	f.Add("a\n```\n[x](y)")
	f.Add("`````\r\n\t`````")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\x00\r") { // the parser replaces these
			return
		}
		blocks := 0
		var src []byte
		var code strings.Builder
		src = walk(render.Fence(s), func(n ast.Node) {
			switch n := n.(type) {
			case *ast.Document:
			case *ast.FencedCodeBlock:
				blocks++
				for i := range n.Lines().Len() {
					l := n.Lines().At(i)
					code.Write(l.Value([]byte(render.Fence(s))))
				}
			default:
				t.Fatalf("%q escaped its fence: %T", s, n)
			}
		})
		if blocks != 1 || strings.TrimSuffix(code.String(), "\n") != s {
			t.Fatalf("%q became %q", s, src)
		}
		three := render.Fence3("", s)
		if strings.Count(three, "```") != 2 || !strings.HasSuffix(three, "\n```") {
			t.Fatalf("%q became %q", s, three)
		}
	})
}

func TestEscapePlain(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		md := "x " + render.EscapePlain(s) + " y"
		src := walk(md, func(n ast.Node) {
			switch n.(type) {
			case *ast.Document, *ast.Paragraph, *ast.Text, *ast.String:
			default:
				t.Fatalf("%q became %q: %T", s, md, n)
			}
		})
		var got string
		walk(md, func(n ast.Node) {
			if n.Kind() == ast.KindParagraph {
				got = nodeText(n, src)
			}
		})
		want := "x " + strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\t", " ").Replace(s) + " y"
		if got != want {
			t.Fatalf("%q reads %q, want %q (%q)", s, got, want, md)
		}
	}
	for _, s := range []string{
		"**bold** _it_ `code` ~~no~~ ||spoiler||", "[x](https://evil.example)", "![i](https://evil.example/p.png)", "<https://evil.example>", "https://evil.example/a?b=c",
		"www.evil.example", "<b>bold</b>", "&lt;&amp;", "a\nb", "# head", "- item", "1. item", "12) item", "> quote", "---", "===", "a | b", "me@evil.example", "\\*x\\*",
		"<@U123> <!channel> <t:1:R>", "```\nx\n```", "~~~", "+ x", "HTTP://EVIL.EXAMPLE", "mailto:a@b.example", "-# small", "_x_", "$x$", "a*b*c", "wwwa", "x. 1. y - z # a = b: c", "WWW.evil.example",
	} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringOf(rapid.RuneFrom([]rune("ab1 .:/\\`*_~|[]()<>&!#+-=@\n\"'hw"))).Draw(t, "s"))
	})
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`\*a\q\`: `*a\q\`, "&lt;R&D&gt; &#64;&#x41;": "<R&D> @A", "\\&amp; & b;": "&amp; & b;", "a&#8203;b": `a\u{200B}b`,
	} {
		if got := render.Unescape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestInertMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"no brackets":                                  "no brackets",
		"[https://a.example](https://a.example)":       "[https://a.example](https://a.example)",
		"[bank](https://evil.example/x)":               "[bank (evil.example)](https://evil.example/x)",
		"[https://bank.example](https://evil.example)": `[https:\/\/bank.example (evil.example)](https://evil.example)`,
		"![chart](https://evil.example/p?secret)":      "chart (image: evil.example)",
		"[x](https://e.example/?a=1&b=2&#41;)":         "[x (e.example)](https://e.example/?a=1&b=2&#41;)",
		"[x](https://e.example&#64;evil.example/?a)":   `\[x](https://e.example&#64;evil.example/?a)`,
		// A browser takes the host to the next slash, and none where a question mark stands first.
		"[bank](https://bank.example{.evil.example/) [bank](https://?https://bank.example)": `bank (https:\/\/bank.example{.evil.example/) bank (https:\/\/?https:\/\/bank.example)`,
		"[x](javascript:alert(1))":                    "x (javascript:alert(1))",
		"[x](slack://open)":                           `x (slack:\/\/open)`,
		"[x][y]\n\n[y]: https://evil.example":         "\\[x]\\[y]\n\n\\[y]: https://evil.example",
		"- [ ] open\n- [x] done":                      "- [ ] open\n- [x] done",
		"`a[0](b)`":                                   "`a[0](b)`",
		"```go\na[0](b)\n```\n[x](https://e.example)": "```go\na[0](b)\n```\n[x (e.example)](https://e.example)",
		"> ```\n[x](https://e.example)":               "> ```\n[x (e.example)](https://e.example)",
		// Discord ends code at three backticks wherever they stand.
		"```\na ``` [x](https://e.example)\n```": "```\na ``` [x (e.example)](https://e.example)\n```",
		"| a<br>b | `<br>` | <b> |":              "| a b | `<br>` | <b> |",
		// Models write code into lists more often than not.
		"1. a\n   ```py\n   x[0](y)\n\n   z[1]\n   ```\n2. [b](https://e.example)": "1. a\n   ```py\n   x[0](y)\n\n   z[1]\n   ```\n2. [b (e.example)](https://e.example)",
		"- a\n    - b\n        ```\n        x[0]\n        ```":                     "- a\n    - b\n        ```\n        x[0]\n        ```",
		"- ```\n  x[0]\n  ```":                                      "- ```\n  x[0]\n  ```",
		"- a\n  ```\n[b](https://e.example)":                        "- a\n  ```\n[b (e.example)](https://e.example)",
		"<details>\n\n```\nx[0]\n```\n</details>\n\n```\ny[1]\n```": "<details>\n\n```\nx[0]\n```\n</details>\n\n```\ny[1]\n```",
		"- a\nlazy\n  ```\n[b](https://e.example)":                  "- a\nlazy\n  ```\n[b (e.example)](https://e.example)",
		"- a\n  ```\nb\n```\nx[0]":                                  "- a\n  ```\nb\n```\nx\\[0]",                   // where code ends is not the same for all
		"~~~\n[b](https://e.example)\n~~~":                          "~~~\n[b (e.example)](https://e.example)\n~~~", // not all know these fences
		"<!--\n\n```\n-->\n[b](https://e.example)":                  "<!--\n\n```\n-->\n[b (e.example)](https://e.example)",
		"| `x[0]` | `Map<a, b[]>` | `c[` | `d[]` |":                 "| `x[0]` | `Map<a, b[]>` | `c[` | `d[]` |",
		"Set<`a[]`> `b[]`":                                          "Set<`a\\[]`> `b\\[]`", // may be a tag
		"| ` | [b](https://e.example) ` |":                          "| ` | [b (e.example)](https://e.example) ` |",
		"a <i title='\n`'>[b](https://e.example) `":                 "a <i title='\n`'>[b (e.example)](https://e.example) `",
		"[`f()`](https://e.example/f)":                              "[f() (e.example)](https://e.example/f)",
		"[[1]](https://e.example/1), [`x` y](https://e.example)":    "[\\[1\\] (e.example)](https://e.example/1), \\[`x` y](https://e.example)",
		"[z](https://e.example/Foo_(bar)) (see)":                    "[z (e.example)](https://e.example/Foo_%28bar%29) (see)",
		"[z](https://e.example/(()":                                 "\\[z](https://e.example/(()",
		"see <https://e.example/a?b=1&c=2>. `<https://e.example>`":  "see https://e.example/a?b=1&c=2. `<https://e.example>`",
		"<https://e.example>x <ftp://e.example> <https://a b>":      "<https://e.example>x <ftp://e.example> <https://a b>",
		"<div>\n```\n\n[b](https://e.example)\n```":                 "<div>\n```\n\n[b (e.example)](https://e.example)\n```",
		"https://a.example/`[b](https://e.example)`":                "https://a.example/`[b (e.example)](https://e.example)`",
		"~~~\n```\n~~~\n[b](https://e.example)":                     "~~~\n```\n~~~\n[b (e.example)](https://e.example)",
		"[b](https://e.example \"t\"), [b]( http://e.example )":     "[b (e.example)](https://e.example), [b (e.example)](http://e.example)",
		"[b](https://e.example and more), [b](https://e.example'x)": `\[b](https://e.example and more), \[b](https://e.example'x)`,
		"[b](mailto:ana@e.example) [b](https://) \\":                `[b (mailto:ana@e.example)](mailto:ana@e.example) b (https:\/\/) \`,
		"- [b](https://e.example) [ ] x\n- [y] z":                   "- [b (e.example)](https://e.example) \\[ ] x\n- \\[y] z",
		"- [x](https://e.example)\n* [ ] a\n> + [X] b":              "- [x (e.example)](https://e.example)\n* [ ] a\n> + [X] b",
		// Code stays as it is where it is certainly code ...
		"```\n<b>\n```\n\n```\nx[0]\n```":         "```\n<b>\n```\n\n```\nx[0]\n```",
		"```\n~~~\n```\n```\nx[0]\n```":           "```\n~~~\n```\n```\nx[0]\n```",
		"a\n`x[0]`, a `\n\n`y[0]`, calling`z[0]`": "a\n`x[0]`, a `\n\n`y[0]`, calling`z[0]`",
		"- ```\n  x\n  ```\nb\n```\ny[0]\n```":    "- ```\n  x\n  ```\nb\n```\ny[0]\n```",
		"<b> `<br>`":                              "<b> `<br>`",
		"<br>a":                                   " a",
		// ... and not where what stands before may take its first backtick.
		"``` ` \na\n`[b](https://e.example)`":    "``` ` \na\n`[b (e.example)](https://e.example)`",
		"a ` <b>\n`[b](https://e.example)`":      "a ` <b>\n`[b (e.example)](https://e.example)`",
		"<b> ` `[b](https://e.example)`":         "<b> ` `[b (e.example)](https://e.example)`",
		"a ` | `[b](https://e.example)`":         "a ` | `[b (e.example)](https://e.example)`",
		"www.a.example/`[b](https://e.example)`": "www.a.example/`[b (e.example)](https://e.example)`",
		"see [1]":                                `see \[1]`,
		"[a](https://user:pass@evil.example/)":   "[a (evil.example)](https://user:pass@evil.example/)",
		"[a](https://аpple.com)":                 "[a (аpple.com)](https://аpple.com)",
	} {
		if got := render.InertMarkdown(in); got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
}

// checkInert: whatever a real parser sees in the result, no link's text lacks its host, and no image is left.
func checkInert(t interface{ Fatalf(string, ...any) }, md string) {
	// goldmark forgets the backslash that begins a line after one that ends in a backslash and spaces.
	out := regexp.MustCompile(`\\[ \t]+\n`).ReplaceAllString(render.InertMarkdown(md), "\\\n")
	src := []byte(out)
	walk(out, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Image:
			t.Fatalf("an image is left of %q: %q", md, out)
		case *ast.Link:
			dest := string(n.Destination)
			says := strings.ToLower(nodeText(n, src))
			where := strings.ToLower(strings.TrimPrefix(dest, "mailto:"))
			if h := render.Hosts(dest); len(h) > 0 {
				where = h[0]
			}
			if !strings.Contains(says, where) {
				t.Fatalf("%q became %q: the link to %q says %q", md, out, dest, says)
			}
		}
	})
}

func TestInertMarkdownAgainstParser(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"[good](https://evil.example)", "[good](https://evil.example/?a=b&#41;&c)", "[good](https://good.example?&#64;evil.example)", "[good][ref]", "[ref]: https://evil.example\n", "![i](https://evil.example)", "`", "``", "```", "~~~", "\n", "\n\n", "    ", "  ", "> ", "- ", "1. ", "2. ", "# ", "para",
		"<a \"", "<pre>\n", "</pre>", "<!--", "-->", "|", "| --- | --- |\n", "\\", "[", "]", "(", ")", "!", "https://evil.example", "<https://evil.example>", "word ", "*", "_", "\"t\"", "\t", "&#96;", "\n  ```", "\n      ```\n", "](", "](<https://evil.example>)",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkInert(t, strings.Join(rapid.SliceOfN(part, 0, 14).Draw(t, "parts"), ""))
	})
}

func FuzzInertMarkdown(f *testing.F) {
	f.Add("- x```[ref]\n```[good](https://evil.example)```")
	f.Add("- a\n\n  ```\n[good](https://evil.example)")
	f.Add("\\```[good](https://evil.example)```")
	f.Add("<pre>\n```\n</pre>\n[good](https://evil.example)")
	f.Add("- a\n# b\npara\n    ```\n    [good](https://evil.example)")
	f.Add("- a\n14. b\n    ```\n    [good](https://evil.example)")
	f.Add("para ``` x\n      ```\n      [good](https://evil.example)")
	f.Add("- a\n      ```\n\n[good](https://evil.example)\n      ```")
	f.Add("[](http://())")
	f.Add("\\  \n\\[x](https://evil.example)")
	f.Add("~~~\n```\n~~~\n[good](https://evil.example)")
	f.Add("<div>\n```\n\n```\n[good](https://evil.example)")
	f.Add("x <a title='\n`'>[good](https://evil.example) `")
	f.Add("a | ` | [good](https://evil.example) ` |\n--|--|--")
	f.Fuzz(func(t *testing.T, md string) { checkInert(t, md) })
}

func BenchmarkInertMarkdown(b *testing.B) {
	spans := strings.Repeat("`a` ", 3000) + "[x](https://example.com)" // a line as long as a message of Slack
	for b.Loop() {
		render.InertMarkdown(spans)
	}
}
