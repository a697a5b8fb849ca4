package openai

import (
	"encoding/json"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/nodhq/nod/core/text"
)

// schema makes a tool's input schema acceptable to models' services without changing what it means: arguments are
// always an object, so a missing or wider top-level type becomes "object", and properties are named even when there are none.
// Everything else stays as the server gave it, bit for bit.
func schema(raw json.RawMessage) json.RawMessage {
	if !gjson.ValidBytes(raw) || !gjson.ParseBytes(raw).IsObject() {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	top := gjson.ParseBytes(raw)
	if top.Get("type").String() != "object" {
		raw = set(raw, "type", `"object"`)
	}
	if !top.Get("properties").IsObject() {
		raw = set(raw, "properties", `{}`)
	}
	return raw
}

func set(raw []byte, key, value string) []byte {
	out, err := sjson.SetRawBytes(raw, key, []byte(value))
	if err != nil {
		return raw
	}
	return out
}

// combinators are refused at the top level by services that are strict about schemas.
var combinators = []string{"anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else"}

// simpler is schema for a service that refused it: the combinators move into the description, as words. The
// arguments are checked against the whole schema before anybody is asked, so nothing is lost but a hint.
func simpler(raw json.RawMessage, description string) (json.RawMessage, string) {
	top := gjson.ParseBytes(raw)
	moved := []byte(`{}`)
	for _, key := range combinators {
		v := top.Get(key)
		if !v.Exists() {
			continue
		}
		moved = set(moved, key, v.Raw)
		if out, err := sjson.DeleteBytes(raw, key); err == nil {
			raw = out
		}
	}
	const longest = 1024 // of a description: what the strictest service takes
	if len(moved) > 2 {
		if rule := "\nThe arguments must also satisfy this JSON Schema: " + string(moved); len(rule) < longest/2 {
			return raw, clip(description, longest-len(rule)) + rule
		}
	}
	return raw, clip(description, longest)
}

// clip cuts a text to n bytes at a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	return text.HeadBytes(s, max(n-len(more), 0)) + more
}
