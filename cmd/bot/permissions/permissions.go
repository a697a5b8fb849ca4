// Package permissions is the command nod permissions: it shows what is in force (show, why, templates), writes it out (export), and changes it
// where -yes stands (apply, import).
//
// What is changed goes through an engine that drives no chat (change.go), because that is the one way to the settings: the record is the same as
// that of a person at the settings page. permissions.go has the verbs with their flags and what only shows; exchange.go the file
// of export and import, and how its mistakes are told with their lines. What a setting, a template or an exchange is stands in
// core/permission; a new verb is a line in [Commands].
package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// flags are those of these commands: each has some of them.
type flags struct {
	yes, json bool
	out, in   string
}

// run is one run of a command of the permissions.
type run struct {
	command.Process
	flags
	config config.Config
	store  *state.Store
	none   error // there was no state: the store is an empty one, of this run alone
	by     chat.Envelope
	log    *slog.Logger
	engine *agent.Engine // of open
	tools  agent.Tools   // likewise
}

// Commands is nod permissions. Codes: 0 done, or shown what would be done; 1 it could not be done, and nothing was changed; 2 the
// command line, the configuration or the file is wrong.
func Commands(p *command.Process) *cobra.Command {
	f := &flags{}
	verb := func(use, short string, do func(*run, context.Context, []string) error) *cobra.Command {
		return p.Command(use, short, func(p command.Process, words []string) int { return f.run(p, do, words) })
	}
	apply := verb("apply TEMPLATE", "print what a template would change; with -yes, change it", (*run).apply)
	apply.ValidArgs = templateNames(nil)
	export := verb("export", "print what people set, remembered and accepted, as YAML or with -json", (*run).export)
	read := verb("import FILE", "print what reading such a file would change; with -yes, change it", (*run).importFile)
	read.Long = "Print what reading such a file (- is the standard input) would change; with -yes, change it: all or nothing."
	for _, c := range []*cobra.Command{apply, read} {
		c.Flags().BoolVar(&f.yes, "yes", false, "do it")
	}
	export.Flags().BoolVar(&f.json, "json", false, "JSON instead of YAML")
	export.Flags().StringVar(&f.out, "out", "", "write to `FILE`, which only its owner may read")
	why := verb("why SERVER TOOL [ARGUMENTS]", "print every rule that a call of it would go through, and which wins; ARGUMENTS are JSON", (*run).why)
	why.Flags().StringVar(&f.in, "in", "", "a call in `PLACE`, such as slack:T1:C1, where other rules may count")
	return command.Group("permissions", "show, explain and change what runs unasked",
		verb("show [SERVER [TOOL]]", "print what is in force: the configuration, and over it what people set", (*run).show),
		why,
		verb("templates", "print the sets of settings for common ways of working, and the configuration's own", (*run).templates),
		apply, export, read)
}

func (f *flags) run(p command.Process, do func(*run, context.Context, []string) error, words []string) int {
	c, ok := p.Load()
	if !ok {
		return command.Usage
	}
	ctx, release := p.Context()
	defer release()
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) // what went well needs no words
	r := &run{Process: p, flags: *f, config: c, by: p.Operator(), log: log}
	closeStore, err := r.openStore(ctx)
	if err == nil {
		defer closeStore()
		err = do(r, ctx, words)
	}
	return p.End(err)
}

// openStore opens the state: to read it, unless something is to be changed. Before the first start there is none, and the configuration is all that
// is in force.
func (p *run) openStore(ctx context.Context) (closeStore func(), err error) {
	open, c := parts.OpenToRead, p.config
	if p.yes {
		open = parts.OpenToWrite
	}
	var dir string
	p.store, err = open(ctx, c, p.log)
	if errors.Is(err, state.ErrNothing) {
		p.none = err
		if dir, err = os.MkdirTemp("", "nod"); err == nil {
			c.DataDir = dir
			p.store, err = parts.OpenToWrite(ctx, c, p.log)
		}
	}
	return func() {
		_ = p.store.Close()
		_ = os.RemoveAll(dir) // "" is nothing
	}, parts.InUse(c, err, "use its settings page or /nod permissions, or stop it first")
}

// why prints every rule that a call would go through, asked by somebody who is no admin and has set nothing for themselves.
func (p *run) why(ctx context.Context, args []string) error {
	stop, err := p.connect()
	if err != nil {
		return err
	}
	defer stop()
	set, err := settings.New(settings.Config{Engine: p.engine, Log: p.store, Index: p.store, Tools: p.tools, Logger: p.log})
	if err != nil {
		return err
	}
	words := []string{"why"}
	if p.in != "" {
		at, err := config.ParsePlace(p.in)
		if err != nil {
			return command.Mistake(fmt.Errorf("-in: %w", err))
		}
		words = append(words, "-in", at.String())
	}
	lines, err := set.Permissions(ctx, p.by, append(words, args...))
	if len(lines) == 1 { // an explanation has many: there is no such tool, or these are no arguments
		return command.Mistake(errors.New(command.OneLine(lines[0])))
	}
	for _, l := range lines {
		fmt.Fprintln(p.Stdout, command.OneLine(l))
	}
	return err
}

func (p *run) templates(context.Context, []string) error {
	for _, t := range permission.Templates(p.config.Policy().Templates...) {
		fmt.Fprintf(p.Stdout, "%s: %s\n", t.Name, t.Says)
	}
	return nil
}

func templateNames(own []permission.Template) (names []string) {
	for _, t := range permission.Templates(own...) {
		names = append(names, t.Name)
	}
	return names
}

