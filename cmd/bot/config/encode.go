package config

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/core/permission"
)

// Write prints the effective configuration as YAML, defaults included and secrets masked. What it prints is itself a
// configuration that [Parse] accepts.
func (c Config) Write(w io.Writer) error {
	out, err := yaml.Dump(node(reflect.ValueOf(c)), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return fmt.Errorf("the configuration cannot be printed: %w", err)
	}
	if n := len(c.AdminSessionKeys); n > 0 {
		out = fmt.Appendf(out, "# ADMIN_SESSION_KEYS: %d (from the environment only)\n", n)
	}
	_, err = w.Write(out)
	return err
}

// node is the way back of [File.value], type by type.
func node(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		return node(v.Elem())
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i)))
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			n.Content = append(n.Content, scalar(k.String()), node(v.MapIndex(k)))
		}
		if len(keys) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return scalar(spellDuration(x))
	case permission.Approvers:
		if x.Rule == permission.ApproversListed {
			return node(reflect.ValueOf(x.Users))
		}
		return scalar(x.Rule.String())
	case fmt.Stringer:
		return scalar(x.String())
	case SessionKey:
		if x.Name == "" {
			return scalar(x.Key.String())
		}
	}
	if v.Kind() != reflect.Struct {
		return scalar(v.String())
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range yamlFields(v.Type()) {
		e := v.FieldByIndex(f.index)
		if !e.IsZero() || !f.omit {
			n.Content = append(n.Content, scalar(f.name), node(e))
		}
	}
	return n
}

// scalar is a text that stays one, whatever it looks like; a ${ in it is no variable when it is read again.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(EscapeVariables(strings.ToValidUTF8(s, "\uFFFD")))
	return n
}
