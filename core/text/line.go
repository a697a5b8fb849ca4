package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLiner puts text on one line.
var oneLiner = strings.NewReplacer("\n", " ⏎ ", "\t", " ")

// OneLine is untrusted text on one line, with nothing hidden in it: a second line could pass for one of ours.
func OneLine(s string) string {
	s, _ = Visible(s)
	return oneLiner.Replace(s)
}

// ProseLine is [Prose] on one line.
func ProseLine(s string) string { return oneLiner.Replace(Prose(s)) }

// Inline is [OneLine] without the space around it.
func Inline(s string) string {
	s, _ = Visible(s)
	return oneLiner.Replace(strings.TrimSpace(s))
}

// Clip is [Inline], shortened to n characters, which it then says.
func Clip(s string, n int) string { return Cut(Inline(s), n) }

// ShortName is a name that somebody made up, fit to be repeated: at most 64 characters, nothing hidden.
func ShortName(name string) string {
	name, _ = Visible(name)
	return Cut(name, 64)
}

// Cut is s in at most n characters: where there are more, the last is "…".
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return Head(s, n-1)
}

// Head is the first n characters of s, and "…" where there are more.
func Head(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// Shorten is the first n characters of s, and how many more there are.
func Shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + MoreCharacters(len(r)-n)
	}
	return s
}

// HeadBytes is what of s fits into n bytes with its last character whole.
func HeadBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// NameWords splits a name at everything that is no letter or digit and where lower case meets upper case, and lowers it: "filePath" and
// "file_path" are file, path. A run of capitals is one word.
func NameWords(name string) []string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		upper := i > 0 && unicode.IsUpper(r)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case upper && unicode.IsLower(rs[i-1]), upper && unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1]):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// Words is a set of words.
type Words map[string]bool

// WordSet is a set of words that stand in one string.
func WordSet(words string) Words {
	set := Words{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// HasAny reports whether any of these words is one of them.
func (ws Words) HasAny(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return ws[w] })
}
