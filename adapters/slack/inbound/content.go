package inbound

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What stands in a message beside what its author typed is somebody's words at best: it is quoted, and nothing in it calls the bot.

// attachment is https://docs.slack.dev/messaging/formatting-message-text/#attachments, and what Slack makes of a forward (is_share) or of a
// pasted table: an attachment of one table block, whose fallback says nothing.
type attachment struct {
	Share    bool        `json:"is_share"`
	Author   LooseString `json:"author_name"`
	Pretext  LooseString `json:"pretext"`
	Title    LooseString `json:"title"`
	Link     LooseString `json:"title_link"`
	Text     LooseString `json:"text"`
	Image    LooseString `json:"image_url"`
	Footer   LooseString `json:"footer"`
	Fallback LooseString `json:"fallback"`
	Fields   LooseList[struct {
		Title LooseString `json:"title"`
		Value LooseString `json:"value"`
	}] `json:"fields"`
	Blocks   json.RawMessage `json:"blocks"`
	Files    LooseList[file] `json:"files"`
	Messages LooseList[struct {
		Message struct {
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	}] `json:"message_blocks"` // of a forward
}

const noPreview = "[no preview available]" // the fallback of what Slack itself makes

// textReader writes the text of blocks down as Markdown, a line for what stands on a line.
type textReader struct {
	name func(user string) string
	out  strings.Builder
}

func (r *textReader) line(s string) {
	if strings.TrimSpace(s) != "" {
		r.out.WriteString(strings.Trim(s, "\n") + "\n")
	}
}

func (r *textReader) markup(s LooseString) { r.line(PlainText(string(s), r.name)) }

func (r *textReader) text() string { return strings.TrimSpace(r.out.String()) }

// blocks reads those that Slack gives out, of any kind: what has words has them in the same members. typed: a person typed the text that
// Slack makes of their rich text, so that need not be read.
// https://docs.slack.dev/reference/block-kit/blocks
func (r *textReader) blocks(raw json.RawMessage, typed bool) {
	var all LooseList[map[string]any]
	_ = json.Unmarshal(raw, &all)
	for _, b := range all {
		if !typed || b["type"] != "rich_text" {
			r.node(b)
		}
	}
}

// inOrder are the members that hold words, as a reader meets them. What can be pressed or filled in is nobody's words.
var inOrder = []string{"title", "subtitle", "text", "description", "body", "fields", "elements", "rows", "child_blocks", "blocks", "tasks", "details", "output"}

func (r *textReader) node(v any) {
	switch v := v.(type) {
	case string:
		r.line(entities.Replace(v))
	case []any:
		for _, e := range v {
			r.node(e)
		}
	case map[string]any:
		r.object(v)
	}
}

func (r *textReader) object(v map[string]any) {
	of := func(k string) string { s, _ := v[k].(string); return s }
	rows, isTable := v["rows"].([]any)
	switch kind := of("type"); {
	case kind == "button":
	case kind == "header":
		title, _ := v["text"].(map[string]any)
		words, _ := title["text"].(string)
		r.line(boldLine(entities.Replace(words)))
	case kind == "mrkdwn" || kind == "markdown":
		r.markup(LooseString(of("text")))
	case kind == "image":
		r.line("[picture: " + surface.Shortened(cmp.Or(of("alt_text"), of("image_url"), "without words"), 200) + "]")
	case kind == "rich_text_list":
		r.list(v)
	case kind == "rich_text_preformatted":
		r.line(fenced(r.inline(v["elements"])))
	case kind == "rich_text_quote":
		r.line("> " + strings.ReplaceAll(strings.TrimSpace(r.inline(v["elements"])), "\n", "\n> "))
	case kind == "rich_text_section":
		r.line(r.inline(v["elements"]))
	case isTable:
		r.table(rows)
	default:
		for _, k := range inOrder {
			if v[k] != nil {
				r.node(v[k])
			}
		}
	}
}

func (r *textReader) list(v map[string]any) {
	items, _ := v["elements"].([]any)
	depth, _ := v["indent"].(float64)
	first, _ := v["offset"].(float64)
	var lines []string
	for i, item := range items {
		mark := "- "
		if v["style"] == "ordered" {
			mark = strconv.Itoa(int(first)+i+1) + ". "
		}
		lines = append(lines, strings.Repeat("  ", int(max(0, min(depth, 8))))+mark+strings.TrimSpace(r.inline(item)))
	}
	r.line(strings.Join(lines, "\n"))
}

func (r *textReader) table(rows []any) {
	for i, row := range rows {
		var all []string
		cells, _ := row.([]any)
		for _, c := range cells {
			all = append(all, strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.TrimSpace(r.inline(c))))
		}
		if len(all) == 0 {
			continue
		}
		r.line("| " + strings.Join(all, " | ") + " |")
		if i == 0 {
			r.line("|" + strings.Repeat(" --- |", len(all)))
		}
	}
}

