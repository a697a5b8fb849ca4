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

var (
	lineEnds = strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\t", " ")
	signs    = regexp.MustCompile("[\\\\`*_~|\\[\\]<>&!^$@]|://")
	www      = regexp.MustCompile(`(?i)(www)\.`)
)

// EscapePlain escapes plain text so that Markdown reads it as that text where it stands within a line: no format, link, mention
// in angle brackets or automatic link. Line ends become "⏎". A mention such as @everyone needs the platform's own switch.
func EscapePlain(s string) string {
	return www.ReplaceAllString(signs.ReplaceAllString(lineEnds.Replace(s), `\$0`), `$1\.`)
}

// escapedSigns are https://spec.commonmark.org/0.31.2/#backslash-escapes and entities.
var escapedSigns = regexp.MustCompile("\\\\[!-/:-@[-`{-~]|&#?[0-9A-Za-z]{1,31};")

// Unescape is a piece of Markdown text with its backslashes and entities resolved, as CommonMark has them. An entity can name a hidden
// character, so the result is made visible again.
func Unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	return text.Prose(escapedSigns.ReplaceAllStringFunc(s, func(e string) string {
		if e[0] == '\\' {
			return e[1:]
		}
		return html.UnescapeString(e)
	}))
}
