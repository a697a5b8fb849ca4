package blocks

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// How text gets into a block. Words of people, models and tools stand only in plain_text and rich_text, where nothing is
// read as markup, in code fences that they cannot close, and, for a model's answer, in a markdown block. Markup in mrkdwn
// is ours alone.

// plainText is text that Slack shows as it is.
func plainText(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, s, false, false)
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

var mrkdwnEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape takes the tokens out of text: <!channel>, <@U1>, <url|label>. Stars and underscores stay.
// https://docs.slack.dev/messaging/formatting-message-text#escaping
func Escape(s string) string { return mrkdwnEscapes.Replace(s) }

// unmarked is a sentence of ours for mrkdwn, of at most n characters before they are escaped. There is no escape for stars and
// backticks, so they go.
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

// inertMarkdown is a model's Markdown for a markdown block. Links say where they lead, and no token of Slack's is alive in it: Slack
// reads <!here> and <url|label> in a markdown block too, and shows &lt; as "<" without reading it again. "&" stays: escaped,
// it would spoil the query of every link. (Measured by others: https://github.com/PostHog/posthog/pull/95054)
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
	n := len(line) - len(strings.TrimLeft(line, " >"))
	if strings.HasPrefix(line, "    ") {
		return 0
	}
	return n
}

// fences puts code into as few fences as hold it, each short enough for a section. In s nothing closes a fence early.
func fences(s string) []string {
	var out []string
	for s != "" {
		n := fenceRoom(s)
		if i := strings.LastIndexByte(s[:n], '\n'); n < len(s) && i > n/2 {
			out = append(out, fence(s[:i]))
			s = s[i+1:]
			continue
		}
		out = append(out, fence(s[:n]))
		s = s[n:]
	}
	return out
}

func fence(s string) string { return Escape(render.Fence3("", s)) }

// fenceRoom is how many bytes of s one fence holds.
func fenceRoom(s string) int {
	room := maxSection - 100
	for i, r := range s {
		switch r {
		case '`':
			room -= len(`\u{60}`)
		case '<', '>', '&':
			room -= len("&amp;")
		default:
			room -= surface.Units(r)
		}
		if room < 0 {
			return i
		}
	}
	return len(s)
}

var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]{1,30}$`)

// UserID is whom a mention may name. ok is false for people of other platforms.
func UserID(u chat.User) (id string, ok bool) {
	return u.Key, u.Platform == Platform && slackUser.MatchString(u.Key)
}

func nameOf(p render.Person) string {
	if p.Name != "" {
		return surface.OneLine(p.Name)
	}
	return surface.OneLine(p.User.Key)
}

// localTime is the reader's own time. https://docs.slack.dev/messaging/formatting-message-text#date-formatting
const localTime = "{time}"

// richLine is a line for a task card or a message beside the turn's: people by name, times in everybody's own.
func richLine(l render.Line) (out []slack.RichTextSectionElement) {
	add := func(s string, style *slack.RichTextSectionTextStyle) {
		if s = surface.OneLine(s); s != "" {
			out = append(out, slack.NewRichTextSectionTextElement(s, style))
		}
	}
	for _, s := range l {
		switch s := s.(type) {
		case render.Plain:
			add(string(s), nil)
		case render.Strong:
			add(string(s), &slack.RichTextSectionTextStyle{Bold: true})
		case render.Person:
			if id, ok := UserID(s.User); ok {
				out = append(out, slack.NewRichTextSectionUserElement(id, nil))
			} else {
				add(nameOf(s), nil)
			}
		case render.Time:
			if at := text.Clock(s.At); at != "" && s.At.Unix() > 0 {
				out = append(out, slack.NewRichTextSectionDateElement(s.At.Unix(), localTime, nil, &at))
			}
		}
	}
	return out
}

// contextLine is a line for a context block: one element for each span, so that nothing but our own marks is mrkdwn.
func contextLine(l render.Line) (out []slack.MixedElement) {
	add := func(t *slack.TextBlockObject) {
		if strings.TrimSpace(t.Text) != "" {
			out = append(out, t)
		}
	}
	for _, s := range l {
		switch s := s.(type) {
		case render.Plain:
			add(plainText(surface.Within(surface.OneLine(string(s)), maxSection)))
		case render.Strong:
			add(mrkdwnText(bold(string(s))))
		case render.Person:
			if id, ok := UserID(s.User); ok {
				add(mrkdwnText("<@" + id + ">"))
			} else {
				add(plainText(surface.Within(nameOf(s), maxSection)))
			}
		case render.Time:
			if at := text.Clock(s.At); at != "" && s.At.Unix() > 0 {
				add(mrkdwnText("<!date^" + strconv.FormatInt(s.At.Unix(), 10) + "^" + localTime + "|" + at + ">"))
			}
		}
	}
	return out
}
