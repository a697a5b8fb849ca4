package main

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

var (
	markdown = goldmark.New(goldmark.WithRendererOptions(html.WithHardWraps())) // a line of theirs ends where it ends
	mention  = regexp.MustCompile(`<@!?(\d+)>`)
	moment   = regexp.MustCompile(`<t:(\d{1,11})(:[tTdDfFR])?>`)
)

// timeOf draws a timestamp: the client does so in the reader's own time.
func timeOf(m string) string {
	parts := moment.FindStringSubmatch(m)
	sec, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return m
	}
	at := time.Unix(sec, 0)
	if parts[2] != ":R" {
		return at.Format("15:04")
	}
	if left := time.Until(at); left > 0 {
		return "in " + about(left)
	}
	return about(time.Since(at)) + " ago"
}

// about is a duration as the client says it.
func about(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int(d.Round(unit.of) / unit.of); n == 1 {
			return "a " + unit.name
		} else if n > 1 {
			return strconv.Itoa(n) + " " + unit.name + "s"
		}
	}
	return "a second"
}

// paint draws a message: more or less as the client does, each part where it stands.
func paint(v fakediscord.Version, names map[string]string) template.HTML {
	var out bytes.Buffer
	words := func(md string) { paintText(&out, md, names) }
	words(v.Content)
	paintParts(&out, v.Components, words)
	for _, a := range v.Attachments {
		words("⎘ " + a.Name)
	}
	return template.HTML(out.String()) //nolint:gosec // goldmark escapes all that is not Markdown, the rest is escaped here
}

func paintParts(out *bytes.Buffer, parts []any, words func(string)) {
	for _, e := range parts {
		c, _ := e.(map[string]any)
		say := func(key string) string {
			s, _ := c[key].(string)
			return template.HTMLEscapeString(s)
		}
		inner, _ := c["components"].([]any)
		switch fmt.Sprint(c["type"]) {
		case "1":
			out.WriteString(`<div class="row">`)
			paintParts(out, inner, words)
			out.WriteString("</div>")
		case "2":
			disabled := ""
			if c["disabled"] == true || c["url"] != nil {
				disabled = " disabled"
			}
			fmt.Fprintf(out, `<button name="what" value="%s" class="s%v" title="%s"%s>%s</button>`, say("custom_id"), c["style"], say("url"), disabled, say("label"))
		case "3":
			fmt.Fprintf(out, `<details class="select"><summary>%s</summary>`, say("placeholder"))
			options, _ := c["options"].([]any)
			for _, o := range options {
				o, _ := o.(map[string]any)
				label, _ := o["label"].(string)
				value, _ := o["value"].(string)
				hint, _ := o["description"].(string)
				fmt.Fprintf(out, `<button name="what" value="%s">%s<i>%s</i></button>`, template.HTMLEscapeString(value), template.HTMLEscapeString(label), template.HTMLEscapeString(hint))
			}
			out.WriteString("</details>")
		case "10":
			md, _ := c["content"].(string)
			words(md)
		case "14":
			out.WriteString("<hr>")
		default:
			paintParts(out, inner, words)
			if b, ok := c["accessory"]; ok {
				paintParts(out, []any{b}, words)
			}
		}
	}
}

// paintText draws Markdown. Raw HTML is left out by goldmark.
func paintText(out *bytes.Buffer, text string, names map[string]string) {
	text = mention.ReplaceAllStringFunc(text, func(m string) string {
		return "@" + names[mention.FindStringSubmatch(m)[1]]
	})
	text = moment.ReplaceAllStringFunc(text, timeOf)
	var plain []string
	flush := func() {
		_ = markdown.Convert([]byte(strings.Join(plain, "\n")), out) // into memory
		plain = nil
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		sub, small := strings.CutPrefix(line, "-# ")
		if fenced || !small {
			plain = append(plain, line)
			continue
		}
		flush()
		out.WriteString("<small>")
		_ = markdown.Convert([]byte(sub), out)
		out.WriteString("</small>")
	}
	flush()
}
