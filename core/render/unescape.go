package render

import (
	"html"
	"strings"

	"github.com/nodhq/nod/core/text"
)

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

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
