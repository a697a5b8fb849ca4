// Package command is what the commands of bot have in common: the world as they see it, their exit codes, and how they stop.
//
// A command is a package below cmd/bot with a function Commands that says its name, its words, its flags and its help, and what runs: that
// takes a [Process], does one thing, and returns the exit code. doctor, audit, permissions and terminal are such packages. cmd/bot puts them
// together, and [Process.Execute] reads the command line with cobra: line.go has what is nod's own about it.
//
// Start reading at [Process]. It imports the configuration and what every command prints with; it knows no adapter and no store. What two commands
// need is here; what only one needs is in its own package; what makes a part of the bot from the configuration is in cmd/bot/parts.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// The exit codes.
const (
	OK    = 0
	Fail  = 1
	Usage = 2
)

// Process is what a command has of the world, as values, so that tests can be it.
type Process struct {
	Env            config.Getenv
	Variables      []string  // the names of those that are set
	Stdin          io.Reader // nil: closed
	Terminal       bool      // a person types into Stdin
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal
	Hear           func()    // has signals come there; nil: they do. See Heed
	Exit           func(int) // ends the process at once
	Version        string    // of this program, for those that it talks to

	// What every command's flags say.
	ConfigFile string // empty: there is none
	LogForm    string // text or json

	code int // what the command that ran returned
}

// Load reads the configuration. Where it cannot, it says so, and the exit code is Usage.
func (p Process) Load() (c config.Config, ok bool) {
	c, err := config.Load(p.ConfigFile, p.Env)
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
	}
	return c, err == nil
}

// Configured runs a command with the configuration, if it has no mistake.
func Configured(run func(Process, config.Config) int) func(Process, []string) int {
	return func(p Process, _ []string) int {
		if c, ok := p.Load(); ok {
			return run(p, c)
		}
		return Usage
	}
}

// Refuse says why the command ends, and returns its code.
func (p Process) Refuse(code int, err error) int {
	fmt.Fprintln(p.Stderr, "nod:", err)
	return code
}

// mistake is an error of whoever typed.
type mistake struct{ error }

// Mistake marks an error as one in what was typed, or in the file that was named there: code [Usage].
func Mistake(err error) error { return mistake{err} }

// End says what went wrong, if anything did, and returns the command's code.
func (p Process) End(err error) int {
	if err == nil {
		return OK
	}
	if _, theirs := errors.AsType[mistake](err); theirs {
		return p.Refuse(Usage, err)
	}
	return p.Refuse(Fail, err)
}

// Variable is one of nod's own variables, under its name of today or the one that it had before.
func (p Process) Variable(name string) string {
	v, _ := config.Variable(p.Env, name)
	return v
}

// Warnings are what will perhaps not work as it was meant.
func (p Process) Warnings(c config.Config) []string {
	return slices.Concat(c.Warnings(), config.Renamed(p.Env), config.Misspelt(p.Variables))
}

// Logger makes the process's log, from level on. Secrets have types that mask themselves (config.Secret), whichever form is written.
func (p Process) Logger(level slog.Leveler) *slog.Logger {
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration { // JSON would have it in nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if p.LogForm == "json" {
		return slog.New(slog.NewJSONHandler(p.Stderr, opt))
	}
	return slog.New(slog.NewTextHandler(p.Stderr, opt))
}

// Context ends at the first signal. A second one ends the process.
func (p Process) Context() (ctx context.Context, release func()) {
	return p.UntilSignal(0, slog.New(slog.DiscardHandler))
}

// WriteFile makes a file, for its owner alone, that has the name once it is whole and on disk. One that has it already is written over only with over.
func WriteFile(path string, over bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !over {
		return fmt.Errorf("%s is there already, and nothing is written over", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".nod-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is in place, or of no use
	if err = errors.Join(write(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Platform is where whoever types commands is known by.
const Platform = "cli"

// Operator is who types: the name that the system has for them. Whoever holds the state's credentials could write to it anyway, so the name is
// for the record and proves nothing.
func (p Process) Operator() chat.Envelope {
	name, _ := p.Env("USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	name = cmp.Or(name, "operator")
	return chat.Envelope{User: chat.User{Platform: Platform, Key: name}, Name: name}
}

// OneLine keeps what comes from outside from moving a terminal's cursor.
func OneLine(s string) string {
	s, _ = text.Visible(s)
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
}

// Count is a number of things in words.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return text.Number(n) + " " + more
}
