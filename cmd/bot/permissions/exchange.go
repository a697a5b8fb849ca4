package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// maxExchange bounds a file that is read: more than people can have set.
const maxExchange = 64 << 20

// export prints what people set. A file is written whole or not at all, and only its owner may read it: it names people.
func (p *run) export(ctx context.Context, _ []string) error {
	if err := p.open(idle{}); err != nil {
		return err
	}
	now, err := p.engine.Settings(ctx)
	if err != nil {
		return err
	}
	out, err := encode(now.Exchange(), p.json)
	if err != nil {
		return err
	}
	if p.out == "" {
		_, err = io.WriteString(p.Stdout, out)
		return err
	}
	whole := p.out + ".new"
	if err := os.WriteFile(whole, []byte(out), 0o600); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if err := os.Rename(whole, p.out); err != nil {
		return fmt.Errorf("-out: %w", errors.Join(err, os.Remove(whole)))
	}
	return nil
}

func encode(x permission.Exchange, asJSON bool) (string, error) {
	if !asJSON {
		return strings.Join(x.Lines(), "\n") + "\n", nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(x)
	return text.EscapeJSON(b.String()), err
}

// importFile prints what reading a file would change, and changes it with -yes.
func (p *run) importFile(ctx context.Context, args []string) error {
	name, data, err := p.read(args[0])
	if err != nil {
		return usageError{err}
	}
	x, err := parseExchange(name, data)
	if err != nil {
		return usageError{err}
	}
	if err := p.open(idle{}); err != nil {
		return err
	}
	return p.change(ctx, "import", func(_ permission.Policy, now permission.Settings) ([]permission.Change, error) {
		changes, err := x.Changes(now)
		if err != nil {
			return nil, err
		}
		return changes, checkRoom(x, now, changes)
	})
}

// checkRoom refuses a file of which something would not be kept: what there is no room for changes nothing, and half a file is not what
// anybody meant.
func checkRoom(x permission.Exchange, now permission.Settings, changes []permission.Change) error {
	for _, c := range changes {
		now, _ = now.Apply(c, chat.User{}, "", time.Time{})
	}
	left, err := x.Changes(now)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("there is no room for all of it (the first that would be left out is %q): remove some settings first; nothing was changed", left[0].String())
	}
	return err
}

func (p *run) read(name string) (string, []byte, error) {
	in, shown := p.Stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", nil, err
		}
		defer f.Close()
		in, shown = f, name
	}
	if in == nil {
		in = strings.NewReader("")
	}
	data, err := io.ReadAll(io.LimitReader(in, maxExchange+1))
	if err == nil && len(data) > maxExchange {
		err = fmt.Errorf("%s is larger than %d MiB; this cannot be an export", shown, maxExchange>>20)
	}
	return shown, data, err
}

// exchangeFile reads a file entry by entry, so that each mistake is told with its line. All are told at once.
type exchangeFile struct {
	name string
	errs []error
	seen map[string]int // what may stand once, and the line where it does
}

func (f *exchangeFile) errorf(line int, field, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s:%d: %s: %s", f.name, line, field, fmt.Sprintf(format, args...)))
}

// parseExchange reads an export, as YAML or JSON, strictly: what is not known is refused.
func parseExchange(name string, data []byte) (x permission.Exchange, err error) {
	f := &exchangeFile{name: name, seen: map[string]int{}}
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	if err := dec.Decode(&doc); err != nil || len(doc.Content) == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			return x, fmt.Errorf("%s: is empty; this is no export", name)
		}
		return x, fmt.Errorf("%s: this is neither YAML nor JSON: %s", name, command.OneLine(err.Error()))
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return x, fmt.Errorf("%s: something stands behind the end of the export", name)
	}
	f.document(doc.Content[0], &x)
	return x, errors.Join(f.errs...)
}

func (f *exchangeFile) document(root *yaml.Node, x *permission.Exchange) {
	f.pairs(root, "the file", func(key, value *yaml.Node) {
		switch key.Value {
		case "version":
			n, err := strconv.Atoi(value.Value)
			if err != nil || n != permission.ExchangeVersion {
				f.errorf(value.Line, "version", "%s is not known here; this program reads %d", command.OneLine(value.Value), permission.ExchangeVersion)
			}
			x.Version = n
		case "settings", "remembered", "tools", "advice":
			f.list(key.Value, value, x)
		default:
			f.errorf(key.Line, command.OneLine(key.Value), "there is no such field; there is version, settings, remembered, tools, advice")
		}
	})
	if x.Version == 0 && len(f.errs) == 0 {
		f.errorf(root.Line, "version", "is missing; this program reads %d", permission.ExchangeVersion)
	}
}

