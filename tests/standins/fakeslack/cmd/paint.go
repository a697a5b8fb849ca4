package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// painter turns blocks into HTML that looks roughly as Slack shows them.
type painter struct {
	s     *fakeslack.Server
	names map[string]string // of people

	buttons []fakeslack.Button // of the message at hand, in the order they stand
	ts      string
}

var md = goldmark.New(goldmark.WithExtensions(extension.GFM))

func (p painter) message(ts, user string, v fakeslack.Version, bot bool) message {
	name := p.names[user]
	out := message{TS: ts, Name: name, Initial: strings.ToUpper(name[:1]), Bot: bot, Colour: int(user[len(user)-1]) % 5}
	if sec, _, ok := strings.Cut(ts, "."); ok {
		n, _ := strconv.ParseInt(sec, 10, 64) // a timestamp of the server's
		out.Time = time.Unix(n, 0).Format("15:04")
	}
	p.ts = ts
	if v.Blocks == nil {
		out.Body = template.HTML("<p>" + p.mrkdwn(v.Text) + "</p>")
		return out
	}
	buttons := p.s.Buttons("", "")
	for _, c := range p.s.Channels() {
		if found := p.s.Buttons(c.ID, ts); found != nil {
			buttons = found
		}
	}
	out.Body = p.blocks(v.Blocks, buttons)
	return out
}

func (p painter) blocks(raw json.RawMessage, buttons []fakeslack.Button) template.HTML {
	var list []any
	_ = json.Unmarshal(raw, &list) // it was checked when it came in
	p.buttons = buttons
	var b strings.Builder
	for _, x := range list {
		b.WriteString(p.block(x))
	}
	return template.HTML(b.String())
}

