package discord

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A reader of Discord's markup, for tests: a second opinion on what markup.go writes, made after what others measured of the clients
// (github.com/jeremy-rifkin/dismark; discord/SimpleAST) and not after what is written here. Clients differ in a few rules: a dialect
// says how one reads, and what is drawn must be harmless in all of them.

type dialect struct {
	oldItalics bool // a star closes italics with a backslash before it too
	longCode   bool // code in a line is closed by as many backticks as opened it, any number of them
	lazyLists  bool // a list goes on to the next line without words
}

var dialects = []dialect{{}, {oldItalics: true}, {longCode: true}, {lazyLists: true}, {true, true, true}}

// node is what a reader sees: words, or something that holds them.
type seenNode struct {
	kind string // plain bold italics underline strike spoiler fence code quote subtext header list link url mention everyone command emoji shortcode time
	text string // of plain, fence, code and of everything that is alive by itself
	href string // of link and url
	kids []seenNode
}

type seenReader struct {
	dialect
	start, quote, link bool // at the start of a line; inside of a quotation, a link
	deep               int
}

func read(md string, d dialect) []seenNode { return (&seenReader{dialect: d, start: true}).parse(md) }

func (r *seenReader) parse(s string) (out []seenNode) {
	if r.deep++; r.deep > 60 {
		r.deep--
		return []seenNode{{kind: "plain", text: s}}
	}
	defer func() { r.deep-- }()
	var words []byte
	flush := func() {
		if len(words) > 0 {
			out = append(out, seenNode{kind: "plain", text: string(words)})
			words = nil
		}
	}
	for len(s) > 0 {
		if s[0] == '\\' && len(s) > 1 && !isWordByte(s[1]) && s[1] != ' ' && s[1] != '\n' && !(r.link && s[1] == ']') {
			_, n := firstRune(s[1:])
			words = append(words, s[1:1+n]...)
			s, r.start = s[1+n:], false
			continue
		}
		if n, used := r.rule(s); used > 0 {
			flush()
			out = append(out, n)
			s = s[used:]
			r.start = strings.HasSuffix(n.text, "\n") || n.kind == "quote" || n.kind == "header" || n.kind == "subtext" || n.kind == "list"
			continue
		}
		r.start = s[0] == '\n'
		words = append(words, s[0])
		s = s[1:]
	}
	flush()
	return out
}

