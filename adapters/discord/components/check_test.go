package components

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
)

// check says what Discord would refuse of a message, before it is sent: an edit that fails would leave people with buttons that
// are out of date, or with none. It reads the JSON, not the types, and so is a second opinion on whatever made them.
func check(p Payload) error {
	root := map[string]any{"kind": partMessage, "components": jsonOf(p.Components)}
	var files []any
	for _, f := range p.Files {
		files = append(files, map[string]any{"kind": partUpload, "name": f.Name, "size": len(f.Data)})
	}
	root["files"] = files
	root["users"], root["roles"] = p.Users, p.Roles
	return book.verdict(root)
}

// checkModal does the same for a form.
func checkModal(m *Modal) error {
	return book.verdict(map[string]any{"kind": partModal, "title": m.Title, "custom_id": m.CustomID, "components": jsonOf(m.Components)})
}

func jsonOf(components []discordgo.MessageComponent) any {
	raw, err := json.Marshal(components)
	if err != nil { // no rule takes it then
		return nil
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// The kinds of what a payload is made of. https://discord.com/developers/docs/components/reference#component-object-component-types
const (
	partMessage   = "message"
	partModal     = "modal"
	partUpload    = "upload"
	partOption    = "option"
	partRow       = "row"
	partButton    = "button"
	partSelect    = "select"
	partInput     = "input"
	partText      = "text"
	partFile      = "file"
	partSection   = "section"
	partSeparator = "separator"
	partContainer = "container"
)

var partNames = map[float64]string{1: partRow, 2: partButton, 3: partSelect, 4: partInput, 9: partSection, 10: partText, 13: partFile, 14: partSeparator, 17: partContainer}

// partOf names what a node is; a type that nod never sends is named by its number, and no rule takes it.
func partOf(n map[string]any) string {
	if kind, ok := n["kind"].(string); ok {
		return kind
	}
	t, ok := n["type"].(float64)
	if !ok {
		return partOption // the only thing without a type
	}
	if kind, ok := partNames[t]; ok {
		return kind
	}
	return "type " + strconv.FormatFloat(t, 'f', -1, 64)
}

// rule is one thing that Discord refuses. bad says what is wrong, naming the field; empty: nothing.
type rule struct {
	name   string
	on     string // kinds, separated by spaces; *: every component
	source string
	bad    func(node map[string]any) string
}

// broken is a rule that a payload breaks.
type broken struct {
	at   string // "components/0/components/3 (row)"
	say  string
	rule rule
}

func (b broken) Error() string {
	return fmt.Sprintf("discord: %s: %s [%s, see %s]", b.at, b.say, b.rule.name, b.rule.source)
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
func (book ruleBook) verdict(root map[string]any) error {
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
		if _, component := node["type"]; component {
			look(book["*"])
		}
	})
	return errors.Join(errs...)
}

// visit calls f for a payload and everything in it.
func visit(node map[string]any, at string, f func(at, kind string, node map[string]any)) {
	f(at, partOf(node), node)
	for _, key := range []string{"components", "options", "files"} {
		for i, x := range list(node, key) {
			if m, ok := x.(map[string]any); ok {
				visit(m, at+"/"+key+"/"+strconv.Itoa(i), f)
			}
		}
	}
	if m, ok := node["accessory"].(map[string]any); ok {
		visit(m, at+"/accessory", f)
	}
}

func list(node map[string]any, key string) []any {
	l, _ := node[key].([]any)
	return l
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

// chars is a field's length in characters. One that is missing is as one that is empty.
func chars(path string, least, most int) func(map[string]any) string {
	return func(node map[string]any) string {
		v, _ := field(node, path)
		s, _ := v.(string)
		switch n := surface.Width(s); {
		case n < least || least > 0 && strings.TrimSpace(s) == "":
			return path + " is missing or empty"
		case n > most:
			return fmt.Sprintf("%s has %d characters, at most %d", path, n, most)
		}
		return ""
	}
}

// number is a field's range; it may be missing.
func number(path string, least, most int) func(map[string]any) string {
	return func(node map[string]any) string {
		if n, ok := field(node, path); ok && (n.(float64) < float64(least) || n.(float64) > float64(most)) {
			return fmt.Sprintf("%s is %v, from %d to %d", path, n, least, most)
		}
		return ""
	}
}

// items is how many a list has.
func items(key string, least, most int) func(map[string]any) string {
	return func(node map[string]any) string {
		if n := len(list(node, key)); n < least || n > most {
			return fmt.Sprintf("%s has %d items, from %d to %d", key, n, least, most)
		}
		return ""
	}
}

// kinds are what may stand in a list.
func kinds(key string, allowed ...string) func(map[string]any) string {
	return func(node map[string]any) string {
		for i, x := range list(node, key) {
			m, _ := x.(map[string]any)
			if kind := partOf(m); !slices.Contains(allowed, kind) {
				return fmt.Sprintf("%s/%d is a %s, which is not taken there", key, i, kind)
			}
		}
		return ""
	}
}

// different: no two of a kind in it have the same value of a field.
func different(name string, kindsOf ...string) func(map[string]any) string {
	return func(node map[string]any) (say string) {
		seen := map[any]bool{}
		visit(node, "", func(at, kind string, n map[string]any) {
			v, ok := n[name]
			if !ok || at == "" || !slices.Contains(kindsOf, kind) {
				return
			}
			if seen[v] {
				say = fmt.Sprintf("%s %v occurs twice", name, v)
			}
			seen[v] = true
		})
		return say
	}
}