// apply prints what a template would change for the tools that are known now, and does it with -yes.
func (p *run) apply(ctx context.Context, args []string) error {
	own := p.config.Policy().Templates
	t, ok := permission.FindTemplate(strings.ToLower(args[0]), own...)
	if !ok {
		return command.Mistake(fmt.Errorf("there is no template %q; there is: %s", command.OneLine(args[0]), strings.Join(templateNames(own), ", ")))
	}
	stop, err := p.connect()
	if err != nil {
		return err
	}
	defer stop()
	specs, faults, err := p.tools.List(ctx)
	if err != nil {
		return err
	}
	for _, f := range faults {
		fmt.Fprintf(p.Stderr, "note: %s: %s Of its tools only those that were seen before are known.\n", command.OneLine(f.Server), text.OneLine(f.Say))
	}
	fmt.Fprintln(p.Stdout, t.Says)
	return p.change(ctx, "template "+t.Name, func(policy permission.Policy, now permission.Settings) ([]permission.Change, error) {
		return t.Changes(policy, settings.KnownTools(specs, policy, now)), nil
	})
}

// show prints what is in force, for everything, for one server or for one tool, and who set what.
func (p *run) show(ctx context.Context, args []string) error {
	stop, err := p.connect()
	if err != nil {
		return err
	}
	defer stop()
	now, err := p.engine.Rules(ctx)
	if err != nil {
		return err
	}
	specs, faults, err := p.tools.List(ctx)
	if err != nil {
		return err
	}
	tools := settings.KnownTools(specs, now.Policy, now.Settings)
	slices.SortFunc(tools, func(a, b permission.Known) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	servers := slices.Collect(maps.Keys(now.Policy.Servers))
	for _, k := range tools {
		servers = append(servers, k.Tool.Server)
	}
	slices.Sort(servers)
	servers = slices.Compact(servers)
	switch {
	case len(args) == 0:
		p.everything(now)
	case !slices.Contains(servers, args[0]):
		return command.Mistake(errors.New(command.OneLine(text.NoSuchServer(args[0], servers))))
	default:
		servers = args[:1]
	}
	if len(args) > 1 {
		tools = slices.DeleteFunc(tools, func(k permission.Known) bool { return k.Tool.Server != args[0] || k.Tool.Name != args[1] })
		if len(tools) == 0 {
			return command.Mistake(fmt.Errorf("there is no tool %q of %s that is known", command.OneLine(args[1]), text.OneLine(args[0])))
		}
	}
	for _, name := range servers {
		fmt.Fprintln(p.Stdout, command.OneLine(name))
		if len(args) < 2 {
			p.server(now, name, faults)
		}
		for _, k := range tools {
			if k.Tool.Server == name {
				p.tool(now, k)
			}
		}
	}
	return nil
}

func (p *run) everything(now agent.Rules) {
	if h := now.Settings.Halted; h != nil {
		fmt.Fprintf(p.Stdout, "HALTED by %s on %s: nothing runs until an admin resumes\n", command.OneLine(h.Name), h.At.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(p.Stdout, "everything")
	p.fields(now, "  ", permission.Setting{})
	for _, l := range now.Policy.Locals {
		fmt.Fprintln(p.Stdout, "in "+strings.ReplaceAll(strings.Trim(fmt.Sprint(l.In), "[]"), " ", ", "))
		for _, x := range l.Set {
			fmt.Fprintln(p.Stdout, "  "+command.OneLine(x.String()))
		}
		for _, of := range l.Rules {
			for _, r := range of.Rules {
				fmt.Fprintf(p.Stdout, "  %s/%s: rule: %s\n", of.Server, command.OneLine(of.Tool), command.OneLine(r.Says()))
			}
		}
	}
}

func (p *run) server(now agent.Rules, name string, faults []agent.ServerFault) {
	for _, f := range faults {
		if f.Server == name {
			fmt.Fprintln(p.Stdout, "  cannot be used now: "+command.OneLine(f.Say))
		}
	}
	p.fields(now, "  ", permission.Setting{Server: name})
}

func (p *run) tool(now agent.Rules, k permission.Known) {
	is := now.Policy.Get(k.Tool, k.Source, k.Hints, k.Metadata)
	line := fmt.Sprintf("  %s: %s, %s, %s", command.OneLine(k.Tool.Name), is.Access, is.Risk, is.Approval)
	switch {
	case is.Changed:
		line += "; changed since it was accepted"
	case is.New:
		line += "; nobody looked at it yet"
	}
	fmt.Fprintln(p.Stdout, line)
	p.fields(now, "    ", permission.Setting{Server: k.Tool.Server, Tool: k.Tool.Name})
	for _, r := range now.Policy.Servers[k.Tool.Server].Tools[k.Tool.Name].Rules {
		fmt.Fprintln(p.Stdout, "    rule: "+command.OneLine(r.Says()))
	}
}

// fields prints what is set there, in the words of the configuration. What stands at its default is left out for tools.
func (p *run) fields(now agent.Rules, indent string, at permission.Setting) {
	for _, field := range at.Fields() {
		at.Field = field.Name
		value, by := now.Policy.Setting(at).Value, ""
		for _, x := range now.Settings.Set {
			if x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field {
				by = fmt.Sprintf("   (set by %s, %s, on %s)", command.OneLine(x.Name), text.OneLine(x.By.String()), x.At.UTC().Format(time.DateTime))
			}
		}
		if by == "" && (value == "" || at.Tool != "" && value == (permission.Policy{}).Setting(at).Value) {
			continue
		}
		fmt.Fprintf(p.Stdout, "%s%s = %s%s\n", indent, at.Field, command.OneLine(value), by)
	}
}
