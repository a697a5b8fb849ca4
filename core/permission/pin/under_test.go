package pin

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/nodhq/nod/core/text"
)

// What stands below the directory, written as the directory is, is covered.
// R154
func TestUnder(t *testing.T) {
	for dir, paths := range map[string][]string{
		"/srv/a":                       {"/srv/a", "/srv/a/x", "/srv/a/b/c/d.txt", "/srv/a/.env", "/srv/a/a..b", "/srv/a/..b", "/srv/a/...b", "/srv/a/Foo (1), v2.txt", "/srv/a/@x/+page.ts", "/srv/a/a=b", "/srv/a/-rf", "/srv/a/é", "/srv/a/e\u0301", "/srv/a/日本", "/srv/a/नमस्ते", "/srv/a/con1", "/srv/a/com", "/srv/a/com12", "/srv/a/com10", "/srv/a/comx"},
		"/srv":                         {"/srv/a"},
		"ab":                           {"ab/x"},
		"docs":                         {"docs", "docs/x"},
		".github/workflows":            {".github/workflows/ci.yml"},
		`C:\srv\a`:                     {`C:\srv\a`, `C:\srv\a\x.txt`},
		"C:/srv/a":                     {"C:/srv/a/x.txt"},
		"z:/srv":                       {"z:/srv/a"},
		"file:///srv/a":                {"file:///srv/a/x"},
		"/srv/caf\u00e9":               {"/srv/caf\u00e9/x"},
		strings.Repeat("/a", 2047):     {strings.Repeat("/a", 2048)},
		"/srv/CONFIG/null/comma/lpt11": {"/srv/CONFIG/null/comma/lpt11/x"},
	} {
		for _, p := range paths {
			if !under(dir, p) {
				t.Errorf("%q should be under %q", p, dir)
			}
		}
	}
}

