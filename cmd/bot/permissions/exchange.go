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
	"unicode/utf16"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// maxExchange bounds a file that is read: more than people can have set.
const maxExchange = 64 << 20

// export prints what people set. A file is written whole or not at all, and only its owner may read it: it names people.
func (p *permitting) export(ctx context.Context, _ []string) error {
	e, err := p.engine(noTools{})
	if err != nil {
		return err
	}
	now, err := e.Settings(ctx)
	if err != nil {
		return err
	}
	text, err := exported(now.Exchange(), p.JSON)
	if err != nil {
		return err
	}
	if p.Out == "" {
		_, err = io.WriteString(p.Stdout, text)
		return err
	}
	whole := p.Out + ".new"
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if err := os.Rename(whole, p.Out); err != nil {
		return fmt.Errorf("-out: %w", errors.Join(err, os.Remove(whole)))
	}
	return nil
}

func exported(x permission.Exchange, asJSON bool) (string, error) {
	if !asJSON {
		return strings.Join(x.Lines(), "\n") + "\n", nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(x)
	return escaped(b.String()), err
}

// escaped writes what nobody could see as JSON's own escapes. Outside of its strings an encoder writes nothing of that kind.
func escaped(said string) string {
	var b strings.Builder
	for _, r := range said {
		if _, hidden := text.Visible(string(r)); hidden == 0 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// importing prints what reading a file would change, and changes it with -yes.
func (p *permitting) importing(ctx context.Context, args []string) error {
	name, data, err := p.read(args[0])
	if err != nil {
		return usageError{err}
	}
	x, err := parseExchange(name, data)
	if err != nil {
		return usageError{err}
	}
	return p.change(ctx, noTools{}, "import", func(_ permission.Policy, now permission.Settings) ([]permission.Change, error) {
		changes, err := x.Changes(now)
		if err != nil {
			return nil, err
		}
		return changes, room(x, now, changes)
	})
}

// room refuses a file of which something would not be kept: what there is no room for changes nothing, and half a file is not what
// anybody meant.
func room(x permission.Exchange, now permission.Settings, changes []permission.Change) error {
	for _, c := range changes {
		now, _ = now.Apply(c, chat.User{}, "", time.Time{})
	}
	left, err := x.Changes(now)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("there is no room for all of it (the first that would be left out is %q): remove some settings first; nothing was changed", left[0].String())
	}
	return err
}

func (p *permitting) read(name string) (string, []byte, error) {
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

func (f *exchangeFile) wrong(line int, field, format string, args ...any) {
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
	version := false
	f.pairs(root, "the file", func(key, value *yaml.Node) {
		switch key.Value {
		case "version":
			version = true
			n, err := strconv.Atoi(value.Value)
			if err != nil || n != permission.ExchangeVersion {
				f.wrong(value.Line, "version", "%s is not known here; this program reads %d", command.OneLine(value.Value), permission.ExchangeVersion)
			}
			x.Version = n
		case "settings":
			x.Settings = listOf(f, value, "settings", func(e permission.Setting) (string, permission.Exchange) {
				return join3(e.Server, e.Tool, e.Field), permission.Exchange{Settings: []permission.Setting{e}}
			})
		case "remembered":
			x.Remembered = listOf(f, value, "remembered", func(e permission.RememberedEntry) (string, permission.Exchange) {
				return join3(e.By, e.Server, e.Tool), permission.Exchange{Remembered: []permission.RememberedEntry{e}}
			})
		case "tools":
			x.Tools = listOf(f, value, "tools", func(e permission.ToolEntry) (string, permission.Exchange) {
				return join3(e.Server, e.Tool, ""), permission.Exchange{Tools: []permission.ToolEntry{e}}
			})
		case "advice":
			x.Advice = listOf(f, value, "advice", func(e permission.AdviceEntry) (string, permission.Exchange) {
				return join3(e.Server, e.Tool, ""), permission.Exchange{Advice: []permission.AdviceEntry{e}}
			})
		default:
			f.wrong(key.Line, command.OneLine(key.Value), "there is no such field; there is version, settings, remembered, tools, advice")
		}
	})
	if !version && len(f.errs) == 0 {
		f.wrong(root.Line, "version", "is missing; this program reads %d", permission.ExchangeVersion)
	}
}

func join3(a, b, c string) string { return strconv.Quote(a) + strconv.Quote(b) + strconv.Quote(c) }

// pairs goes through a mapping in which each name may stand once.
func (f *exchangeFile) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.wrong(n.Line, what, "want a mapping of names to values")
		return
	}
	stands := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			f.wrong(k.Line, what, "a name here must be plain text")
		case stands[k.Value]:
			f.wrong(k.Line, command.OneLine(k.Value), "stands twice")
		default:
			stands[k.Value] = true
			each(k, n.Content[i+1])
		}
	}
}

// listOf reads one list. of gives what makes an entry unique, and a file of that entry alone, which core then checks.
func listOf[E any](f *exchangeFile, list *yaml.Node, name string, of func(E) (string, permission.Exchange)) (out []E) {
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		f.wrong(list.Line, name, "want a list")
		return nil
	}
	for i, n := range list.Content {
		field := fmt.Sprintf("%s[%d]", name, i+1)
		var e E
		if !f.entry(n, field, &e) {
			continue
		}
		key, alone := of(e)
		if line, twice := f.seen[name+key]; twice {
			f.wrong(n.Line, field, "is about the same as line %d; each may stand once", line)
			continue
		}
		f.seen[name+key] = n.Line
		alone.Version = permission.ExchangeVersion
		if _, err := alone.Changes(permission.Settings{}); err != nil {
			if inner := errors.Unwrap(err); inner != nil {
				err = inner // its own place is that of the file of one entry
			}
			f.wrong(n.Line, field, "%s", command.OneLine(err.Error()))
			continue
		}
		out = append(out, e)
	}
	return out
}

// entry reads one mapping of texts and booleans into a struct, by its JSON names.
func (f *exchangeFile) entry(n *yaml.Node, field string, to any) bool {
	before := len(f.errs)
	values := map[string]any{}
	names := fieldNames(to)
	f.pairs(n, field, func(key, value *yaml.Node) {
		name := field + "." + command.OneLine(key.Value)
		kind, known := names[key.Value]
		switch {
		case !known:
			f.wrong(key.Line, name, "there is no such field")
		case value.Kind != yaml.ScalarNode:
			f.wrong(value.Line, name, "want one value")
		case kind == "bool" && value.Tag != "!!bool":
			f.wrong(value.Line, name, "want true or false")
		case kind == "bool":
			values[key.Value] = value.Value == "true"
		case value.Tag == "!!null":
		default:
			values[key.Value] = value.Value // a number or a word that YAML takes for something else is still the text that stands there
		}
	})
	if len(f.errs) > before {
		return false
	}
	b, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		f.wrong(n.Line, field, "%s", command.OneLine(err.Error()))
	}
	return err == nil
}

// fieldNames are the JSON names of a struct's fields, with their kinds.
func fieldNames(to any) map[string]string {
	t := reflect.TypeOf(to).Elem()
	out := map[string]string{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = t.Field(i).Type.Kind().String()
	}
	return out
}
