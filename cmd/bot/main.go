// Command bot is nod: a chat bot that asks before it acts.
//
//	bot [serve]          start; without any configuration this is the demo
//	bot config check     say what is wrong with the configuration, or "ok"
//	bot config print     print the effective configuration, secrets masked
//	bot manifest slack   print the app for a Slack workspace
//	bot manifest discord print the invite for a Discord server, and what to switch on
//	bot doctor           try everything the configuration names, and say what to do about what does not work
//	bot audit VERB       tail, export, verify or anchor what was asked, decided and run
//	bot permissions VERB show, why, templates, apply, export or import what people set
//	bot chat [WORDS]     talk to a running bot from the terminal, and answer what it asks
//	bot version
//	bot help
//
// This package owns the process: it parses the command line (main.go), wires the parts to the engine and runs them (serve.go), with the one
// HTTP listener (listen.go) and its health (health.go). It and the packages below it are where concrete types are named; everything else
// takes what it needs as values.
//
//	config       the configuration: every field, how it is read, checked and printed
//	parts        each part of the bot, made from the configuration: store, model, tool servers, policy
//	command      what the commands share: the process as values, exit codes, signals
//	doctor, audit, permissions, terminal   one command each; bot chat is terminal
//
// A new command is a package with Run, its flags and its line in usage. A new part is made in parts and wired in serve.go.
//
// Exit codes: 0 it worked or was stopped as asked, 1 it could not start or failed, 2 the command line or the configuration is wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/cmd/bot/audit"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/doctor"
	"github.com/nodhq/nod/cmd/bot/permissions"
	"github.com/nodhq/nod/cmd/bot/terminal"
)

const usage = `nod: a chat bot that asks before it acts.

usage:
  bot [serve]           start; without any configuration this is the demo
  bot config check      say what is wrong with the configuration, or "ok"
  bot config print      print the effective configuration, secrets masked
  bot manifest slack    print the app that a Slack workspace adds
  bot manifest discord  print the invite for a Discord server, and what to switch on in the application
  bot doctor            try everything that the configuration names: tokens, permissions, Redis, model, MCP servers;
                        say what to do about each failure
` + audit.Text + permissions.Text + terminal.Text + `  bot version           print the version
  bot help              print this

flags:
  -config FILE        the configuration (YAML); BOT_CONFIG otherwise, else none
  -log text|json      the form of the log on standard error (text)
  -http URL           manifest: the platform posts to this address, such as https://bot.example.com, instead of Socket Mode
                      (Slack) or the gateway (Discord)
  -yaml               manifest slack: YAML instead of JSON
  -groups             manifest slack: ask for the scope usergroups:read, too, which user groups as admins or approvers need
  -client ID          manifest discord: the application's ID, where no token is set that tells it
  -json               manifest discord: JSON instead of text; doctor: one JSON object for each line;
                      permissions export: JSON instead of YAML
` + audit.FlagText + permissions.FlagText + terminal.FlagText + `
Every field of the configuration is explained in docs/configuration.md. Slack is explained in docs/slack.md, Discord in
docs/discord.md, the audit in docs/audit.md, permissions in docs/permissions.md.
`

func main() {
	confine.Main() // this binary is also what puts bounds on the programs that it starts
	hardened := confine.Harden()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(process{args: os.Args[1:], run: run, hardened: hardened, Process: command.Process{
		Env: os.LookupEnv, Variables: variables(), Stdin: os.Stdin, Terminal: isTerminal(os.Stdin), Stdout: os.Stdout, Stderr: os.Stderr,
		Signals: signals, Exit: os.Exit,
	}}.main())
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

// options are the flags, which may stand before, between and after the command's words.
type options struct {
	config, log, http, client string
	yaml, json, groups        bool
	audit                     audit.Flags
	permissions               permissions.Flags
	chat                      terminal.Flags
	words                     []string
	help                      bool
}

func (p process) parse() (options, error) {
	var o options
	fs := flag.NewFlagSet("bot", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.config, "config", "", "")
	fs.StringVar(&o.log, "log", "text", "")
	fs.StringVar(&o.http, "http", "", "")
	fs.StringVar(&o.client, "client", "", "")
	fs.BoolVar(&o.yaml, "yaml", false, "")
	fs.BoolVar(&o.json, "json", false, "")
	fs.BoolVar(&o.groups, "groups", false, "")
	o.audit.Define(fs)
	o.permissions.Define(fs)
	o.chat.Define(fs)
	for args := p.args; len(args) > 0; {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			o.help = true
			return o, nil
		} else if err != nil {
			return o, err
		}
		if args = fs.Args(); len(args) > 0 {
			o.words = append(o.words, args[0])
			args = args[1:]
		}
	}
	o.audit.Note(fs)
	o.permissions.Out, o.permissions.JSON = o.audit.Out, o.json
	if o.log != "text" && o.log != "json" {
		return o, errors.New("-log wants text or json")
	}
	if o.config == "" {
		o.config, _ = p.Env("BOT_CONFIG")
	}
	return o, nil
}

