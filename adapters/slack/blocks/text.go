package blocks

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Words of people, models and tools stand only in plain_text and rich_text, where nothing is read as markup, and, for a model's answer, in a
// markdown block. Markup in mrkdwn is ours alone.

// plainText says that no :code: in it is an emoji, where there could be one: a list has no room for what says nothing.
func plainText(s string) *slack.TextBlockObject {
	t := &slack.TextBlockObject{Type: slack.PlainTextType, Text: s}
	if strings.Contains(s, ":") {
		t.Emoji = new(bool)
	}
	return t
}

// hintText is such text on one line, cut to n characters; nil where there is none.
func hintText(s string, n int) *slack.TextBlockObject {
	if s = strings.TrimSpace(surface.OneLine(s)); s == "" {
		return nil
	}
	return plainText(surface.AtMost(s, n))
}

// mrkdwnText is markup of ours. Verbatim: what looks like a URL, a channel or a name in it does not become a link.
// https://docs.slack.dev/reference/block-kit/composition-objects/text-object
func mrkdwnText(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, s, false, true)
}

// joinLines puts texts on a line each, without those that say nothing.
func joinLines(parts ...string) string {
	var lines []string
	for _, p := range parts {
		if p = strings.TrimSpace(surface.OneLine(p)); p != "" {
			lines = append(lines, p)
		}
	}
	return strings.Join(lines, "\n")
}

var mrkdwnEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape takes the tokens out of text: <!channel>, <@U1>, <url|label>. Stars and underscores stay.
// https://docs.slack.dev/messaging/formatting-message-text#escaping
func Escape(s string) string { return mrkdwnEscapes.Replace(s) }

