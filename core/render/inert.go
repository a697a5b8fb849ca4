package render

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
)

// InertMarkdown rewrites Markdown of a model so that no link says another place than it goes to and nothing is
// fetched by being shown:
//
//   - [label](url) shows the host, "[label (host)](url)", unless the label is the URL itself; a link to anything but
//     http, https and mailto becomes plain text;
//   - ![alt](url) becomes "alt (image: host)";
//   - reference links and their definitions become plain text;
//   - <https://…> loses its brackets, which a surface that escapes them could take for part of the address;
//   - <br>, which models write into cells of tables, becomes a space.
//
// All other HTML is left for the surface to escape. Where it is not certain that a bracket stands in code, it is
// treated as if it did not: a backslash too many in somebody's code is ugly, a disguised link is a trap.
func InertMarkdown(md string) string {
	if !strings.ContainsAny(md, "[<") {
		return md
	}
	var b strings.Builder
	var f fences
	sure, html := true, false // html: in some, which ends at an empty line, what looks like a fence may be none
	open := false             // backticks of an earlier line of the paragraph may still be looking for their end
	for len(md) > 0 {
		line, rest, _ := strings.Cut(md, "\n")
		whole := md[:len(md)-len(rest)]
		bare := strings.TrimLeft(line, " \t\r>*+-0123456789.)")
		ticks := strings.Contains(line, "```")
		was, ends := f.open, f.ends(line)
		code := f.next(line)
		html = bare != "" && (html || was == "" && bare[0] == '<')
		switch { // where code begins or ends for some surfaces, and not for others, nothing that follows is certain
		case ends, html && ticks, was != "" && f.open != "" && ticks:
			sure = false
		case was == "" && (strings.Contains(line, "~~~") || endless.MatchString(bare) || f.loose):
			sure = false
		}
		if !code || !sure {
			f.open = ""
			var left bool
			whole, left = inertLine(whole, !open)
			open = (open || left) && strings.TrimSpace(line) != ""
		}
		b.WriteString(whole)
		md = rest
	}
	return b.String()
}

// address looks for one without brackets while a line is gone through: of the text up to to it knows whether it ends in one.
type address struct {
	to   int
	open bool
}

// endsAt reports whether s[:i] ends in an address. i never goes back.
func (a *address) endsAt(s string, i int) bool {
	for ; a.to < i; a.to++ {
		switch read := s[:a.to+1]; {
		case strings.IndexByte(" \t\n\f\r", s[a.to]) >= 0:
			a.open = false
		case strings.HasSuffix(read, "://"), len(read) > 3 && strings.EqualFold(read[len(read)-4:], "www."):
			a.open = true
		}
	}
	return a.open
}

// bracketed is an address in angle brackets.
var bracketed = regexp.MustCompile(`(?i)^<https?://[^\s<>|\x60]+>(?:\W|$)`)

// endless is HTML that no empty line ends.
var endless = regexp.MustCompile(`(?i)^<(?:[!?]|pre|script|style|textarea)`)

// inertLine rewrites the brackets of one line. A link that goes over line ends is none here, and its bracket
// is escaped like every other that is not certainly harmless. left reports backticks without an end.
func inertLine(s string, sure bool) (out string, left bool) {
	if !strings.ContainsAny(s, "[`<") {
		return s, false
	}
	box, tag := len(taskBox.FindString(s))-len("[x] "), strings.LastIndexByte(s, '>')
	var b strings.Builder
	var at address
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i += 2
		case c == '`':
			sure = sure && !at.endsAt(s, i)          // it may belong to that
			cell, _, more := strings.Cut(s[i:], "|") // in a table no code goes beyond its cell
			n := codeSpan(cell, sure)
			if strings.Trim(s[i:i+n], "`") == "" {
				left, sure = true, sure && !more
			}
			b.WriteString(s[i : i+n])
			i += n
		case strings.HasPrefix(s[i:], "!["):
			if label, dest, n := link(s[i+1:]); n > 0 {
				b.WriteString(inertLabel(label))
				b.WriteString(" (image: " + inertLabel(hostOrWhole(dest)) + ")")
				i += 1 + n
				continue
			}
			b.WriteString(`!\[`)
			i += 2
		case c == '[' && i != box:
			label, dest, n := link(s[i:])
			if n == 0 {
				b.WriteString(`\[`)
				i++
				continue
			}
			b.WriteString(honestLink(label, dest))
			i += n
		case c == '<':
			if n := len(lineBreak.FindString(s[i:])); n > 0 && (i == 0 || s[i-1] != '`') {
				b.WriteByte(' ')
				i += n
				continue
			}
			if bracketed.MatchString(s[i:]) {
				n := strings.IndexByte(s[i:], '>')
				b.WriteString(s[i+1 : i+n])
				i += n + 1
				continue
			}
			left, sure = left || i > tag, false // around tags, backticks may mean something else
			fallthrough
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), left
}