// main runs one command and returns the exit code.
func (p process) main() int {
	o, err := p.parse()
	if err != nil {
		return p.wrong(err)
	}
	if o.help {
		fmt.Fprint(p.Stdout, usage)
		return command.OK
	}
	line := strings.Join(o.words, " ")
	if err := o.check(line); err != nil {
		return p.wrong(err)
	}
	c := p.Process
	c.Version, c.ConfigFile, c.LogForm = versionLine(), o.config, o.log
	surface, ofSurface := strings.CutPrefix(line, "manifest ")
	switch {
	case line == "", line == "serve":
		return configured(c, p.serve)
	case line == "config check":
		return configured(c, checkConfig)
	case line == "config print":
		return configured(c, printConfig)
	case line == "manifest":
		fmt.Fprintf(p.Stderr, "bot: a manifest of what? There is: bot manifest %s, bot manifest %s\n", slack.Platform, discord.Platform)
		return command.Usage
	case ofSurface:
		return manifest(c, o, surface)
	case line == "doctor":
		return doctor.Run(c, o.json)
	case command.Is(line, "audit"):
		return audit.Run(c, o.audit, strings.Join(o.words[1:], " "))
	case command.Is(line, "permissions"):
		return permissions.Run(c, o.permissions, o.words[1:])
	case command.Is(line, "chat"):
		return terminal.Run(c, o.chat, o.words[1:])
	case line == "version":
		fmt.Fprintln(p.Stdout, versionLine())
		return command.OK
	case line == "help":
		fmt.Fprint(p.Stdout, usage)
		return command.OK
	}
	return p.wrong(fmt.Errorf("there is no command %q", line))
}

// check refuses flags that the command would not look at.
func (o options) check(line string) error {
	const ofSlack, ofDiscord = "manifest " + slack.Platform, "manifest " + discord.Platform
	switch {
	case o.http != "" && !strings.HasPrefix(line, "manifest"):
		return errors.New("-http goes with: bot manifest slack, bot manifest discord")
	case o.yaml && !strings.HasPrefix(line, ofSlack):
		return errors.New("-yaml goes with: bot manifest slack")
	case o.groups && !strings.HasPrefix(line, ofSlack):
		return errors.New("-groups goes with: bot manifest slack")
	case o.client != "" && !strings.HasPrefix(line, ofDiscord):
		return errors.New("-client goes with: bot manifest discord")
	case o.json && line != "doctor" && line != permissions.Export && !strings.HasPrefix(line, ofDiscord):
		return errors.New("-json goes with: bot doctor, bot manifest discord, " + "bot " + permissions.Export)
	}
	var shared []string
	if line == permissions.Export {
		shared = []string{"out"}
	}
	return cmp.Or(o.audit.Check(line, shared...), o.permissions.Check(line), o.chat.Check(line))
}

// wrong says what is wrong with the command line.
func (p process) wrong(err error) int {
	fmt.Fprintf(p.Stderr, "bot: %v\n\n%s", err, usage)
	return command.Usage
}

// configured runs a command with the configuration, if it has no mistake.
func configured(p command.Process, run func(command.Process, config.Config) int) int {
	if c, ok := p.Load(); ok {
		return run(p, c)
	}
	return command.Usage
}

// checkConfig is bot config check.
func checkConfig(p command.Process, c config.Config) int {
	for _, w := range p.Warnings(c) {
		fmt.Fprintln(p.Stderr, "note:", w)
	}
	fmt.Fprintln(p.Stdout, "ok")
	return command.OK
}

// printConfig is bot config print.
func printConfig(p command.Process, c config.Config) int {
	if err := c.Write(p.Stdout); err != nil {
		return p.Refuse(command.Fail, err)
	}
	return command.OK
}

// serve is bot serve.
func (p process) serve(as command.Process, c config.Config) int {
	log := as.Logger()
	for _, w := range as.Warnings(c) {
		log.Warn(w)
	}
	if p.hardened != nil {
		log.Warn("this process is not as closed to other programs as it should be", "why", p.hardened)
	}
	ctx, release := command.UntilSignal(context.Background(), p.Signals, c.Drain, log, p.Exit)
	defer release()
	if err := p.run(ctx, c, p.Stdout, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped by an error", "error", err)
		return command.Fail
	}
	log.Info("stopped")
	return command.OK
}