// pairs goes through a mapping in which each name may stand once.
func (f *exchangeFile) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.errorf(n.Line, what, "want a mapping of names to values")
		return
	}
	names := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			f.errorf(k.Line, what, "a name here must be plain text")
		case names[k.Value]:
			f.errorf(k.Line, command.OneLine(k.Value), "stands twice")
		default:
			names[k.Value] = true
			each(k, n.Content[i+1])
		}
	}
}

// list reads one list into x, each entry as a file of that entry alone, which core then checks.
func (f *exchangeFile) list(name string, list *yaml.Node, x *permission.Exchange) {
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return
	}
	if list.Kind != yaml.SequenceNode {
		f.errorf(list.Line, name, "want a list")
		return
	}
	of := fieldOf(reflect.TypeFor[permission.Exchange](), name).Elem()
	for i, n := range list.Content {
		field := fmt.Sprintf("%s[%d]", name, i+1)
		values, ok := f.entry(n, field, of)
		if !ok {
			continue
		}
		key := name
		for _, unique := range []string{"by", "server", "tool", "field"} { // those that entries of this list have
			value, _ := values[unique].(string)
			key += " " + strconv.Quote(value)
		}
		if line, twice := f.seen[key]; twice {
			f.errorf(n.Line, field, "is about the same as line %d; each may stand once", line)
			continue
		}
		f.seen[key] = n.Line
		var alone permission.Exchange
		b, err := json.Marshal(map[string]any{"version": permission.ExchangeVersion, name: []any{values}})
		if err == nil {
			err = json.Unmarshal(b, &alone)
		}
		if err == nil {
			_, err = alone.Changes(permission.Settings{})
		}
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // its own place is that of the file of one entry
		}
		if err != nil {
			f.errorf(n.Line, field, "%s", command.OneLine(err.Error()))
			continue
		}
		x.Settings, x.Remembered = append(x.Settings, alone.Settings...), append(x.Remembered, alone.Remembered...)
		x.Tools, x.Advice = append(x.Tools, alone.Tools...), append(x.Advice, alone.Advice...)
	}
}

// entry reads one mapping as the struct of this type has it: texts, booleans, and lists of such mappings.
func (f *exchangeFile) entry(n *yaml.Node, field string, of reflect.Type) (values map[string]any, ok bool) {
	before := len(f.errs)
	values = map[string]any{}
	f.pairs(n, field, func(key, value *yaml.Node) {
		name := field + "." + command.OneLine(key.Value)
		kind := fieldOf(of, key.Value)
		switch {
		case kind == nil:
			f.errorf(key.Line, name, "there is no such field")
		case value.Tag == "!!null":
		case kind.Kind() == reflect.Slice && value.Kind == yaml.SequenceNode:
			var list []any
			for i, one := range value.Content {
				inner, _ := f.entry(one, fmt.Sprintf("%s[%d]", name, i+1), kind.Elem())
				list = append(list, inner)
			}
			values[key.Value] = list
		case kind.Kind() == reflect.Slice:
			f.errorf(value.Line, name, "want a list")
		case value.Kind != yaml.ScalarNode:
			f.errorf(value.Line, name, "want one value")
		case kind.Kind() == reflect.Bool && value.Tag != "!!bool":
			f.errorf(value.Line, name, "want true or false")
		case kind.Kind() == reflect.Bool:
			values[key.Value] = value.Value == "true"
		default:
			values[key.Value] = value.Value // a number or a word that YAML takes for something else is still the text that stands there
		}
	})
	return values, len(f.errs) == before
}

// fieldOf is the type of a struct's field with this JSON name; nil: it has none.
func fieldOf(t reflect.Type, name string) reflect.Type {
	for _, f := range reflect.VisibleFields(t) {
		if has, _, _ := strings.Cut(f.Tag.Get("json"), ","); has == name {
			return f.Type
		}
	}
	return nil
}
