package config

import (
	"cmp"
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
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/core/text"
)

// problem records a mistake at a node.
func (r *File) problem(n *yaml.Node, field, format string, args ...any) {
	r.found = append(r.found, Problem{r.file, n.Line, field, fmt.Sprintf(format, args...)})
}

// value reads node n into v. A null leaves what v held: naming a field without a value sets nothing.
func (r *File) value(n *yaml.Node, v reflect.Value, field string) {
	line := n.Line
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if field != "" {
		r.set[field] = Problem{File: r.file, Line: line}
	}
	if isNull(n) {
		return
	}
	switch v.Interface().(type) {
	case permission.Approvers:
		r.approvers(n, v, field)
		return
	case Text, chat.User, permission.Place:
		r.scalar(n, v, field)
		return
	case Doors:
		if n.Kind == yaml.MappingNode {
			var one, nothing OIDC
			setDefaults(reflect.ValueOf(&one).Elem())
			setDefaults(reflect.ValueOf(&nothing).Elem())
			r.value(n, reflect.ValueOf(&one).Elem(), field)
			if v.SetZero(); !reflect.DeepEqual(one, nothing) { // which is what was written where there is none
				v.Set(reflect.ValueOf(Doors{one}))
			}
			return
		}
	case pin.Values, []permission.Place:
		if n.Kind == yaml.ScalarNode {
			n = &yaml.Node{Kind: yaml.SequenceNode, Line: line, Content: []*yaml.Node{n}}
		}
	case []Text:
		if n.Kind == yaml.ScalarNode && strings.HasSuffix(field, ".command") { // as command and args, which is how most write it
			n = &yaml.Node{Kind: yaml.SequenceNode, Line: line, Content: []*yaml.Node{n}}
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		r.fields(n, v, field)
	case reflect.Map:
		r.entries(n, v, field)
	case reflect.Slice:
		r.items(n, v, field)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		r.value(n, p.Elem(), field)
		v.Set(p)
	default:
		r.scalar(n, v, field)
	}
}

func isNull(n *yaml.Node) bool { return n.Tag == "!!null" }

// pairs calls each with every key and value of a mapping, and reports what is none and keys that stand twice.
func (r *File) pairs(n *yaml.Node, field string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, field, "want a mapping of names to values, got %s", kind(n))
		return
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		k := pair[0]
		first, twice := lines[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.problem(k, field, "a name here must be plain text, got %s", kind(k))
		case twice:
			r.problem(k, join(field, k.Value), "stands twice; the first is in line %d", first)
		default:
			lines[k.Value] = k.Line
			each(k, pair[1])
		}
	}
}

func (r *File) fields(n *yaml.Node, v reflect.Value, field string) {
	known := yamlFields(v.Type())
	if i := slices.IndexFunc(known, func(f structField) bool { return f.alone }); i >= 0 && n.Kind == yaml.ScalarNode {
		r.scalar(n, v.FieldByIndex(known[i].index), field)
		return
	}
	stands := map[int]int{} // in which line
	r.pairs(n, field, func(k, value *yaml.Node) {
		if k.Value == "mcpServers" && v.Type() == reflect.TypeFor[Config]() { // as the files of other programs have it
			servers := &yaml.Node{Kind: yaml.ScalarNode, Value: "servers", Line: k.Line}
			r.fields(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{servers, value}}, v.FieldByName("MCP"), "mcp")
			return
		}
		if field == "mcp" && !v.FieldByName("Servers").IsNil() {
			r.problem(k, join(field, k.Value), "mcpServers is the same in other words, and both stand here: put them together")
			return
		}
		i := slices.IndexFunc(known, func(f structField) bool { return f.name == k.Value || f.also == k.Value })
		if say := without[k.Value]; say != "" && v.Type() == reflect.TypeFor[Server]() {
			if value.Kind != yaml.SequenceNode || len(value.Content) > 0 { // an empty list asks for nothing
				r.notes = append(r.notes, Problem{r.file, k.Line, join(field, k.Value), say})
			}
			return
		}
		if i < 0 {
			names := make([]string, len(known))
			for i, f := range known {
				names[i] = f.name
			}
			r.problem(k, join(field, k.Value), "there is no such field%s; here are: %s", Suggest(k.Value, names), strings.Join(names, ", "))
			return
		}
		if first, twice := stands[i]; twice {
			r.problem(k, join(field, k.Value), "%s and %s are the same; the first is in line %d", known[i].name, known[i].also, first)
			return
		}
		stands[i] = k.Line
		r.value(value, v.FieldByIndex(known[i].index), join(field, k.Value))
	})
}

// without are fields of a server that have no effect here: of an earlier version, and what READMEs give for other programs.
var without = map[string]string{
	"sampling":    "has no effect any more: MCP has deprecated sampling (SEP-2577), and nod lets no server ask the model; remove the line",
	"autoApprove": asksAllTheSame,
	"alwaysAllow": asksAllTheSame,
}

