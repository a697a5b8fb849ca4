package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
)

const auditUsage = `  bot audit tail        print the newest records of what was asked, decided and run; with -follow those to come
  bot audit export      print all records, as JSON lines or CSV
  bot audit verify      check every chat's log from its first entry; name what does not hold
  bot audit anchor      print where every log stands, for keeping where nobody who can write to the store can
`

const auditFlags = `  -format FORM        audit tail: text (default), jsonl or csv; audit export: jsonl (default) or csv
  -since, -until TIME audit tail, export: from this day or moment on, and before this one: 2026-01-02 or 2026-01-02T15:04:05Z
  -chat, -server, -tool, -kind, -actor NAME
                      audit tail, export: only records of it; -kind also takes an outcome, such as denied
  -n NUMBER           audit tail: how many records (50)
  -follow             audit tail: go on with new records until stopped
  -anchors FILE       audit verify: the logs must also go through what was anchored there
  -out FILE           audit anchor: append to this file; what has not moved since is left out
`

// auditOptions are the flags of the audit's commands.
type auditOptions struct {
	format, since, until            string
	chat, server, tool, kind, actor string
	n                               int
	follow                          bool
	anchors, out                    string
	given                           []string // the names of those that stand on the command line
}

func (a *auditOptions) define(fs *flag.FlagSet) {
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"format", &a.format}, {"since", &a.since}, {"until", &a.until}, {"chat", &a.chat}, {"server", &a.server}, {"tool", &a.tool},
		{"kind", &a.kind}, {"actor", &a.actor}, {"anchors", &a.anchors}, {"out", &a.out},
	} {
		fs.StringVar(f.to, f.name, "", "")
	}
	fs.IntVar(&a.n, "n", 0, "")
	fs.BoolVar(&a.follow, "follow", false, "")
}

// auditTakes says which flags each command looks at.
var auditTakes = map[string][]string{
	"audit tail":   {"format", "since", "until", "chat", "server", "tool", "kind", "actor", "n", "follow"},
	"audit export": {"format", "since", "until", "chat", "server", "tool", "kind", "actor"},
	"audit verify": {"anchors"},
	"audit anchor": {"out"},
}

// note remembers which flags of the audit were given. It is called after each parse of a stretch of flags.
func (a *auditOptions) note(fs *flag.FlagSet) {
	fs.Visit(func(f *flag.Flag) {
		if len(auditOwners(f.Name)) > 0 && !slices.Contains(a.given, f.Name) {
			a.given = append(a.given, f.Name)
		}
	})
}

// auditOwners are the commands that look at a flag.
func auditOwners(name string) (out []string) {
	for _, command := range []string{"audit tail", "audit export", "audit verify", "audit anchor"} {
		if slices.Contains(auditTakes[command], name) {
			out = append(out, "bot "+command)
		}
	}
	return out
}

// fit refuses flags that the command would not look at.
func (a auditOptions) fit(command string) error {
	for _, name := range a.given {
		if !slices.Contains(auditTakes[command], name) {
			return fmt.Errorf("-%s goes with: %s", name, strings.Join(auditOwners(name), ", "))
		}
	}
	return nil
}

// filter reads the flags that narrow records.
func (a auditOptions) filter() (turn.Filter, error) {
	f := turn.Filter{Chat: a.chat, Server: a.server, Tool: a.tool, Kind: a.kind, Actor: a.actor}
	for _, x := range []struct {
		name, given string
		to          *time.Time
	}{{"since", a.since, &f.Since}, {"until", a.until, &f.Until}} {
		if x.given == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, x.given)
		if err != nil {
			at, err = time.Parse(time.RFC3339, x.given)
		}
		if err != nil {
			return f, fmt.Errorf("-%s: %q is no time: want 2026-01-02 (UTC) or 2026-01-02T15:04:05Z", x.name, x.given)
		}
		*x.to = at
	}
	if a.chat != "" {
		if _, err := chat.ParseID(a.chat); err != nil {
			return f, fmt.Errorf("-chat: %w, as records have it", err)
		}
	}
	return f, nil
}

