package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// readResult makes the one result of a call from the raw result of tools/call. Text is joined, other content described, and structured
// content given as JSON where the text does not say the same. lacks is what the tool asked for and did not get.
func readResult(raw json.RawMessage, lacks string) turn.Result {
	var m object
	if json.Unmarshal(raw, &m) != nil {
		return turn.Result{Text: "The tool answered, but not with a result that can be read.", IsError: true}
	}
	switch kind := stringOf(m["resultType"]); {
	case kind == "input_required":
		return turn.Result{Text: fmt.Sprintf("The tool stopped to ask for %s. It did not get it, and did not finish.", cmp.Or(lacks, "more input")), IsError: true}
	case kind != "" && kind != "complete" && absent(m["content"]): // to MCP no result; older servers may mean something else by the word
		return turn.Result{Text: fmt.Sprintf("The tool answered with what this bot does not know (%s). It may have run, or may still run: do not repeat the call.",
			oneline.Brief(kind, 40)), IsError: true}
	}
	var items []json.RawMessage
	_ = json.Unmarshal(m["content"], &items) // no content is no text
	var parts, texts []string
	var pictures []*turn.Picture
	for _, item := range items {
		var c object
		_ = json.Unmarshal(item, &c) // nil: unreadable
		if p := readPicture(c); p != nil {
			pictures = append(pictures, p)
		}
		part, isText := readContent(c)
		if parts = append(parts, part); isText {
			texts = append(texts, part)
		}
	}
	r := turn.Result{Pictures: pictures, IsError: string(bytes.TrimSpace(m["isError"])) == "true"}
	structured := m["structuredContent"]
	if absent(structured) {
		structured = nil
	} else if !repeated(structured, texts) {
		parts = append(parts, string(dataless(structured)))
	}
	short, omitted := shorten(strings.Join(parts, "\n"), maxResult)
	r.Text, r.Omitted = cmp.Or(short, text.NoOutput), omitted
	if len(structured) <= maxKept {
		r.Structured = structured
	}
	return r
}

// readContent is one content item as text, and whether it was text.
func readContent(c object) (string, bool) {
	if c == nil {
		return "[unreadable content]", false
	}
	switch kind := stringOf(c["type"]); kind {
	case "text":
		return stringOf(c["text"]), true
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %s bytes]", kind, mimeType(c), text.Number(decoded(stringOf(c["data"])))), false
	case "resource_link":
		link := fmt.Sprintf("[link %s %s, %s]", oneline.Brief(stringOf(c["name"]), 100), oneline.Brief(stringOf(c["uri"]), 500), mimeType(c))
		return strings.TrimSpace(link + " " + oneline.Brief(stringOf(c["description"]), 500)), false // often all that a search says of what it found
	case "resource":
		res := resourceOf(c)
		uri, body := oneline.Brief(stringOf(res["uri"]), 500), stringOf(res["text"])
		blob, err := base64.StdEncoding.DecodeString(stringOf(res["blob"]))
		if len(blob) > 0 && err == nil && utf8.Valid(blob) && strings.HasPrefix(http.DetectContentType(blob), "text/") {
			body = string(blob) // some servers send every file as bytes
		}
		if body != "" {
			return fmt.Sprintf("[resource %s %s, %s bytes]\n%s", uri, mimeType(res), text.Number(len(body)), body), true
		}
		return fmt.Sprintf("[resource %s %s, %s bytes]", uri, mimeType(res), text.Number(decoded(stringOf(res["blob"])))), false
	default:
		return fmt.Sprintf("[content of unknown type %q]", oneline.Brief(kind, 40)), false
	}
}

func resourceOf(c object) (res object) {
	_ = json.Unmarshal(c["resource"], &res) // nil: none
	return res
}

// readPicture gives the bytes of an image, or of a file, that begin as a picture's do: what the server says of their type counts for nothing.
func readPicture(c object) *turn.Picture {
	encoded := c["data"]
	switch stringOf(c["type"]) {
	case "image":
	case "resource":
		encoded = resourceOf(c)["blob"]
	default:
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(stringOf(encoded))
	kind := http.DetectContentType(data)
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return nil
	}
	return &turn.Picture{Type: kind, Size: len(data), Data: data}
}

// dataless is JSON with images and other data in it described, as readContent describes them.
func dataless(raw json.RawMessage) json.RawMessage {
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(raw)) // it was JSON before
	clean, found := described(doc, "data", "")
	if !found {
		return raw // in the server's own writing
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // what stands there is for reading
	_ = e.Encode(clean)    // into memory
	return bytes.TrimSpace(b.Bytes())
}

// described replaces the data in v, and reports whether there was any. kind and mime are what the object around it says it is.
func described(v any, kind, mime string) (_ any, found bool) {
	switch v := v.(type) {
	case string:
		body := v
		head, data, _ := strings.Cut(v, ";base64,")
		if said, ok := strings.CutPrefix(head, "data:"); ok {
			mime, body = said, data
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

// repeated reports whether a text says the same as the structured content, or as the one result wrapped in it: most servers give both.
func repeated(structured json.RawMessage, texts []string) bool {
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(structured)) // it was JSON before
	same := []any{doc}
	if m, _ := doc.(map[string]any); len(m) == 1 && m["result"] != nil {
		same = append(same, m["result"])
	}
	return slices.ContainsFunc(texts, func(t string) bool {
		read, _ := jsonschema.UnmarshalJSON(strings.NewReader(t)) // nil, as none of them is: not JSON
		return slices.ContainsFunc(same, func(v any) bool { return v == any(t) || reflect.DeepEqual(v, read) })
	})
}

func mimeType(c object) string {
	return cmp.Or(oneline.Brief(stringOf(c["mimeType"]), 100), "of unknown type")
}

// decoded is the length of base64 data once decoded, without decoding it.
func decoded(s string) int { return len(strings.TrimRight(s, "=")) * 3 / 4 }

// shorten keeps the head and the tail of a text of more than so many characters, and says how many it left out; omitted is that in bytes.
func shorten(s string, most int) (short string, omitted int) {
	r := []rune(s)
	if len(r) <= most {
		return s, 0
	}
	head, tail := string(r[:most*3/4]), string(r[len(r)-most/4:])
	left := text.Number(len(r) - most*3/4 - most/4)
	return head + "\n[cut: " + left + " characters left out]\n" + tail, len(s) - len(head) - len(tail)
}
