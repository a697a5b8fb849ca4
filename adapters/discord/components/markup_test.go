package components

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakediscord/markup"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// Plain text reads as it is, to the letter, whatever stands in it.
func TestLiteralTextReadsAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile.Text(t, "text")
		s = s[:min(len(s), 1000)]
		for _, d := range markup.Dialects {
			for _, got := range []string{literal(s), "-# " + literal(s), "### x" + literal(s), "words " + literal(s)} {
				markup.Walk(markup.Read(got, d), func(n markup.Node) {
					switch n.Kind {
					case "plain", "subtext", "header":
					default:
						t.Fatalf("%q is a %s in %q", n.Text, n.Kind, got)
					}
				})
			}
			if got := markup.WordsOf(markup.Read(literal(s), d)); got != surface.OneLine(s) {
				t.Fatalf("%q reads as %q", s, got)
			}
		}
	})
}

func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"plain words, 10 °C (really)!":     "plain words, 10 °C (really)!",
		"*b* _i_ ~s~ ||x|| `c` [l](x)":     "\\*b\\* \\_i\\_ \\~s\\~ \\|\\|x\\|\\| \\`c\\` \\[l](x)",
		"@everyone @HERE a@b.example":      `\@everyone \@HERE a@b.example`,
		"<@1> <@&2> <#3> </a:4> <:e:5>":    `\<@1> \<@&2> \<#3> \</a\:4> \<\:e\:5>`,
		"https://evil.example/a?b=c":       `https\://evil.example/a?b=c`,
		"at 10:30, see: nothing":           `at 10\:30, see: nothing`,
		":tada:":                           `\:tada\:`,
		"# no heading":                     `\# no heading`,
		"-# no subtext":                    `\-# no subtext`,
		"- no item":                        `\- no item`,
		"1. no item":                       `1\. no item`,
		"  > no quotation":                 `  \> no quotation`,
		"3.5 of 7":                         `3\.5 of 7`,
		"discord.gg/abc discord.com/x":     `discord\.gg/abc discord.com/x`,
		`C:\temp`:                          `C\:\\temp`,
		"two\nlines":                       "two ⏎ lines",
		"a\u202eb":                         `a\\u{202E}b`,
		"write_file of files, snake_case.": `write\_file of files, snake\_case.`,
	} {
		if got := literal(in); got != want {
			t.Errorf("literal(%q) = %q, want %q", in, got, want)
		}
	}
}

