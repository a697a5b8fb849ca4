package slack

import (
	"reflect"
	"strings"
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
		"<!subteam^S1>":                        "@S1",
		"on <!date^1392734382^{date}|18 Feb>":  "on 18 Feb",
		"<https://example.com/a?b=1&amp;c=2>":  "https://example.com/a?b=1&c=2",
		"<https://example.com|example.com>":    "https://example.com",
		"<https://evil.test|your bank>":        "your bank (https://evil.test)",
		"<mailto:a@example.com|a@example.com>": "a@example.com",
		"1 < 2":                                "1 < 2",
		"broken <@U":                           "broken <@U",
		"  spaces\n":                           "spaces",
		"<>":                                   "",
		"<@>":                                  "@",
	} {
		if got := readable(in, name); got != want {
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
		if got := addressed(in, "UBOT"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCommandIn(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]command{
		"stop": {verb: "stop"}, " STOP ": {verb: "stop"}, "reset": {verb: "reset"}, "help": {verb: "help"}, "pending": {verb: "pending"},
		"mode": {verb: "mode"}, "mode always": {"mode", []string{"always"}}, "Mode Never": {"mode", []string{"never"}}, "mode tool": {"mode", []string{"tool"}},
	} {
		if got, ok := commandIn(in); !ok || got.verb != want.verb || !reflect.DeepEqual(got.args, want.args) {
			t.Errorf("%q: got %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "stop it", "please stop", "mode dark", "mode always please", "reset the router", "stop.", "stops"} {
		if c, ok := commandIn(in); ok {
			t.Errorf("%q is taken for the command %v", in, c)
		}
	}
}

func TestAttachedFilesAreNamed(t *testing.T) {
	t.Parallel()
	got := withFiles("look", []string{"a.pdf", strings.Repeat("x", 500) + "\n\u202eb"})
	if !strings.HasPrefix(got, "look\n[attached file, not readable for nod: a.pdf]\n[") || len(got) > 300 || strings.Contains(got, "\u202e") {
		t.Errorf("%q", got)
	}
	if withFiles("look", nil) != "look" {
		t.Error("a message without files was changed")
	}
}
