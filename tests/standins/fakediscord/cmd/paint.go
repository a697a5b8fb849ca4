package main

import (
	"bytes"
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
	if left := time.Until(at).Round(time.Second); left > 0 {
		return "in " + left.String()
	}
	return time.Since(at).Round(time.Second).String() + " ago"
}

// paint draws the texts of a message: more or less as the client does. Raw HTML is left out by goldmark.
func paint(v fakediscord.Version, names map[string]string) template.HTML {
	v.Components = without(v.Components)
	text := mention.ReplaceAllStringFunc(v.Text(), func(m string) string {
		return "@" + names[mention.FindStringSubmatch(m)[1]]
	})
	text = moment.ReplaceAllStringFunc(text, timeOf)
	var out bytes.Buffer
	var plain []string
	flush := func() {
		_ = markdown.Convert([]byte(strings.Join(plain, "\n")), &out) // into memory
		plain = nil
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if line == "---" && !fenced { // a separator, or what only other Markdown takes for a heading
			flush()
			out.WriteString("<hr>")
			continue
		}
		sub, small := strings.CutPrefix(line, "-# ")
		if fenced || !small {
			plain = append(plain, line)
			continue
		}
		flush()
		out.WriteString("<small>")
		_ = markdown.Convert([]byte(sub), &out)
		out.WriteString("</small>")
	}
	flush()
	return template.HTML(out.String()) //nolint:gosec // goldmark escapes all that is not Markdown
}

// without is a list of components without the rows of buttons and selects.
func without(list []any) []any {
	var out []any
	for _, e := range list {
		c, _ := e.(map[string]any)
		if c["type"] == 1 {
			continue
		}
		if inner, ok := c["components"].([]any); ok {
			copied := map[string]any{}
			for k, v := range c {
				copied[k] = v
			}
			copied["components"] = without(inner)
			e = copied
		}
		out = append(out, e)
	}
	return out
}