func firstRune(s string) (string, int) {
	for i := range s {
		if i > 0 {
			return s[:i], i
		}
	}
	return s, len(s)
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func (r *seenReader) in(s string) []seenNode { return r.parse(s) }

var (
	reQuote   = regexp.MustCompile(`^(?s: *>>> (.+))|^ *> ([^\n]+\n?)`)
	reSubtext = regexp.MustCompile(`^-# *([^\n]+\n?)`)
	reHeader  = regexp.MustCompile(`^ *(#{1,3}) +([^#\n][^\n]*\n?)`)
	reList    = regexp.MustCompile(`^( *)([+*-]|\d+\.) +([^\n]+)`)
	reAuto    = regexp.MustCompile(`^<([^: >]+:/[^ >]+)>`)
	reURL     = regexp.MustCompile("^(?:https?|steam|discord|ftp)://[^\\s<]+[^<.,:;\"')\\]\\s]")
	reHref    = regexp.MustCompile(`(?s)^\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?\s*\)`)
	reMention = regexp.MustCompile(`^<(?:@!?|@&|#)\d+>`)
	reCommand = regexp.MustCompile(`^</[^>]+:\d+>|^<id:[^>]+>`)
	reEmoji   = regexp.MustCompile(`^<a?:\w+:\d+>`)
	reTime    = regexp.MustCompile(`^<t:-?\d+(?::[a-zA-Z])?>`)
	reAll     = regexp.MustCompile(`^@(?:everyone|here)`)
	reShort   = regexp.MustCompile(`^:[a-zA-Z0-9_+-]+:`)
	reInvite  = regexp.MustCompile(`(?i)^discord\.(?:gg|gift|new)/\w+|^discord(?:app)?\.com/(?:invite|gifts)/\w+`)
)

// rule tries what could begin here. used is how much of s it takes; 0: nothing begins.
func (r *seenReader) rule(s string) (n seenNode, used int) {
	around := func(kind, mark string, end int) (seenNode, int) {
		r.start = false
		return seenNode{kind: kind, kids: r.in(s[len(mark):end])}, end + len(mark)
	}
	if r.start && !r.link {
		if n, used := r.block(s); used > 0 {
			return n, used
		}
	}
	switch s[0] {
	case '*':
		if end := lazyEnd(s, "**", '*'); end > 0 {
			return around("bold", "**", end)
		}
		if end := r.starEnd(s); end > 0 {
			return around("italics", "*", end)
		}
	case '_':
		if end := lazyEnd(s, "__", '_'); end > 0 {
			return around("underline", "__", end)
		}
		if end := scoreEnd(s); end > 0 {
			return around("italics", "_", end)
		}
	case '~':
		if end := lazyEnd(s, "~~", 0); end > 0 {
			return around("strike", "~~", end)
		}
	case '|':
		if end := lazyEnd(s, "||", 0); end > 0 {
			return around("spoiler", "||", end)
		}
	case '`':
		return r.code(s)
	case '[':
		return r.maskedLink(s)
	case '<':
		s = s[:min(len(s), 1+max(0, strings.IndexByte(s[1:]+"<", '<')))] // there is no other in any of these
		for kind, re := range map[string]*regexp.Regexp{"mention": reMention, "command": reCommand, "emoji": reEmoji, "time": reTime} {
			if m := re.FindString(s); m != "" {
				return seenNode{kind: kind, text: m}, len(m)
			}
		}
		if m := reAuto.FindStringSubmatch(s); m != nil {
			return seenNode{kind: "url", text: m[1], href: m[1]}, len(m[0])
		}
	case '@':
		if m := reAll.FindString(s); m != "" {
			return seenNode{kind: "everyone", text: m}, len(m)
		}
	case ':':
		if m := reShort.FindString(s[:min(len(s), 100)]); m != "" {
			return seenNode{kind: "shortcode", text: m}, len(m)
		}
	case 'h', 's', 'd', 'f', 'D':
		s = s[:min(len(s), 3000)]
		if m := reURL.FindString(s); m != "" && !r.link {
			return seenNode{kind: "url", text: m, href: m}, len(m)
		}
		if m := reInvite.FindString(s); m != "" {
			return seenNode{kind: "url", text: m, href: "https://" + m}, len(m)
		}
	}
	return n, 0
}

func (r *seenReader) block(s string) (n seenNode, used int) {
	if m := reQuote.FindStringSubmatch(s); m != nil && !r.quote && !strings.HasPrefix(strings.TrimLeft(m[0], " "), ">>> ") == (m[1] == "") {
		r.quote = true
		n = seenNode{kind: "quote", kids: r.in(strings.TrimRight(m[1]+m[2], "\n "))}
		r.quote = false
		return n, len(m[0])
	}
	if m := reSubtext.FindStringSubmatch(s); m != nil && strings.HasPrefix(s, "-# ") {
		return seenNode{kind: "subtext", kids: r.in(strings.TrimSpace(m[1]))}, len(m[0])
	}
	if m := reHeader.FindStringSubmatch(s); m != nil {
		return seenNode{kind: "header", text: m[1], kids: r.in(strings.TrimSpace(m[2]))}, len(m[0])
	}
	return r.list(s)
}

func (r *seenReader) list(s string) (n seenNode, used int) {
	m := reList.FindStringSubmatch(s)
	if m == nil {
		return n, 0
	}
	used = len(m[0])
	item := m[3]
	for {
		rest := s[used:]
		if !strings.HasPrefix(rest, "\n") || len(rest) < 2 || rest[1] == '\n' {
			break
		}
		line, _, _ := strings.Cut(rest[1:], "\n")
		if deeper := strings.HasPrefix(line, m[1]+"  "); !deeper && (!r.lazyLists || reList.MatchString(line)) {
			break
		}
		item += "\n" + strings.TrimPrefix(line, m[1]+"  ")
		used += 1 + len(line)
	}
	if strings.HasPrefix(s[used:], "\n") {
		used++
	}
	r.start = true
	return seenNode{kind: "list", text: m[2], kids: r.in(item)}, used
}

// lazyEnd is where the text after a mark ends: at the first same mark that not follows by its own sign.
func lazyEnd(s, mark string, not byte) int {
	if !strings.HasPrefix(s, mark) {
		return 0
	}
	for j := len(mark) + 1; j+len(mark) <= len(s); j++ {
		if s[j:j+len(mark)] == mark && (not == 0 || j+len(mark) == len(s) || s[j+len(mark)] != not) {
			return j
		}
	}
	return 0
}

func (r *seenReader) starEnd(s string) int {
	isSpace := func(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
	if len(s) < 3 || isSpace(s[1]) {
		return 0
	}
	for k := 1; k < len(s); {
		switch rest := s[k:]; {
		case k > 1 && s[k] == '*' && (r.oldItalics || s[k-1] != '\\') && (k+1 == len(s) || s[k+1] != '*'):
			return k
		case strings.HasPrefix(rest, `\*`) && !r.oldItalics, strings.HasPrefix(rest, "**"):
			k += 2
		case isSpace(s[k]):
			for k < len(s) && isSpace(s[k]) {
				k++
			}
			switch {
			case k == len(s):
				return 0
			case strings.HasPrefix(s[k:], "**"), strings.HasPrefix(s[k:], `\*`):
				k += 2
			case s[k] == '*':
				return 0
			default:
				k++
			}
		case s[k] == '*':
			return 0
		default:
			k++
		}
	}
	return 0
}

func scoreEnd(s string) int {
	for k := 1; k < len(s); {
		switch {
		case s[k] == '_' && k > 1 && (k+1 == len(s) || !isWordByte(s[k+1]) && s[k+1] != '_'):
			return k
		case strings.HasPrefix(s[k:], "__"), s[k] == '\\':
			k += 2
		case s[k] == '_':
			return 0
		default:
			k++
		}
	}
	return 0
}

var reLanguage = regexp.MustCompile(`(?s)^([\w+.-]+?)\s*\n(.*)$`)

func (r *seenReader) code(s string) (n seenNode, used int) {
	if strings.HasPrefix(s, "```") {
		if i := strings.Index(s[min(len(s), 4):], "```"); i >= 0 {
			if in := s[3 : 4+i]; strings.Trim(in, "\n") != "" {
				if m := reLanguage.FindStringSubmatch(in); m != nil {
					return seenNode{kind: "fence", href: m[1], text: strings.Trim(m[2], "\n")}, 4 + i + 3
				}
				return seenNode{kind: "fence", text: strings.Trim(in, "\n")}, 4 + i + 3
			}
		}
	}
	run := len(s) - len(strings.TrimLeft(s, "`"))
	if !r.longCode {
		for _, mark := range []string{"``", "`"} {
			if !strings.HasPrefix(s, mark) {
				continue
			}
			if i := strings.Index(s[len(mark):], mark); i > 0 && strings.Trim(s[len(mark):len(mark)+i], "`") != "" {
				return seenNode{kind: "code", text: s[len(mark) : len(mark)+i]}, 2*len(mark) + i
			}
		}
		return n, 0
	}
	for i := run; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			return n, 0
		}
		i += j
		end := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if end == run {
			return seenNode{kind: "code", text: s[run:i]}, i + run
		}
		i += end
	}
	return n, 0
}

