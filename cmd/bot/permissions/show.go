package permissions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
)

// inForce is what holds now, for being printed.
type inForce struct {
	*permitting
	policy permission.Policy
	now    permission.Settings
	specs  []agent.ToolSpec
	faults map[string]string // by server
}

// show prints what is in force, for everything, for one server or for one tool, and who set what.
func (p *permitting) show(ctx context.Context, args []string) error {
	tools, stop, err := p.tools()
	if err != nil {
		return err
	}
	defer stop()
	e, err := p.engine(tools)
	if err != nil {
		return err
	}
	now, err := e.Rules(ctx)
	if err != nil {
		return err
	}
	is := inForce{permitting: p, policy: now.Policy, now: now.Settings, faults: map[string]string{}}
	specs, faults, err := tools.List(ctx)
	if err != nil {
		return err
	}
	is.specs = specs
	for _, f := range faults {
		is.faults[f.Server] = f.Say
	}
	return is.print(args)
}

func (f inForce) print(args []string) error {
	tools := knownTools(f.specs, f.policy, f.now)
	servers := slices.Collect(maps.Keys(f.policy.Servers))
	for _, t := range tools {
		servers = append(servers, t.Tool.Server)
	}
	slices.Sort(servers)
	servers = slices.Compact(servers)
	if len(args) > 0 {
		if !slices.Contains(servers, args[0]) {
			return usageError{fmt.Errorf("there is no server %q; there is: %s", command.OneLine(args[0]), someNames(servers))}
		}
		servers = args[:1]
	}
	if len(args) > 1 {
		tools = slices.DeleteFunc(tools, func(k permission.Known) bool { return k.Tool.Server != args[0] || k.Tool.Name != args[1] })
		if len(tools) == 0 {
			return usageError{fmt.Errorf("there is no tool %q of %s that is known", command.OneLine(args[1]), command.OneLine(args[0]))}
		}
	}
	if len(args) == 0 {
		f.everything()
	}
	for _, name := range servers {
		f.server(name, tools, len(args) < 2)
	}
	return nil
}

func (f inForce) everything() {
	if h := f.now.Halted; h != nil {
		fmt.Fprintf(f.Stdout, "HALTED by %s on %s: nothing runs until an admin resumes\n", command.OneLine(h.Name), h.At.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(f.Stdout, "everything")
	f.fields("  ", permission.Setting{})
}

func (f inForce) server(name string, tools []permission.Known, whole bool) {
	fmt.Fprintln(f.Stdout, command.OneLine(name))
	if whole {
		if say := f.faults[name]; say != "" {
			fmt.Fprintln(f.Stdout, "  cannot be used now: "+command.OneLine(say))
		}
		f.fields("  ", permission.Setting{Server: name})
	}
	slices.SortFunc(tools, func(a, b permission.Known) int {
		if a.Tool.Name < b.Tool.Name {
			return -1
		}
		return 1
	})
	for _, k := range tools {
		if k.Tool.Server != name {
			continue
		}
		is := f.policy.Get(k.Tool, k.Source, k.Hints, k.Metadata)
		line := fmt.Sprintf("  %s: %s, %s, %s", command.OneLine(k.Tool.Name), is.Access, is.Risk, is.Approval)
		switch {
		case is.Changed:
			line += "; changed since it was accepted"
		case is.New:
			line += "; nobody looked at it yet"
		}
		fmt.Fprintln(f.Stdout, line)
		f.fields("    ", permission.Setting{Server: name, Tool: k.Tool.Name})
	}
}

// fields prints what is set there, in the words of the configuration. What stands at its default is left out for tools.
func (f inForce) fields(indent string, at permission.Setting) {
	for _, field := range at.Fields() {
		at.Field = field.Name
		value := f.policy.Setting(at).Value
		by, set := "", false
		for _, x := range f.now.Set {
			if x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field {
				by, set = fmt.Sprintf("   (set by %s, %s, on %s)", command.OneLine(x.Name), command.OneLine(x.By.String()), x.At.UTC().Format(time.DateTime)), true
			}
		}
		if !set && (value == "" || at.Tool != "" && value == f.unset(at)) {
			continue
		}
		fmt.Fprintf(f.Stdout, "%s%s = %s%s\n", indent, at.Field, command.OneLine(value), by)
	}
}

// unset is the field's value of a tool that nobody said anything about.
func (f inForce) unset(at permission.Setting) string { return permission.Policy{}.Setting(at).Value }

// someNames lists the first of many names.
func someNames(names []string) (out string) {
	const most = 12
	for i, n := range names {
		switch {
		case i == most:
			return out + fmt.Sprintf(" and %d more", len(names)-most)
		case i > 0:
			out += ", "
		}
		out += command.OneLine(n)
	}
	return out
}
