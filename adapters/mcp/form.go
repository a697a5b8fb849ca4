package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/form"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// The limits on a form. Longer words are cut; more of anything else is no form.
const (
	maxSay       = 2000 // runes of what stands over it
	maxFields    = 20
	maxOptions   = 100 // of one field
	maxFieldName = 100 // bytes; also of an option
	maxTitle     = 150 // runes; also of an option's label
	maxHelp      = 500 // runes
	maxDefault   = 2000
)

// Which keywords the forms of MCP have. Any other could change what an answer means: then there is no form, rather than half of one.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
var (
	formWords  = words("$schema type properties required title description additionalProperties")
	fieldWords = map[string]map[string]bool{
		"string":  words("type title description default format minLength maxLength pattern enum enumNames oneOf"),
		"number":  words("type title description default minimum maximum"),
		"integer": words("type title description default minimum maximum"),
		"boolean": words("type title description default"),
		"array":   words("type title description default minItems maxItems uniqueItems items"),
	}
	itemWords   = words("type enum enumNames anyOf oneOf")
	choiceWords = words("const title description")
	formats     = words("email uri date date-time")
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

type object = map[string]json.RawMessage

// readForm makes the fields of a form from the schema that a server sent: required ones in the order that it lists them, then the others by
// name, because the order of properties does not survive mcp-go. The error says why there is no form.
func readForm(requested json.RawMessage) ([]turn.FormField, error) {
	root, err := only("the schema", requested, formWords)
	if err != nil {
		return nil, err
	}
	if !absent(root["type"]) && stringOf(root["type"]) != "object" {
		return nil, errors.New("the schema is not one of an object")
	}
	var properties object
	if decode(root["properties"], &properties) != nil {
		return nil, errors.New("its properties are not an object")
	}
	var required []string
	if decode(root["required"], &required) != nil {
		return nil, errors.New("what it requires is not a list of names")
	}
	if len(properties) > maxFields {
		return nil, fmt.Errorf("it has more than %d fields", maxFields)
	}
	var fields []turn.FormField
	for _, name := range append(required, sorted(properties)...) {
		if slices.ContainsFunc(fields, func(f turn.FormField) bool { return f.Name == name }) {
			continue
		}
		f, err := readField(name, properties[name])
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(required, name)
		fields = append(fields, f)
	}
	return fields, nil
}

// decode reads what may be absent.
func decode(raw json.RawMessage, to any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, to)
}

// only decodes an object with no other members than those known.
func only(what string, raw json.RawMessage, known map[string]bool) (object, error) {
	var o object
	if _ = json.Unmarshal(raw, &o); o == nil {
		return nil, fmt.Errorf("%s is not an object", what)
	}
	for _, key := range sorted(o) {
		if !known[key] {
			return nil, fmt.Errorf("%s has %q, which the forms of MCP do not have", what, oneline.Brief(key, 40))
		}
	}
	return o, nil
}

func readField(name string, raw json.RawMessage) (turn.FormField, error) {
	if !exact(name) {
		return turn.FormField{}, fmt.Errorf("the name of a field is empty, too long or hides something")
	}
	var o object
	_ = json.Unmarshal(raw, &o) // what is no object has no type
	if inner := orNull(o); inner != nil {
		o = inner
		raw, _ = json.Marshal(o) // it was JSON before
	}
	kind := stringOf(o["type"])
	known := fieldWords[kind]
	if known == nil {
		return turn.FormField{}, fmt.Errorf("the field %q is not there, or of a type that the forms of MCP do not have", name)
	}
	what := fmt.Sprintf("the field %q", name)
	if _, err := only(what, raw, known); err != nil {
		return turn.FormField{}, err
	}
	f := turn.FormField{Name: name, Type: kind, Title: oneline.Brief(stringOf(o["title"]), maxTitle), Description: oneline.Brief(stringOf(o["description"]), maxHelp)}
	var err error
	switch kind {
	case "array":
		err = readMany(&f, o)
	case "string":
		err = readText(&f, o)
	case "number", "integer":
		f.Min, f.Max, err = bounds(o["minimum"], o["maximum"])
	}
	if err != nil {
		return turn.FormField{}, fmt.Errorf("%s %w", what, err)
	}
	f.Default = proposed(f, o["default"])
	return f, nil
}

// orNull is a field that may be null as well, as the Python SDK writes what is optional, without that; nil for any other. Who leaves it empty
// sends none.
func orNull(o object) object {
	var ways []object
	if json.Unmarshal(o["anyOf"], &ways) != nil || len(ways) != 2 || len(ways[1]) != 1 || stringOf(ways[1]["type"]) != "null" {
		return nil
	}
	inner := maps.Collect(maps.All(ways[0])) // never nil
	for name, v := range o {
		if _, twice := inner[name]; twice {
			return nil
		}
		inner[name] = v
	}
	delete(inner, "anyOf")
	return inner
}