// unmarked is a sentence of ours for mrkdwn, cut to n characters. There is no escape for stars and backticks, so they go.
func unmarked(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_~`", r) {
			return -1
		}
		return r
	}, surface.Within(surface.OneLine(s), n))
	return Escape(strings.TrimSpace(s))
}

// bold is such a sentence in bold, no longer than a header.
func bold(s string) string {
	if s = unmarked(s, maxHeader); s == "" {
		return ""
	}
	return "*" + s + "*"
}

// inertMarkdown is a model's Markdown for a markdown block. Links say where they lead, and no token is alive: Slack reads <!here> and
// <url|label> there too, and shows &lt; as "<". "&" stays: escaped, it would spoil every link's query. (Measured:
// https://github.com/PostHog/posthog/pull/95054)
func inertMarkdown(md string) string {
	md = render.InertMarkdown(text.Prose(md))
	var b strings.Builder
	for line := range strings.SplitAfterSeq(md, "\n") {
		quote := quoteMarks(line) // "> " at its start is a quotation, and harmless: there is no "<" before it
		b.WriteString(line[:quote])
		b.WriteString(tokens.Replace(line[quote:]))
	}
	if !strings.Contains(md, "@") {
		return b.String()
	}
	return atAll.ReplaceAllStringFunc(b.String(), func(s string) string {
		if strings.IndexByte(s, '@')%2 == 1 { // escaped already
			return s
		}
		return strings.Replace(s, "@", `\@`, 1)
	})
}

var tokens = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// atAll are the names that would call everybody, should a client read them without brackets.
var atAll = regexp.MustCompile(`(?i)\\*@(?:here|channel|everyone|group)\b`)

func quoteMarks(line string) int {
	if strings.HasPrefix(line, "    ") {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, " >"))
}

var (
	slackUser    = regexp.MustCompile(`^[UW][A-Z0-9]{1,30}$`)
	slackChannel = regexp.MustCompile(`^[CG][A-Z0-9]{1,30}$`)
)

// UserID is whom a mention may name. ok is false for people of other platforms.
func UserID(u chat.User) (id string, ok bool) {
	return u.Key, u.Platform == Platform && slackUser.MatchString(u.Key)
}

const localTime = "{time}" // the reader's own time. https://docs.slack.dev/messaging/formatting-message-text#date-formatting

const maxSpan = 2800 // cuts spans that are longer than anything we say; how much is missing is said

// part is what a span of a line says: words, or whom or when it names in Slack's own terms.
type part struct {
	words  string
	strong bool
	user   string
	place  string // a channel
	at     int64
}

func partsOf(l render.Line) (parts []part) {
	for _, s := range l {
		var p part
		switch s := s.(type) {
		case render.Plain:
			p.words = string(s)
		case render.Strong:
			p.words, p.strong = string(s), true
		case render.Person:
			p.words = cmp.Or(s.Name, s.User.Key)
			if id, ok := UserID(s.User); ok {
				p.user = id
			}
		case render.Time:
			if p.words, p.at = text.Clock(s.At), s.At.Unix(); p.words == "" || p.at <= 0 {
				continue
			}
		case render.Channel:
			p.words = render.PlainLine(render.Line{s})
			if id, err := chat.ParseID(string(s)); err == nil && id.Platform == Platform && slackChannel.MatchString(id.Key) {
				p.place = id.Key
			}
		}
		p.words = surface.OneLine(surface.Within(p.words, maxSpan))
		parts = append(parts, p)
	}
	return parts
}

// richLine is a line for a task card or a message beside the turn's: people by name, times in everybody's own.
func richLine(l render.Line) (out []slack.RichTextSectionElement) {
	for _, p := range partsOf(l) {
		var style *slack.RichTextSectionTextStyle
		if p.strong {
			style = &slack.RichTextSectionTextStyle{Bold: true}
		}
		switch {
		case p.user != "":
			out = append(out, slack.NewRichTextSectionUserElement(p.user, nil))
		case p.place != "":
			out = append(out, slack.NewRichTextSectionChannelElement(p.place, nil))
		case p.at > 0:
			out = append(out, slack.NewRichTextSectionDateElement(p.at, localTime, nil, &p.words))
		case p.words != "":
			out = append(out, slack.NewRichTextSectionTextElement(p.words, style))
		}
	}
	return out
}

// contextLine is a line for a context block, in as few elements as can be: Slack sets each apart from the next. What somebody else may have
// written, and could be read as markup, is an element of its own that is none.
func contextLine(l render.Line) (out []slack.MixedElement) {
	say, marked := "", false
	end := func() {
		switch {
		case strings.TrimSpace(say) == "":
		case marked:
			out = append(out, mrkdwnText(say))
		default:
			out = append(out, plainText(say))
		}
		say, marked = "", false
	}
	for _, p := range partsOf(l) {
		mark, ours := surface.Within(p.words, maxSection), true // it may have grown where what hides in it became visible
		switch {
		case p.user != "":
			mark = "<@" + p.user + ">"
		case p.place != "":
			mark = "<#" + p.place + ">"
		case p.at > 0:
			mark = LocalTime(time.Unix(p.at, 0))
		case p.strong:
			mark = bold(p.words)
		case !tame.MatchString(p.words):
			end()
			if strings.TrimSpace(mark) != "" {
				out = append(out, plainText(mark))
			}
			continue
		default:
			ours = false
		}
		if surface.Width(say)+surface.Width(mark) > maxSection {
			end()
		}
		say, marked = say+mark, marked || ours
	}
	end()
	return out
}

// LocalTime is a moment as mrkdwn that everybody reads in their own time. https://docs.slack.dev/messaging/formatting-message-text#date-formatting
func LocalTime(at time.Time) string {
	return "<!date^" + strconv.FormatInt(at.Unix(), 10) + "^" + localTime + "|" + text.Clock(at) + ">"
}

// tame is text that says the same as mrkdwn: no mark, no token, no :code: of an emoji.
var tame = regexp.MustCompile(`^(?:[\pL\pM\pN\p{So} .,;?!'’“”()/·…→-]|: )*$`)
