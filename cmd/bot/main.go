// Command bot is nod: a chat bot that asks before it acts.
//
// This package owns the process: it says which commands there are (main.go), wires the parts to the engine and runs them (serve.go), with the one
// HTTP listener (listen.go) and its health (health.go). It and the packages below it are where concrete types are named; everything else
// takes what it needs as values.
//
//	config       the configuration: every field, how it is read, checked and printed
//	parts        each part of the bot, made from the configuration: store, model, tool servers, policy
//	command      what the commands share: the process as values, the command line, exit codes, signals
//	setup, doctor, audit, backup, permissions, person, terminal   one command each; nod init is setup, nod chat terminal
//
// nod help prints the commands. A new one is a package with Commands and its line in main. A new part is made in parts and wired in serve.go.
//
// Exit codes: 0 it worked or was stopped as asked, 1 it could not start or failed, 2 the command line or the configuration is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/nodhq/nod/adapters/document"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/cmd/bot/audit"
	"github.com/nodhq/nod/cmd/bot/backup"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/doctor"
	"github.com/nodhq/nod/cmd/bot/permissions"
	"github.com/nodhq/nod/cmd/bot/person"
	"github.com/nodhq/nod/cmd/bot/setup"
	"github.com/nodhq/nod/cmd/bot/terminal"
	"github.com/nodhq/nod/state"
)

func main() {
	document.Main() // this binary is also what reads a PDF, in a process of its own
	confine.Main()  // the programs that it starts are confined
	hardened := confine.Harden()
	signals := make(chan os.Signal, 2)
	os.Exit(process{args: os.Args[1:], run: run, hardened: hardened, Process: command.Process{
		Env: os.LookupEnv, Variables: variables(), Stdin: os.Stdin, Terminal: isTerminal(os.Stdin), Stdout: os.Stdout, Stderr: os.Stderr,
		Signals: signals, Hear: func() { hear(signals) }, Exit: os.Exit,
	}}.main())
}

// hear has signals come that ask the process to end; that its terminal was closed is one, but under nohup.
func hear(signals chan<- os.Signal) {
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
}

// isTerminal reports whether a person types into f. What is piped in is no person: nothing in it answers an ask.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// variables are the names in the environment.
func variables() (names []string) {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// process is what main has of the world, as values, so that tests can be it.
type process struct {
	command.Process
	args     []string
	run      func(context.Context, config.Config, io.Writer, *slog.Logger) error
	hardened error // why others of this user can look into this process, if they can
}

const about = `nod: a chat bot that asks before it acts.

Every field of the configuration is explained in docs/configuration.md. Slack is explained in docs/slack.md, Discord in
docs/discord.md, the audit in docs/audit.md, permissions in docs/permissions.md.`

// main runs one command and returns the exit code.
func (p process) main() int {
	c, version := &p.Process, false
	c.Version = versionLine()
	printVersion := func(c command.Process, _ []string) int {
		fmt.Fprintln(c.Stdout, c.Version)
		return command.OK
	}
	serve := command.Configured(p.serve)
	root := c.Command("nod", "nod: a chat bot that asks before it acts", func(c command.Process, words []string) int {
		if version {
			return printVersion(c, words)
		}
		return serve(c, words)
	})
	root.Long = about
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	start := c.Command("serve", "start, as nod alone does; without any configuration this is the demo", serve)
	start.Long = "Start; without any configuration this is the demo.\nnod config check says what is wrong with the configuration, and nod doctor whether all that it names works."
	root.AddCommand(
		start, setup.Commands(c),
		command.Group("config", "look at the configuration",
			c.Command("check", "say what is wrong with the configuration, or \"ok\"", command.Configured(checkConfig)),
			c.Command("print", "print the effective configuration, secrets masked", command.Configured(printConfig))),
		doctor.Commands(c), doctor.Health(c), manifests(c), audit.Commands(c), permissions.Commands(c), person.Commands(c), person.Hold(c), terminal.Commands(c),
	)
	root.AddCommand(backup.Commands(c)...)
	root.AddCommand(c.Command("version", "print the version", printVersion))
	return c.Execute(root, p.args)
}

// checkConfig is nod config check.
func checkConfig(p command.Process, c config.Config) int {
	for _, w := range p.Warnings(c) {
		fmt.Fprintln(p.Stderr, "note:", w)
	}
	if url := c.Redis.URL; !url.IsZero() {
		if err := state.CheckURL(url.Reveal()); err != nil {
			return p.Refuse(command.Usage, err)
		}
	}
	fmt.Fprintln(p.Stdout, "ok")
	return command.OK
}

// printConfig is nod config print.
func printConfig(p command.Process, c config.Config) int {
	if err := c.Write(p.Stdout); err != nil {
		return p.Refuse(command.Fail, err)
	}
	return command.OK
}

// serve is nod serve.
func (p process) serve(as command.Process, c config.Config) int {
	log := as.Logger(c.LogLevel)
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log) // and so what libraries print by package log is in the log's form
	if c.File != "" {
		log.Info("the configuration is read", "file", c.File)
	}
	for _, w := range as.Warnings(c) {
		log.Warn(w)
	}
	if p.hardened != nil {
		log.Warn("this process is not as closed to other programs as it should be", "why", p.hardened)
	}
	ctx, release := as.UntilSignal(c.Drain, log)
	defer release()
	if err := p.run(ctx, c, p.Stdout, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped by an error", "error", err)
		return command.Fail
	}
	log.Info("stopped")
	return command.OK
}
