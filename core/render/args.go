package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodhq/nod/core/text"
)

// MaxArgs is how many characters of arguments can be shown in full (see [TooBig]). Longer arguments are never offered to be
// allowed: nobody reads them, and no surface holds them.
const MaxArgs = 64 << 10

// maxIndent is the depth from which deeper values are not indented further, so that hostile nesting cannot
// blow up what is shown.
const maxIndent = 16

// ArgsOf draws a call's arguments: indented, a string of several lines as lines, hidden characters made visible, secrets masked. The
// result is whole; [Fit] shortens it. Bytes that are not JSON are drawn as they are, without rows. Empty
// arguments are drawn as {}.
//
// A masked value, an escape (\u{200B}) and the head of a block of lines (‹2 lines›) stand in forms that JSON itself cannot hold, so no
// argument can imitate them, and each line of a block begins with a bar.
func ArgsOf(args json.RawMessage, digest string) Args {
	p := printer{indent: true, lines: true}
	a := p.args(args)
	a.Rows, a.Digest, a.TooBig = rowsOf(p.in), digest, TooBig(args)
	return a
}

// TooBig reports whether arguments are too long to be shown in full, so that nothing may be allowed.
func TooBig(args json.RawMessage) bool {
	// A character becomes at most ten. Indentation alone never makes arguments too big.
	return len(args)*10 > MaxArgs && (&printer{indent: true, reveal: true}).args(args).Chars > MaxArgs
}

// Revealed is [ArgsOf] with nothing masked: for somebody who decides, and for nobody else.
func Revealed(args json.RawMessage) Args {
	return (&printer{indent: true, lines: true, reveal: true}).args(args)
}

// OneLine is arguments on one line, for the audit, and how many values of them are masked.
func OneLine(args json.RawMessage) (text string, masked int) {
	a := (&printer{spaced: true}).args(args)
	return a.JSON, a.Redacted
}

// MaskedJSON is arguments as JSON with each masked part replaced by words, or nil where nothing is masked.
func MaskedJSON(args json.RawMessage) json.RawMessage {
	a := (&printer{replace: true}).args(args)
	if a.Redacted == 0 || !json.Valid([]byte(a.JSON)) {
		return nil
	}
	return json.RawMessage(a.JSON)
}

// Editable is arguments as JSON for somebody to change, but for what nobody sees in them: that is made visible.
func Editable(args json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, args, "", "  ") != nil {
		return ""
	}
	out, _ := text.Visible(indented.String())
	return escapes.ReplaceAllStringFunc(out, func(escape string) string {
		var said string
		_ = json.Unmarshal([]byte(`"`+escape+`"`), &said) // nothing in it could be refused
		if shown, n := text.Visible(said); n > 0 {
			return shown
		}
		return escape
	})
}

// escapes are those of JSON that say a character by its number, and what must not be taken for the beginning of one.
var escapes = regexp.MustCompile(`\\\\|(?:\\u[0-9A-Fa-f]{4})+`)

// args draws arguments whole.
func (p *printer) args(args json.RawMessage) (a Args) {
	var compact bytes.Buffer
	switch in := bytes.TrimSpace(args); {
	case len(in) == 0:
		p.out.WriteString("{}")
	case json.Compact(&compact, in) != nil:
		p.quoted(string(args), strings.NewReplacer(), "")
	default:
		p.in = compact.String()
		p.value(0, "")
	}
	a.JSON, a.Escaped, a.Redacted = p.out.String(), p.escaped, p.redacted
	a.Chars = utf8.RuneCountInString(a.JSON)
	return a
}

// Say is the line under a call's arguments: what of them is not shown, was made visible or masked. It is empty where all is as usual.
func (a Args) Say() string {
	var say []string
	if a.Diff != "" {
		say = append(say, a.Against)
	}
	switch {
	case a.TooBig:
		say = append(say, text.TooBigToAsk)
	case a.Hidden > 0:
		say = append(say, text.NotShown(a.Hidden, max(a.Chars, a.Hidden)))
	case a.JSON == "{}":
		say = append(say, text.NoArguments)
	}
	if a.Escaped > 0 {
		say = append(say, text.MadeVisible(a.Escaped))
	}
	if a.Redacted > 0 {
		say = append(say, text.Masked(a.Redacted))
	}
	return strings.Join(say, " · ")
}