// Spans cannot become together what none of them is.
func TestSpansStayApart(t *testing.T) {
	for _, l := range []render.Line{
		{render.Plain("https:"), render.Plain("//evil.example")}, {render.Plain("@"), render.Plain("everyone")},
		{render.Strong("a"), render.Strong("b")}, {render.Plain("1"), render.Plain(". x")}, {render.Plain(`\`), render.Strong("x")}, {render.Plain("discord"), render.Plain(".gg/abc")},
		{render.Plain("<t"), render.Plain(":1:R>")}, {render.Plain("-"), render.Plain("# x")}, {render.Plain("*"), render.Strong("*")},
	} {
		for _, d := range markup.Dialects {
			markup.Walk(markup.Read(lineOf(l, nil), d), func(n markup.Node) {
				if n.Kind != "plain" && n.Kind != "bold" {
					t.Errorf("%v: %q is a %s", l, n.Text, n.Kind)
				}
			})
		}
	}
}

func good(host string) bool { return host == "docs.example" || host == "good.example" }

// What a model's Markdown becomes.
func TestRewritten(t *testing.T) {
	for in, want := range map[string]string{
		"# \\# x":                            `# \# x`,
		"**a\nb**":                           "**a**\n**b**",
		"`a\nb`":                             "`a b`",
		"[a](https://docs.example/x.)":       "a (<https://docs.example/x.>)",
		"[a\\]](https://docs.example)":       "a] (<https://docs.example>)",
		"- a\n- ```\n  x\n  ```":             "- a\n\n```\nx\n```",
		"__a__*b*":                           "**a** *b*",
		"**a __b__ c**":                      "a **b** c",
		"***a* b**":                          "*a* b",
		"**a *b***":                          "a *b*",
		"**b** *i* _i_ __b__ ***bi*** ~~s~~": "**b** *i* *i* **b** **bi** ~~s~~",
		"a **b":                              `a \*\*b`,
		"# a\n### c\n#### d\n###### e":       "# a\n### c\n**d**\n**e**",
		"- a\n  - b\n- [x] done\n- [ ] open": "- a\n  - b\n- ☑ done\n- ☐ open",
		"3. a\n4. b":                         "3. a\n4. b",
		"> q\n> r\n\nafter":                  "> q\n> r\n\nafter",
		">>> all of it":                      `> \> \> all of it`,
		"`a*b` and ``a`b``":                  "`a*b` and ``a`b``",
		"```go\nx := `a`;\n```":              "```go\nx := `a`;\n```",
		"```\nopen":                          "```\nopen\n```",
		"~~~\na\n```\nb\n~~~":                "```\na\n\\u{60}\\u{60}\\u{60}\nb\n```",
		"- a\n  ```js\n  - b\n  ```\n- c":    "- a\n\n```js\n- b\n```\n- c",
		"> q\n> ```\n> c\n> ```":             "> q\n\n```\nc\n```",
		"text\n---\n":                        "## text",
		"a\n\n---\n\nb":                      "a\n\n────────────\n\nb",
		"-# small":                           `\-# small`,
		"||spoiler||":                        `\|\|spoiler\|\|`,
		"x ||a|| y":                          `x \|\|a\|\| y`,
		"@everyone, <@1> <@&2> <#3> <t:1:R> <:e:5>": `\@everyone, \<@1> \<@&2> \<#3> \<t\:1\:R> \<\:e\:5>`,
		"</stop:1>":                                         `\</stop\:1>`,
		"<b>html</b> &lt;@1&gt; &amp;":                      `\<b>html\</b> \<@1> &`,
		"[docs](https://docs.example/a?b=1)":                "[docs (docs.example)](<https://docs.example/a?b=1>)",
		"[docs.example](https://docs.example/a)":            "<https://docs.example/a>",
		"[good.example](https://docs.example/a)":            "good.example (<https://docs.example/a>)",
		"[https://good.example](https://evil.example)":      `https\://good.example (` + "`https://evil.example`)",
		"[a](https://evil.example/?q=secret)":               "a (`https://evil.example/?q=secret`)",
		"[🎉 party](https://docs.example)":                   "🎉 party (<https://docs.example>)",
		"[a](javascript:alert(1)) [b](/x) [c](#d)":          "a (`javascript:alert(1)`) b (`/x`) c (`#d`)",
		"[r][1]\n\n[1]: https://evil.example":               "r (`https://evil.example`)",
		"![pixel](https://evil.example/?q=secret)":          "pixel (image: evil.example)",
		"see https://docs.example/a_b, and more":            "see <https://docs.example/a_b>, and more",
		"<https://docs.example>":                            "<https://docs.example>",
		"https://evil.example/x and www.evil.example":       "`https://evil.example/x` and `http://www.evil.example`",
		"steam://run/1 discord://x ftp://evil.example/":     `steam\://run/1 discord\://x ` + "`ftp://evil.example/`",
		"A@everyonediscord.gg/abc":                          `A\@everyonediscord\.gg/abc`, // the first half is a mail address to others
		"join discord.gg/abc":                               `join discord\.gg/abc`,
		"mail a@evil.example":                               "mail a@evil.example",
		"https://good.example@evil.example/":                "`https://good.example@evil.example/`",
		"https://evil.example\\@good.example/":              "`https://evil.example`@good.example/",
		"[docs.example](https://docs.example/(a)*b*)":       "<https://docs.example/%28a%29%2Ab%2A>",
		"**see https://docs.example/a**":                    "**see <https://docs.example/a>**",
		"**a\n```\n[x](https://docs.example)\n```\nb**":     "\\*\\*a\n\n```\n[x](https://docs.example)\n```\n\nb\\*\\*",
		"it`s\n\n```\ncode\n```":                            "it\\`s\n\n```\ncode\n```",
		"| a | b |\n|---|---|\n| 1 | long |\n| *x* | `y` |": "```\na │ b\n──┼─────\n1 │ long\nx │ y\n```",
		"| a |\n|---|\n| -f <path> |\n| x<br>y |\n| [d](https://docs.example/a) |\n| ~~9~~ 7 |": "```\na\n────────────────────────\n-f <path>\nx y\nd (https://docs.example/a)\n~~9~~ 7\n```",
		"a<br>b<BR />c <b>": "a\nb\nc \\<b>",
		"**注意：**请看。これは**「a」**と**\"문장\"**은": "**注意：**请看。これは**「a」**と**\"문장\"**은",
		"**a:**b, **漢字 **b":    `\*\*a\:\*\*b, \*\*漢字 \*\*b`,
		"a  \nb\nc":            "a\nb\nc",
		"1\\. x":               `1\. x`,
		"a &#8238; b":          `a \\u{202E} b`,
		"snake_case and 2*3*4": `snake\_case and 2*3*4`,
	} {
		if got := rewritten(in, good); got != want {
			t.Errorf("rewritten(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

// Whatever a model writes: no mention, no hidden or disguised address, nothing of ours comes out of it, on no client.
func TestAnswersAreHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := rapid.Custom(nastyMarkdown).Draw(t, "markdown")
		got := rewritten(md, good)
		for _, d := range markup.Dialects {
			harmless(t, markup.Read(got, d), good, got)
		}
		if got != rewritten(md, good) {
			t.Fatal("not the same twice")
		}
	})
}

func harmless(t interface{ Fatalf(string, ...any) }, nodes []markup.Node, alive hosts, of string) {
	markup.Walk(nodes, func(n markup.Node) {
		switch n.Kind {
		case "plain", "bold", "italics", "strike", "fence", "code", "quote", "header", "list":
		case "link", "url":
			u, err := url.Parse(n.Href)
			if err != nil || !alive(strings.ToLower(strings.TrimRight(u.Hostname(), "."))) || render.Hosts(n.Href)[0] != strings.ToLower(strings.TrimRight(u.Hostname(), ".")) {
				t.Fatalf("%s is alive in %q", n.Href, of)
			}
			host := render.Hosts(n.Href)
			if label := markup.WordsOf(n.Kids); n.Kind == "link" {
				if !strings.Contains(label, host[0]) {
					t.Fatalf("a link to %s is called %q", n.Href, label)
				}
				for _, named := range hostLike.FindAllString(label, -1) {
					if strings.ToLower(named) != host[0] {
						t.Fatalf("a link to %s is called %q", n.Href, label)
					}
				}
			}
		default:
			t.Fatalf("a %s: %q in %q", n.Kind, n.Text, of)
		}
	})
}

// Code stays what it was, so that it can be copied.
func TestCodeIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching("[ -_a-~]{0,30}")                                // all of ASCII but backticks
		lines := append([]string{"x"}, rapid.SliceOfN(line, 1, 6).Draw(t, "code")...) // empty lines before all others are not shown
		code := strings.Trim(strings.Join(lines, "\n"), "\n")
		if strings.TrimSpace(code) == "" {
			return
		}
		before := rapid.SampledFrom([]string{"", "**a", "it`s\n", "- x", "> y\n", "*a\n", "||", "words\n\n"}).Draw(t, "before")
		got := rewritten(before+"\n```text\n"+code+"\n```\nafter", good)
		for _, d := range markup.Dialects {
			var found []string
			markup.Walk(markup.Read(got, d), func(n markup.Node) {
				if n.Kind == "fence" {
					found = append(found, n.Text)
				}
			})
			if !slices.Contains(found, code) {
				t.Fatalf("%q\nis not in %q\nof %q", code, found, got)
			}
		}
	})
}

