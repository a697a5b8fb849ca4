// Package permissions is the command bot permissions: it shows what is in force (show, why, templates), writes it out (export), and changes it
// where -yes stands (apply, import).
//
// What is changed goes through an engine that drives no chat (change.go), because that is the one way to the settings: the record is the same as
// that of a person at the settings page. permissions.go has the flags, the verbs and [Run]; show.go what is in force; exchange.go the file
// of export and import, and how its mistakes are told with their lines. What a setting, a template or an exchange is stands in
// core/permission; a new verb is a line in verbs.
package permissions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// Text is what the help says of the commands, and FlagText of their flags.
const Text = `  bot permissions show [SERVER [TOOL]]
                        print what is in force: the configuration, and over it what people set
  bot permissions why SERVER TOOL
                        print every rule that a call of it would go through, and which wins
  bot permissions templates
                        print the sets of settings for common ways of working
  bot permissions apply TEMPLATE
                        print what a template would change; with -yes, change it
  bot permissions export
                        print what people set, remembered and accepted, as YAML or with -json
  bot permissions import FILE
                        print what reading such a file (- is the standard input) would change; with -yes, change it: all or nothing
`

const FlagText = `  -yes                permissions apply, import: do it
`

// Export is the command that shares -out and -json with others.
const Export = "permissions export"

// Flags are the flags of these commands.
type Flags struct {
	yes bool
	// Out and JSON are of export. Other commands have them, too, so cmd/bot defines them.
	Out  string
	JSON bool
}

// Define names the flags.
func (p *Flags) Define(fs *flag.FlagSet) { fs.BoolVar(&p.yes, "yes", false, "") }

// Check refuses flags that the command would not look at.
func (p Flags) Check(line string) error {
	if p.yes && !command.Is(line, "permissions apply") && !command.Is(line, "permissions import") {
		return errors.New("-yes goes with: bot permissions apply, bot permissions import")
	}
	return nil
}

// permitting is one run of a command of the permissions.
type permitting struct {
	command.Process
	Flags
	config config.Config
	store  *state.Store
	by     chat.Envelope
	log    *slog.Logger
}

// verb is one of the commands, with how many words stand after it.
type verb struct {
	least, most int
	usage       string
	do          func(*permitting, context.Context, []string) error
}

func verbs() map[string]verb {
	return map[string]verb{
		"show":      {0, 2, "[SERVER [TOOL]]", (*permitting).show},
		"why":       {2, 2, "SERVER TOOL", (*permitting).why},
		"templates": {0, 0, "", (*permitting).templates},
		"apply":     {1, 1, "TEMPLATE", (*permitting).apply},
		"export":    {0, 0, "", (*permitting).export},
		"import":    {1, 1, "FILE", (*permitting).importing},
	}
}

// usageError is a mistake in what was typed or in the file that was named: code 2.
type usageError struct{ error }

// Run runs bot permissions VERB. Codes: 0 done, or shown what would be done; 1 it could not be done, and nothing was changed; 2 the
// command line, the configuration or the file is wrong.
func Run(p command.Process, flags Flags, words []string) int {
	name, args := "", []string(nil)
	if len(words) > 0 {
		name, args = words[0], words[1:]
	}
	v, ok := verbs()[name]
	switch {
	case !ok:
		return p.Refuse(command.Usage, errors.New("permissions what? There is: show, why, templates, apply, export, import"))
	case len(args) < v.least || len(args) > v.most:
		return p.Refuse(command.Usage, errors.New(strings.TrimSpace("usage: bot permissions "+name+" "+v.usage)))
	}
	c, ok := p.Load()
	if !ok {
		return command.Usage
	}
	ctx, release := p.Context()
	defer release()
	do := &permitting{Process: p, Flags: flags, config: c, by: p.Operator(), log: quietLog(p.Stderr)}
	if name != "templates" {
		if err := do.open(ctx); err != nil {
			return p.Refuse(command.Fail, err)
		}
		defer func() { _ = do.store.Close() }()
	}
	err := v.do(do, ctx, args)
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		return p.Refuse(command.Usage, err)
	case err != nil:
		return p.Refuse(command.Fail, err)
	}
	return command.OK
}

