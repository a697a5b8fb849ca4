package inbound

import (
	"testing"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	name := func(id string) string { return map[string]string{"UBEN": "Ben", "UBOT": "nod"}[id] }
	for in, want := range map[string]string{
		"plain":                    "plain",
		"a &lt;b&gt; &amp;&amp; c": "a <b> && c",
		"&amp;lt;":                 "&lt;", // decoded once
		"ask <@UBEN>":              "ask @Ben",
		"ask <@UNEW>":              "ask @UNEW",
		"ask <@UNEW|new.one>":      "ask @new.one",
		"in <#C1|general>":         "in #general",
		"in <#C1|>":                "in #C1",
		"in <#C1>":                 "in #C1",
		"<!here> and <!subteam^S1|@ops> <!everyone>": "@here and @ops @everyone",
		"<!subteam^S1>":                             "@S1",
		"on <!date^1392734382^{date}|18 Feb>":       "on 18 Feb",
		"<https://example.com/a?b=1&amp;c=2>":       "https://example.com/a?b=1&c=2",
		"<https://example.com|example.com>":         "https://example.com",
		"<https://example.com|https://example.com>": "https://example.com",
		"<http://example.com|example.com>":          "http://example.com",
		"call <tel:+15551234|+15551234>":            "call +15551234",
		"<https://evil.test|your bank>":             "your bank (https://evil.test)",
		"<mailto:a@example.com|a@example.com>":      "a@example.com",
		"1 < 2":                                     "1 < 2",
		"broken <@U":                                "broken <@U",
		"  spaces\n":                                "spaces",
		"<>":                                        "",
		"<@>":                                       "@",
	} {
		if got := PlainText(in, name); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestAddressed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<@UBOT> read it":        "read it",
		"<@UBOT|nod>: read it":   "read it",
		" <@UBOT>, <@UBOT> do":   "do",
		"<@UBOT>":                "",
		"do, <@UBOT>":            "do, <@UBOT>",
		"<@UBOT2> do":            "<@UBOT2> do",
		"<@UBEN> and <@UBOT> do": "<@UBEN> and <@UBOT> do",
		"<@UBOT":                 "<@UBOT",
		"<@UBOT|":                "<@UBOT|",
	} {
		if got := WithoutMention(in, "UBOT"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
