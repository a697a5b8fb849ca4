package components

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// How text gets into a TextDisplay, where Discord reads all of it as markup: there is no plain text but in labels. Markup is only what
// this package writes. Words of people, models, servers and tools stand in code fences that they cannot close, or with a backslash
// before every sign that could begin something; a model's answer is parsed and written anew (markup_answer.go).
//
// A backslash is not shown where it stands before a sign, on every client: https://support.discord.com/hc/en-us/articles/210298617

// opens are signs that begin or end markup wherever they stand: emphasis, spoilers, code, links, and all that stands in "<>":
// mentions, commands, emoji, times.
const opens = "\\*_~`|<["

// literal is one line of plain text, shown as it is, wherever in a line of ours it stands.
func literal(s string) string { return lineStart(literalWords(surface.OneLine(s))) }

// literalWords is [literal] without what only counts at the start of a line.
func literalWords(s string) string {
	if !strings.ContainsAny(s, opens+":@.") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, rest := s[i], s[i+1:]
		switch {
		case strings.IndexByte(opens, c) >= 0,
			c == ':' && !strings.HasPrefix(rest, " "), // https://, steam://, :tada:
			c == '@' && loud(rest),
			c == '.' && invites(rest):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// loud: together with the "@" before it, s calls everybody. An end counts too: what follows may stand in the next span.
func loud(s string) bool {
	return s == "" || hasFold(s, "everyone") || hasFold(s, "here")
}

// invites: "discord" and s are an address that Discord's clients know without a scheme, or could become one with what follows in the
// next span.
func invites(s string) bool {
	for _, known := range []string{"gg/", "gift/", "new/", "com/invite", "com/gifts"} {
		if hasFold(s, known) || s != "" && hasFold(known, s) {
			return true
		}
	}
	return false
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// lineStart takes what begins a heading, a quotation, a list or subtext from the start of a line that is escaped otherwise.
func lineStart(s string) string {
	at := len(s) - len(strings.TrimLeft(s, " "))
	n := at
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	switch {
	case n > at && n < len(s) && s[n] == '.': // "1." is a list
		at = n
	case at == len(s) || strings.IndexByte("#>-+", s[at]) < 0:
		return s
	}
	return s[:at] + `\` + s[at:]
}

// strong is one line of plain text in bold; nothing of nothing.
func strong(s string) string {
	if s = strings.TrimSpace(surface.OneLine(s)); s == "" {
		return ""
	}
	return "**" + literalWords(s) + "**"
}

// lineOf draws a line. mention says how a person is mentioned, or "" where only the name is to stand; nil: nobody is who has a name.
func lineOf(l render.Line, mention func(chat.User) string) string {
	var b strings.Builder
	for _, s := range l {
		switch s := s.(type) {
		case render.Plain:
			b.WriteString(literalWords(surface.OneLine(string(s))))
		case render.Strong:
			if b.Len() > 0 && strings.HasSuffix(b.String(), "*") { // two runs of stars would become one
				b.WriteByte(' ')
			}
			b.WriteString(strong(string(s)))
		case render.Person:
			say := ""
			if mention != nil {
				say = mention(s.User)
			} else if s.Name == "" { // every client knows what they are called; nobody is notified
				say, _ = mentionOf(s.User)
			}
			if say == "" {
				say = literalWords(surface.OneLine(cmp.Or(s.Name, s.User.Key)))
			}
			b.WriteString(say)
		case render.Time:
			b.WriteString(moment(s))
		case render.Channel:
			b.WriteString(channel(s))
		}
	}
	return lineStart(strings.TrimSpace(b.String()))
}

// channel is a channel that every client shows by its name to who may see it. https://discord.com/developers/docs/reference#message-formatting
func channel(c render.Channel) string {
	if id, err := chat.ParseID(string(c)); err == nil && id.Platform == ids.Platform && ids.IsSnowflake(id.Key) {
		return "<#" + id.Key + ">"
	}
	return literalWords(render.PlainLine(render.Line{c}))
}

// moment is a time that every client shows in its reader's own. https://discord.com/developers/docs/reference#message-formatting
func moment(t render.Time) string {
	if t.At.Unix() <= 0 {
		return ""
	}
	at := "<t:" + strconv.FormatInt(t.At.Unix(), 10)
	if t.Until {
		return at + ":t> (" + at + ":R>)" // 14:02 (in a minute)
	}
	return at + ":t>"
}

// mentionOf is a mention of a person or of everybody who has a role, and the ID of either; empty for people of other platforms.
func mentionOf(u chat.User) (mention, id string) {
	id = strings.TrimPrefix(u.Key, chat.GroupPrefix)
	if u.Platform != ids.Platform || !ids.IsSnowflake(id) {
		return "", ""
	}
	return "<@" + u.Key + ">", id
}

// heading is one line of plain text as a heading; nothing of nothing.
func heading(s string) string {
	if s = strings.TrimSpace(literal(s)); s == "" {
		return ""
	}
	return "### " + s
}

// subtext makes lines quiet.
func subtext(line string) string {
	if strings.TrimSpace(line) == "" {
		return ""
	}
	return "-# " + line
}

// fenced is code in a fence that nothing in it closes; nothing of nothing, because Discord reads an empty fence as something else.
func fenced(language, s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return render.Fence3(language, strings.Trim(s, "\n"))
}

// codeSpan is code in a line.
func codeSpan(s string) string {
	s = surface.OneLine(s)
	switch {
	case strings.TrimSpace(s) == "":
		return s
	case !strings.Contains(s, "`"):
		return "`" + s + "`"
	case strings.Contains(s, "``"):
		return "`" + strings.ReplaceAll(s, "`", `\u{60}`) + "`"
	case strings.HasPrefix(s, "`"), strings.HasSuffix(s, "`"):
		return "`` " + s + " ``"
	}
	return "``" + s + "``"
}

// labelOf is never empty: Discord refuses a button without words. Labels are plain text.
func labelOf(c render.Choice, n int) string {
	return surface.Label(surface.Boxes[c.Toggle]+c.Label, n, strings.ReplaceAll(string(c.Choice), "_", " "))
}

// Links. Discord fetches addresses that stand in a message, whoever wrote them and before anybody clicks: an address is a way out for
// what a model was tricked to put into it. So one is alive only where people, or the operator, brought its host. Any other stands in a
// code span, where neither Discord nor a reader's client makes a link of it.

// hosts says whether an address of a host, in lower case, stays alive.
type hosts func(host string) bool

// or also takes the hosts of a list.
func (h hosts) or(list []string) hosts {
	return func(host string) bool {
		for _, x := range list {
			if strings.EqualFold(x, host) {
				return true
			}
		}
		return h != nil && h(host)
	}
}

// link is an address with the words for it; none: the address says itself. A live one is wrapped in "<>", so that no preview comes.
func link(label, dest string, alive hosts) string {
	label = strings.Join(strings.Fields(surface.OneLine(label)), " ")
	address, host := liveAddress(dest, alive)
	switch {
	case dest == "":
		return literalWords(label)
	case address == "" && (label == "" || label == dest):
		return codeSpan(dest)
	case address == "":
		return literalWords(label) + " (" + codeSpan(dest) + ")"
	case label == "" || label == dest || label == host:
		return "<" + address + ">"
	case !maskable(label, address, host):
		return literalWords(label) + " (<" + address + ">)"
	case !strings.Contains(label, host):
		label += " (" + host + ")"
	}
	return "[" + literalWords(label) + "](<" + address + ">)"
}

// image is words: nothing is fetched for it.
func image(alt, dest string) string {
	if alt = strings.Join(strings.Fields(surface.OneLine(alt)), " "); alt == "" {
		alt = "…"
	}
	where := surface.OneLine(dest)
	if list := render.Hosts(dest); len(list) > 0 {
		where = list[0]
	}
	return literalWords(alt) + " (image: " + literalWords(where) + ")"
}

// liveAddress is dest as an address that Discord and every browser read alike, and its host; empty where it is not one, or is not to
// be alive.
func liveAddress(dest string, alive hosts) (address, host string) {
	list := render.Hosts(dest)
	u, err := url.Parse(dest)
	if err != nil || len(list) == 0 || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Opaque != "" {
		return "", ""
	}
	// Two readers must agree on the host.
	if host = list[0]; strings.ToLower(strings.TrimRight(u.Hostname(), ".")) != host || strings.Trim(host, hostSigns) != "" || !alive(host) {
		return "", ""
	}
	var b strings.Builder
	for i := range len(dest) {
		if c := dest[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("<>\"`\\^{}|()[]*~", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String(), host
}

const hostSigns = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

var hostLike = regexp.MustCompile(`[\pL\pN_-]+(?:\.[\pL\pN_-]+)*\.\pL{2,}`)

// maskable: Discord makes a link of these words, and they name no other host than the one they lead to. Emoji in the words break the
// link in a TextDisplay (https://github.com/discord/discord-api-docs/issues/7673); brackets end it; an address in them undoes it.
func maskable(label, address, host string) bool {
	if strings.ContainsAny(label, "[]:@") || strings.IndexByte(".,;:!?'", address[len(address)-1]) >= 0 {
		return false
	}
	for _, r := range label {
		if r > 0x2000 && (unicode.IsSymbol(r) || r >= 0x1F000 && r < 0x20000 || r == 0x200D || r == 0xFE0F) || r == '©' || r == '®' {
			return false
		}
	}
	for _, named := range hostLike.FindAllString(label, -1) {
		if strings.ToLower(named) != host {
			return false
		}
	}
	return true
}