func boldLine(s string) string {
	if s = strings.TrimSpace(s); s != "" {
		s = "**" + s + "**"
	}
	return s
}

// fenced is code that no line of its own can end.
func fenced(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Trim(code, "\n") + "\n" + fence
}

// inline is rich text in one line. https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#element-types
func (r *textReader) inline(v any) string {
	if list, ok := v.([]any); ok {
		var line strings.Builder
		for _, e := range list {
			line.WriteString(r.inline(e))
		}
		return line.String()
	}
	element, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	of := func(k string) string { s, _ := element[k].(string); return s }
	switch of("type") {
	case "user":
		return "@" + cmp.Or(r.name(of("user_id")), of("user_id"))
	case "usergroup":
		return "@" + of("usergroup_id")
	case "broadcast":
		return "@" + of("range")
	case "channel":
		return "#" + of("channel_id")
	case "emoji":
		return ":" + of("name") + ":"
	case "link":
		return spelled(of("url")+"|"+of("text"), r.name)
	case "date":
		return of("fallback")
	case "raw_number":
		n, _ := json.Marshal(element["value"])
		return cmp.Or(of("text"), string(n))
	}
	words := cmp.Or(of("text"), r.inline(element["elements"]))
	if style, _ := element["style"].(map[string]any); style["code"] == true {
		return "`" + words + "`"
	}
	return words
}

// Quotes are a message's blocks and attachments, without what its text says already. name is what a user is called, or "".
func (m Message) Quotes(name func(string) string) (all []chat.Quote) {
	quote := func(who string, read func(*textReader)) {
		r := &textReader{name: name}
		read(r)
		if text := r.text(); !says(PlainText(string(m.Text), name), text) {
			all = append(all, chat.Quote{Name: surface.Shortened(who, 100), Text: surface.CutText(text, surface.MaxQuoted)})
		}
	}
	quote("a block of this message", func(r *textReader) { r.blocks(m.Blocks, m.Bot == "" && m.Text != "") })
	for _, x := range m.Attachments {
		who := "an attachment of this message"
		if x.Share || x.Author != "" {
			who = string(cmp.Or(x.Author, "somebody, forwarded"))
		}
		quote(who, x.read)
	}
	return all
}

func (x attachment) read(r *textReader) {
	r.markup(x.Pretext)
	r.line(titled(PlainText(string(x.Title), r.name), string(x.Link)))
	r.markup(x.Text)
	for _, f := range x.Fields {
		r.line(strings.Trim(PlainText(string(f.Title+": "+f.Value), r.name), ": "))
	}
	r.blocks(x.Blocks, false)
	if x.Text == "" {
		for _, m := range x.Messages {
			r.blocks(m.Message.Blocks, false)
		}
	}
	if r.text() == "" && x.Fallback != noPreview {
		r.markup(x.Fallback)
	}
	if x.Image != "" {
		r.line("[picture: " + surface.Shortened(string(x.Image), 200) + "]")
	}
	r.markup(x.Footer)
	r.line(surface.WithFiles("", names(x.Files)))
}

func titled(title, link string) string {
	if title == "" || link == "" {
		return title
	}
	return title + " (" + link + ")"
}

// says reports whether text has all the words of other, in their order.
func says(text, other string) bool {
	letters := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "")
	}
	return strings.Contains(letters(text), letters(other))
}