// What is too tangled to be parsed is shown as it was written.
func TestTangledAnswers(t *testing.T) {
	for _, md := range []string{strings.Repeat("> ", 3000) + "**x** <@1>", strings.Repeat("- ", 500) + "[a](https://evil.example)", strings.Repeat("*a ", 3000), strings.Repeat("[", 3000), strings.Repeat("a|", 3000) + "\n" + strings.Repeat("-|", 3000)} {
		got := rewritten(md, good)
		harmless(t, markup.Read(got, markup.Dialect{}), good, got)
	}
	if got, want := rewritten(strings.Repeat("> ", 60)+"**x**", good), `\`+strings.Repeat("> ", 60)+`\*\*x\*\*`; got != want {
		t.Errorf("%q", got)
	}
	wide := "| a | b |\n|---|---|\n| " + strings.Repeat("x", 500) + " | z |\n" + strings.Repeat("| y | z |\n", 300)
	if got := rewritten(wide, good); len(got) > len(wide) {
		t.Errorf("a table grew from %d to %d", len(wide), len(got))
	}
}

func TestLiveAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://docs.example/a?b=c#d": "https://docs.example/a?b=c#d", "HTTPS://DOCS.EXAMPLE/": "HTTPS://DOCS.EXAMPLE/", "http://docs.example:8080/": "http://docs.example:8080/",
		"https://docs.example/ä": "https://docs.example/%C3%A4", "https://docs.example./": "https://docs.example./",
		"https://evil.example/": "", "https://docs.example@evil.example/": "", "https://user:pw@docs.example/": "", "https://docs.example\\.evil.example/": "", "javascript:https://docs.example": "",
		"https:docs.example": "", "//docs.example": "", "https:///?x=https://docs.example": "", "https://%64ocs.example/": "", "https://docs。example/": "", "https://dоcs.example/": "", "ftp://docs.example/": "",
		"https://docs.example'.evil.example/": "", "https://docs.example/?u=https://evil.example": "https://docs.example/?u=https://evil.example", "https://docs.example\t.evil.example": "", "https://docs.example evil": "", "https://[::1]/": "", "": "", "https://": "",
	} {
		if got, host := liveAddress(in, good); got != want || (host != "") != (want != "") {
			t.Errorf("%q: %q, %q", in, got, host)
		}
	}
}

// A host of other than the usual letters is none, whoever brought it: clients do not agree on what it is.
func TestOddHosts(t *testing.T) {
	for _, in := range []string{"https://exämple.org/", "https://a,b.example/", "https://a%41.example/"} {
		if got, _ := liveAddress(in, func(string) bool { return true }); got != "" {
			t.Errorf("%q is alive as %q", in, got)
		}
	}
}

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`a": "`` `a ``", "a`": "`` a` ``", "a``b": "`a\\u{60}\\u{60}b`", "a\nb": "`a ⏎ b`", "": "", " ": " "} {
		if got := codeSpan(in); got != want {
			t.Errorf("codeSpan(%q) = %q, want %q", in, got, want)
		}
		for _, d := range markup.Dialects {
			if got := markup.Read(codeSpan(in), d); strings.TrimSpace(in) != "" && (len(got) != 1 || got[0].Kind != "code") {
				t.Errorf("%q reads as %+v", in, got)
			}
		}
	}
}

func TestLineOf(t *testing.T) {
	for want, l := range map[string]render.Line{
		"**a** **b**": {render.Strong("a"), render.Strong("b")}, "x": {render.Plain("x"), render.Strong(" "), render.Time{}}, `\# Ana`: {render.Plain("# "), render.Person{Name: "Ana"}},
		"in <#123456789012345678>": {render.Plain("in "), render.Channel("discord:9:123456789012345678")}, `channel 1\<b> on Discord`: {render.Channel("discord:9:1<b>")},
		"channel C1 on Slack": {render.Channel("slack:T1:C1")}, `x\:y`: {render.Channel("x:y")},
		"<t:1795269720:t> <t:1795269720:t> (<t:1795269720:R>)": {render.Time{At: samples.TwoPM}, render.Plain(" "), render.Time{At: samples.TwoPM, Until: true}},
	} {
		if got := lineOf(l, nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	if h := hosts(nil).or([]string{"Docs.example"}); !h("docs.example") || h("evil.example") || h("") {
		t.Error("no list of the operator's")
	}
	if h := hosts(good).or(nil); !h("good.example") || h("evil.example") {
		t.Error("no hosts of people")
	}
}

func FuzzRewritten(f *testing.F) {
	for _, s := range hostile.Pieces {
		f.Add(s)
	}
	f.Add(richAnswer)
	f.Fuzz(func(t *testing.T, md string) {
		md = md[:min(len(md), 2000)]
		got := rewritten(md, good)
		for _, d := range markup.Dialects {
			harmless(t, markup.Read(got, d), good, got)
		}
	})
}

// The reader of these tests sees what a client would: where it is blind, they prove nothing.
func TestTheReaderSees(t *testing.T) {
	for in, want := range map[string]string{
		"<@1>": "mention", "<@!1>": "mention", "<@&1>": "mention", "<#1>": "mention", "</stop:1>": "command", "<id:customize>": "command", "<a:x:1>": "emoji", "<t:1:R>": "time",
		"@everyone": "everyone", "x@here": "everyone", ":tada:": "shortcode", "https://evil.example": "url", "xhttps://evil.example": "url", "<steam://run/1>": "url", "discord.gg/a": "url",
		"[a](https://evil.example)": "link", "[a](<https://evil.example> 't')": "plain", "[a b](<https://evil.example>)": "link", "||x||": "spoiler", "__x__": "underline", "**x**": "bold", "_x_": "italics", "*x*": "italics", "~~x~~": "strike",
		"-# x": "subtext", "# x": "header", "> x": "quote", ">>> x": "quote", "- x": "list", "1. x": "list", "`x`": "code", "```x```": "fence", "```go\nx\n```": "fence",
		`\<@1>`: "plain", `https\://evil.example`: "plain", `\@everyone`: "plain", `\-# x`: "plain", "####### x": "plain", "x # y": "plain",
	} {
		for _, d := range markup.Dialects {
			found := false
			markup.Walk(markup.Read(in, d), func(n markup.Node) { found = found || n.Kind == want })
			if !found {
				t.Errorf("%q: no %s in %+v", in, want, markup.Read(in, d))
			}
		}
	}
	// What a naive look at the text would miss: a star before a fence swallows it.
	live := false
	markup.Walk(markup.Read("**a\n```\n[x](https://evil.example)**\n```", markup.Dialect{}), func(n markup.Node) { live = live || n.Kind == "link" })
	if !live {
		t.Error("a fence that bold text swallows holds")
	}
}

func TestHostsThatPeopleBroughtAreAliveToo(t *testing.T) {
	for host, want := range map[string]bool{"docs.example": true, "brought.example": true, "Brought.Example": true, "x.brought.example": false, "": false, "evil.test": false} {
		if hosts(good).or([]string{"brought.example"})(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
