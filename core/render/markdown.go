package render

import (
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/nodhq/nod/core/text"
)

// fence puts s into a code fence that nothing in s can close: one backtick longer than the longest run in it. Of the language only
// letters, digits, "+", "#" and "-" count.
func fence(language, s string) string {
	longest := 2
	for _, run := range backticks.FindAllString(s, -1) {
		longest = max(longest, len(run))
	}
	f := strings.Repeat("`", longest+1)
	return f + word(language) + "\n" + s + "\n" + f
}

var backticks = regexp.MustCompile("`+")

// Fence3 is for surfaces whose only fence is three backticks (Discord): runs of three and more in s are shown
// as \u{60}, the form of [Visible].
func Fence3(language, s string) string {
	s = backticks.ReplaceAllStringFunc(s, func(run string) string {
		if len(run) < 3 {
			return run
		}
		return strings.Repeat(`\u{60}`, len(run))
	})
	if strings.HasSuffix(s, "`") { // it would join the fence on surfaces that trim the last line
		s += " "
	}
	return "```" + word(language) + "\n" + s + "\n```"
}

func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '+' || r == '#' || r == '-') {
			return r
		}
		return -1
	}, s)
}

// EscapePlain escapes one line of plain text so that Markdown reads it as that text: no format, link, mention
// in angle brackets or automatic link. Line ends become "⏎". A mention such as @everyone needs the platform's own switch.
func EscapePlain(s string) string {
	var b strings.Builder
	rs := []rune(s)
	digits := true // only digits so far: "1." would be a list
	for i, r := range rs {
		switch {
		case r == '\n':
			b.WriteString("⏎")
			continue
		case r == '\r':
			if i+1 == len(rs) || rs[i+1] != '\n' {
				b.WriteString("⏎")
			}
			continue
		case r == '\t':
			r = ' '
		case strings.ContainsRune("\\`*_~|[]<>&!^$", r):
			b.WriteByte('\\')
		case r == '#' && (i == 0 || rs[i-1] == '#' || rs[i-1] == ' '), strings.ContainsRune("-+=", r) && (i == 0 || rs[i-1] == ' ' || i+1 == len(rs) || rs[i+1] == r):
			b.WriteByte('\\')
		case (r == '.' || r == ')') && digits && i > 0:
			b.WriteByte('\\')
		case r == ':' && i+2 < len(rs) && rs[i+1] == '/' && rs[i+2] == '/': // https://
			b.WriteByte('\\')
		case r == '.' && i >= 3 && strings.EqualFold(string(rs[i-3:i]), "www"):
			b.WriteByte('\\')
		case r == '@' && i > 0: // an e-mail address
			b.WriteByte('\\')
		}
		digits = digits && r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}

// Unescape is a piece of Markdown text with its backslashes and entities resolved, as CommonMark has them. An entity can name a hidden
// character, so the result is made visible again. https://spec.commonmark.org/0.31.2/#backslash-escapes
func Unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case c == '&':
			end := strings.IndexByte(s[i:min(len(s), i+33)], ';')
			if end < 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return text.Prose(b.String())
}

// isPunct reports whether a backslash before c escapes it. Unicode's idea of punctuation is another: a backtick is a symbol there.
func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