// get digs for a string.
func get(v any, path ...string) string {
	for _, k := range path {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

func list(v any, k string) []any {
	m, _ := v.(map[string]any)
	l, _ := m[k].([]any)
	return l
}

func (p *painter) text(v any) string {
	if get(v, "type") == "mrkdwn" {
		return p.mrkdwn(get(v, "text"))
	}
	return strings.ReplaceAll(emoji(html.EscapeString(get(v, "text"))), "\n", "<br>")
}

func (p *painter) each(of []any, f func(any) string) string {
	var b strings.Builder
	for _, x := range of {
		b.WriteString(f(x))
	}
	return b.String()
}

func (p *painter) block(v any) string {
	m, _ := v.(map[string]any)
	switch get(v, "type") {
	case "divider":
		return "<hr>"
	case "header":
		return "<h3>" + p.text(m["text"]) + "</h3>"
	case "markdown":
		var b bytes.Buffer
		if md.Convert([]byte(get(v, "text")), &b) != nil {
			return html.EscapeString(get(v, "text"))
		}
		return `<div class="md">` + b.String() + `</div>`
	case "section":
		out := `<div class="section"><div>`
		if m["text"] != nil {
			out += "<p>" + p.text(m["text"]) + "</p>"
		}
		if f := list(v, "fields"); len(f) > 0 {
			out += `<div class="fields">` + p.each(f, func(x any) string { return "<p>" + p.text(x) + "</p>" }) + `</div>`
		}
		return out + "</div>" + p.element(m["accessory"]) + "</div>"
	case "actions", "context_actions":
		return `<div class="actions">` + p.each(list(v, "elements"), p.element) + `</div>`
	case "context":
		return `<div class="context">` + p.each(list(v, "elements"), func(x any) string {
			if get(x, "type") == "image" {
				return `<i class="pic" title="` + html.EscapeString(get(x, "alt_text")) + `"></i> ` // it is not fetched
			}
			return "<span>" + p.text(x) + "</span> "
		}) + `</div>`
	case "rich_text":
		return p.rich(v)
	case "plan":
		return `<details class="plan" open><summary>` + html.EscapeString(get(v, "title")) + `</summary>` + p.each(list(v, "tasks"), p.block) + `</details>`
	case "task_card":
		icon := map[string]string{"complete": "✓", "error": "✕", "in_progress": "", "pending": ""}[get(v, "status")]
		out := `<div class="task ` + html.EscapeString(get(v, "status")) + `"><i>` + icon + `</i><div><b>` + emoji(html.EscapeString(get(v, "title"))) + `</b>`
		for _, k := range []string{"details", "output"} {
			if m[k] != nil {
				out += `<div class="out">` + p.rich(m[k]) + `</div>`
			}
		}
		return out + "</div></div>"
	case "container":
		open := " open"
		if c, _ := m["default_collapsed"].(bool); c {
			open = ""
		}
		title := p.text(m["title"])
		if m["subtitle"] != nil {
			title += ` <small>` + p.text(m["subtitle"]) + `</small>`
		}
		return `<details class="container"` + open + `><summary>` + title + `</summary>` + p.each(list(v, "child_blocks"), p.block) + `</details>`
	case "card":
		out := `<div class="card">`
		for _, k := range []string{"title", "subtitle", "body", "subtext"} {
			if m[k] != nil {
				out += `<div class="` + k + `">` + p.text(m[k]) + `</div>`
			}
		}
		return out + `<div class="actions">` + p.each(list(v, "actions"), p.element) + `</div></div>`
	case "alert":
		return `<div class="alert ` + html.EscapeString(get(v, "level")) + `">` + p.text(m["text"]) + `</div>`
	case "table":
		return "<table>" + p.each(list(v, "rows"), func(r any) string {
			cells, _ := r.([]any)
			return "<tr>" + p.each(cells, func(c any) string {
				if get(c, "type") == "rich_text" {
					return "<td>" + p.rich(c) + "</td>"
				}
				return "<td>" + html.EscapeString(get(c, "text")) + "</td>"
			}) + "</tr>"
		}) + "</table>"
	case "input":
		return p.input(v)
	}
	return `<div class="context">[` + html.EscapeString(get(v, "type")) + `]</div>`
}

func (p *painter) rich(v any) string {
	return p.each(list(v, "elements"), func(x any) string {
		inner := func() string { return p.each(list(x, "elements"), p.leaf) }
		switch get(x, "type") {
		case "rich_text_preformatted":
			return "<pre>" + inner() + "</pre>"
		case "rich_text_quote":
			return "<blockquote>" + inner() + "</blockquote>"
		case "rich_text_list":
			return "<ul>" + p.each(list(x, "elements"), func(i any) string { return "<li>" + p.each(list(i, "elements"), p.leaf) + "</li>" }) + "</ul>"
		}
		return "<p>" + inner() + "</p>"
	})
}

func (p *painter) leaf(v any) string {
	out := strings.ReplaceAll(html.EscapeString(get(v, "text")), "\n", "<br>")
	m, _ := v.(map[string]any)
	switch get(v, "type") {
	case "link":
		return `<a>` + html.EscapeString(get(v, "text")+map[bool]string{true: get(v, "url")}[get(v, "text") == ""]) + `</a>`
	case "user":
		return p.person(get(v, "user_id"))
	case "emoji":
		return emoji(":" + html.EscapeString(get(v, "name")) + ":")
	case "date":
		return html.EscapeString(get(v, "fallback"))
	}
	style, _ := m["style"].(map[string]any)
	for k, tag := range map[string]string{"bold": "b", "italic": "em", "strike": "s", "code": "code"} {
		if on, _ := style[k].(bool); on {
			out = "<" + tag + ">" + out + "</" + tag + ">"
		}
	}
	return emoji(out)
}

// element draws a button or a menu; pressing it posts what it is.
func (p *painter) element(v any) string {
	kind := get(v, "type")
	switch {
	case v == nil || len(p.buttons) == 0:
		return ""
	case kind == "image":
		return html.EscapeString(get(v, "alt_text"))
	}
	menu, mine := p.buttons[0].Menu, []fakeslack.Button{}
	for len(p.buttons) > 0 && p.buttons[0].Menu == menu {
		mine, p.buttons = append(mine, p.buttons[0]), p.buttons[1:]
	}
	out := ""
	for _, b := range mine {
		out += fmt.Sprintf(`<button form="click" name="what" class="%s" data-ts="%s" value="%s">%s</button>`, html.EscapeString(b.Style), p.ts,
			html.EscapeString(b.BlockID+"/"+b.ActionID+"="+b.Value), emoji(html.EscapeString(b.Text)))
	}
	switch kind {
	case "overflow":
		return `<details class="menu"><summary aria-label="More">⋯</summary><div>` + out + `</div></details>`
	case "static_select":
		return `<details class="menu"><summary>` + html.EscapeString(get(v, "placeholder", "text")) + ` ▾</summary><div>` + out + `</div></details>`
	case "checkboxes":
		return `<span class="checks">☐ ` + out + `</span>`
	}
	return out
}

func (p *painter) input(v any) string {
	m, _ := v.(map[string]any)
	e := m["element"]
	if len(p.buttons) > 0 { // its element is among them
		menu := p.buttons[0].Menu
		for len(p.buttons) > 0 && p.buttons[0].Menu == menu {
			p.buttons = p.buttons[1:]
		}
	}
	id := html.EscapeString("in:" + get(v, "block_id"))
	if get(e, "type") == "radio_buttons" {
		return `<div><b>` + p.text(m["label"]) + `</b>` + p.each(list(e, "options"), func(o any) string {
			return `<label><input type="radio" form="submit" name="` + id + `" value="` + html.EscapeString(get(o, "value")) + `"> ` + emoji(html.EscapeString(get(o, "text", "text"))) + `</label>`
		}) + `</div>`
	}
	return `<label><b>` + p.text(m["label"]) + `</b><textarea form="submit" name="` + id + `" rows="` + map[bool]string{true: "8", false: "2"}[len(get(e, "initial_value")) > 80] +
		`" placeholder="` + html.EscapeString(get(e, "placeholder", "text")) + `">` + html.EscapeString(get(e, "initial_value")) + `</textarea><small>` + p.text(m["hint"]) + `</small></label>`
}

func (p *painter) person(id string) string {
	name := p.names[id]
	if name == "" {
		name = id
	}
	return `<span class="at">@` + html.EscapeString(name) + `</span>`
}

var (
	fence  = regexp.MustCompile("(?s)```\n?(.*?)\n?```")
	code   = regexp.MustCompile("`([^`\n]+)`")
	bold   = regexp.MustCompile(`(^|[\s(>])\*([^*\n]+)\*`)
	italic = regexp.MustCompile(`(^|[\s(>])_([^_\n]+)_`)
	strike = regexp.MustCompile(`(^|[\s(>])~([^~\n]+)~`)
	token  = regexp.MustCompile(`<([^<>]+)>`)
	colons = regexp.MustCompile(`:[a-z_]+:`)
)

// mrkdwn renders Slack's own markup.
func (p *painter) mrkdwn(text string) string {
	var kept []string // pieces that are HTML already
	keep := func(s string) string {
		kept = append(kept, s)
		return fmt.Sprintf("\x00%d\x00", len(kept)-1)
	}
	plain := func(s string) string {
		return html.EscapeString(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s))
	}
	text = fence.ReplaceAllStringFunc(text, func(s string) string { return keep("<pre>" + plain(fence.FindStringSubmatch(s)[1]) + "</pre>") })
	text = code.ReplaceAllStringFunc(text, func(s string) string { return keep("<code>" + plain(s[1:len(s)-1]) + "</code>") })
	text = token.ReplaceAllStringFunc(text, func(s string) string {
		what, label, _ := strings.Cut(s[1:len(s)-1], "|")
		switch {
		case strings.HasPrefix(what, "@"):
			return keep(p.person(what[1:]))
		case strings.HasPrefix(what, "!date^"):
			return keep(html.EscapeString(label))
		case strings.HasPrefix(what, "!"), strings.HasPrefix(what, "#"):
			return keep(`<span class="at">@` + html.EscapeString(what[1:]) + `</span>`)
		}
		if label == "" {
			label = what
		}
		return keep(`<a title="` + html.EscapeString(what) + `">` + plain(label) + `</a>`)
	})
	text = plain(text)
	text = bold.ReplaceAllString(text, "$1<b>$2</b>")
	text = italic.ReplaceAllString(text, "$1<em>$2</em>")
	text = strike.ReplaceAllString(text, "$1<s>$2</s>")
	text = strings.ReplaceAll(emoji(text), "\n", "<br>")
	for i := len(kept) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("\x00%d\x00", i), kept[i])
	}
	return text
}

var pictures = map[string]string{":warning:": "⚠️", ":white_check_mark:": "✅", ":x:": "❌", ":hourglass:": "⌛", ":lock:": "🔒", ":question:": "❓", ":mag:": "🔍", ":gear:": "⚙️", ":no_entry:": "⛔"}

func emoji(s string) string {
	return colons.ReplaceAllStringFunc(s, func(c string) string {
		if e := pictures[c]; e != "" {
			return e
		}
		return c
	})
}
