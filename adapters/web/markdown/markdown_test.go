package markdown

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMarkdownIsATree(t *testing.T) {
	for src, want := range map[string]string{
		"a **b** `c` *d*":               `[{"t":"p","c":[{"t":"text","s":"a "},{"t":"strong","c":[{"t":"text","s":"b"}]},{"t":"text","s":" "},{"t":"code","s":"c"},{"t":"text","s":" "},{"t":"em","c":[{"t":"text","s":"d"}]}]}]`,
		"# T":                           `[{"t":"h","n":1,"c":[{"t":"text","s":"T"}]}]`,
		"- a\n- b":                      `[{"t":"ul","c":[{"t":"li","c":[{"t":"text","s":"a"}]},{"t":"li","c":[{"t":"text","s":"b"}]}]}]`,
		"```go\nx\n```":                 `[{"t":"pre","s":"x\n","lang":"go"}]`,
		"[x](https://a.example/p)":      `[{"t":"p","c":[{"t":"a","href":"https://a.example/p","c":[{"t":"text","s":"x"}]}]}]`,
		"[x](javascript:alert(1))":      `[{"t":"p","c":[{"t":"text","s":"x"},{"t":"text","s":" (javascript:alert(1))"}]}]`,
		"[x](/session)":                 `[{"t":"p","c":[{"t":"text","s":"x"},{"t":"text","s":" (/session)"}]}]`,
		"[x](https://bank@evil.test/)":  `[{"t":"p","c":[{"t":"text","s":"x"},{"t":"text","s":" (https://bank@evil.test/)"}]}]`,
		"![i](https://a.example/i.png)": `[{"t":"p","c":[{"t":"a","href":"https://a.example/i.png","c":[{"t":"text","s":"🖼 i"}]}]}]`,
		"<b onclick=x>hi</b>":           `[{"t":"p","c":[{"t":"text","s":"<b onclick=x>"},{"t":"text","s":"hi"},{"t":"text","s":"</b>"}]}]`,
		"<script>alert(1)</script>":     `[{"t":"p","c":[{"t":"text","s":"<script>alert(1)</script>"}]}]`,
		"&lt;i&gt; \\*":                 `[{"t":"p","c":[{"t":"text","s":"<i>"},{"t":"text","s":" *"}]}]`,
		"a<br>b<br/>":                   `[{"t":"p","c":[{"t":"text","s":"a"},{"t":"br"},{"t":"text","s":"b"},{"t":"br"}]}]`,
		"![a<b>](https://a.example/i)":  `[{"t":"p","c":[{"t":"a","href":"https://a.example/i","c":[{"t":"text","s":"🖼 a<b>"}]}]}]`,
		"这是**“重点”**内容，~~旧（一）~~新": `[{"t":"p","c":[{"t":"text","s":"这是"},{"t":"strong","c":[{"t":"text","s":"“重点”"}]},{"t":"text","s":"内容，"},{"t":"del","c":[{"t":"text","s":"旧（一）"}]},{"t":"text","s":"新"}]}]`,
		"a&#8203;b":     `[{"t":"p","c":[{"t":"text","s":"a\\u{200B}b"}]}]`,
		"x\u202ey":      `[{"t":"p","c":[{"t":"text","s":"x\\u{202E}y"}]}]`,
		"|a|\n|-|\n|b|": `[{"t":"table","c":[{"t":"head","c":[{"t":"cell","c":[{"t":"text","s":"a"}]}]},{"t":"row","c":[{"t":"cell","c":[{"t":"text","s":"b"}]}]}]}]`,
	} {
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(Parse(src)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%q\n got %s\nwant %s", src, got, want)
		}
	}
}

// A small text must not become a big tree: the page gets it with every change of the message.
func TestMarkdownDoesNotGrow(t *testing.T) {
	for name, src := range map[string]string{
		"a wide table":   strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n" + strings.Repeat("|b\n", 2000),
		"a tall table":   "|a" + strings.Repeat("|a", 60) + "\n" + strings.Repeat("|-", 61) + "\n" + strings.Repeat("|b\n", 3900),
		"open emphasis":  strings.Repeat("_a*", 20000),
		"nested lists":   strings.Repeat("- ", 16000) + "a",
		"nested quotes":  strings.Repeat(">", 20000) + "a",
		"too many lines": strings.Repeat("a\n\n", 4000),
		"too long":       strings.Repeat("word ", 20000),
	} {
		nodes := Parse(src)
		if len(nodes) != 1 || len(nodes[0].Kids) != 1 || nodes[0].Kids[0].Text != src {
			t.Errorf("%s was parsed", name)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"", "**a", "[a](b", strings.Repeat(">", 3000), strings.Repeat("- ", 500), strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n" + strings.Repeat("|b\n", 2000), strings.Repeat("_a*", 20000), strings.Repeat("- ", 16000) + "a", "<a href='javascript:x'>", "[a](data:text/html,x)", "```", "|a|b|\n|-|", "<https://x.example>", "\x00\xff&#x202e;", "1. [ ] x", "~~a~~ a@b.example www.x.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		depth(t, Parse(src), 0)
	})
}

// depth checks a tree: bounded, only known types, only harmless links.
func depth(t *testing.T, nodes []Node, n int) {
	t.Helper()
	if n > 2*maxDepth+8 {
		t.Fatal("too deep")
	}
	for _, x := range nodes {
		if !strings.Contains(" text p h ul ol li pre quote hr table row head cell em strong del code a br check ", " "+x.Type+" ") {
			t.Fatalf("type %q", x.Type)
		}
		if x.Type == "a" && !strings.HasPrefix(x.Href, "http://") && !strings.HasPrefix(x.Href, "https://") && !strings.HasPrefix(x.Href, "mailto:") {
			t.Fatalf("a link to %q", x.Href)
		}
		for _, bad := range []string{"\u202e", "\u200b", "\x00"} {
			if strings.Contains(x.Text, bad) {
				t.Fatalf("%q hides something", x.Text)
			}
		}
		depth(t, x.Kids, n+1)
	}
}
