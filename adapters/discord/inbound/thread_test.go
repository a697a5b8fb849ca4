package inbound

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestThreadNames(t *testing.T) {
	long := strings.Repeat("é", 300)
	for in, want := range map[string]string{
		"fix it":              "fix it",
		"\n \n second line":   "second line",
		"":                    "a conversation",
		"<@123> <@!4> <@&5>":  "a conversation",
		"<@123> hello":        "hello",
		"@everyone look":      "everyone look",
		"a <#1> b <t:1:R> c":  "a b c",
		"<:smile:12> <a:x:1>": "a conversation",
		"if a < b > c":        "if a < b > c",
		"hide\u202ethis":      `hide\u{202E}this`,
		long:                  strings.Repeat("é", 99) + "…",
		"…":                   "a conversation",
	} {
		got := ThreadName(in, "a conversation")
		if got != want || utf8.RuneCountInString(got) > maxThreadName {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzThreadName(f *testing.F) {
	f.Add("<@1>\n\xff<")
	f.Fuzz(func(t *testing.T, s string) {
		if n := ThreadName(s, "a conversation"); strings.TrimSpace(n) == "" || utf8.RuneCountInString(n) > maxThreadName || !utf8.ValidString(n) || strings.Contains(n, "@everyone") {
			t.Errorf("%q: %q", s, n)
		}
	})
}
