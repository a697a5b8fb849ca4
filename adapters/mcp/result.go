package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// readResult makes the one result of a call from the raw result of tools/call, whatever it holds. Text is
// joined; what is no text is described; structured content is given as its JSON where the text does not say the same.
// lacks is what the tool asked for and did not get.
func readResult(raw json.RawMessage, lacks string) turn.Result {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return turn.Result{Text: "The tool answered, but not with a result that can be read.", IsError: true}
	}
	if stringOf(m["resultType"]) == "input_required" {
		return turn.Result{Text: fmt.Sprintf("The tool stopped to ask for %s. It did not get it, and did not finish.", cmp.Or(lacks, "more input")), IsError: true}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(m["content"], &items) // no content is no text
	var parts []string
	var texts []string
	for _, item := range items {
		part, isText := readContent(item)
		if parts = append(parts, part); isText {
			texts = append(texts, part)
		}
	}
	r := turn.Result{IsError: string(bytes.TrimSpace(m["isError"])) == "true"}
	structured := m["structuredContent"]
	if absent(structured) {
		structured = nil
	}
	if structured != nil && !repeated(structured, texts) {
		parts = append(parts, string(dataless(structured)))
	}
	r.Text, r.Omitted = shorten(strings.Join(parts, "\n"), maxResult)
	if len(structured) <= maxKept {
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
	switch kind := stringOf(c["type"]); kind {
	case "text":
		return stringOf(c["text"]), true
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %s bytes]", kind, mimeType(c), text.Number(decoded(stringOf(c["data"])))), false
	case "resource_link":
		return fmt.Sprintf("[link %s %s, %s]", oneline.Brief(stringOf(c["name"]), 100), oneline.Brief(stringOf(c["uri"]), 500), mimeType(c)), false
	case "resource":
		var res map[string]json.RawMessage
		_ = json.Unmarshal(c["resource"], &res)
		uri := oneline.Brief(stringOf(res["uri"]), 500)
		if body := res["text"]; !absent(body) {
			t := stringOf(body)
			return fmt.Sprintf("[resource %s %s, %s bytes]\n%s", uri, mimeType(res), text.Number(len(t)), t), true
		}
		return fmt.Sprintf("[resource %s %s, %s bytes]", uri, mimeType(res), text.Number(decoded(stringOf(res["blob"])))), false
	default:
		return fmt.Sprintf("[content of unknown type %q]", oneline.Brief(kind, 40)), false
	}
}

// dataless is JSON with images and other data in it described, as readContent describes them. What cannot be read
// stays as it is.
func dataless(raw json.RawMessage) json.RawMessage {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return raw
	}
	clean, found := described(doc, "data", "")
	if !found {
		return raw // in the server's own writing
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // what stands there is for reading
	if e.Encode(clean) != nil {
		return raw
	}
	return bytes.TrimSpace(b.Bytes())
}

// described replaces the data in v, and reports whether there was any. kind and mime are what the object around it says it is.
func described(v any, kind, mime string) (_ any, found bool) {
	switch v := v.(type) {
	case string:
		body := v
		if head, data, ok := strings.Cut(v, ";base64,"); ok && strings.HasPrefix(head, "data:") {
			mime, body = strings.TrimPrefix(head, "data:"), data
		}
		if len(body) < leastData || strings.Trim(strings.TrimRight(body, "="), base64Letters) != "" {
			return v, false
		}
		return "[" + strings.Join(strings.Fields(kind+" "+oneline.Brief(mime, 100)), " ") + ", " + text.Number(decoded(body)) + " bytes]", true
	case []any:
		for i, e := range v {
			x, f := described(e, kind, mime)
			v[i], found = x, found || f
		}
	case map[string]any:
		if t, _ := v["type"].(string); t == "image" || t == "audio" {
			kind = t
		}
		if m, _ := v["mimeType"].(string); m != "" {
			mime = m
		}
		for name, e := range v {
			x, f := described(e, kind, mime)
			v[name], found = x, found || f
		}
	}
	return v, found
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"

// repeated reports whether one of the texts says the same as the structured content, or as the one result that is wrapped
// in it: most servers give both.
func repeated(structured json.RawMessage, texts []string) bool {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(structured))
	if err != nil {
		return false
	}
	same := []any{doc}
	if m, ok := doc.(map[string]any); ok && len(m) == 1 && m["result"] != nil {
		same = append(same, m["result"])
	}
	return slices.ContainsFunc(texts, func(t string) bool {
		read, err := jsonschema.UnmarshalJSON(strings.NewReader(t))
		return slices.ContainsFunc(same, func(v any) bool { return v == any(t) || err == nil && reflect.DeepEqual(v, read) })
	})
}

func mimeType(c map[string]json.RawMessage) string {
	if m := oneline.Brief(stringOf(c["mimeType"]), 100); m != "" {
		return m
	}
	return "of unknown type"
}

// decoded is the length of base64 data once decoded, without decoding it.
func decoded(s string) int { return len(strings.TrimRight(s, "=")) * 3 / 4 }

// shorten keeps the head and the tail of a text of more than so many characters, and says how many it left out; omitted is
// that in bytes.
func shorten(s string, most int) (short string, omitted int) {
	all := utf8.RuneCountInString(s)
	if all <= most {
		return s, 0
	}
	head, tail := 0, len(s)
	for range most * 3 / 4 {
		_, n := utf8.DecodeRuneInString(s[head:])
		head += n
	}
	for range most / 4 {
		_, n := utf8.DecodeLastRuneInString(s[:tail])
		tail -= n
	}
	return s[:head] + fmt.Sprintf("\n[cut: %s characters left out]\n", text.Number(all-most*3/4-most/4)) + s[tail:], tail - head
}
