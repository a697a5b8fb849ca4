package canonical

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What stands behind a backslash, and what it means.
const (
	escapes  = `"\/bfnrt`
	meanings = "\"\\/\b\f\n\r\t"
)

// number copies a number as it was written.
func (s *scanner) number() error {
	start := s.pos
	digits := func() bool {
		from := s.pos
		for c := s.next(); '0' <= c && c <= '9'; c = s.next() {
			s.pos++
		}
		return s.pos > from
	}
	if s.next() == '-' {
		s.pos++
	}
	ok := true
	if s.next() == '0' {
		s.pos++
	} else {
		ok = digits()
	}
	if ok && s.next() == '.' {
		s.pos++
		ok = digits()
	}
	if c := s.next(); ok && (c == 'e' || c == 'E') {
		s.pos++
		if c := s.next(); c == '+' || c == '-' {
			s.pos++
		}
		ok = digits()
	}
	if !ok {
		return s.fail("a number is not complete")
	}
	s.out = append(s.out, s.in[start:s.pos]...)
	return nil
}

// text reads a string and returns what it means.
func (s *scanner) text() (string, error) {
	s.pos++
	start := s.pos
	var b []byte // what was read before start, once there was an escape
	for {
		if s.pos >= len(s.in) {
			return "", s.fail("a string does not end")
		}
		switch c := s.in[s.pos]; {
		case c == '"':
			b = append(b, s.in[start:s.pos]...)
			s.pos++
			return string(b), nil
		case c < ' ':
			return "", s.fail("a control character stands in a string without being escaped")
		case c == '\\':
			b = append(b, s.in[start:s.pos]...)
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			start = s.pos
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.in[s.pos:])
			if r == utf8.RuneError && n == 1 {
				return "", s.fail("a string is not valid UTF-8")
			}
			s.pos += n
		}
	}
}

// escape reads one escaped character, a surrogate pair as one.
func (s *scanner) escape() (rune, error) {
	at := s.pos
	s.pos++
	c := s.next()
	s.pos++
	if i := strings.IndexByte(escapes, c); i >= 0 {
		return rune(meanings[i]), nil
	}
	if c != 'u' {
		return 0, s.failAt(at, "a string holds an unknown escape")
	}
	r, ok := s.hex()
	if !ok {
		return 0, s.failAt(at, `a \u escape needs four hexadecimal digits`)
	}
	if r < 0xD800 || r > 0xDFFF {
		return r, nil
	}
	if r < 0xDC00 && s.pos+1 < len(s.in) && s.in[s.pos] == '\\' && s.in[s.pos+1] == 'u' {
		s.pos += 2
		if low, ok := s.hex(); ok && 0xDC00 <= low && low <= 0xDFFF {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, nil
		}
	}
	return 0, s.failAt(at, "a string holds half a surrogate pair")
}

func (s *scanner) hex() (rune, bool) {
	if s.pos+4 > len(s.in) {
		return 0, false
	}
	r, err := strconv.ParseUint(string(s.in[s.pos:s.pos+4]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.pos += 4
	return rune(r), true
}

// AppendText writes a string with the shortest escapes that JSON demands, and no others: not those that encoding/json adds
// for HTML, which would make what is shown differ from what the tool reads as text.
func AppendText(out []byte, str string) []byte {
	out = append(out, '"')
	for i := range len(str) {
		switch c := str[i]; {
		case c >= ' ' && c != '"' && c != '\\':
			out = append(out, c)
		case strings.IndexByte(meanings, c) >= 0:
			out = append(out, '\\', escapes[strings.IndexByte(meanings, c)])
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return append(out, '"')
}
