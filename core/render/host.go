package render

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/nodhq/nod/core/text"
)

// Hosts returns the hosts of the URLs in text, lower case, each once, in the order of appearance. What stands
// before an "@" in a URL is not its host.
func Hosts(text string) []string {
	var hosts []string
	seen := map[string]bool{}
	for i := 0; i < len(text); {
		j := strings.Index(text[i:], "//")
		if j < 0 {
			break
		}
		start := i + j
		i = start + 2
		if start == 0 || strings.IndexByte(`:("`, text[start-1]) < 0 {
			continue
		}
		if h := hostOf(text[start:]); h != "" && !seen[h] {
			seen[h] = true
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// hostOf reads the host of s, which begins with "//".
func hostOf(s string) string {
	s = strings.TrimLeft(s, "/\\")
	end := strings.IndexFunc(s, func(r rune) bool {
		return strings.ContainsRune("/\\?#\"'<>()`{}|^ \t\r\n", r)
	})
	if end >= 0 {
		s = s[:end]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") { // IPv6
		if i := strings.IndexByte(s, ']'); i > 0 {
			return strings.ToLower(s[:i+1])
		}
		return ""
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	return strings.ToLower(strings.TrimRight(s, ".,;!]*_~"))
}

// HostWarning says what is deceptive about a host's name: letters of several scripts in one label, letters
// that look like others, punycode, hidden characters, dots and slashes that are none. It is empty for an
// ordinary name, in whatever script.
func HostWarning(host string) string {
	shown, bad := text.Visible(host)
	if bad > 0 {
		return "Careful: the address " + shown + " contains hidden characters."
	}
	read, coded := host, false
	labels := strings.Split(strings.ToLower(host), ".")
	for i, l := range labels {
		if rest, ok := strings.CutPrefix(l, "xn--"); ok {
			coded = true
			if u, ok := punycode(rest); ok {
				labels[i] = u
			}
		}
	}
	if coded {
		read, _ = text.Visible(strings.Join(labels, "."))
	}
	if strings.ContainsAny(read, "。．｡․⁄∕／＼：") {
		return "Careful: the address " + read + " contains signs that look like a dot or a slash."
	}
	tld := labels[len(labels)-1]
	for _, l := range labels {
		if w := labelWarning(l, tld); w != "" {
			if coded {
				return "Careful: " + host + " reads " + read + ", which " + w + "."
			}
			return "Careful: the address " + read + " " + w + "."
		}
	}
	if coded {
		return "Careful: " + host + " is shown elsewhere as " + read + "."
	}
	return ""
}

// maxLookalikes is how many warnings one call gets: more are read by nobody.
const maxLookalikes = 5

// Lookalikes warns of names in a call's arguments that pass for others: hosts, with or without a scheme or in a mail address, and parts
// of paths.
func Lookalikes(args json.RawMessage) (say []string) {
	warn := func(s string) {
		if s != "" && len(say) < maxLookalikes && !slices.Contains(say, s) {
			say = append(say, s)
		}
	}
	hosts := Hosts(string(args))
	for _, h := range hosts {
		warn(HostWarning(h))
	}
	for _, word := range strings.FieldsFunc(Revealed(args).JSON, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`<>()[]{}|,;=", r) }) {
		if isASCII(word) && !strings.Contains(word, "xn--") {
			continue
		}
		for rest, before := word, byte(0); rest != ""; {
			part := rest
			at := strings.IndexAny(rest, "/\\@:?#&")
			if at >= 0 {
				part = rest[:at]
			}
			labels := strings.Split(part, ".")
			tld := labels[len(labels)-1]
			switch {
			case slices.Contains(hosts, strings.ToLower(part)): // of an address
			case before != '/' && before != '\\' && len(tld) > 1 && isASCII(tld) && !strings.ContainsAny(tld, "0123456789"):
				warn(HostWarning(part))
			case part != word:
				warn(nameWarning(part))
			}
			if at < 0 {
				break
			}
			before, rest = rest[at], rest[at+1:]
		}
	}
	return say
}

// nameWarning says that a name mixes letters of writings that look alike. It is empty for an ordinary name.
func nameWarning(name string) string {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		var scripts []string
		like := false
		for _, r := range part {
			s := scriptOf(r)
			like = like || s == "Cyrillic" || strings.ContainsRune(likeLatin, r)
			if !slices.Contains(scripts, s) {
				scripts = append(scripts, s)
			}
		}
		if like && !goTogether(scripts) {
			shown, _ := text.Visible(name)
			return "Careful: the name " + shown + " mixes " + text.AllOf(scripts) + " letters."
		}
	}
	return ""
}

// labelWarning completes "the address …".
func labelWarning(label, tld string) string {
	var scripts []string
	for _, r := range label {
		if oddLatin(r) {
			return "contains letters that look like Latin ones (" + string(r) + ")"
		}
		if !unicode.IsLetter(r) {
			if r > unicode.MaxASCII && unicode.IsDigit(r) {
				return "contains digits that are not 0–9"
			}
			continue
		}
		if s := scriptOf(r); !slices.Contains(scripts, s) {
			scripts = append(scripts, s)
		}
	}
	if !goTogether(scripts) {
		return "mixes " + text.AllOf(scripts) + " letters"
	}
	if isASCII(tld) && looksLatin(label) {
		return "is written in " + scripts[0] + " letters that look like Latin ones"
	}
	return ""
}

// likeLatin are letters of other scripts that pass for Latin ones in the usual fonts.
const likeLatin = "асеорхуіјѕԁһԛԝѵӏк" + "ανορικυω" + "օոսհցզգ"

// looksLatin reports whether every letter of a label without Latin letters passes for a Latin one.
func looksLatin(label string) bool {
	return !isASCII(label) && !strings.ContainsFunc(label, func(r rune) bool {
		return r > unicode.MaxASCII && !strings.ContainsRune(likeLatin, r)
	})
}

// oddLatin are Latin and letter-like characters that ordinary words do not use and that pass for ASCII letters.
func oddLatin(r rune) bool {
	switch {
	case r >= 0x0250 && r <= 0x02AF, r >= 0x1D00 && r <= 0x1DBF: // phonetic
		return unicode.Is(unicode.Latin, r)
	case r >= 0x2100 && r <= 0x214F, r >= 0xFF01 && r <= 0xFF5E, r >= 0x1D400 && r <= 0x1D7FF, r >= 0x2460 && r <= 0x24FF:
		return true
	case r >= 0x01C0 && r <= 0x01C3: // clicks
		return true
	}
	return strings.ContainsRune("ıȷſꞌĸ", r)
}

func scriptOf(r rune) string {
	for _, s := range commonScripts {
		if unicode.Is(unicode.Scripts[s], r) {
			return s
		}
	}
	for name, t := range unicode.Scripts {
		if unicode.Is(t, r) {
			return name
		}
	}
	return "unknown"
}

var commonScripts = []string{"Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew", "Armenian", "Common", "Inherited"}

// goTogether reports whether one language writes with all these scripts at once.
func goTogether(scripts []string) bool {
	if len(scripts) < 2 {
		return true
	}
	for _, together := range [][]string{
		{"Latin", "Han", "Hiragana", "Katakana", "Common"}, {"Latin", "Han", "Hangul"}, {"Latin", "Han", "Bopomofo"},
	} {
		if !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(together, s) }) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// punycode decodes a label without its "xn--" (RFC 3492).
func punycode(s string) (string, bool) {
	const base, tmin, tmax, skew, damp = 36, 1, 26, 38, 700
	var out []rune
	if i := strings.LastIndexByte(s, '-'); i > 0 {
		out, s = []rune(s[:i]), s[i+1:]
	}
	n, i, bias := 128, 0, 72
	for p := 0; p < len(s); {
		old, w := i, 1
		for k := base; ; k += base {
			if p == len(s) {
				return "", false
			}
			c, digit := s[p], 0
			p++
			switch {
			case c|0x20 >= 'a' && c|0x20 <= 'z':
				digit = int(c|0x20) - 'a'
			case c >= '0' && c <= '9':
				digit = int(c) - '0' + 26
			default:
				return "", false
			}
			i += digit * w
			if i > 1<<26 {
				return "", false
			}
			t := min(max(k-bias, tmin), tmax)
			if digit < t {
				break
			}
			w *= base - t
		}
		d := i - old
		if old == 0 {
			d /= damp
		} else {
			d /= 2
		}
		d += d / (len(out) + 1)
		k := 0
		for ; d > (base-tmin)*tmax/2; k += base {
			d /= base - tmin
		}
		bias = k + (base-tmin+1)*d/(d+skew)
		n += i / (len(out) + 1)
		i %= len(out) + 1
		if n > unicode.MaxRune {
			return "", false
		}
		out = append(out[:i], append([]rune{rune(n)}, out[i:]...)...)
		i++
	}
	return string(out), true
}