// quietLog is the log of a command: what went well needs no words.
func quietLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// open opens the state: to read it, unless something is to be changed.
func (p *permitting) open(ctx context.Context) (err error) {
	o := state.Options{URL: p.config.Redis.URL.Reveal(), Durability: p.config.Redis.Durability.String(), Lease: p.config.Lease, Keep: parts.Keep(p.config), Log: p.log}
	switch {
	case !p.yes:
		p.store, err = state.OpenToRead(ctx, p.config.DataDir, o)
	case p.config.Redis.URL.IsZero():
		p.store, err = state.OpenEmbedded(p.config.DataDir, o)
	default:
		p.store, err = state.Open(ctx, o)
	}
	if err != nil && p.config.Redis.URL.IsZero() && errors.Is(err, state.ErrInUse) {
		return fmt.Errorf("data_dir %s: a nod is running on it, and the state belongs to that one process: use its settings page or /nod permissions, or stop it first", p.config.DataDir)
	}
	return err
}

// why prints every rule that a call would go through, asked by somebody who is no admin and has set nothing for themselves.
func (p *permitting) why(ctx context.Context, args []string) error {
	tools, stop, err := p.tools()
	if err != nil {
		return err
	}
	defer stop()
	e, err := p.engine(tools)
	if err != nil {
		return err
	}
	set, err := settings.New(settings.Config{Engine: e, Log: p.store, Index: p.store, Tools: tools, Logger: p.log})
	if err != nil {
		return err
	}
	lines, err := set.Permissions(ctx, p.by, []string{"why", args[0], args[1]})
	for _, l := range lines {
		fmt.Fprintln(p.Stdout, command.OneLine(l))
	}
	return err
}

func (p *permitting) templates(context.Context, []string) error {
	for _, t := range permission.Templates() {
		fmt.Fprintf(p.Stdout, "%s: %s\n", t.Name, t.Says)
	}
	return nil
}

// apply prints what a template would change for the tools that are known now, and does it with -yes.
func (p *permitting) apply(ctx context.Context, args []string) error {
	t, ok := permission.FindTemplate(strings.ToLower(args[0]))
	if !ok {
		var names []string
		for _, x := range permission.Templates() {
			names = append(names, x.Name)
		}
		return usageError{fmt.Errorf("there is no template %q; there is: %s", command.OneLine(args[0]), strings.Join(names, ", "))}
	}
	tools, stop, err := p.tools()
	if err != nil {
		return err
	}
	defer stop()
	specs, faults, err := tools.List(ctx)
	if err != nil {
		return err
	}
	for _, f := range faults {
		fmt.Fprintf(p.Stderr, "note: %s: %s Of its tools only those that were seen before are known.\n", command.OneLine(f.Server), command.OneLine(f.Say))
	}
	fmt.Fprintln(p.Stdout, t.Says)
	return p.change(ctx, tools, "template "+t.Name, func(policy permission.Policy, now permission.Settings) ([]permission.Change, error) {
		return t.Changes(policy, knownTools(specs, policy, now)), nil
	})
}

// knownTools are the tools that servers offer now, and those that were seen or set before.
func knownTools(specs []agent.ToolSpec, policy permission.Policy, now permission.Settings) []permission.Known {
	var out []permission.Known
	for _, sp := range specs {
		out = append(out, permission.Known{Tool: sp.Tool, Source: sp.Source, Hints: sp.Hints, Metadata: sp.Metadata})
	}
	for server, set := range policy.Servers {
		for name := range set.Tools {
			t := permission.Tool{Server: server, Name: name}
			if slices.ContainsFunc(out, func(k permission.Known) bool { return k.Tool.Server == server && k.Tool.Name == name }) {
				continue
			}
			if pin, seen := now.Pin(t); seen {
				t = pin.Tool
			}
			out = append(out, permission.Known{Tool: t})
		}
	}
	return out
}
