// Package markup reads Discord's markup as its clients do: a second opinion on what adapters/discord/components writes, made after what
// others measured of the clients (github.com/jeremy-rifkin/dismark; discord/SimpleAST) and not after what is written there. Clients differ in
// a few rules: a [Dialect] says how one reads, and what is drawn must be harmless in all of them.
package markup

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Dialect is how a client reads what others read otherwise.
type Dialect struct {
	oldItalics bool // a star closes italics with a backslash before it too
	longCode   bool // code in a line is closed by as many backticks as opened it, any number of them
	lazyLists  bool // a list goes on to the next line without words
}

// Dialects are those that are looked at; the first is the usual one.
var Dialects = []Dialect{{}, {oldItalics: true}, {longCode: true}, {lazyLists: true}, {true, true, true}}

// Node is what a reader sees: words, or something that holds them.
type Node struct {
	Kind string // plain bold italics underline strike spoiler fence code quote subtext header list link url mention everyone command emoji shortcode time
	Text string // of plain, fence, code and of everything that is alive by itself
	Href string // of link and url
	Kids []Node
}

type reader struct {
	Dialect
	start, quote, link bool // at the start of a line; inside of a quotation, a link
	deep               int
}

// Read reads Discord's markup in one dialect.
func Read(md string, d Dialect) []Node { return (&reader{Dialect: d, start: true}).parse(md) }

func (r *reader) parse(s string) (out []Node) {
	if r.deep++; r.deep > 60 {
		r.deep--
		return []Node{{Kind: "plain", Text: s}}
	}
	defer func() { r.deep-- }()
	var words []byte
	flush := func() {
		if len(words) > 0 {
			out = append(out, Node{Kind: "plain", Text: string(words)})
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
			r.start = strings.HasSuffix(n.Text, "\n") || n.Kind == "quote" || n.Kind == "header" || n.Kind == "subtext" || n.Kind == "list"
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

func (r *reader) in(s string) []Node { return r.parse(s) }

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
func (r *reader) rule(s string) (n Node, used int) {
	around := func(kind, mark string, end int) (Node, int) {
		r.start = false
		return Node{Kind: kind, Kids: r.in(s[len(mark):end])}, end + len(mark)
	}
	if first := strings.TrimLeft(s, " "); r.start && !r.link && first != "" && strings.IndexByte(">-#*+0123456789", first[0]) >= 0 {
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
				return Node{Kind: kind, Text: m}, len(m)
			}
		}
		if m := reAuto.FindStringSubmatch(s); m != nil {
			return Node{Kind: "url", Text: m[1], Href: m[1]}, len(m[0])
		}
	case '@':
		if m := reAll.FindString(s); m != "" {
			return Node{Kind: "everyone", Text: m}, len(m)
		}
	case ':':
		if m := reShort.FindString(s[:min(len(s), 100)]); m != "" {
			return Node{Kind: "shortcode", Text: m}, len(m)
		}
	case 'h', 's', 'd', 'f', 'D':
		s = s[:min(len(s), 3000)]
		if end := strings.IndexAny(s, "\t\n\f\r <"); end >= 0 { // none of these in either
			s = s[:end]
		}
		if m := reURL.FindString(s); m != "" && !r.link {
			return Node{Kind: "url", Text: m, Href: m}, len(m)
		}
		if m := reInvite.FindString(s); m != "" {
			return Node{Kind: "url", Text: m, Href: "https://" + m}, len(m)
		}
	}
	return n, 0
}

func (r *reader) block(s string) (n Node, used int) {
	if m := reQuote.FindStringSubmatch(s); m != nil && !r.quote && !strings.HasPrefix(strings.TrimLeft(m[0], " "), ">>> ") == (m[1] == "") {
		r.quote = true
		n = Node{Kind: "quote", Kids: r.in(strings.TrimRight(m[1]+m[2], "\n "))}
		r.quote = false
		return n, len(m[0])
	}
	if m := reSubtext.FindStringSubmatch(s); m != nil && strings.HasPrefix(s, "-# ") {
		return Node{Kind: "subtext", Kids: r.in(strings.TrimSpace(m[1]))}, len(m[0])
	}
	if m := reHeader.FindStringSubmatch(s); m != nil {
		return Node{Kind: "header", Text: m[1], Kids: r.in(strings.TrimSpace(m[2]))}, len(m[0])
	}
	return r.list(s)
}

func (r *reader) list(s string) (n Node, used int) {
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
	return Node{Kind: "list", Text: m[2], Kids: r.in(item)}, used
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

func (r *reader) starEnd(s string) int {
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

func (r *reader) code(s string) (n Node, used int) {
	if strings.HasPrefix(s, "```") {
		if i := strings.Index(s[min(len(s), 4):], "```"); i >= 0 {
			if in := s[3 : 4+i]; strings.Trim(in, "\n") != "" {
				if m := reLanguage.FindStringSubmatch(in); m != nil {
					return Node{Kind: "fence", Href: m[1], Text: strings.Trim(m[2], "\n")}, 4 + i + 3
				}
				return Node{Kind: "fence", Text: strings.Trim(in, "\n")}, 4 + i + 3
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
				return Node{Kind: "code", Text: s[len(mark) : len(mark)+i]}, 2*len(mark) + i
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
			return Node{Kind: "code", Text: s[run:i]}, i + run
		}
		i += end
	}
	return n, 0
}

func (r *reader) maskedLink(s string) (n Node, used int) {
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
				return Node{Kind: "plain", Text: s[:used]}, used
			}
			r.link = true
			n = Node{Kind: "link", Href: m[1], Kids: r.in(label)}
			r.link = false
			return n, used
		}
	}
	return n, 0
}

// Walk calls f for every node.
func Walk(nodes []Node, f func(Node)) {
	for _, n := range nodes {
		f(n)
		Walk(n.Kids, f)
	}
}

// WordsOf are what a person reads of nodes, marks left out.
func WordsOf(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.Text)
		if n.Kind == "header" || n.Kind == "list" {
			b.Reset()
		}
		b.WriteString(WordsOf(n.Kids))
	}
	return b.String()
}

