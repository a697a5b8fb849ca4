package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// decoder walks YAML nodes against Config's types. It goes on after a mistake, so that all are found at once.
type decoder struct {
	*report
	env Getenv
}

// problem records a mistake at a node.
func (d *decoder) problem(n *yaml.Node, field, format string, args ...any) {
	d.found = append(d.found, Problem{d.file, n.Line, field, fmt.Sprintf(format, args...)})
}

// value reads node n into v. A null leaves what v held: naming a field without a value sets nothing.
func (d *decoder) value(n *yaml.Node, v reflect.Value, field string) {
	line := n.Line
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 8; i++ {
		n = n.Alias
	}
	if field != "" {
		d.set[field] = origin{d.file, line}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	switch v.Interface().(type) {
	case permission.Approvers:
		d.approvers(n, v, field)
		return
	case SessionKey:
		if n.Kind == yaml.ScalarNode {
			d.scalar(n, v.FieldByName("Key"), field)
			return
		}
	case Path:
		if n.Kind == yaml.ScalarNode {
			d.scalar(n, v.FieldByName("Path"), field)
			return
		}
	case []Text:
		if n.Kind == yaml.ScalarNode && strings.HasSuffix(field, ".command") { // as command and args, which is how most write it
			d.items(&yaml.Node{Kind: yaml.SequenceNode, Line: line, Content: []*yaml.Node{n}}, v, field)
			return
		}
	case Text, Secret, time.Duration, Timeout, Durability, chat.User:
		d.scalar(n, v, field)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(n, v, field)
	case reflect.Map:
		d.entries(n, v, field)
	case reflect.Slice:
		d.items(n, v, field)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, p.Elem(), field)
		v.Set(p)
	default:
		d.scalar(n, v, field)
	}
}

// pairs calls each with every key and value of a mapping, and reports what is none and keys that stand twice.
func (d *decoder) pairs(n *yaml.Node, field string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, field, "want a mapping of names to values, got %s", kind(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			d.problem(k, field, "a name here must be plain text, got %s", kind(k))
			continue
		}
		if first, ok := seen[k.Value]; ok {
			d.problem(k, join(field, k.Value), "stands twice; the first is in line %d", first)
			continue
		}
		seen[k.Value] = k.Line
		each(k, n.Content[i+1])
	}
}

func (d *decoder) fields(n *yaml.Node, v reflect.Value, field string) {
	d.pairs(n, field, func(k, value *yaml.Node) {
		switch c := v.Addr().Interface().(type) {
		case *Config:
			if k.Value == "mcpServers" { // as the files of other programs have it
				d.fields(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "servers", Line: k.Line}, value}}, v.FieldByName("MCP"), "mcp")
				return
			}
		case *MCP:
			if c.Servers != nil {
				d.problem(k, join(field, k.Value), "mcpServers is the same in other words, and both stand here: put them together")
				return
			}
		}
		known := yamlFields(v.Type())
		i := slices.IndexFunc(known, func(f structField) bool { return f.name == k.Value })
		if i < 0 {
			names := make([]string, len(known))
			for i, f := range known {
				names[i] = f.name
			}
			d.problem(k, join(field, k.Value), "there is no such field%s; here are: %s", Meant(k.Value, names), strings.Join(names, ", "))
			return
		}
		d.value(value, v.Field(known[i].index), join(field, k.Value))
	})
}

// Meant is the known name that a name is nearly, as a part of a sentence, or nothing.
func Meant(name string, known []string) string {
	best, least := "", max(3, len(name)/3+1)
	if len(name) <= 3 {
		least = 2
	}
	for _, k := range known {
		if n := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k)); n < least {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// entries reads a map whose keys people choose. An entry starts from its type's defaults.
func (d *decoder) entries(n *yaml.Node, v reflect.Value, field string) {
	m := reflect.MakeMap(v.Type())
	d.pairs(n, field, func(k, value *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		switch p := e.Addr().Interface().(type) {
		case *Server:
			*p = defaultServer()
		case *ServerPolicy:
			*p = defaultServerPolicy()
		case *ToolPolicy:
			*p = defaultToolPolicy()
		}
		d.value(value, e, join(field, k.Value))
		m.SetMapIndex(reflect.ValueOf(k.Value), e)
	})
	v.Set(m)
}

func (d *decoder) items(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, field, "want a list, got %s", kind(n))
		return
	}
	if len(n.Content) == 0 {
		v.SetZero()
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		f := field + "[" + strconv.Itoa(i) + "]"
		if item.Kind == yaml.ScalarNode && item.Tag == "!!null" {
			d.problem(item, f, "is empty")
			continue
		}
		d.value(item, s.Index(i), f)
	}
	v.Set(s)
	if args, ok := v.Interface().([]Text); ok {
		maskArgs(args)
	}
}

