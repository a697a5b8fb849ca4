package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
)

// check says what Slack would refuse of a message, before it is sent: an edit that fails would leave people with buttons that
// are out of date, or with none. It reads the JSON, not the types, and so is a second opinion on whatever made them.
func check(p payload) error { return book.verdict(messageOf(p.Text, rawJSON(p.Blocks))) }

// checkView does the same for a modal, and checkHome for a Home tab.
func checkView(v slack.ModalViewRequest) error { return book.verdict(decoded(rawJSON(v))) }

func checkHome(v slack.HomeTabViewRequest) error { return book.verdict(decoded(rawJSON(v))) }

// messageOf is a message as the rules see it; size is how many characters its blocks have.
func messageOf(text string, blocks []byte) map[string]any {
	blocks = bytes.TrimSpace(blocks)
	return map[string]any{"type": kindMessage, "text": text, "blocks": decoded(blocks), "size": surface.Width(string(blocks))}
}

func decoded(raw []byte) any {
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// The kinds of what a payload is; everything else is named by its "type".
const (
	kindMessage = "message"
	kindModal   = "modal"
	kindHome    = "home"
	kindOption  = "option"  // has no type of its own
	kindConfirm = "confirm" // neither

	whole = kindMessage + " " + kindModal + " " + kindHome
	views = kindModal + " " + kindHome
)

// rule is one thing that Slack refuses. bad says what is wrong, naming the field; empty: nothing.
type rule struct {
	name   string
	on     string // kinds, separated by spaces; *: whatever has a type
	source string
	bad    func(node map[string]any) string
}

// broken is a rule that a payload breaks.
type broken struct {
	at   string // "blocks/3 (section)"
	say  string
	rule rule
}

func (b broken) Error() string {
	return fmt.Sprintf("slack: %s: %s [%s, see %s]", b.at, b.say, b.rule.name, b.rule.source)
}

// ruleBook holds rules by the kind that they are on.
type ruleBook map[string][]rule

var book = bookOf(rules)

func bookOf(rules []rule) ruleBook {
	b := ruleBook{}
	for _, r := range rules {
		for kind := range strings.SplitSeq(r.on, " ") {
			b[kind] = append(b[kind], r)
		}
	}
	return b
}

// verdict joins what is wrong, in the order of the payload.
func (book ruleBook) verdict(root any) error {
	var errs []error
	visit(root, "", func(at, kind string, node map[string]any) {
		look := func(rules []rule) {
			for _, r := range rules {
				if say := r.bad(node); say != "" {
					errs = append(errs, broken{strings.TrimLeft(at+" ("+kind+")", "/ "), say, r})
				}
			}
		}
		look(book[kind])
		if !slices.Contains(strings.Fields(whole), kind) {
			look(book["*"])
		}
	})
	return errors.Join(errs...)
}

// visit calls f for a payload and everything in it that has a type, or is an option of a menu or a confirmation.
func visit(node any, at string, f func(at, kind string, node map[string]any)) {
	switch n := node.(type) {
	case []any:
		for i, x := range n {
			visit(x, at+"/"+strconv.Itoa(i), f)
		}
	case map[string]any:
		kind, _ := n["type"].(string)
		switch {
		case kind != "" || n["text"] == nil:
		case n["value"] != nil:
			kind = kindOption
		case n["confirm"] != nil:
			kind = kindConfirm
		}
		if kind != "" {
			f(at, kind, n)
		}
		for _, key := range sortedKeys(n) {
			switch n[key].(type) {
			case []any, map[string]any:
				visit(n[key], at+"/"+key, f)
			}
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// field follows a path of names through objects.
func field(node map[string]any, path string) (v any, ok bool) {
	for {
		name, rest, more := strings.Cut(path, ".")
		if v, ok = node[name]; !ok || !more {
			return v, ok
		}
		if node, ok = v.(map[string]any); !ok {
			return nil, false
		}
		path = rest
	}
}

// chars is a field's length in characters; a missing one counts as absent only where that is allowed.
func chars(path string, least, most int) func(map[string]any) string {
	return func(node map[string]any) string {
		v, ok := field(node, path)
		s, _ := v.(string)
		n := surface.Width(s)
		switch {
		case !ok && least == 0:
			return ""
		case !ok:
			return path + " is missing"
		case n < least:
			return path + " is empty"
		case n > most:
			return fmt.Sprintf("%s has %d characters, at most %d", path, n, most)
		}
		return ""
	}
}

// optional is [chars] for a field that may be missing, and must say something if it is there.
func optional(path string, most int) func(map[string]any) string {
	need := chars(path, 1, most)
	return func(node map[string]any) string {
		if _, ok := field(node, path); !ok {
			return ""
		}
		return need(node)
	}
}

// items is how many a list has.
func items(path string, least, most int) func(map[string]any) string {
	return func(node map[string]any) string {
		v, _ := field(node, path)
		list, _ := v.([]any)
		if len(list) < least || len(list) > most {
			return fmt.Sprintf("%s has %d items, from %d to %d", path, len(list), least, most)
		}
		return ""
	}
}

// kinds are the types that may stand in a list, or in one field.
func kinds(path string, allowed ...string) func(map[string]any) string {
	return func(node map[string]any) string {
		v, ok := field(node, path)
		if !ok {
			return ""
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for i, x := range list {
			m, _ := x.(map[string]any)
			if kind, _ := m["type"].(string); !slices.Contains(allowed, kind) {
				return fmt.Sprintf("%s/%d is a %q, which is not taken there", path, i, kind)
			}
		}
		return ""
	}
}

// oneOf is a field with a closed set of values.
func oneOf(path string, allowed ...string) func(map[string]any) string {
	return func(node map[string]any) string {
		v, ok := field(node, path)
		if s, _ := v.(string); ok && !slices.Contains(allowed, s) {
			return fmt.Sprintf("%s is %q, not one of %s", path, s, strings.Join(allowed, ", "))
		}
		return ""
	}
}