// outside is what a granted directory must not cover, by the directory. None of it may widen a grant (SAFETY 4, 16; R154).
var outside = map[string][]string{
	"/srv/a": {
		// up and out
		"/srv/a/..", "/srv/a/../b", "/srv/a/../../etc/passwd", "/srv/a/x/../../b", "/srv/a/x/..", "/srv/a/./x", "/srv/a/.", "/srv/a/../a/x", "/srv/a/x/../y", "..", "../srv/a/x", "/..", "/../srv/a/x",
		// elements that some systems shorten to the parent
		"/srv/a/.. /b", "/srv/a/ ../b", "/srv/a/.../b", "/srv/a/.. ./b", "/srv/a/. ./b", "/srv/a/x /y", "/srv/a/x./y", "/srv/a/ x", "/srv/a/x ", "/srv/a/....//b",
		// empty elements
		"/srv/a/", "/srv//a/x", "//srv/a/x", "/srv/a//x", "/srv/a//../b", "///srv/a/x",
		// neighbours
		"/srv/ab", "/srv/a.txt", "/srv/a-b/x", "/srv", "/", "", "/srv/A/x", "/SRV/a/x", "/srv/b/srv/a/x",
		// other separators
		`/srv/a\..\b`, `/srv/a/..\b`, `/srv\a\x`, `\srv\a\x`, `/srv/a/x\y`, "/srv/a/..\u2215b", "/srv/a/..\u2044b", "/srv/a/..\uff0fb", "/srv/a/..\uff3cb", "/srv/a/..\u29f8b", "/srv/a/..\u2216b", "/srv/a/..¥b", "/srv/a/x\u0338y", "/srv/a/x\u20e5y",
		// other dots
		"/srv/a/\uff0e\uff0e/b", "/srv/a/\u2025/b", "/srv/a/\u2024\u2024/b", "/srv/a/\ufe52\ufe52/b", "/srv/a/\u2026/b",
		// escapes of URLs
		"/srv/a/%2e%2e/b", "/srv/a/%2E%2E/b", "/srv/a/%252e%252e/b", "/srv/a/..%2fb", "/srv/a/%5c..%5cb", "/srv/a/%c0%ae%c0%ae/b", "/srv/a/x%00", "%2fsrv/a/x", "/srv/a/x?y", "/srv/a/x#y",
		// what shells expand
		"~/srv/a/x", "/srv/a/~/x", "/srv/a/~root", "/srv/a/$HOME", "/srv/a/${X}/b", "/srv/a/$(id)", "/srv/a/`id`", "/srv/a/*", "/srv/a/**", "/srv/a/.?/b", "/srv/a/.*/b", "/srv/a/{x,../../etc}/y", "/srv/a/{.,x}./b", "/srv/a/.{.,x}/b", "/srv/a/[.][.]/b", "/srv/a/x;id", "/srv/a/x|id", "/srv/a/x&id", "/srv/a/x>y", "/srv/a/x<y", "/srv/a/!x", "/srv/a/x'y", `/srv/a/x"y`, "/srv/a/^x",
		// what cannot be seen
		"/srv/a/x\x00/../../etc/passwd", "/srv/a/x\n", "/srv/a/x\ny", "/srv/a/x\ty", "/srv/a/\r/b", "/srv/a/x\x7f", "/srv/a/.\u200b./b", "/srv/a/\u202e../b", "/srv/a/x\u00a0y", "/srv/a/\ufeffx", "/srv/a/x\u00ad", "/srv/a/\u3164", "/srv/a/x\ufe0f", "/srv/a/\U000e0041", "/srv/a/\u2028", "\ufeff/srv/a/x", " /srv/a/x", "/srv/a/\x85x",
		// streams, drives, shares, URLs, devices
		"/srv/a/x:stream", "/srv/a/x::$DATA", "/srv/a/C:/b", "C:/srv/a/x", `C:\srv\a\x`, `\\host\srv\a\x`, "//host/srv/a/x", `\\?\C:\srv\a`, "file:///srv/a/x", "file://localhost/srv/a/x", "file:/srv/a/x", "FILE:///srv/a/x", "https://srv/a/x", "smb://srv/a",
		"/srv/a/CON", "/srv/a/nul.txt", "/srv/a/Aux/b", "/srv/a/prn .txt", "/srv/a/COM1", "/srv/a/lpt9.x.y", "/srv/a/com¹", "/srv/a/PROGRA~1",
		// the other kind of path
		"srv/a/x", "./srv/a/x", "a/x", "x",
		// bytes that are no text, and a mark that would hang on the separator
		"/srv/a/\xff", "/srv/a/\xc0\xae", "/srv/a/\u0301x", "/srv/a/" + strings.Repeat("x/", 2100) + "x",
	},
	"/srv/caf\u00e9": {"/srv/cafe\u0301/x", "/srv/cafe/x", "/srv/CAF\u00c9/x"},
	"docs":           {"/docs/x", "./docs/x", "docs/../x", "docs/", "doc/x", "docs2/x", "Docs/x", "-docs/x", `docs\x`, "x/docs/y", "C:docs/x", ""},
	`C:\srv\a`:       {`C:\srv\a\..\b`, `C:/srv/a/x`, `C:\srv\a/x`, `c:\srv\a\x`, `D:\srv\a\x`, `C:srv\a\x`, `C:\srv\a\`, `C:\srv\\a\x`, `C:\SRV\a\x`, `\srv\a\x`, "/srv/a/x", `C:\srv\a\x:y`, `C:\srv\a\.. \b`, `C:\srv\a\nul`, `CC:\srv\a`, `\\?\C:\srv\a\x`},
	"C:/srv/a":       {`C:\srv\a\x`, "c:/srv/a/x", "/C:/srv/a/x", "C:/srv/a/../b", `C:/srv/a\..\b`, "1:/srv/a/x"},
	"file:///srv/a":  {"/srv/a/x", "file:///srv/a/../b", "file:///srv/a/%2e%2e/b", "file:////srv/a/x", "file://srv/a/x", "file:///srv/a/x?y", "file:///srv/a/x#y", "file:///C:/srv/a", "File:///srv/a/x", "file:srv/a/x", `file:///srv/a\..\b`},
	// what is no directory to be granted covers nothing, not even itself
	"/": {"/", "/x", "/srv/a"}, "": {"", "x", "/x"}, ".": {".", "x", "./x"}, "..": {"..", "../x"}, "/srv/a/": {"/srv/a/", "/srv/a/x"}, "/srv/a/..": {"/srv/a/..", "/srv/a/../x"}, `C:\`: {`C:\`, `C:\x`}, "C:": {"C:", `C:\x`}, "file:///": {"file:///", "file:///x"}, "/srv/*": {"/srv/*", "/srv/a"}, "~": {"~", "~/x"}, "1:/srv/a": {"1:/srv/a/x"}, "-r": {"-r", "-r/x"}, "@x": {"@x", "@x/y"}, "(x": {"(x/y"}, "/srv/\u200b": {"/srv/\u200b/x"}, "/\xff": {"/\xff", "/\xff/x"},
}

// R154
func TestNothingWidens(t *testing.T) {
	n := 0
	for dir, paths := range outside {
		for _, p := range paths {
			n++
			if under(dir, p) {
				t.Errorf("%q should not be under %q", p, dir)
			}
			args, err := json.Marshal(map[string]string{"path": p})
			if err != nil {
				t.Fatal(err)
			}
			if Hold([]Pin{{Path: "path", Match: MatchUnder, Value: textOf(dir)}}, args) {
				t.Errorf("a grant of %q covers %q", dir, p)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d paths", n)
	}
}

// readers are what systems make of a path that they are given, written without a look at under: each resolves the text in its way.
var readers = map[string]func(string) string{
	"as it is": func(s string) string { return s },
	"posix":    path.Clean,
	"windows": func(s string) string {
		drive, rest := "", strings.ReplaceAll(s, `\`, "/")
		if len(rest) > 1 && rest[1] == ':' {
			drive, rest = rest[:2], rest[2:]
		}
		elems := strings.Split(rest, "/")
		for i, e := range elems {
			e, _, _ = strings.Cut(e, ":")
			if short := strings.TrimRight(e, ". "); short != "" {
				e = short
			} else if e != "" && e != "." {
				e = ".." // the worst that trimming dots and spaces has ever come to
			}
			switch strings.ToUpper(strings.TrimRight(strings.SplitN(e, ".", 2)[0], " ")) {
			case "CON", "NUL", "COM1", "LPT1":
				return "//./" + e
			}
			elems[i] = e
		}
		return drive + path.Clean(strings.Join(elems, "/"))
	},
	"url": func(s string) string {
		s, _, _ = strings.Cut(s, "#")
		s, _, _ = strings.Cut(s, "?")
		for range 2 {
			if u, err := url.PathUnescape(s); err == nil {
				s = u
			}
		}
		s, scheme := strings.CutPrefix(s, "file://")
		if s = path.Clean(s); scheme {
			return "file://" + s
		}
		return s
	},
	"shell": func(s string) string {
		if strings.HasPrefix(s, "~") || strings.ContainsAny(s, "$`;|&<>") {
			return "/etc"
		}
		if strings.Contains(s, "{") {
			s = strings.NewReplacer("{", "", "}", "", ",", "/").Replace(s)
		}
		return path.Clean(strings.NewReplacer("*", ".", "?", ".", "[", "", "]", "").Replace(s))
	},
	"in C": func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return path.Clean(s) },
	"normalizing": func(s string) string {
		for _, r := range s { // what draws nothing is dropped
			if unicode.Is(unicode.Cf, r) {
				s = strings.ReplaceAll(s, string(r), "")
			}
		}
		return path.Clean(norm.NFKC.String(s))
	},
}

