package render

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxArgs is how many characters of arguments can be shown in full (see [TooBig]). Longer arguments are never offered to be
// allowed: nobody reads them, and no surface holds them.
const MaxArgs = 64 << 10

// maxIndent is the depth from which deeper values are not indented further, so that hostile nesting cannot
// blow up what is shown.
const maxIndent = 16

// ArgsOf draws a call's canonical arguments: indented, hidden characters made visible, secrets masked. The
// result is whole; [Fit] shortens it. Bytes that are not JSON are drawn as they are, without rows. Empty
// arguments are drawn as {}.
//
// A masked value and an escape (\u{200B}) stand in forms that JSON itself cannot hold, so no argument can
// imitate them.
func ArgsOf(canonical json.RawMessage, digest string) Args {
	a := Args{Digest: digest}
	raw := strings.TrimSpace(string(canonical))
	switch {
	case raw == "":
		a.JSON = "{}"
	case !json.Valid([]byte(raw)):
		a.JSON, a.Escaped = Visible(string(canonical))
		a.JSON, a.Redacted = maskValues(a.JSON)
	default:
		p := printer{in: raw, indent: true}
		p.value(0, false)
		a.JSON, a.Escaped, a.Redacted = p.out.String(), p.escaped, p.redacted
		a.Rows = rowsOf(raw)
	}
	a.Chars = utf8.RuneCountInString(a.JSON)
	a.TooBig = len(canonical)*10 > MaxArgs && a.Chars > MaxArgs // as TooBig: indentation alone never makes it so
	return a
}

// Say is the line under a call's arguments: whether they are shown in full, what was made visible or masked,
// and the digest. It is empty where there are none.
func (a Args) Say() string {
	if a.JSON == "" && len(a.Rows) == 0 {
		return ""
	}
	var say []string
	switch {
	case a.TooBig:
		say = append(say, TooBigToAsk)
	case a.Hidden > 0:
		say = append(say, NotShown(a.Hidden, max(a.Chars, a.Hidden)))
	case a.JSON == "{}":
		say = append(say, NoArguments)
	case a.Redacted == 0:
		say = append(say, ShownInFull)
	}
	if a.Escaped > 0 {
		say = append(say, MadeVisible(a.Escaped))
	}
	if a.Redacted > 0 {
		say = append(say, Masked(a.Redacted))
	}
	if a.Digest != "" {
		say = append(say, "digest "+ShortDigest(a.Digest))
	}
	return strings.Join(say, " · ")
}

func rowsOf(raw string) []Row {
	if raw[0] != '{' {
		return nil
	}
	var rows []Row
	p := printer{in: raw, pos: 1}
	for p.space(); p.in[p.pos] != '}'; p.space() {
		if p.in[p.pos] == ',' {
			p.pos++
			p.space()
		}
		lit := p.literal()
		secret := secretKey(unquote(lit))
		p.out.Reset()
		p.text(lit)
		name := bare(p.out.String())
		p.space()
		p.pos++ // the colon
		p.space()
		p.out.Reset()
		p.value(0, secret)
		rows = append(rows, Row{Name: name, Value: bare(p.out.String())})
	}
	return rows
}

// bare drops the quotes of a drawn string that cannot be mistaken for anything but a string.
func bare(lit string) string {
	if len(lit) < 3 || lit[0] != '"' {
		return lit
	}
	s := lit[1 : len(lit)-1]
	if strings.ContainsAny(s, "\"\\‹›") || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], "{[-0123456789") || strings.HasPrefix(s, "…") || json.Valid([]byte(s)) {
		return lit
	}
	return s
}

// printer copies valid JSON to out, token by token, never through Go values: numbers keep their digits, equal
// keys all appear, and what JSON escapes hide is shown.
type printer struct {
	in                string
	pos               int
	indent            bool
	out               strings.Builder
	escaped, redacted int
}

func (p *printer) space() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *printer) newline(depth int) {
	if p.indent {
		p.out.WriteByte('\n')
		for range min(depth, maxIndent) {
			p.out.WriteString("  ")
		}
	}
}