// approvers is one word, or a list of people.
func (d *decoder) approvers(n *yaml.Node, v reflect.Value, field string) {
	a := v.Addr().Interface().(*permission.Approvers)
	if n.Kind == yaml.SequenceNode {
		*a = permission.Approvers{Rule: permission.ApproversListed}
		d.items(n, reflect.ValueOf(&a.Users).Elem(), field)
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.problem(n, field, "%v, got %s", errApprovers, kind(n))
		return
	}
	*a = permission.Approvers{}
	d.scalar(n, reflect.ValueOf(&a.Rule).Elem(), field)
}

// scalar reads a leaf, with variables put in.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.ScalarNode {
		d.problem(n, field, "want %s, got %s", want(v), kind(n))
		return
	}
	if kind(n) == tagged {
		d.problem(n, field, "want %s without a YAML tag (!) before it; write it in quotes", want(v))
		return
	}
	text, expanded, err := n.Value, false, error(nil)
	written := strings.Contains(text, "${")
	if written {
		if text, expanded, err = expand(text, d.env); err != nil {
			d.problem(n, field, "%v", err)
			return
		}
	}
	// A number or a truth is a slip where text is wanted, and the reverse: YAML's own reading of the value decides,
	// except that a variable's value has no type of its own.
	if !written {
		switch v.Kind() {
		case reflect.Int:
			if n.Tag != "!!int" {
				d.problem(n, field, "want a whole number, got %s", kind(n))
				return
			}
		case reflect.Bool:
			if n.Tag != "!!bool" {
				d.problem(n, field, "want true or false, got %s", kind(n))
				return
			}
		case reflect.String:
			if _, secret := v.Interface().(Secret); !secret && n.Tag != "!!str" {
				d.problem(n, field, "want text, got %s; write it in quotes", kind(n))
				return
			}
		}
	}
	if err := set(v, text, expanded); err != nil {
		d.problem(n, field, "%v", err)
	}
}

// set parses text into a leaf. expanded says that a variable's value is in it. Its errors never quote the text.
func set(v reflect.Value, text string, expanded bool) error {
	switch p := v.Addr().Interface().(type) {
	case *permission.Mode, *permission.Posture, *permission.Prompt, *permission.Access, *permission.Risk, *permission.Approval,
		*permission.Repeat, *permission.ApproverRule:
		return parseWord(p.(encoding.TextUnmarshaler), text)
	case *Secret:
		*p = Secret(strings.TrimSpace(text))
	case *Text:
		switch *p = (Text{text, text}); {
		case isURL(text):
			*p = URL(text)
		case expanded:
			p.shown = Mask
		}
	case *Timeout:
		return assign(p, text, parseTimeout)
	case *Durability:
		return assign(p, text, parseDurability)
	case *time.Duration:
		return assign(p, text, parseDuration)
	case *chat.User:
		return assign(p, text, parseUser)
	case *Follow:
		return assign(p, text, parseFollow)
	case *Conversation:
		return assign(p, text, parseConversation)
	case *Transport:
		return assign(p, text, parseTransport)
	case *string:
		*p = text
	case *bool:
		return assign(p, text, parseBool)
	case *int:
		return assign(p, text, parseInt)
	case *[]Secret: // from the environment: a comma list
		*p = (*p)[:0]
		for s := range strings.SplitSeq(text, ",") {
			*p = append(*p, Secret(strings.TrimSpace(s)))
		}
	default:
		return fmt.Errorf("this kind of field cannot be read from text")
	}
	return nil
}

func assign[T any](p *T, text string, parse func(string) (T, error)) error {
	x, err := parse(text)
	if err == nil {
		*p = x
	}
	return err
}

func parseUser(s string) (chat.User, error) {
	u, err := chat.ParseUser(strings.TrimSpace(s))
	if err != nil {
		return chat.User{}, errors.New("want platform:workspace:key, such as slack:T1:U1")
	}
	switch u.Platform {
	case "slack", "discord", "web":
	default:
		return chat.User{}, errors.New("the platform must be slack, discord or web, as in slack:T1:U1")
	}
	if u.IsGroup() {
		return u, groupProblem(u)
	}
	return u, nil
}

func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, errors.New("want a whole number")
	}
	return n, nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
}

func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+.-") == ""
}

// tagged is what a value of a type that is not YAML's own is called.
const tagged = "a value with a tag"

// kind names what a node is, for people, without quoting it.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!int":
		return "a number"
	case "!!float":
		return "a number with a fraction"
	case "!!timestamp":
		return "a date"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!str":
		return "text"
	}
	return tagged
}

// want names what a leaf takes.
func want(v reflect.Value) string {
	switch v.Interface().(type) {
	case time.Duration, Timeout:
		return "a duration"
	}
	switch v.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	}
	return "text"
}

// join makes a field's path. Names that people chose are shortened and never carry control characters into a terminal.
func join(field, name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		name = q
	}
	if r := []rune(name); len(r) > 80 {
		name = string(r[:80]) + "…"
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

// structField is one field of a struct as the file sees it.
type structField struct {
	name  string
	index int
	env   string
	omit  bool // not printed while empty
}

func yamlFields(t reflect.Type) []structField {
	var out []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, opt, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "-" {
			out = append(out, structField{name, i, f.Tag.Get("env"), opt == "omitempty"})
		}
	}
	return out
}
