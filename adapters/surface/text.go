package surface

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Units is how much of a limit a character takes: two where it lies outside the Basic Multilingual Plane. Neither Slack nor Discord says
// how it counts those, and this is the larger of the two usual counts.
func Units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// Width is the length of s as the platforms' limits are counted here.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += Units(r)
	}
	return n
}

// Within cuts s to n characters; what is missing is said.
func Within(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	room := n - Width(" "+text.MoreCharacters(utf8.RuneCountInString(s)))
	for i, r := range s {
		if room -= Units(r); room < 0 {
			return s[:i] + " " + text.MoreCharacters(utf8.RuneCountInString(s[i:]))
		}
	}
	return s
}

// AtMost cuts a label, of which the whole is to be had elsewhere.
func AtMost(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	n--
	for i, r := range s {
		if n -= Units(r); n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// OneLine is text on one line: a second one could pass for ours. What hides in names and arguments was made visible where the card
// was made; this catches what a name brought along otherwise, and leaves emoji whole.
func OneLine(s string) string {
	return text.ProseLine(s)
}

// Label is text on one line without space around it, cut to n characters. It is never empty, because no platform takes a button or an option
// without words: then it is what instead says.
func Label(s string, n int, instead string) string {
	if s = strings.TrimSpace(AtMost(OneLine(s), n)); s == "" {
		return instead
	}
	return s
}

// JoinParts are the parts that there are, with a dot between them.
func JoinParts(parts ...string) string {
	var say []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			say = append(say, p)
		}
	}
	return strings.Join(say, " · ")
}

// Editable is the same JSON, indented where that fits into most characters, with every hidden character as an escape. No token of it changes.
func Editable(args string, most int) string {
	if !json.Valid([]byte(args)) || !utf8.ValidString(args) {
		return args
	}
	var b strings.Builder
	for _, r := range args {
		if _, n := text.Visible(string(r)); n == 0 || r == '\r' { // a return is space between tokens
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u` + strconv.FormatUint(0x10000|uint64(u), 16)[1:])
		}
	}
	var nice bytes.Buffer
	if json.Indent(&nice, []byte(b.String()), "", "  ") == nil && Width(nice.String()) <= most {
		return nice.String()
	}
	return b.String()
}

// VisiblePart is a part's text without empty lines around it, with nothing hidden in it.
func VisiblePart(p render.Part) string {
	s, _ := text.Visible(p.Text)
	return strings.Trim(s, "\n")
}

// DigestFirst moves a call's digest, and what is said of it, before everything else. Details of a turn have several: there each
// stays with its call.
func DigestFirst(parts []render.Part) []render.Part {
	at, n := 0, 0
	for i, p := range parts {
		if p.Name == text.PartDigest {
			at, n = i, n+1
		}
	}
	if n != 1 {
		return parts
	}
	end := at + 1
	for end < len(parts) && parts[end].Name == "" {
		end++
	}
	return slices.Concat(parts[at:end], parts[:at], parts[end:])
}
