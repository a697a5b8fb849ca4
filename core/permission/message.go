package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// missing stands in a message where the arguments hold nothing (R34).
const missing = "unknown"

// Message fills a confirmation message's template from a call's canonical arguments: {{.args.target}}, nested as
// {{.args.mail.to}}, an element of a list as {{.args.files.0}}. A missing value reads "unknown". Values come in as plain
// text and are never expanded again; the caller escapes the result. The message of an empty template is empty.
func Message(template string, args json.RawMessage) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(template, "{{")
		b.WriteString(before)
		if !open {
			return b.String()
		}
		field, after, closed := strings.Cut(rest, "}}")
		if !closed {
			b.WriteString("{{" + rest)
			return b.String()
		}
		b.WriteString(fill(field, args))
		template = after
	}
}

// CheckMessage says what is wrong with a template, for whoever writes configuration.
func CheckMessage(template string) error {
	for {
		_, rest, open := strings.Cut(template, "{{")
		if !open {
			return nil
		}
		field, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return errors.New(`message: a "{{" has no "}}"`)
		}
		if _, ok := argPath(field); !ok {
			return fmt.Errorf("message: {{%s}} is not understood: write {{.args.name}}", field)
		}
		template = after
	}
}

func argPath(field string) ([]string, bool) {
	path, ok := strings.CutPrefix(strings.TrimSpace(field), ".args.")
	steps := strings.Split(path, ".")
	for _, s := range steps {
		ok = ok && s != ""
	}
	return steps, ok
}

func fill(field string, args json.RawMessage) string {
	path, ok := argPath(field)
	if !ok {
		return missing
	}
	v, ok := lookup(args, path)
	if !ok {
		return missing
	}
	var s string
	if v[0] == '"' && json.Unmarshal(v, &s) == nil && s != "" {
		return s
	}
	return string(v) // numbers keep their exact text; the empty string shows as ""
}

// lookup finds the value at a path of keys and list positions.
func lookup(v json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, step := range path {
		var fields map[string]json.RawMessage
		var items []json.RawMessage
		switch {
		case json.Unmarshal(v, &fields) == nil:
			v = fields[step] // nil where there is none, which nothing below takes for a value
		case json.Unmarshal(v, &items) == nil:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(items) {
				return nil, false
			}
			v = items[i]
		default:
			return nil, false
		}
	}
	return v, len(v) > 0
}
