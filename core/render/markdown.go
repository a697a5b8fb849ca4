package render

import (
	"strings"
	"unicode"
)

// Fence puts s into a code fence that nothing in s can close: one backtick longer than the longest run in it.
func Fence(s string) string { return FenceAs("", s) }

// FenceAs is [Fence] with a language for highlighting. Of the language only letters, digits, "+", "#" and "-" count.
func FenceAs(language, s string) string {
	longest, run := 2, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	f := strings.Repeat("`", longest+1)
	return f + word(language) + "\n" + s + "\n" + f
}

// Fence3 is for surfaces whose only fence is three backticks (Discord): runs of three and more in s are shown
// as \u{60}, the form of [Visible].
func Fence3(language, s string) string {
	var b strings.Builder
	for len(s) > 0 {
		i := strings.Index(s, "```")
		if i < 0 {
			break
		}
		n := i
		for n < len(s) && s[n] == '`' {
			n++
		}
		b.WriteString(s[:i])
		b.WriteString(strings.Repeat(`\u{60}`, n-i))
		s = s[n:]
	}
	b.WriteString(s)
	s = b.String()
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
