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
	a := argsOf(args, printer{indent: true, lines: true})
	a.Digest = digest
	a.TooBig = TooBig(args)
	return a
}

// TooBig reports whether arguments are too long to be shown in full, so that nothing may be allowed.
func TooBig(args json.RawMessage) bool {
	// A character becomes at most ten. Indentation alone never makes arguments too big.
	return len(args)*10 > MaxArgs && argsOf(args, printer{indent: true, reveal: true}).Chars > MaxArgs
}

// Revealed is [ArgsOf] with nothing masked: for somebody who decides, and for nobody else.
func Revealed(args json.RawMessage) Args {
	return argsOf(args, printer{indent: true, lines: true, reveal: true})
}

// OneLine is arguments on one line, for the audit, and how many values of them are masked.
func OneLine(args json.RawMessage) (text string, masked int) {
	a := argsOf(args, printer{spaced: true})
	return a.JSON, a.Redacted
}

// MaskedJSON is arguments as JSON with each masked part replaced by words, or nil where nothing is masked.
func MaskedJSON(args json.RawMessage) json.RawMessage {
	a := argsOf(args, printer{replace: true})
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
		if err := json.Unmarshal([]byte(`"`+escape+`"`), &said); err != nil {
			return escape
		}
		if shown, n := text.Visible(said); n > 0 {
			return shown
		}
		return escape
	})
}

// escapes are those of JSON that say a character by its number, and what must not be taken for the beginning of one.
var escapes = regexp.MustCompile(`\\\\|(?:\\u[0-9A-Fa-f]{4})+`)

