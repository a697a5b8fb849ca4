package permissions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// maxExchange bounds a file that is read: more than people can have set.
const maxExchange = 64 << 20

// export prints what people set. It names people.
func (p *run) export(ctx context.Context, _ []string) error {
	if p.none != nil {
		return p.none
	}
	if err := p.open(nil); err != nil {
		return err
	}
	now, err := p.engine.Settings(ctx)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, encode(now.Exchange(), p.json))
		return err
	}
	if p.out == "" {
		return write(p.Stdout)
	}
	if err := command.WriteFile(p.out, true, write); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	return nil
}

func encode(x permission.Exchange, asJSON bool) string {
	if !asJSON {
		return strings.Join(x.Lines(), "\n") + "\n"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(x) // texts and truths can be written
	return text.EscapeJSON(b.String())
}

// importFile prints what reading a file would change, and changes it with -yes.
func (p *run) importFile(ctx context.Context, args []string) error {
	name, data, err := p.read(args[0])
	if err != nil {
		return command.Mistake(err)
	}
	x, err := parseExchange(name, data)
	if err != nil {
		return command.Mistake(err)
	}
	if err := p.open(nil); err != nil {
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
	if len(left) > 0 {
		err = fmt.Errorf("there is no room for all of it (the first that would be left out is %q): remove some settings first; nothing was changed", left[0].String())
	}
	return err
}

func (p *run) read(name string) (string, []byte, error) {
	in, shown := cmp.Or[io.Reader](p.Stdin, strings.NewReader("")), "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", nil, err
		}
		defer f.Close()
		in, shown = f, name
	}
	data, err := io.ReadAll(io.LimitReader(in, maxExchange+1))
	if len(data) > maxExchange {
		err = fmt.Errorf("%s is larger than %d MiB; this cannot be an export", shown, maxExchange>>20)
	}
	return shown, data, err
}

// parseExchange reads an export, as YAML or JSON, strictly: what is not known is refused, and every mistake is told with its line.
func parseExchange(name string, data []byte) (x permission.Exchange, err error) {
	f, empty := config.ReadStrictly(name, data, &x)
	switch {
	case empty:
		return x, fmt.Errorf("%s: is empty; this is no export", name)
	case x.Version == 0 && f.Err() != nil:
	case x.Version == 0:
		f.Add("version", "is missing; this program reads %d", permission.ExchangeVersion)
	case x.Version != permission.ExchangeVersion:
		f.Add("version", "%d is not known here; this program reads %d", x.Version, permission.ExchangeVersion)
	}
	checkEntries(f, "settings", x.Settings, func(s permission.Setting) (permission.Exchange, string) {
		return permission.Exchange{Settings: []permission.Setting{s}}, fmt.Sprintf("%q %q %q", s.Server, s.Tool, s.Field)
	})
	checkEntries(f, "remembered", x.Remembered, func(r permission.RememberedEntry) (permission.Exchange, string) {
		x := permission.Exchange{Remembered: []permission.RememberedEntry{r}}
		if r.Scope != "" {
			r.Tool = "" // it is for tools of the server
		}
		return x, fmt.Sprintf("%q %q %q %q %q", r.By, r.Channel, r.Scope, r.Server, r.Tool)
	})
	checkEntries(f, "tools", x.Tools, func(t permission.ToolEntry) (permission.Exchange, string) {
		return permission.Exchange{Tools: []permission.ToolEntry{t}}, fmt.Sprintf("%q %q", t.Server, t.Tool)
	})
	checkEntries(f, "advice", x.Advice, func(a permission.AdviceEntry) (permission.Exchange, string) {
		return permission.Exchange{Advice: []permission.AdviceEntry{a}}, fmt.Sprintf("%q %q", a.Server, a.Tool)
	})
	return x, f.Err()
}

// checkEntries looks at each entry of a list as a file of that entry alone, which core checks. About each thing one may stand.
func checkEntries[E any](f *config.File, list string, all []E, alone func(E) (x permission.Exchange, about string)) {
	seen := map[string]int{}
	for i, e := range all {
		field := fmt.Sprintf("%s[%d]", list, i+1)
		x, about := alone(e)
		_, err := x.Changes(permission.Settings{})
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // its own place is that of the file of one entry
		}
		line, twice := seen[about]
		switch {
		case f.Has(field):
		case twice:
			f.Add(field, "is about the same as line %d; each may stand once", line)
		case err != nil:
			f.Add(field, "%s", command.OneLine(err.Error()))
			seen[about] = f.At(field).Line
		default:
			seen[about] = f.At(field).Line
		}
	}
}