// escapes is the reader by whose reading a path is not below a directory, or "".
func escapes(dir, p string) string {
	if !utf8.ValidString(p) {
		return "who wants text"
	}
	for name, read := range readers {
		d, got := read(dir), read(p)
		sep := "/"
		if name != "windows" && strings.Contains(d, `\`) {
			sep = `\`
		}
		if got != d && !strings.HasPrefix(got, d+sep) {
			return name
		}
	}
	return ""
}

// Nothing that under says is below a directory is elsewhere for any reader, or in a letter that no reader would take as it is.
func FuzzUnder(f *testing.F) {
	for dir, paths := range outside {
		for _, p := range paths {
			f.Add(dir, p)
		}
	}
	f.Add("/srv/a", "/srv/a/x")
	f.Add(`C:\srv`, `C:\srv\x`)
	f.Add("docs", "docs/x")
	f.Fuzz(func(t *testing.T, dir, p string) {
		if !under(dir, p) {
			return
		}
		if who := escapes(dir, p); who != "" {
			t.Fatalf("under %q: %q, which leads elsewhere for a reader: %s", dir, p, who)
		}
		if !under(p, p) || !under(dir, dir) {
			t.Fatalf("%q is under %q, and one of them not under itself", p, dir)
		}
		if _, n := text.Visible(p); n > 0 {
			t.Fatalf("%q has hidden characters", p)
		}
	})
}

// Every code point: what is let in is seen, is no separator, dot or wildcard in any normal form, and leads no reader elsewhere.
func TestCharacters(t *testing.T) {
	let := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == '/' {
			continue
		}
		if r == 0x33000 { // nothing is assigned from here to the tags
			r = 0xE0000
		}
		if r == 0xE1000 { // private use from here
			r = unicode.MaxRune - 0x100
		}
		c := string(r)
		shapes := []string{"/srv/a/x" + c + "y"}
		if r <= 0x7F {
			shapes = append(shapes, "/srv/a/."+c+"/b", "/srv/a/"+c+"./b", "/srv/a/.."+c+"b", "/srv/a/x"+c)
		}
		for _, p := range shapes {
			if !under("/srv/a", p) {
				continue
			}
			let++
			if _, n := text.Visible(c); n > 0 {
				t.Errorf("%q is hidden and let in", p)
			}
			if who := escapes("/srv/a", p); r <= 0x7F && who != "" {
				t.Errorf("%q leads elsewhere for a reader: %s", p, who)
			}
			if form := norm.NFKC.String(c); r > 0x7F && strings.ContainsAny(form, `/\.:~%*?`) {
				t.Errorf("%q is %q in another form", p, form)
			}
		}
	}
	if let < 100_000 {
		t.Errorf("only %d paths were let in", let)
	}
}

// hidden is core/render's rule; only newline and tab, which a card shows, are hidden in a pin.
func TestHiddenIsWhatCardsMakeVisible(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		_, n := text.Visible(string(r))
		if want := n > 0 || r == '\n' || r == '\t'; hidden(r) != want {
			t.Errorf("%U: %v", r, hidden(r))
		}
	}
}
