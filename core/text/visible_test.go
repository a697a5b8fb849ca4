package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nodhq/nod/core/text"
)

// mustShow is the set of SAFETY 4 #2, by Go's own tables: a second opinion on what Visible decides.
func mustShow(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	tables := []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point, unicode.Bidi_Control, unicode.Join_Control}
	return unicode.In(r, tables...) || unicode.Is(unicode.Zs, r) && r != ' ' || r >= 0xE0000 && r <= 0xE0FFF || r >= 0xFFF0 && r <= 0xFFF8
}

func TestVisibleWholeSet(t *testing.T) {
	shown := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !mustShow(r) || unicode.Is(unicode.Cs, r) || unicode.Is(unicode.Co, r) && r%257 != 0 { // of 137,000 private ones some
			continue
		}
		shown++
		for _, s := range []string{string(r) + "ab", "a" + string(r) + "b", "ab" + string(r)} {
			out, n := text.Visible(s)
			if n != 1 {
				t.Fatalf("U+%04X in %q: counted %d", r, s, n)
			}
			for _, o := range out {
				if o >= utf8.RuneSelf || o < ' ' {
					t.Fatalf("U+%04X survives in %q", o, out)
				}
			}
			if !strings.Contains(out, `\u{`) {
				t.Fatalf("U+%04X became %q", r, out)
			}
		}
	}
	if shown < 4000 {
		t.Fatalf("only %d code points tried", shown)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":      "plain\n\ttext",
		"a\u200bb":           `a\u{200B}b`,
		"\u202eevil":         `\u{202E}evil`,
		"\x1b[31m":           `\u{001B}[31m`,
		"\U000E0041":         `\u{E0041}`,
		"a\xffb":             `a\x{FF}b`,
		"\xe2\x80":           `\x{E2}\x{80}`,
		"é中ñ😀":               "é中ñ😀",
		"⚠\ufe0f":            `⚠\u{FE0F}`,
		"\u3164\u115f\u2800": `\u{3164}\u{115F}\u{2800}`,
		// Marks that pile up, the sign for what cannot be read, and bytes that are nearly half a surrogate pair.
		"z\u0300\u0301\u0302\u0303": "z\u0300\u0301\u0302" + `\u{0303}`, "\ufffd": "\ufffd", "\xed\xa0\x80": `\u{D800}`, "\xff\xa0\x80": `\x{FF}\x{A0}\x{80}`,
		"\xed\xa0": `\x{ED}\x{A0}`, "\xed\xc0\x80": `\x{ED}\x{C0}\x{80}`, "\xed\xa0a": `\x{ED}\x{A0}a`, "\xed\x9f\xbb": "\ud7fb",
		"a\u00a0b\r": `a\u{00A0}b\u{000D}`,
	} {
		if got, _ := text.Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What models write every day: GPT sets a narrow space before a unit, Japanese begins a paragraph with a wide one, and lines end as in Windows.
func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"⚠\ufe0f می\u200cخواهم \u202e\x1b": "⚠\ufe0f می\u200cخواهم " + `\u{202E}\u{001B}`,
		"12\u202fkm, 3\u2009%, 5\u00a0€":   "12\u202fkm, 3\u2009%, 5\u00a0€",
		"\u3000東京\u3000大阪":                 "\u3000東京\u3000大阪",
		"a\r\n\r\n```\r\nb\r\n```\r\n":     "a\n\n```\nb\n```\n",
		"👩\u200d💻 ☺\ufe0e":                 "👩\u200d💻 ☺\ufe0e",
		"10%\r20%":                         `10%\u{000D}20%`,
		"a\u200bb\u2028c":                  `a\u{200B}b\u{2028}c`,
	} {
		if got := text.Prose(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for in, want := range map[string]string{"{\"a b\":\r\n\"x\u200by\U000E0041\"}": "{\"a b\":\r\n" + `"x\u200by\udb40\udc41"}`, "é😀": "é😀"} {
		if got := text.EscapeJSON(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What is too long ends where it may: no character is halved, and what fits is left alone.
func TestShortened(t *testing.T) {
	for _, c := range [][2]string{
		{text.Cut("äbc", 3), "äbc"}, {text.Cut("äbcd", 3), "äb…"}, {text.Head("äbc", 3), "äbc"}, {text.Head("äbcd", 3), "äbc…"},
		{text.Shorten("äbc", 3), "äbc"}, {text.Shorten("äbcde", 3), "äbc… 2 more characters"}, {text.HeadBytes("äb", 3), "äb"}, {text.HeadBytes("aä", 2), "a"}, {text.HeadBytes("\x80\x80", 1), ""},
		{strings.Join(text.NameWords("URL filePath file_path HTTPServer read2Files XML ABc Über myURL"), "|"), "url|file|path|file|path|http|server|read2files|xml|a|bc|über|my|url"},
		{text.Sentence("write_file"), "Write file"}, {text.Sentence("--"), "--"}, {text.Capital("éa"), "Éa"}, {text.Capital("\xffa"), "\xffa"},
		{text.Size(1), "1 byte"}, {text.Size(999), "999 bytes"}, {text.Size(12_345), "12 KB"}, {text.Size(999_499), "999 KB"}, {text.Size(3_400_000), "3.4 MB"},
		{text.FileRead("a", 5, 9, 0), "a (first 5 of 9 characters)"}, {text.FileRead("a", 5, 0, 2), "a (first 2 pages)"}, {text.FileRead("a", 0, 0, 0), "a (no text in it)"},
		{text.FileRead("", 5, 0, 0), "without a name"}, {text.FileUnread("a", "odd"), "a was not read"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u200b\xff")
	f.Add("\xed\xce\xf3") // begins like half a surrogate pair, and is none
	f.Fuzz(func(t *testing.T, s string) {
		out, n := text.Visible(s)
		if !utf8.ValidString(out) {
			t.Fatalf("%q became %q", s, out)
		}
		if again, k := text.Visible(out); k != 0 || again != out {
			t.Fatalf("%q still hides something", out)
		}
		if (n == 0) != (out == s) || strings.Count(out, `\u{`)+strings.Count(out, `\x{`) < n {
			t.Fatalf("%q became %q, %d counted", s, out, n)
		}
	})
}