// Attached are the files that the message's author put on it.
func (m Message) Attached() (files []chat.File) {
	for _, f := range m.Files {
		files = append(files, chat.File{Name: string(cmp.Or(f.Name, f.Title)), Type: string(f.Type), Size: f.Size, Handle: string(f.ID)})
	}
	return files
}

func names(files []file) (all []string) {
	for _, f := range files {
		all = append(all, surface.SayFile(string(cmp.Or(f.Name, f.Title)), f.Size))
	}
	return all
}

// quotes reports whether a user is mentioned in what the message quotes.
func (m Message) quotes(user string) bool {
	raw, _ := json.Marshal(m.Attachments)
	return bytes.Contains(raw, []byte(user))
}

// AllText is all that a message says, for whoever was not asked by it.
func (m Message) AllText(name func(string) string) string {
	parts := []string{PlainText(string(m.Text), name)}
	for _, q := range m.Quotes(name) {
		parts = append(parts, q.Text)
	}
	return strings.TrimSpace(surface.WithFiles(strings.TrimSpace(strings.Join(parts, "\n")), names(m.Files)))
}

// WorthQuoting picks what is quoted: the thread's first message, which says what it is about, and the newest of the others, all in
// their order. left is how many were left out between.
func WorthQuoting(msgs []Message, me Self, since, before string) (worth []Message, left int) {
	for _, m := range msgs {
		speech := (m.human() || m.Subtype == "bot_message") && !m.bySlack()
		if !m.ours(me) && speech && OlderThan(since, string(m.TS)) && OlderThan(string(m.TS), before) {
			worth = append(worth, m)
		}
	}
	slices.SortStableFunc(worth, func(x, y Message) int { return CompareTimestamps(string(x.TS), string(y.TS)) })
	if len(worth) > surface.MaxQuotes {
		left = len(worth) - surface.MaxQuotes
		worth = slices.Concat(worth[:1], worth[left+1:])
	}
	return worth, left
}

func OlderThan(ts, than string) bool { return CompareTimestamps(ts, than) < 0 }

// CompareTimestamps orders message timestamps: seconds, a dot, six digits.
func CompareTimestamps(a, b string) int {
	as, af, _ := strings.Cut(a, ".")
	bs, bf, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(as, bs), cmp.Compare(af, bf))
}

// entities are the only three that Slack escapes. https://docs.slack.dev/messaging/formatting-message-text/#escaping
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

var markup = regexp.MustCompile(`<[^>]*>|&(?:lt|gt|amp);`)

// PlainText is a message's text as a person sees it: mentions, channels and links written out, entities decoded. name is what
// a user is called, or "". https://docs.slack.dev/messaging/formatting-message-text/#advanced
func PlainText(text string, name func(user string) string) string {
	return strings.TrimSpace(markup.ReplaceAllStringFunc(text, func(s string) string {
		if inside, ok := strings.CutPrefix(s, "<"); ok {
			return spelled(strings.TrimSuffix(inside, ">"), name)
		}
		return entities.Replace(s)
	}))
}

func spelled(s string, name func(string) string) string {
	what, label, _ := strings.Cut(s, "|")
	what, label = entities.Replace(what), entities.Replace(label)
	switch {
	case strings.HasPrefix(what, "@"):
		return "@" + strings.TrimPrefix(cmp.Or(name(what[1:]), label, what[1:]), "@")
	case strings.HasPrefix(what, "#"):
		return "#" + cmp.Or(label, what[1:])
	case strings.HasPrefix(what, "!subteam^"):
		return "@" + strings.TrimPrefix(cmp.Or(label, what[len("!subteam^"):]), "@")
	case strings.HasPrefix(what, "!date^"):
		return label
	case strings.HasPrefix(what, "!"):
		return "@" + what[1:]
	case "mailto:"+label == what || "tel:"+label == what:
		return label
	case label == "" || label == what || "http://"+label == what || "https://"+label == what: // written without the scheme
		return what
	}
	return label + " (" + what + ")"
}

// WithoutMention is the text without the mention of user that it begins with, as "@nod: do this" does.
func WithoutMention(text, user string) string {
	return regexp.MustCompile(`^(?:\s*<@`+regexp.QuoteMeta(user)+`(?:\|[^>]*)?>[ ,:]*)+`).ReplaceAllString(text, "")
}
