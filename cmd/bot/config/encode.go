package config

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"go.yaml.in/yaml/v4"
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

// node is the way back of the decoder, type by type.
func node(v reflect.Value) *yaml.Node {
	switch x := v.Interface().(type) {
	case time.Duration:
		return text(spellDuration(x))
	case Secret, Text, Timeout, Durability, chat.User, permission.Mode, permission.Posture, permission.Prompt, permission.Access,
		permission.Risk, permission.Approval, permission.Repeat, permission.ApproverRule:
		return text(fmt.Sprint(x))
	case SessionKey:
		if x.Name == "" {
			return text(x.Key.String())
		}
	case permission.Approvers:
		if x.Rule == permission.ApproversListed {
			return node(reflect.ValueOf(x.Users))
		}
		return node(reflect.ValueOf(x.Rule))
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, f := range yamlFields(v.Type()) {
			e := v.Field(f.index)
			if f.omit && (e.IsZero() || e.Kind() != reflect.Struct && e.Kind() != reflect.Pointer && e.Len() == 0) {
				continue
			}
			n.Content = append(n.Content, text(f.name), node(e))
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if a.String() < b.String() {
				return -1
			}
			return 1
		})
		for _, k := range keys {
			n.Content = append(n.Content, text(k.String()), node(v.MapIndex(k)))
		}
		if len(keys) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i)))
		}
		return n
	case reflect.Pointer:
		return node(v.Elem())
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	}
	return text(v.String())
}

// text is a string that stays one, whatever it looks like; a ${ in it is no variable when it is read again.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(escapeVariables(strings.ToValidUTF8(s, "\uFFFD")))
	return n
}