var lineBreak = regexp.MustCompile(`(?i)^</?br *(?:/ *)?>`)

// IsBreak reports whether a tag is that of a line's end.
func IsBreak(tag string) bool { return lineBreak.MatchString(tag) }

// codeSpan is the length of the code span that s begins with, or of its run of backticks if that opens none.
func codeSpan(s string, sure bool) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	if !sure {
		return n
	}
	for i := n; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			break
		}
		i += j
		m := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if m == n {
			return i + m
		}
		i += m
	}
	return n
}

// taskBox is how a line of a list of tasks begins.
var taskBox = regexp.MustCompile(`^[ \t>]*[-*+] \[[ xX]\] `)

// labels are the texts of links: words, code, or a number in brackets.
var labels = regexp.MustCompile("^\\[([^\\[\\]\\\\`<\n]*|`([^\\[\\]\\\\`<\n]+)`|\\[[^\\[\\]\\\\`<\n]+\\])\\]\\(")

// destination is what stands behind a label. With quotes in it, or entities before the query, where it goes depends on who reads it.
var destination = regexp.MustCompile(`^ *([^ "'\t&?]*(?:\?[^ "'\t]*)?) *(?: "[^"]*" *)?$`)

// link reads "[label](destination)" or "[label](destination "title")" at the start of s. n is its length; 0 if it
// is anything else, or anything unusual: marks in the label, spaces or angle brackets in the destination.
func link(s string) (label, dest string, n int) {
	m := labels.FindStringSubmatch(s)
	if m == nil {
		return "", "", 0
	}
	label, rest := cmp.Or(m[2], m[1]), s[len(m[0]):]
	stop, deep := 0, 0
	for ; stop < len(rest) && (rest[stop] != ')' || deep > 0); stop++ {
		switch rest[stop] {
		case '<', '>', '\\', '`', '[', ']', '\n':
			return "", "", 0
		case '(':
			deep++
		case ')':
			deep--
		}
	}
	if stop == len(rest) {
		return "", "", 0
	}
	inside := destination.FindStringSubmatch(rest[:stop])
	if inside == nil {
		return "", "", 0
	}
	return label, inside[1], len(m[0]) + stop + 1
}

// honestLink is a link whose text says where it goes.
func honestLink(label, dest string) string {
	lower := strings.ToLower(dest)
	to := strings.NewReplacer("(", "%28", ")", "%29").Replace(dest) // not everybody counts them
	web := strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
	switch {
	case !web && !strings.HasPrefix(lower, "mailto:"):
		return inertLabel(label) + " (" + inertLabel(dest) + ")"
	case strings.TrimSpace(label) == dest:
		return "[" + label + "](" + to + ")"
	}
	where := hostOrWhole(to)
	if u, err := url.Parse(to); web && (err != nil || strings.ToLower(strings.TrimRight(u.Hostname(), ".")) != where) { // two readers must agree
		return inertLabel(label) + " (" + inertLabel(dest) + ")"
	}
	return "[" + inertLabel(label) + " (" + inertLabel(where) + ")](" + to + ")"
}

// hostOrWhole is what a person should know of a destination: its host, or the whole where it has none.
func hostOrWhole(dest string) string {
	if hosts := Hosts(dest); len(hosts) > 0 {
		return hosts[0]
	}
	return dest
}

// inertLabel is text that can stand in a link's text or beside it without becoming markup of its own.
func inertLabel(s string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "\\", `\\`, "!", `\!`, "://", `:\/\/`).Replace(s)
}