// rowsOf draws the members of an object one by one.
func rowsOf(compact string) (rows []Row) {
	at := 1
	for strings.HasPrefix(compact, "{") && compact[at] != '}' {
		if compact[at] == ',' {
			at++
		}
		key := printer{in: compact, pos: at}
		name := key.key()
		value := printer{in: compact, pos: key.pos}
		if value.value(0, name); value.broken { // by a string of several lines, somewhere in it
			value = printer{in: compact, pos: key.pos, indent: true, lines: true}
			value.value(0, name)
		}
		rows, at = append(rows, Row{Name: unquoted(key.out.String()), Value: unquoted(value.out.String())}), value.pos
	}
	return rows
}

// unquoted drops the quotes of a drawn string that cannot be mistaken for anything but a string.
func unquoted(lit string) string {
	if len(lit) < 3 || lit[0] != '"' {
		return lit
	}
	s := lit[1 : len(lit)-1]
	if strings.ContainsAny(s, "\"\\‹›") || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], "{[-0123456789") || strings.HasPrefix(s, "…") || json.Valid([]byte(s)) {
		return lit
	}
	return s
}

// printer copies compact JSON to out, token by token, never through Go values: numbers keep their digits, equal
// keys all appear, and what JSON escapes hide is shown.
type printer struct {
	in                string // without space between tokens
	pos               int
	indent            bool // over several lines
	spaced            bool // on one line, with spaces
	lines             bool // a string of several lines is drawn as lines
	reveal            bool // nothing is masked
	replace           bool // what is drawn stays JSON
	out               strings.Builder
	escaped, redacted int
	broken            bool // a string of several lines was there
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

// value draws one value, which a member of that name holds.
func (p *printer) value(depth int, name string) {
	switch c := p.in[p.pos]; c {
	case '"':
		p.text(depth, decoded(p.literal()), name)
	case '{', '[':
		p.members(depth, name)
	default: // a number, true, false or null
		from := p.pos
		for p.pos < len(p.in) && strings.IndexByte(",]}", p.in[p.pos]) < 0 {
			p.pos++
		}
		v := p.in[from:p.pos]
		if c <= '9' && !p.reveal && namesSecret(name, v) && len(v) >= 4 { // true, false, null and small numbers are no secrets
			p.mask(len(v), true)
			break
		}
		p.out.WriteString(v)
	}
}

// members draws an object or a list. What is in a list has the list's name.
func (p *printer) members(depth int, name string) {
	object := p.in[p.pos] == '{'
	p.out.WriteByte(p.in[p.pos])
	p.pos++
	first, block := true, false
	for p.in[p.pos] != '}' && p.in[p.pos] != ']' {
		if !first {
			p.pos++ // the comma
			switch {
			case block: // its last line is a line of the string
			case p.spaced:
				p.out.WriteString(", ")
			default:
				p.out.WriteByte(',')
			}
		}
		first = false
		p.newline(depth + 1)
		if object {
			name = p.key()
			p.out.WriteByte(':')
			if p.indent || p.spaced {
				p.out.WriteByte(' ')
			}
		}
		str, was := p.in[p.pos] == '"', p.broken
		p.broken = false
		p.value(depth+1, name)
		block = p.lines && p.broken && str
		p.broken = p.broken || was
	}
	if !first {
		p.newline(depth)
	}
	p.out.WriteByte(p.in[p.pos])
	p.pos++
}

// key draws a member's name, and returns it. What follows is the value.
func (p *printer) key() string {
	s := decoded(p.literal())
	p.quoted(s, quotes, `"`)
	p.pos++ // the colon
	return s
}

// text draws a string: secrets masked, hidden characters shown.
func (p *printer) text(depth int, s, name string) {
	if !p.reveal && namesSecret(name, s) {
		p.mask(utf8.RuneCountInString(s), true)
		return
	}
	if strings.Contains(s, "\n") {
		if p.broken = true; p.lines {
			p.block(depth, s)
			return
		}
	}
	p.quoted(s, quotes, `"`)
}

// mask stands for n characters. It is a value of its own, or part of one.
func (p *printer) mask(n int, whole bool) {
	p.redacted++
	if whole && p.replace {
		p.out.WriteString(`"` + text.Secret(n) + `"`)
		return
	}
	p.out.WriteString(text.Secret(n))
}

// quotes writes what a JSON string has to escape.
var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`)

// parts goes through a text: show gets what is shown, and hide the number of characters of each secret between.
func (p *printer) parts(s string, show func(string), hide func(n int)) {
	from := 0
	if !p.reveal {
		for _, h := range secrets(s) {
			show(s[from:h.from])
			hide(utf8.RuneCountInString(s[h.from:h.to]))
			from = h.to
		}
	}
	show(s[from:])
}

// quoted draws text on one line, between quotes of that kind, what is to be hidden masked.
func (p *printer) quoted(s string, escape *strings.Replacer, quote string) {
	p.out.WriteString(quote)
	p.parts(s, func(s string) {
		if p.replace {
			quoted, _ := json.Marshal(s) // a string is never refused
			p.out.Write(quoted[1 : len(quoted)-1])
			return
		}
		out, n := text.Visible(escape.Replace(s))
		p.escaped += n
		p.out.WriteString(out)
	}, func(n int) { p.mask(n, false) })
	p.out.WriteString(quote)
}

// block draws a string of several lines as lines. In them a backslash is a backslash, and is doubled only where a line holds an escape,
// or something that looks like one.
func (p *printer) block(depth int, s string) {
	var lines []string
	line := ""
	p.parts(s, func(s string) {
		for i, part := range strings.Split(s, "\n") {
			if i > 0 {
				lines, line = append(lines, line), ""
			}
			line += p.line(part)
		}
	}, func(n int) {
		p.redacted++
		line += text.Secret(n)
	})
	lines = append(lines, line)
	p.out.WriteString(text.Lines(len(lines)))
	for _, l := range lines {
		p.newline(depth + 1)
		p.out.WriteString("│")
		if l != "" {
			p.out.WriteString(" " + l)
		}
	}
}

// line draws one line of a string, or part of one.
func (p *printer) line(part string) string {
	seen := strings.TrimRight(part, " \t")
	out, n := text.Visible(seen)
	if n > 0 || seen != part || strings.Contains(part, `\u{`) || strings.Contains(part, `\x{`) {
		out, n = text.Visible(strings.ReplaceAll(seen, `\`, `\\`))
	}
	for _, blank := range part[len(seen):] { // nobody sees it at the end of a line
		out += fmt.Sprintf(`\u{%04X}`, blank)
		n++
	}
	p.escaped += n
	return out
}

// escaped is what stands in a string literal for one character.
var escaped = regexp.MustCompile(`\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\.`)

// decoded is the string that a literal stands for. Bytes that are not UTF-8 stay, and half a surrogate pair stands as it would in UTF-8
// if it could: [Visible] shows both.
func decoded(lit string) string {
	return escaped.ReplaceAllStringFunc(lit[1:len(lit)-1], func(e string) string {
		if e[1] != 'u' {
			if at := strings.IndexByte(`bfnrt`, e[1]); at >= 0 {
				return "\b\f\n\r\t"[at : at+1]
			}
			return e[1:]
		}
		switch r := hex4(e[2:6]); {
		case len(e) > 6:
			return string(utf16.DecodeRune(r, hex4(e[8:])))
		case utf16.IsSurrogate(r):
			return string([]byte{0xED, 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
		default:
			return string(r)
		}
	})
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s, 16, 32) // json.Valid has seen four hexadecimal digits
	return rune(n)
}
