package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func TestHosts(t *testing.T) {
	for in, want := range map[string][]string{
		"see https://A.example/x?y and http://b.example:8080.": {"a.example", "b.example"},
		"https://good.example@evil.example/":                   {"evil.example"},
		"https://good.example:x@evil.example:443/":             {"evil.example"},
		`"url": "https://a.example\/x", "https://a.example"`:   {"a.example"},
		"[x](https://a.example)":                               {"a.example"},
		"ftp://files.example ssh://git@code.example/x":         {"files.example", "code.example"},
		"https://[2001:db8::1]:80/":                            {"[2001:db8::1]"},
		"https://аpple.com.":                                   {"аpple.com"},
		`https:\\evil.example`:                                 nil,
		`https:///evil.example`:                                {"evil.example"},
		`https://good.example\@evil.example`:                   {"good.example"},
		"a // comment, notes.txt, and/or 12://x":               {"x"},
		"x //comment, \"//a.example/x\"":                       {"a.example"},
		"(//proto.example/x)":                                  {"proto.example"},
		"https://":                                             nil,
		"":                                                     nil,
	} {
		if got := render.Hosts(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestHostWarning(t *testing.T) {
	for host, want := range map[string]string{
		"аpple.com":              "mixes Cyrillic and Latin letters",
		"xn--pple-43d.com":       "reads аpple.com, which mixes Cyrillic and Latin letters",
		"xn--80ak6aa92e.com":     "Cyrillic letters that look like Latin ones", // аррӏе
		"аррӏе.com":              "Cyrillic letters that look like Latin ones",
		"gοοgle.com":             "mixes Latin and Greek letters",
		"paypaı.com":             "look like Latin ones",
		"ｇoogle.com":             "look like Latin ones",
		"good.com\u2044evil.com": "look like a dot or a slash",
		"good。com":               "look like a dot or a slash",
		"goo\u200bgle.com":       `goo\u{200B}gle.com contains hidden characters`,
		"\u202emoc.evil":         "hidden characters",
		"ɡoogle.com":             "look like Latin ones", "ᴀpple.com": "look like Latin ones", "googǀe.com": "look like Latin ones", // of phonetics and of clicks
		"ℊoogle.com": "look like Latin ones", "𝐠oogle.com": "look like Latin ones", "ⓖoogle.com": "look like Latin ones", // signs
		"сок-1.com": "Cyrillic letters that look like Latin ones", "aᏚ.com": "mixes Latin and Cherokee letters",
		// What is no punycode reads as it stands.
		"xn--9.com": "as xn--9.com", "xn--99999999999999a.com": "as xn--99999999999999a.com", "xn--999999999999999999a.com": "as xn--999999999999999999a.com", "xn--~a.com": "as xn--~a.com", "xn--a+.com": "as xn--a+.com", "xn--8352o.com": "as xn--8352o.com", "xn--{a.com": "as xn--{a.com",
		"bank١.com":               "digits that are not 0–9",
		"xn--mnchen-3ya.de":       "shown elsewhere as münchen.de",
		"login.аpple.com.example": "mixes Cyrillic and Latin letters",
	} {
		if got := render.HostWarning(host); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	for _, host := range []string{"", "example.com", "münchen.de", "яндекс.рф", "пример.com", "例え.jp", "東京タワー.jp", "한국.kr", "café.fr", "127.0.0.1", "[::1]", "a-b.c_d.example", "xn--", "xn--!!!.com", "παράδειγμα.gr",
		"сок.рф", "münchen2.de", "col·legi.cat", "việt.vn", "𠮷野家.jp", "ｱｲ.jp"} {
		if got := render.HostWarning(host); got != "" && !strings.HasPrefix(host, "xn--") {
			t.Errorf("%s: %q", host, got)
		}
	}
}

func FuzzHost(f *testing.F) {
	f.Add("https://xn--pple-43d.com/\u200b")
	f.Add("//xn--99999999999")
	f.Fuzz(func(t *testing.T, s string) {
		for _, h := range append(render.Hosts(s), s) {
			if _, n := text.Visible(render.HostWarning(h)); n > 0 {
				t.Fatalf("the warning about %q hides something itself", h)
			}
		}
	})
}