func (r *seenReader) maskedLink(s string) (n seenNode, used int) {
	if r.link {
		return n, 0
	}
	for i, depth := 1, 1; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth > 0 {
				continue
			}
			m := reHref.FindStringSubmatch(s[i+1:])
			if m == nil || reURL.FindString(m[1]) != m[1] {
				return n, 0
			}
			label, used := s[1:i], i+1+len(m[0])
			if strings.Contains(label, "://") || strings.Contains(label, "```") {
				return seenNode{kind: "plain", text: s[:used]}, used
			}
			r.link = true
			n = seenNode{kind: "link", href: m[1], kids: r.in(label)}
			r.link = false
			return n, used
		}
	}
	return n, 0
}

// walk calls f for every node.
func walk(nodes []seenNode, f func(seenNode)) {
	for _, n := range nodes {
		f(n)
		walk(n.kids, f)
	}
}

// words are what a person reads of nodes, marks left out.
func wordsOf(nodes []seenNode) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.text)
		if n.kind == "header" || n.kind == "list" {
			b.Reset()
		}
		b.WriteString(wordsOf(n.kids))
	}
	return b.String()
}

// asRead is a text as a person sees it, more or less.
func asRead(md string) string {
	var b strings.Builder
	for _, n := range read(md, dialect{}) {
		b.WriteString(nodeAsRead(n))
	}
	return strings.TrimRight(b.String(), "\n")
}

func nodeAsRead(n seenNode) string {
	var in strings.Builder
	for _, k := range n.kids {
		in.WriteString(nodeAsRead(k))
	}
	kids := in.String()
	lines := func(prefix, s string) string {
		return prefix + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+strings.Repeat(" ", len([]rune(prefix)))) + "\n"
	}
	switch n.kind {
	case "plain":
		return n.text
	case "bold":
		return "𝗕⟨" + kids + "⟩"
	case "italics":
		return "𝘐⟨" + kids + "⟩"
	case "strike":
		return "S⟨" + kids + "⟩"
	case "code":
		return "⌊" + n.text + "⌋"
	case "fence":
		var b strings.Builder
		fmt.Fprintf(&b, "┌─%s\n", n.href)
		for l := range strings.SplitSeq(n.text, "\n") {
			b.WriteString("│ " + l + "\n")
		}
		return b.String() + "└─"
	case "quote":
		return lines("▎ ", kids)
	case "subtext":
		return lines("  · ", kids)
	case "header":
		return lines(strings.Repeat("▌", 4-len(n.text))+" ", kids)
	case "list":
		mark := "• "
		if len(n.text) > 1 {
			mark = n.text + " "
		}
		return lines(mark, kids)
	case "link":
		return "⟦" + kids + " → " + n.href + "⟧"
	case "url":
		return "⟦" + n.href + "⟧"
	case "time":
		var at int64
		var style string
		if _, err := fmt.Sscanf(n.text, "<t:%d:%1s>", &at, &style); err == nil {
			return "⟨" + map[string]string{"t": "at ", "R": "relative, "}[style] + time.Unix(at, 0).UTC().Format("15:04") + "⟩"
		}
	case "mention":
		return "⟨" + strings.Trim(n.text, "<>") + "⟩"
	}
	return "?" + n.kind + "⟨" + n.text + kids + "⟩"
}
