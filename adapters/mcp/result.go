package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/turn"
)

// readResult makes the one result of a call from the raw result of tools/call, whatever it holds. Text is
// joined; what is no text is described; structured content that stands alone is given as its JSON.
// lacks is what the tool asked for and did not get.
func readResult(raw json.RawMessage, lacks string) turn.Result {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return turn.Result{Text: "The tool answered, but not with a result that can be read.", IsError: true}
	}
	if text(m["resultType"]) == "input_required" {
		return turn.Result{Text: fmt.Sprintf("The tool stopped to ask for %s. It did not get it, and did not finish.", cmp.Or(lacks, "more input")), IsError: true}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(m["content"], &items) // no content is no text
	var parts []string
	words := false
	for _, item := range items {
		part, isText := readContent(item)
		parts, words = append(parts, part), words || isText
	}
	r := turn.Result{IsError: string(bytes.TrimSpace(m["isError"])) == "true"}
	structured := m["structuredContent"]
	if absent(structured) {
		structured = nil
	}
	if structured != nil && !words {
		parts = append(parts, string(structured))
	}
	r.Text, r.Omitted = shorten(strings.Join(parts, "\n"), maxResult)
	if len(structured) <= maxResult {
		r.Structured = structured
	}
	if r.Text == "" {
		r.Text = "[no output]"
	}
	return r
}

// readContent is one content item as text, and whether it was text.
func readContent(raw json.RawMessage) (string, bool) {
	var c map[string]json.RawMessage
	if json.Unmarshal(raw, &c) != nil {
		return "[unreadable content]", false
	}
	switch kind := text(c["type"]); kind {
	case "text":
		return text(c["text"]), true
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %s bytes]", kind, mimeType(c), count(decoded(c["data"]))), false
	case "resource_link":
		return fmt.Sprintf("[link %s %s, %s]", brief(text(c["name"]), 100), brief(text(c["uri"]), 500), mimeType(c)), false
	case "resource":
		var res map[string]json.RawMessage
		_ = json.Unmarshal(c["resource"], &res)
		uri := brief(text(res["uri"]), 500)
		if body := res["text"]; !absent(body) {
			t := text(body)
			return fmt.Sprintf("[resource %s %s, %s bytes]\n%s", uri, mimeType(res), count(len(t)), t), true
		}
		return fmt.Sprintf("[resource %s %s, %s bytes]", uri, mimeType(res), count(decoded(res["blob"]))), false
	default:
		return fmt.Sprintf("[content of unknown type %q]", brief(kind, 40)), false
	}
}

func mimeType(c map[string]json.RawMessage) string {
	if m := brief(text(c["mimeType"]), 100); m != "" {
		return m
	}
	return "of unknown type"
}

// decoded is the length of base64 data once decoded, without decoding it.
func decoded(raw json.RawMessage) int {
	s := strings.TrimRight(text(raw), "=")
	return len(s) * 3 / 4
}

// shorten keeps the head and the tail of a text that is too long, and says how many bytes it left out.
func shorten(s string, most int) (string, int) {
	if len(s) <= most {
		return s, 0
	}
	head, tail := most*3/4, len(s)-most/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	left := tail - head
	return s[:head] + fmt.Sprintf("\n[… %s bytes left out …]\n", count(left)) + s[tail:], left
}