const asksAllTheSame = "has no effect: it is another program's permission, and nod asks all the same; permissions.servers says what runs unasked here"

// Suggest is the known name that a name is nearly, as a part of a sentence, or nothing.
func Suggest(name string, known []string) string {
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
func (r *File) entries(n *yaml.Node, v reflect.Value, field string) {
	m := reflect.MakeMap(v.Type())
	r.pairs(n, field, func(k, value *yaml.Node) {
		entry := reflect.New(v.Type().Elem()).Elem()
		if entry.Kind() == reflect.Struct {
			setDefaults(entry)
		}
		r.value(value, entry, join(field, k.Value))
		m.SetMapIndex(reflect.ValueOf(k.Value), entry)
	})
	v.Set(m)
}

func (r *File) items(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, field, "want a list, got %s", kind(n))
		return
	}
	v.SetZero()
	for i, item := range n.Content {
		f := field + "[" + strconv.Itoa(i+r.first) + "]"
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if v.Index(i).Kind() == reflect.Struct {
			setDefaults(v.Index(i))
		}
		if isNull(item) {
			r.problem(item, f, "is empty")
			continue
		}
		r.value(item, v.Index(i), f)
	}
	if args, ok := v.Interface().([]Text); ok {
		maskArgs(args)
	}
}

// approvers is one word, or a list of people.
func (r *File) approvers(n *yaml.Node, v reflect.Value, field string) {
	rule, users := v.FieldByName("Rule"), v.FieldByName("Users")
	switch n.Kind {
	case yaml.SequenceNode:
		rule.Set(reflect.ValueOf(permission.ApproversListed))
		r.items(n, users, field)
	case yaml.ScalarNode:
		v.SetZero()
		r.scalar(n, rule, field)
	default:
		r.problem(n, field, "%v, got %s", errApprovers, kind(n))
	}
}

// scalar reads a single value, with variables put in.
func (r *File) scalar(n *yaml.Node, v reflect.Value, field string) {
	want, tag, hint := expected(v)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.problem(n, field, "want %s, got %s", want, kind(n))
		return
	case kind(n) == tagged:
		r.problem(n, field, "want %s without a YAML tag (!) before it; write it in quotes", want)
		return
	}
	written, expanded, err := n.Value, false, error(nil)
	hasType := tag != "!!str"
	if !r.verbatim {
		written, expanded, err = expand(n.Value, r.env)
		hasType = !strings.Contains(n.Value, "${") // a variable's value has none of its own
	}
	switch {
	case err != nil:
		r.problem(n, field, "%v", err)
	case tag != "" && n.Tag != tag && hasType:
		r.problem(n, field, "want %s, got %s%s", want, kind(n), hint)
	default:
		if err := setValue(v, written, expanded); err != nil {
			r.problem(n, field, "%v", err)
		} else if asInShells.MatchString(n.Value) {
			r.notes = append(r.notes, Problem{r.file, n.Line, field, "is these very letters: a variable is written ${NAME}"})
		}
	}
}

// expected names what a single value takes, and the tag that YAML's own reading must give it, if any: a number or a truth is a slip where text
// is wanted, and the reverse.
func expected(v reflect.Value) (want, tag, hint string) {
	switch v.Interface().(type) {
	case time.Duration, Timeout:
		return "a duration", "", ""
	case Secret, Durability:
		return "text", "", ""
	}
	switch v.Kind() {
	case reflect.Int:
		return "a whole number", "!!int", ""
	case reflect.Bool:
		return "true or false", "!!bool", ""
	case reflect.String:
		return "text", "!!str", "; write it in quotes"
	}
	return "text", "", ""
}

// tagged is what a value of a type that is not YAML's own is called.
const tagged = "a value with a tag"

var kinds = map[string]string{
	"!!int": "a number", "!!float": "a number with a fraction", "!!timestamp": "a date", "!!bool": "true or false", "!!null": "nothing", "!!str": "text",
}

// kind names what a node is, for people, without quoting it.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return cmp.Or(kinds[n.Tag], tagged)
}

// join makes a field's path. Names that people chose are shortened and never carry control characters into a terminal.
func join(field, name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		name = q
	}
	name = text.Head(name, 80)
	if field == "" {
		return name
	}
	return field + "." + name
}

// structField is one field of a struct as the file sees it.
type structField struct {
	name  string
	also  string // how other programs' files have it
	index []int
	alone bool // a single value stands for it, instead of a mapping
	omit  bool // not printed while it is empty
}

func yamlFields(t reflect.Type) (out []structField) {
	for _, f := range reflect.VisibleFields(t) {
		if name, option, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			out = append(out, structField{name, cmp.Or(f.Tag.Get("also"), name), f.Index, f.Tag.Get("alone") != "", option == "omitempty"})
		}
	}
	return out
}