func argsOf(args json.RawMessage, p printer) (a Args) {
	p.in = strings.TrimSpace(string(args))
	switch {
	case p.in == "":
		p.out.WriteString("{}")
	case !json.Valid([]byte(p.in)):
		p.quoted(string(args), secrets(string(args)), asIs)
	default:
		p.value(0, "")
		if p.lines && !p.reveal {
			a.Rows = rowsOf(p.in)
		}
	}
	a.JSON, a.Escaped, a.Redacted = p.out.String(), p.escaped, p.redacted
	a.Chars = utf8.RuneCountInString(a.JSON)
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
		say = append(say, text.TooBigToAsk)
	case a.Hidden > 0:
		say = append(say, text.NotShown(a.Hidden, max(a.Chars, a.Hidden)))
	case a.JSON == "{}":
		say = append(say, text.NoArguments)
	case a.Redacted == 0:
		say = append(say, text.ShownInFull)
	}
	if a.Escaped > 0 {
		say = append(say, text.MadeVisible(a.Escaped))
	}
	if a.Redacted > 0 {
		say = append(say, text.Masked(a.Redacted))
	}
	if a.Digest != "" {
		say = append(say, "digest "+text.ShortDigest(a.Digest))
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
		p.out.Reset()
		key := p.key()
		name := bare(p.out.String())
		p.space()
		p.pos++ // the colon
		p.space()
		p.out.Reset()
		p.indent, p.lines, p.broken = false, false, false
		from := p.pos
		p.value(0, key)
		if p.broken { // by a string of several lines, somewhere in it
			p.out.Reset()
			p.pos, p.indent, p.lines = from, true, true
			p.value(0, key)
		}
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
	indent            bool // over several lines
	spaced            bool // on one line, with spaces
	lines             bool // a string of several lines is drawn as lines
	reveal            bool // nothing is masked
	replace           bool // what is drawn stays JSON
	out               strings.Builder
	escaped, redacted int
	broken            bool // a string of several lines was there
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

// value draws one value, which a member of that name holds.
func (p *printer) value(depth int, name string) {
	p.space()
	switch c := p.in[p.pos]; c {
	case '"':
		p.text(depth, decoded(p.literal()), name)
	case '{', '[':
		p.members(depth, name)
	default:
		v := p.skip()
		if (c == '-' || c >= '0' && c <= '9') && !p.reveal && named(name, v) && len(v) >= 4 { // true, false, null and small numbers are no secrets
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
	for p.space(); p.in[p.pos] != '}' && p.in[p.pos] != ']'; p.space() {
		if !first {
			p.pos++ // the comma
			p.space()
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
			p.space()
			p.pos++ // the colon
			p.out.WriteByte(':')
			if p.indent || p.spaced {
				p.out.WriteByte(' ')
			}
		}
		p.space()
		was := p.broken
		p.broken = false
		str := p.in[p.pos] == '"'
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

// key draws a member's name, and returns it.
func (p *printer) key() string {
	s := decoded(p.literal())
	p.out.WriteByte('"')
	if p.reveal {
		p.quoted(s, nil, quotes)
	} else {
		p.quoted(s, secrets(s), quotes)
	}
	p.out.WriteByte('"')
	return s
}

// text draws a string: secrets masked, hidden characters shown.
func (p *printer) text(depth int, s, name string) {
	var hide []span
	if !p.reveal {
		if s != "" && named(name, s) {
			p.mask(utf8.RuneCountInString(s), true)
			return
		}
		hide = secrets(s)
	}
	if strings.Contains(s, "\n") {
		if p.broken = true; p.lines {
			p.block(depth, s, hide)
			return
		}
	}
	p.out.WriteByte('"')
	p.quoted(s, hide, quotes)
	p.out.WriteByte('"')
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

var asIs = strings.NewReplacer()

// quotes writes what a JSON string has to escape.
var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`)

// quoted draws text on one line, what is to be hidden masked.
func (p *printer) quoted(s string, hide []span, escape *strings.Replacer) {
	shown := func(s string) {
		if p.replace {
			p.out.WriteString(jsonText(s))
			return
		}
		out, n := text.Visible(escape.Replace(s))
		p.escaped += n
		p.out.WriteString(out)
	}
	from := 0
	for _, h := range hide {
		shown(s[from:h.from])
		p.mask(utf8.RuneCountInString(s[h.from:h.to]), false)
		from = h.to
	}
	shown(s[from:])
}

// block draws a string of several lines as lines. In them a backslash is a backslash, and is doubled only where a line holds an escape,
// or something that looks like one.
func (p *printer) block(depth int, s string, hide []span) {
	var lines []string
	line := ""
	add := func(s string) {
		for i, part := range strings.Split(s, "\n") {
			if i > 0 {
				lines, line = append(lines, line), ""
			}
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
			line += out
		}
	}
	from := 0
	for _, h := range hide {
		add(s[from:h.from])
		p.redacted++
		line += text.Secret(utf8.RuneCountInString(s[h.from:h.to]))
		from = h.to
	}
	add(s[from:])
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

// decoded is the string that a literal stands for. Bytes that are not UTF-8 stay, and half a surrogate pair stands as it would in UTF-8
// if it could: [Visible] shows both.
func decoded(lit string) string {
	s := lit[1 : len(lit)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		if c != 'u' {
			if at := strings.IndexByte(`bfnrt`, c); at >= 0 {
				c = "\b\f\n\r\t"[at]
			}
			b.WriteByte(c)
			continue
		}
		r := rune(hex4(s[:4]))
		s = s[4:]
		if utf16.IsSurrogate(r) && strings.HasPrefix(s, `\u`) {
			if pair := utf16.DecodeRune(r, rune(hex4(s[2:6]))); pair != utf8.RuneError {
				r, s = pair, s[6:]
			}
		}
		if utf16.IsSurrogate(r) {
			b.Write([]byte{0xED, 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hex4(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 32) // json.Valid has seen four hexadecimal digits
	return n
}

// jsonText is text as it stands in a JSON string.
func jsonText(s string) string {
	quoted, _ := json.Marshal(s) // a string is never refused
	return string(quoted[1 : len(quoted)-1])
}