// literal takes the string literal at pos, quotes included.
func (p *printer) literal() string {
	from := p.pos
	for p.pos++; p.in[p.pos] != '"'; p.pos++ {
		if p.in[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
	return p.in[from:p.pos]
}

// skip moves over one value.
func (p *printer) skip() string {
	from, depth := p.pos, 0
	for {
		switch p.in[p.pos] {
		case '"':
			p.literal()
		case '{', '[':
			depth++
			p.pos++
		case '}', ']':
			depth--
			p.pos++
		case ',', ':', ' ', '\t', '\r', '\n':
			p.pos++
		default:
			for p.pos < len(p.in) && strings.IndexByte(",:]} \t\r\n", p.in[p.pos]) < 0 {
				p.pos++
			}
		}
		if depth == 0 {
			return p.in[from:p.pos]
		}
	}
}

func (p *printer) value(depth int, secret bool) {
	p.space()
	c := p.in[p.pos]
	if secret && c != 't' && c != 'f' && c != 'n' { // true, false and null are no secrets
		v := p.skip()
		n := utf8.RuneCountInString(v)
		if c == '"' {
			n = utf8.RuneCountInString(unquote(v))
		}
		if n > 0 {
			p.redacted++
			p.out.WriteString(Secret(n))
			return
		}
		p.out.WriteString(v)
		return
	}
	switch c {
	case '"':
		p.text(p.literal())
	case '{', '[':
		p.members(depth)
	default:
		p.out.WriteString(p.skip())
	}
}

// members draws an object or an array.
func (p *printer) members(depth int) {
	object := p.in[p.pos] == '{'
	p.out.WriteByte(p.in[p.pos])
	p.pos++
	first := true
	for p.space(); p.in[p.pos] != '}' && p.in[p.pos] != ']'; p.space() {
		if !first {
			p.pos++ // the comma
			p.space()
			p.out.WriteByte(',')
		}
		first = false
		p.newline(depth + 1)
		secret := false
		if object {
			key := p.literal()
			secret = secretKey(unquote(key))
			p.text(key)
			p.space()
			p.pos++ // the colon
			p.out.WriteByte(':')
			if p.indent {
				p.out.WriteByte(' ')
			}
		}
		p.value(depth+1, secret)
	}
	if !first {
		p.newline(depth)
	}
	p.out.WriteByte(p.in[p.pos])
	p.pos++
}

// text draws a string literal: secrets by their shape masked, hidden characters shown, escapes of ordinary
// characters as those characters.
func (p *printer) text(lit string) {
	s, n := maskValues(p.shown(lit[1 : len(lit)-1]))
	p.redacted += n
	p.out.WriteByte('"')
	p.out.WriteString(s)
	p.out.WriteByte('"')
}

func (p *printer) shown(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		out, n := Visible(s)
		p.escaped += n
		return out
	}
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			i = len(s)
		}
		out, n := Visible(s[:i])
		p.escaped += n
		b.WriteString(out)
		if s = s[i:]; s == "" {
			break
		}
		if s[1] == '/' {
			b.WriteByte('/')
			s = s[2:]
			continue
		}
		if s[1] != 'u' {
			b.WriteString(s[:2]) // \n, \", \\ and the like say what they are
			s = s[2:]
			continue
		}
		r := rune(hex4(s[2:6]))
		s = s[6:]
		if utf16.IsSurrogate(r) && strings.HasPrefix(s, `\u`) {
			if pair := utf16.DecodeRune(r, rune(hex4(s[2:6]))); pair != utf8.RuneError {
				r, s = pair, s[6:]
			}
		}
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r): // a lone surrogate too
			p.escaped++
			fmt.Fprintf(&b, `\u{%04X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hex4(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 32) // json.Valid has seen four hexadecimal digits
	return n
}

// unquote reads a string literal.
func unquote(lit string) string {
	var s string
	if json.Unmarshal([]byte(lit), &s) != nil {
		return lit
	}
	return s
}
