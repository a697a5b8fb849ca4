package inbound

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What stands in a message beside what its author typed: blocks, and attachments, which hold the alerts of other programs, forwards, pasted
// tables and previews of links. All of it is somebody's words at best: it is quoted, and nothing in it calls the bot.

// attachment is https://docs.slack.dev/messaging/formatting-message-text/#attachments, and what Slack makes of a forward (is_share) or of a
// pasted table: an attachment of one table block, whose fallback says nothing.
type attachment struct {
	Share    bool                       `json:"is_share"`
	Author   LooseString                `json:"author_name"`
	Pretext  LooseString                `json:"pretext"`
	Title    LooseString                `json:"title"`
	Text     LooseString                `json:"text"`
	Fallback LooseString                `json:"fallback"`
	Fields   LooseList[attachmentField] `json:"fields"`
	Blocks   json.RawMessage            `json:"blocks"`
	Files    LooseList[file]            `json:"files"`
	Messages LooseList[struct {
		Message struct {
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	}] `json:"message_blocks"` // of a forward
}

type attachmentField struct {
	Title LooseString `json:"title"`
	Value LooseString `json:"value"`
}

// noPreview is the fallback of what Slack itself makes.
const noPreview = "[no preview available]"

// maxNodes is how much of a message's blocks is looked at.
const maxNodes = 4000

// textReader writes the text of blocks down, a line for what stands on a line.
type textReader struct {
	name func(user string) string
	left int // nodes that may still be looked at
	out  strings.Builder
}

func (r *textReader) line(s string) {
	if s = strings.TrimSpace(s); s != "" && r.out.Len() < surface.MaxQuoted {
		r.out.WriteString(s + "\n")
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
var inOrder = []string{"title", "subtitle", "text", "body", "fields", "elements", "rows", "child_blocks", "blocks", "tasks", "details", "output", "alt_text"}

func (r *textReader) node(v any) {
	if r.left--; r.left < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		r.line(entities.Replace(v))
	case []any:
		for _, e := range v {
			r.node(e)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		words, _ := v["text"].(string)
		rows, _ := v["rows"].([]any)
		switch {
		case kind == "actions" || kind == "input" || kind == "button":
		case (kind == "mrkdwn" || kind == "markdown") && words != "":
			r.markup(LooseString(words))
		case kind == "rich_text_section" || kind == "rich_text_preformatted" || kind == "rich_text_quote":
			r.line(r.inline(v["elements"]))
		case rows != nil:
			for _, row := range rows {
				cells, _ := row.([]any)
				all := make([]string, len(cells))
				for i, c := range cells {
					all[i] = strings.TrimSpace(r.inline(c))
				}
				r.line(strings.Join(all, " | "))
			}
		default:
			for _, k := range inOrder {
				if v[k] != nil {
					r.node(v[k])
				}
			}
		}
	}
}

// inline is rich text in one line. https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#element-types
func (r *textReader) inline(v any) string {
	if r.left--; r.left < 0 {
		return ""
	}
	var b strings.Builder
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			b.WriteString(r.inline(e))
		}
	case map[string]any:
		of := func(k string) string { s, _ := v[k].(string); return s }
		switch of("type") {
		case "user":
			b.WriteString("@" + cmp.Or(r.name(of("user_id")), of("user_id")))
		case "usergroup":
			b.WriteString("@" + of("usergroup_id"))
		case "broadcast":
			b.WriteString("@" + of("range"))
		case "channel":
			b.WriteString("#" + of("channel_id"))
		case "emoji":
			b.WriteString(":" + of("name") + ":")
		case "link":
			b.WriteString(spelled(of("url")+"|"+of("text"), r.name))
		case "date":
			b.WriteString(of("fallback"))
		case "raw_number":
			n, _ := json.Marshal(v["value"])
			b.WriteString(cmp.Or(of("text"), string(n)))
		default:
			b.WriteString(cmp.Or(of("text"), r.inline(v["elements"])))
		}
	}
	return b.String()
}

// Quotes are a message's blocks and attachments, without what its text says already. name is what a user is called, or "".
func (m Message) Quotes(name func(string) string) (all []chat.Quote) {
	left := maxNodes
	quote := func(who string, read func(*textReader)) {
		r := &textReader{name: name, left: left}
		read(r)
		left = r.left
		if text := r.text(); text != "" && !says(PlainText(string(m.Text), name), text) {
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
	r.markup(x.Title)
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
	r.line(surface.WithFiles("", names(x.Files)))
}

// says reports whether text has all the words of other, in their order.
func says(text, other string) bool {
	letters := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "")
	}
	return strings.Contains(letters(text), letters(other))
}

func (m Message) FileNames() []string { return names(m.Files) }

func names(files []file) (all []string) {
	for _, f := range files {
		all = append(all, string(cmp.Or(f.Name, "a file")))
	}
	return all
}

// quotes reports whether a user is mentioned in what the message quotes.
func (m Message) quotes(user string) bool {
	raw, _ := json.Marshal(m.Attachments)
	return strings.Contains(string(raw), user)
}

// AllText is all that a message says, for whoever was not asked by it.
func (m Message) AllText(name func(string) string) string {
	parts := []string{PlainText(string(m.Text), name)}
	for _, q := range m.Quotes(name) {
		parts = append(parts, q.Text)
	}
	return strings.TrimSpace(surface.WithFiles(strings.TrimSpace(strings.Join(parts, "\n")), m.FileNames()))
}

// WorthQuoting picks what is quoted: the thread's first message, which says what it is about, and the newest of the others, all in
// their order. left is how many were left out between.
func WorthQuoting(msgs []Message, me Self, since, before string) (kept []Message, left int) {
	for _, m := range msgs {
		speech := (m.human() || m.Subtype == "bot_message") && !m.bySlack()
		if !m.ours(me) && speech && OlderThan(since, string(m.TS)) && OlderThan(string(m.TS), before) {
			kept = append(kept, m)
		}
	}
	slices.SortStableFunc(kept, func(x, y Message) int { return CompareTimestamps(string(x.TS), string(y.TS)) })
	if len(kept) > surface.MaxQuotes {
		left = len(kept) - surface.MaxQuotes
		kept = slices.Concat(kept[:1], kept[left+1:])
	}
	return kept, left
}

func OlderThan(ts, than string) bool { return CompareTimestamps(ts, than) < 0 }

// CompareTimestamps orders message timestamps: seconds, a dot, six digits.
func CompareTimestamps(a, b string) int {
	as, af, _ := strings.Cut(a, ".")
	bs, bf, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(as, bs), cmp.Compare(af, bf))
}
