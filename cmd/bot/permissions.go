package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	osuser "os/user"
	"slices"
	"strings"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

const permissionsUsage = `  bot permissions show [SERVER [TOOL]]
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

const permissionsFlags = `  -yes                permissions apply, import: do it
`

const permissionsExport = "permissions export"

// permissionOptions are the flags that only these commands have. They share -out and -json with others.
type permissionOptions struct{ yes bool }

func (p *permissionOptions) define(fs *flag.FlagSet) { fs.BoolVar(&p.yes, "yes", false, "") }

// isCommand reports whether a command line begins with those words.
func isCommand(line, words string) bool {
	return line == words || strings.HasPrefix(line, words+" ")
}

// fit refuses flags that the command would not look at.
func (p permissionOptions) fit(command string) error {
	if p.yes && !isCommand(command, "permissions apply") && !isCommand(command, "permissions import") {
		return errors.New("-yes goes with: bot permissions apply, bot permissions import")
	}
	return nil
}

// permitting is one run of a command of the permissions.
type permitting struct {
	options
	config config.Config
	store  *state.Store
	by     chat.Envelope
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	log    *slog.Logger
}

// permissionVerb is one of the commands, with how many words stand after it.
type permissionVerb struct {
	least, most int
	usage       string
	do          func(*permitting, context.Context, []string) error
}

func permissionVerbs() map[string]permissionVerb {
	return map[string]permissionVerb{
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

// permissions runs bot permissions VERB. Codes: 0 done, or shown what would be done; 1 it could not be done, and nothing was changed; 2 the
// command line, the configuration or the file is wrong.
func (p process) permissions(o options, words []string) int {
	verb, args := "", []string(nil)
	if len(words) > 0 {
		verb, args = words[0], words[1:]
	}
	v, ok := permissionVerbs()[verb]
	switch {
	case !ok:
		fmt.Fprintln(p.stderr, "bot: permissions what? There is: show, why, templates, apply, export, import")
		return exitUsage
	case len(args) < v.least || len(args) > v.most:
		fmt.Fprintln(p.stderr, strings.TrimSpace("bot: usage: bot permissions "+verb+" "+v.usage))
		return exitUsage
	}
	c, err := config.Load(o.config, p.env)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	ctx, release := untilSignal(context.Background(), p.signals, 0, slog.New(slog.DiscardHandler), p.exit)
	defer release()
	do := &permitting{options: o, config: c, by: operator(p.env), stdin: p.stdin, stdout: p.stdout, stderr: p.stderr, log: quietLog(p.stderr)}
	if verb != "templates" {
		if err := do.open(ctx); err != nil {
			fmt.Fprintln(p.stderr, "bot:", err)
			return exitFail
		}
		defer func() { _ = do.store.Close() }()
	}
	err = v.do(do, ctx, args)
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	return exitOK
}

// quietLog is the log of a command: what went well needs no words.
func quietLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// cliPlatform is where whoever types these commands is known by.
const cliPlatform = "cli"

// operator is who types: the name that the system has for them. Whoever holds the state's credentials could write to it anyway, so the name is
// for the record and proves nothing.
func operator(env config.Getenv) chat.Envelope {
	name := ""
	if u, err := osuser.Current(); err == nil {
		name = u.Username
	}
	if name == "" {
		name, _ = env("USER")
	}
	name = cmp.Or(name, "operator")
	return chat.Envelope{User: chat.User{Platform: cliPlatform, Key: name}, Name: name}
}

// open opens the state: to read it, unless something is to be changed.
func (p *permitting) open(ctx context.Context) (err error) {
	o := state.Options{URL: p.config.Redis.URL.Reveal(), Durability: p.config.Redis.Durability.String(), Lease: p.config.Lease, Keep: keep(p.config), Log: p.log}
	switch {
	case !p.perm.yes:
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
	lines, err := e.Permissions(ctx, p.by, []string{"why", args[0], args[1]})
	for _, l := range lines {
		fmt.Fprintln(p.stdout, oneLine(l))
	}
	return err
}

func (p *permitting) templates(context.Context, []string) error {
	for _, t := range permission.Templates() {
		fmt.Fprintf(p.stdout, "%s: %s\n", t.Name, t.Says)
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
		return usageError{fmt.Errorf("there is no template %q; there is: %s", oneLine(args[0]), strings.Join(names, ", "))}
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
		fmt.Fprintf(p.stderr, "note: %s: %s Of its tools only those that were seen before are known.\n", oneLine(f.Server), oneLine(f.Say))
	}
	fmt.Fprintln(p.stdout, t.Says)
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
