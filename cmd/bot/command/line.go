package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nodhq/nod/cmd/bot/config"
)

// Command is one command. use is its name and the words that it takes, as in "show [SERVER [TOOL]]": those in brackets may be left out.
// run returns the exit code.
func (p *Process) Command(use, short string, run func(Process, []string) int) *cobra.Command {
	words := strings.Fields(use)[1:]
	need := len(words) - strings.Count(use, "[")
	return &cobra.Command{
		Use: use, Short: short, DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < need || len(args) > len(words) {
				return errors.New("usage: " + c.UseLine())
			}
			return nil
		},
		RunE: p.Run(run),
	}
}

// Run makes what a command does to what cobra calls.
func (p *Process) Run(run func(Process, []string) int) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		p.code = run(*p, args)
		return nil
	}
}

// Group is a word that only says what follows it.
func Group(name, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, DisableFlagsInUseLine: true, Args: unknown, RunE: func(c *cobra.Command, _ []string) error { return unknown(c, nil) }}
	c.AddCommand(below...)
	return c
}

// unknown says that no command is called so, and which is meant or which there are.
func unknown(c *cobra.Command, args []string) error {
	said, rest := strings.Join(append(strings.Fields(c.CommandPath())[1:], args...), " "), ""
	if c.HasParent() {
		var there []string
		leaves(c, func(of *cobra.Command) { there = append(there, of.CommandPath()) })
		rest = "; there is: " + strings.Join(there, ", ")
	}
	if len(args) > 0 {
		c.SuggestionsMinimumDistance = 2
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			rest = "; did you mean " + c.CommandPath() + " " + near[0] + "?"
		}
	}
	return fmt.Errorf("there is no command %q%s", said, rest)
}

// leaves calls each with all commands that do something, in the order in which they were added.
func leaves(c *cobra.Command, each func(*cobra.Command)) {
	if !c.HasSubCommands() {
		each(c)
	}
	for _, below := range c.Commands() {
		leaves(below, each)
	}
}

// setUp sets what cobra keeps for all command lines of a process.
var setUp = sync.OnceFunc(func() {
	cobra.EnableCommandSorting = false
	cobra.MousetrapHelpText = "" // who clicks on the program in Windows starts it, too
})

// Execute runs the command that the arguments name, and returns the exit code.
func (p *Process) Execute(root *cobra.Command, args []string) int {
	setUp()
	flags := root.PersistentFlags()
	flags.StringVar(&p.ConfigFile, "config", "", "read the configuration from `FILE` (YAML); otherwise NOD_CONFIG, otherwise nod.yaml of this directory, if it is there")
	flags.StringVar(&p.LogForm, "log", "text", "the form of the log on standard error: `text|json`")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(c, args)
		}
		return nil
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if p.LogForm != "text" && p.LogForm != "json" {
			return errors.New("-log wants text or json")
		}
		if p.ConfigFile == "" {
			p.ConfigFile = p.Variable("NOD_CONFIG")
		}
		return nil
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { help(p.Stdout, c) })
	root.SetHelpCommand(helpCommand(root))
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetArgs(arrange(root, args))
	if c, err := root.ExecuteC(); err != nil {
		fmt.Fprintf(p.Stderr, "nod: %v\n%s --help says more.\n", err, c.CommandPath())
		return Usage
	}
	return p.code
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "print this, or what a command does and its flags", DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, _ := root.Find(args)
			if len(rest) > 0 { // so it is with every error
				return unknown(c, rest)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		}}
}

// arrange puts the flags behind the words, because they may stand before, between and after them, and two dashes before the names of those
// that are written with one.
func arrange(root *cobra.Command, args []string) []string {
	words, flags := []string{}, []string(nil)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, valued := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "--":
			return append(append(words, flags...), args[i:]...)
		case arg == cobra.ShellCompRequestCmd, arg == cobra.ShellCompNoDescRequestCmd: // a shell asks how a line goes on
			return args
		case !strings.HasPrefix(arg, "-") || name == "":
			words = append(words, arg)
			continue
		case len(name) > 1 && !strings.HasPrefix(arg, "--"):
			arg = "-" + arg
		}
		flags = append(flags, arg)
		if f, _ := find(root, name); f != nil && f.NoOptDefVal == "" && !valued && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return append(words, flags...)
}

// find looks a flag up, and the commands that look at it. Those of the same name are of the same type.
func find(root *cobra.Command, name string) (found *pflag.Flag, owners []string) {
	found = root.PersistentFlags().Lookup(name)
	leaves(root, func(c *cobra.Command) {
		if f := c.Flags().Lookup(name); f != nil {
			found, owners = f, append(owners, c.CommandPath())
		}
	})
	return found, owners
}

// wrongFlag says what is wrong with a flag, and which commands look at it.
func wrongFlag(c *cobra.Command, err error) error {
	if none, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := none.GetSpecifiedName()
		if _, owners := find(c.Root(), name); len(owners) > 0 {
			return fmt.Errorf("-%s goes with: %s", name, strings.Join(owners, ", "))
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		return fmt.Errorf("there is no flag -%s%s", name, config.Suggest(name, known))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			return fmt.Errorf("-%s: invalid value %q", invalid.GetFlag().Name, invalid.GetValue())
		}
		return fmt.Errorf("-%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return err
}

// help prints what a command does, the commands below it, and its flags.
func help(out io.Writer, c *cobra.Command) {
	fmt.Fprintf(out, "%s\n\nusage:\n", cmp.Or(c.Long, c.Short))
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	leaves(c, func(of *cobra.Command) {
		if of == c {
			fmt.Fprintf(lines, "  %s\n", of.UseLine())
		} else {
			fmt.Fprintf(lines, "  %s\t%s\n", of.UseLine(), of.Short)
		}
	})
	_ = lines.Flush()
	if own := c.LocalNonPersistentFlags(); own.HasAvailableFlags() {
		fmt.Fprintf(out, "\nflags:\n%s", own.FlagUsages())
	}
	fmt.Fprintf(out, "\nflags of every command (one dash will do, too):\n%s", c.Root().PersistentFlags().FlagUsages())
}
