// Command bot is nod: a chat bot that asks before it acts.
//
//	bot [serve]          start; without any configuration this is the demo
//	bot config check     say what is wrong with the configuration, or "ok"
//	bot config print     print the effective configuration, secrets masked
//	bot manifest slack   print the app for a Slack workspace
//	bot manifest discord print the invite for a Discord server, and what to switch on
//	bot doctor           try everything the configuration names, and say what to do about what does not work
//	bot audit VERB       tail, export, verify or anchor what was asked, decided and run (audit.go)
//	bot permissions VERB show, why, templates, apply, export or import what people set (permissions.go)
//	bot chat [WORDS]     talk to a running bot from the terminal, and answer what it asks (chat.go)
//	bot version
//	bot help
//
// This package is where concrete types are named: it reads the configuration, wires the adapters to the engine
// (serve.go) and owns the process: its signals (stop.go), its one HTTP listener (listen.go) and its log. Everything else takes
// what it needs as values.
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
	"slices"
	"strings"
	"syscall"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/cmd/bot/config"
)

// The exit codes.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
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
` + auditUsage + permissionsUsage + chatUsage + `  bot version           print the version
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
` + auditFlags + permissionsFlags + chatFlags + `
Every field of the configuration is explained in docs/configuration.md. Slack is explained in docs/slack.md, Discord in
docs/discord.md, the audit in docs/audit.md, permissions in docs/permissions.md.
`

func main() {
	confine.Main() // this binary is also what puts bounds on the programs that it starts
	hardened := harden()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(process{
		args: os.Args[1:], env: os.LookupEnv, stdin: os.Stdin, terminal: isTerminal(os.Stdin), stdout: os.Stdout, stderr: os.Stderr,
		signals: signals, exit: os.Exit, run: run, hardened: hardened, variables: variables(),
	}.main())
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
	args           []string
	env            config.Getenv
	variables      []string  // the names of those that are set
	stdin          io.Reader // nil: closed
	terminal       bool      // a person types into stdin
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	exit           func(int) // ends the process at once
	run            func(context.Context, config.Config, io.Writer, *slog.Logger) error
	hardened       error // why others of this user can look into this process, if they can
}

// options are the flags, which may stand before, between and after the command's words.
type options struct {
	config, log, http, client string
	yaml, json, groups        bool
	audit                     auditOptions
	perm                      permissionOptions
	chat                      chatOptions
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
	o.audit.define(fs)
	o.perm.define(fs)
	o.chat.define(fs)
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
	o.audit.note(fs)
	if o.log != "text" && o.log != "json" {
		return o, errors.New("-log wants text or json")
	}
	if o.config == "" {
		o.config, _ = p.env("BOT_CONFIG")
	}
	return o, nil
}

// main runs one command and returns the exit code.
func (p process) main() int {
	o, err := p.parse()
	if err != nil {
		fmt.Fprintf(p.stderr, "bot: %v\n\n%s", err, usage)
		return exitUsage
	}
	if o.help {
		fmt.Fprint(p.stdout, usage)
		return exitOK
	}
	command := strings.Join(o.words, " ")
	if err := o.fit(command); err != nil {
		fmt.Fprintf(p.stderr, "bot: %v\n\n%s", err, usage)
		return exitUsage
	}
	if surface, ok := strings.CutPrefix(command, "manifest "); ok {
		return p.manifest(o, surface)
	}
	if verb, ok := strings.CutPrefix(command, "audit"); ok && (verb == "" || verb[0] == ' ') {
		return p.audit(o, strings.TrimSpace(verb))
	}
	if isCommand(command, "permissions") {
		return p.permissions(o, o.words[1:])
	}
	if isCommand(command, "chat") {
		return p.chat(o, o.words[1:])
	}
	switch command {
	case "", "serve":
		return p.serve(o)
	case "config check":
		return p.check(o)
	case "config print":
		return p.print(o)
	case "manifest":
		fmt.Fprintf(p.stderr, "bot: a manifest of what? There is: bot manifest %s, bot manifest %s\n", slack.Platform, discord.Platform)
		return exitUsage
	case "doctor":
		return p.doctor(o)
	case "version":
		fmt.Fprintln(p.stdout, versionLine())
		return exitOK
	case "help":
		fmt.Fprint(p.stdout, usage)
		return exitOK
	default:
		fmt.Fprintf(p.stderr, "bot: there is no command %q\n\n%s", command, usage)
		return exitUsage
	}
}

// fit refuses flags that the command would not look at.
func (o options) fit(command string) error {
	const ofSlack, ofDiscord = "manifest " + slack.Platform, "manifest " + discord.Platform
	switch {
	case o.http != "" && !strings.HasPrefix(command, "manifest"):
		return errors.New("-http goes with: bot manifest slack, bot manifest discord")
	case o.yaml && !strings.HasPrefix(command, ofSlack):
		return errors.New("-yaml goes with: bot manifest slack")
	case o.groups && !strings.HasPrefix(command, ofSlack):
		return errors.New("-groups goes with: bot manifest slack")
	case o.client != "" && !strings.HasPrefix(command, ofDiscord):
		return errors.New("-client goes with: bot manifest discord")
	case o.json && command != "doctor" && command != permissionsExport && !strings.HasPrefix(command, ofDiscord):
		return errors.New("-json goes with: bot doctor, bot manifest discord, " + "bot " + permissionsExport)
	}
	if command == permissionsExport { // -out is its flag, too
		o.audit.given = slices.DeleteFunc(slices.Clone(o.audit.given), func(name string) bool { return name == "out" })
	}
	return cmp.Or(o.audit.fit(command), o.perm.fit(command), o.chat.fit(command))
}

// warnings are what will perhaps not work as it was meant.
func (p process) warnings(c config.Config) []string {
	return append(c.Warnings(), config.Misspelt(p.variables)...)
}

func (p process) check(o options) int {
	c, err := config.Load(o.config, p.env)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	for _, w := range p.warnings(c) {
		fmt.Fprintln(p.stderr, "note:", w)
	}
	fmt.Fprintln(p.stdout, "ok")
	return exitOK
}

func (p process) print(o options) int {
	c, err := config.Load(o.config, p.env)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	if err := c.Write(p.stdout); err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	return exitOK
}

func (p process) serve(o options) int {
	c, err := config.Load(o.config, p.env)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	log := newLog(p.stderr, o.log)
	for _, w := range p.warnings(c) {
		log.Warn(w)
	}
	if p.hardened != nil {
		log.Warn("this process is not as closed to other programs as it should be", "why", p.hardened)
	}
	ctx, release := untilSignal(context.Background(), p.signals, c.Drain, log, p.exit)
	defer release()
	if err := p.run(ctx, c, p.stdout, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped by an error", "error", err)
		return exitFail
	}
	log.Info("stopped")
	return exitOK
}

// newLog makes the process's log. Secrets have types that mask themselves (config.Secret), whichever form is written.
func newLog(w io.Writer, form string) *slog.Logger {
	if form == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