// readText reads a text, or a choice of one.
func readText(f *turn.FormField, o object) (err error) {
	if f.Format = stringOf(o["format"]); f.Format != "" && !formats[f.Format] || f.Format == "" && !absent(o["format"]) {
		return errors.New("has a format that the forms of MCP do not have")
	}
	if f.Min, f.Max, err = bounds(o["minLength"], o["maxLength"]); err != nil {
		return err
	}
	if o["enum"] == nil && o["oneOf"] == nil {
		if o["enumNames"] != nil {
			return errors.New("names options that it does not have")
		}
		return nil
	}
	f.Format, f.Min, f.Max = "", nil, nil // an option is what it is
	f.Options, f.Labels, err = options(o["enum"], o["enumNames"], o["oneOf"])
	return err
}

// readMany reads a choice of several.
func readMany(f *turn.FormField, o object) error {
	items, _ := only("what it lists", o["items"], itemWords) // nil: there are no options in it
	if !absent(items["type"]) && stringOf(items["type"]) != "string" || items["anyOf"] != nil && items["oneOf"] != nil {
		return errors.New("is a list of what the forms of MCP do not have")
	}
	choices := items["anyOf"]
	if choices == nil {
		choices = items["oneOf"]
	}
	var err error
	if f.Options, f.Labels, err = options(items["enum"], items["enumNames"], choices); err != nil {
		return err
	}
	least, most, err := bounds(o["minItems"], o["maxItems"])
	if err != nil {
		return err
	}
	f.Type, f.Many = "string", true
	// The form has no bounds for how many; the words have, and the server checks.
	f.Description = strings.TrimSpace(f.Description + howMany(least, most))
	return nil
}

func howMany(least, most *float64) string {
	switch {
	case least != nil && *least > 0 && most != nil:
		return fmt.Sprintf(" Choose %v to %v.", *least, *most)
	case least != nil && *least > 0:
		return fmt.Sprintf(" Choose at least %v.", *least)
	case most != nil:
		return fmt.Sprintf(" Choose at most %v.", *most)
	}
	return ""
}

// options reads what can be chosen, as a list of values, with or without names, or as a list of titled constants.
func options(enum, names, choices json.RawMessage) (values, labels []string, err error) {
	switch {
	case enum != nil && choices != nil:
		return nil, nil, errors.New("has two lists of options")
	case enum != nil:
		if json.Unmarshal(enum, &values) != nil {
			return nil, nil, errors.New("has options that are no texts")
		}
		if decode(names, &labels) != nil || !absent(names) && len(labels) != len(values) {
			return nil, nil, errors.New("has not one name for each option")
		}
	default:
		var list []json.RawMessage
		if json.Unmarshal(choices, &list) != nil {
			return nil, nil, errors.New("has no options")
		}
		for _, raw := range list {
			o, _ := only("an option", raw, choiceWords) // nil: it is empty, as seen below
			values, labels = append(values, stringOf(o["const"])), append(labels, stringOf(o["title"]))
		}
	}
	if len(values) == 0 || len(values) > maxOptions {
		return nil, nil, fmt.Errorf("has no options, or more than %d", maxOptions)
	}
	for i, v := range values {
		if !exact(v) || slices.Contains(values[:i], v) {
			return nil, nil, errors.New("has an option that is empty, too long, there twice or hides something")
		}
	}
	for i, l := range labels {
		labels[i] = cmp.Or(oneline.Brief(l, maxTitle), values[i])
		if slices.Contains(labels[:i], labels[i]) {
			return nil, nil, errors.New("has two options of one name")
		}
	}
	return values, labels, nil
}

// exact tells a text that is what it looks like, in one line, and comes back from any form as it was.
func exact(s string) bool {
	_, hidden := text.Visible(s)
	return s != "" && len(s) <= maxFieldName && hidden == 0 && s == strings.Join(strings.Fields(s), " ")
}

// bounds reads a least and a most that something can be within.
func bounds(least, most json.RawMessage) (lo, hi *float64, err error) {
	if decode(least, &lo) != nil || decode(most, &hi) != nil {
		return nil, nil, errors.New("has a bound that is no number")
	}
	if lo != nil && hi != nil && *lo > *hi {
		return nil, nil, errors.New("can have no value: its least is above its most")
	}
	return lo, hi, nil
}

// proposed is a field's default as a form shows it. One that the field itself would not take is none.
func proposed(f turn.FormField, raw json.RawMessage) string {
	var list []string
	shown := stringOf(raw)
	switch {
	case f.Many && json.Unmarshal(raw, &list) != nil:
		return ""
	case f.Many:
		shown = strings.Join(list, "\n")
	case f.Type != "string":
		shown = string(bytes.TrimSpace(raw))
	}
	if _, hidden := text.Visible(shown); hidden > 0 || len(shown) > maxDefault {
		return ""
	}
	if _, err := form.Content(turn.Elicitation{Kind: turn.ElicitationForm, Fields: []turn.FormField{f}}, map[string]string{f.Name: shown}); err != nil {
		return ""
	}
	return shown
}