// auditor is one run of a command of the audit. It can only read the store.
type auditor struct {
	auditOptions
	only           turn.Filter
	store          *state.Store
	stdout, stderr io.Writer
	findings       io.Writer // what does not hold: what verify is there to say, an error elsewhere
	now            func() time.Time
	keep           time.Duration // as state.Options has it
	keyless        string        // where the key should be, which is not there
	broken         int           // chats that do not hold, and what else could not be read
}

// audit runs bot audit VERB. Codes: 0 done, and all holds; 1 something does not hold or cannot be read; 2 the command line or the
// configuration is wrong.
func (p process) audit(o options, verb string) int {
	do, ok := map[string]func(*auditor, context.Context) error{
		"tail": (*auditor).tail, "export": (*auditor).export, "verify": (*auditor).verify, "anchor": (*auditor).anchor,
	}[verb]
	if !ok {
		fmt.Fprintf(p.stderr, "bot: audit what? There is: bot audit tail, bot audit export, bot audit verify, bot audit anchor\n")
		return exitUsage
	}
	a := &auditor{auditOptions: o.audit, stdout: p.stdout, stderr: p.stderr, findings: p.stderr, now: time.Now}
	if verb == "verify" {
		a.findings = p.stdout
	}
	var err error
	if a.only, err = a.filter(); err == nil {
		err = a.wellFormed(verb)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitUsage
	}
	c, err := config.Load(o.config, p.env)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	a.keep = keep(c)
	if c.Redis.URL.IsZero() && a.follow {
		fmt.Fprintln(p.stderr, "bot: -follow needs redis.url: the embedded state belongs to one process, and nothing new comes while that one is stopped")
		return exitUsage
	}
	ctx, release := untilSignal(context.Background(), p.signals, 0, slog.New(slog.DiscardHandler), p.exit)
	defer release()
	key, err := auditKey(c)
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	if key.Secret == "" {
		a.keyless = keyPath(c)
	}
	if a.store, err = state.OpenToRead(ctx, c.DataDir, state.Options{URL: c.Redis.URL.Reveal(), Audit: key, Log: newLog(p.stderr, o.log)}); err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	defer func() { _ = a.store.Close() }()
	err = do(a, ctx)
	switch {
	case err != nil && a.follow && ctx.Err() != nil: // stopped as asked
	case err != nil:
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	case a.broken > 0:
		return exitFail
	}
	return exitOK
}

func (a *auditor) wellFormed(verb string) error {
	forms := []string{"jsonl", "csv"}
	if verb == "tail" {
		forms = append(forms, "text")
	}
	if a.format != "" && !slices.Contains(forms, a.format) {
		return fmt.Errorf("-format: want one of %s", strings.Join(forms, ", "))
	}
	if a.n < 0 || a.n == 0 && slices.Contains(a.given, "n") {
		return errors.New("-n: want a number of records, at least 1")
	}
	return nil
}

// chats walks the chats that the filter leaves, in order, and says on the error stream how far it is. What is broken is named and
// counted, and the walk goes on.
func (a *auditor) chats(ctx context.Context, take func(chat.ID) error) (n int, err error) {
	if a.only.Chat != "" {
		id, err := chat.ParseID(a.only.Chat)
		if err != nil {
			return 0, err
		}
		return 1, a.told(take(id))
	}
	err = a.store.EachChat(ctx, func(id chat.ID) error {
		if n++; n%1000 == 0 {
			fmt.Fprintf(a.stderr, "audit: %d chats so far\n", n)
		}
		return a.told(take(id))
	})
	return n, a.told(err)
}

// told names what is wrong with one log, and lets the walk go on; any other error ends it.
func (a *auditor) told(err error) error {
	if !isOfOneLog(err) {
		return err
	}
	a.broken++
	fmt.Fprintln(a.findings, "broken:", err)
	return nil
}
