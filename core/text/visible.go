package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank are code points that count as graphic and yet draw nothing, or nothing of their own.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, {Lo: 0x1D159, Hi: 0x1D159, Stride: 1}},
}

// maxMarks is how many marks one letter has in any writing; more of them cover what stands around it.
const maxMarks = 3

// strikes are marks that are drawn over a letter, so that it reads as struck out, or as another.
var strikes = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0334, Hi: 0x0338, Stride: 1}, {Lo: 0x20D2, Hi: 0x20D3, Stride: 1}, {Lo: 0x20D8, Hi: 0x20DA, Stride: 1},
	{Lo: 0x20E5, Hi: 0x20E6, Stride: 1}, {Lo: 0x20EA, Hi: 0x20EB, Stride: 1},
}}

// Hidden reports whether a person cannot see r for what it is: controls and formats (bidi and tags among
// them), separators, every space but U+0020, private use, unassigned and non-characters, variation
// selectors, what renderers may ignore, blank glyphs, and marks that strike letters out. Newline and tab are not hidden.
func Hidden(r rune) bool {
	switch {
	case r >= 0x20 && r < 0x7F, r == '\n', r == '\t':
		return false
	case !unicode.IsGraphic(r): // Cc, Cf, Cs, Co, Zl, Zp and what is not assigned
		return true
	}
	return unicode.In(r, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, blank, strikes)
}

// Visible makes every hidden character of s readable, as \u{XXXX}, and every byte that is not UTF-8, as \x{XX}.
// It returns how many it made visible. Text for a card goes through it once, where the card is made, not in each surface.
func Visible(s string) (out string, escaped int) {
	return visible(s, Hidden)
}

// Prose is [Visible] for text that is read and not decided on: emoji sequences, the joiners that some scripts need (U+200C, U+200D, U+FE0E,
// U+FE0F) and spaces of any width stay, and lines that end as in Windows end as everywhere. Controls, bidi overrides and tags do not stay.
func Prose(s string) string {
	out, _ := visible(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool {
		return Hidden(r) && r != 0x200C && r != 0x200D && r != 0xFE0E && r != 0xFE0F && !unicode.Is(unicode.Zs, r)
	})
	return out
}

func visible(s string, hidden func(rune) bool) (out string, escaped int) {
	var b strings.Builder
	from, marks := 0, 0 // start of what is not yet copied; marks on the letter before
	for i := 0; i < len(s); {
		if s[i] >= 0x20 && s[i] < 0x7F { // most text is this, and nothing of it is ever hidden
			marks = 0
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1
		if s[i] == 0xED && len(s) > i+2 && s[i+1]&0xE0 == 0xA0 && s[i+2]&0xC0 == 0x80 { // half a surrogate pair
			r, n, bad = 0xD000|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3, false
		}
		if unicode.In(r, unicode.Mn, unicode.Me) {
			marks++
		} else {
			marks = 0
		}
		if bad || hidden(r) || marks > maxMarks {
			b.WriteString(s[from:i])
			if bad {
				fmt.Fprintf(&b, `\x{%02X}`, s[i])
			} else {
				fmt.Fprintf(&b, `\u{%04X}`, r)
			}
			escaped++
			from = i + n
		}
		i += n
	}
	if escaped == 0 {
		return s, 0
	}
	b.WriteString(s[from:])
	return b.String(), escaped
}