// AsRead is a text as a person sees it, more or less.
func AsRead(md string) string {
	var b strings.Builder
	for _, n := range Read(md, Dialect{}) {
		b.WriteString(nodeAsRead(n))
	}
	return strings.TrimRight(b.String(), "\n")
}

func nodeAsRead(n Node) string {
	var in strings.Builder
	for _, k := range n.Kids {
		in.WriteString(nodeAsRead(k))
	}
	kids := in.String()
	lines := func(prefix, s string) string {
		return prefix + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+strings.Repeat(" ", len([]rune(prefix)))) + "\n"
	}
	switch n.Kind {
	case "plain":
		return n.Text
	case "bold":
		return "𝗕⟨" + kids + "⟩"
	case "italics":
		return "𝘐⟨" + kids + "⟩"
	case "strike":
		return "S⟨" + kids + "⟩"
	case "code":
		return "⌊" + n.Text + "⌋"
	case "fence":
		var b strings.Builder
		fmt.Fprintf(&b, "┌─%s\n", n.Href)
		for l := range strings.SplitSeq(n.Text, "\n") {
			b.WriteString("│ " + l + "\n")
		}
		return b.String() + "└─"
	case "quote":
		return lines("▎ ", kids)
	case "subtext":
		return lines("  · ", kids)
	case "header":
		return lines(strings.Repeat("▌", 4-len(n.Text))+" ", kids)
	case "list":
		mark := "• "
		if len(n.Text) > 1 {
			mark = n.Text + " "
		}
		return lines(mark, kids)
	case "link":
		return "⟦" + kids + " → " + n.Href + "⟧"
	case "url":
		return "⟦" + n.Href + "⟧"
	case "time":
		var at int64
		var style string
		if _, err := fmt.Sscanf(n.Text, "<t:%d:%1s>", &at, &style); err == nil {
			return "⟨" + map[string]string{"t": "at ", "R": "relative, "}[style] + time.Unix(at, 0).UTC().Format("15:04") + "⟩"
		}
	case "mention":
		return "⟨" + strings.Trim(n.Text, "<>") + "⟩"
	}
	return "?" + n.Kind + "⟨" + n.Text + kids + "⟩"
}

// Seen is a text as Discord's clients read it; where they differ, it is the most that one of them makes of it.
type Seen struct {
	Words    string
	Mentions []string // as IDs, "&ID" for a role, "#ID" for a channel, "everyone"
	Links    [][2]string
}

// ReadText reads Discord's markup in all dialects.
func ReadText(md string) (out Seen) {
	for i, d := range Dialects {
		nodes := Read(md, d)
		if i == 0 {
			out.Words = plainWords(nodes)
		}
		Walk(nodes, func(n Node) {
			switch n.Kind {
			case "link":
				out.Links = append(out.Links, [2]string{plainWords(n.Kids), n.Href})
			case "url":
				out.Links = append(out.Links, [2]string{n.Text, n.Href})
			case "mention":
				out.Mentions = append(out.Mentions, strings.TrimPrefix(strings.TrimPrefix(strings.Trim(n.Text, "<>"), "@!"), "@"))
			case "command", "everyone":
				out.Mentions = append(out.Mentions, strings.TrimPrefix(n.Text, "@"))
			}
		})
	}
	return out
}

func plainWords(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch n.Kind {
		case "header": // its text is the marks
			b.WriteString(plainWords(n.Kids) + "\n")
		case "list":
			b.WriteString("• " + plainWords(n.Kids) + "\n")
		default:
			b.WriteString(n.Text + plainWords(n.Kids))
		}
		if n.Kind == "quote" || n.Kind == "subtext" || n.Kind == "fence" {
			b.WriteString("\n")
		}
	}
	return b.String()
}
