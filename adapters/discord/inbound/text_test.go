package inbound

import (
	"strings"
	"testing"
	"unicode/utf8"
)

var someNames = Names{
	User:    func(id string) string { return map[string]string{"1": "Ana", "2": "two\nlines"}[id] },
	Role:    func(id string) string { return map[string]string{"5": "crew"}[id] },
	Channel: func(id string) string { return map[string]string{"7": "general"}[id] },
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":                         "hello",
		" <@1> and <@!1>, <@9> ":        "@Ana and @Ana, @9",
		"<@2>":                          "@two lines",
		"<@&5> <@&6>":                   "@crew @6",
		"<#7> <#8>":                     "#general #8",
		"<:smile:123> <a:dance:456>":    ":smile: :dance:",
		"</nod ask:123>":                "/nod ask",
		"at <t:1700000000:R>":           "at 2023-11-14 22:13 UTC",
		"at <t:1700000000>":             "at 2023-11-14 22:13 UTC",
		"<t:99999999999999999:f>":       "99999999999999999",
		"<t:-99999999999999:f>":         "-99999999999999",
		"<id:customize>":                "#customize",
		"a < b > c <@> <@x> <#> <:a:1>": "a < b > c <@> <@x> <#> <:a:1>",
		"<https://example.com/?a=1&b>":  "<https://example.com/?a=1&b>",
		"**bold** `code` &amp;":         "**bold** `code` &amp;",
		"<<@1>>":                        "<@Ana>",
	} {
		if got := PlainText(text, someNames); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestUnaddressed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<@11> do it":        "do it",
		" <@!11>: do it":     "do it",
		"<@11>, <@11> do it": "do it",
		"<@&5> do it":        "do it",
		"<@&6> do it":        "<@&6> do it",
		"<@12> do it":        "<@12> do it",
		"do it, <@11>":       "do it, <@11>",
		"<@11>":              "",
		"<@11><@12> do it":   "<@12> do it",
		"<#11> do it":        "<#11> do it",
	} {
		if got := WithoutMention(text, "11", "5"); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	if got := WithoutMention("<@&> <@&5> x", "11", ""); got != "<@&> <@&5> x" {
		t.Errorf("%q", got)
	}
}

func TestWordsOfProgramsAreFound(t *testing.T) {
	t.Parallel()
	m := new(Message)
	err := Decode([]byte(`{"embeds":[{"title":"Disk full","description":"on db1","fields":[{"name":"used","value":"99 %"},7]}],"attachments":[{"filename":"graph.png"}],
		"components":[{"type":17,"components":[{"type":10,"content":"text"},{"type":9,"components":[{"type":10,"content":"more"}]},{"type":99}]}]}`), m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Words(), "**Disk full**\non db1\nused: 99 %\ntext\nmore\n[file graph.png; nod cannot read it]"; got != want {
		t.Errorf("%q", got)
	}
	m.Content = "said"
	m.Embeds[0].Type = "article"
	if got := m.Words(); !strings.HasPrefix(got, "said\n[preview of a link] **Disk full**\non db1\n") {
		t.Errorf("%q", got)
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{"<@1>", "<@!1> <a:x:1>", "<t:1:R>", "</a b:1>", "<<<@&5>>>", "<#7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		got := PlainText(WithoutMention(s, "1", "5"), someNames)
		if !utf8.ValidString(got) || strings.TrimSpace(got) != got {
			t.Errorf("%q: %q", s, got)
		}
	})
}
