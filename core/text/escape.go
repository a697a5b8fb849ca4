package text

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// EscapeJSON is the same JSON, with every hidden character as one of JSON's own escapes. Outside of strings none stands but a return,
// which is space between tokens.
func EscapeJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if !Hidden(r) || r == '\r' {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
