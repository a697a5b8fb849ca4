// Package audit is the command bot audit: it reads the logs of all chats as records of what was asked, decided and run (tail, export), checks
// that they hold (verify) and prints where they stand (anchor).
//
// It can only read the store. A log that does not hold is named and counted, and the walk over the others goes on. audit.go has the flags
// and [Run]; records.go tail and export, with the three forms of a record; check.go verify and anchor. What a record is stands in
// core/agent/audit, and how a log is kept and checked in state; a new form is a case in newRecordWriter.
package audit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
)

// Text is what the help says of the commands, and FlagText of their flags.
const Text = `  bot audit tail        print the newest records of what was asked, decided and run; with -follow those to come
  bot audit export      print all records, as JSON lines or CSV
  bot audit verify      check every chat's log from its first entry; name what does not hold
  bot audit anchor      print where every log stands, for keeping where nobody who can write to the store can
`

const FlagText = `  -format FORM        audit tail: text (default), jsonl or csv; audit export: jsonl (default) or csv
  -since, -until TIME audit tail, export: from this day or moment on, and before this one: 2026-01-02 or 2026-01-02T15:04:05Z
  -chat, -server, -tool, -kind, -actor NAME
                      audit tail, export: only records of it; -kind also takes an outcome, such as denied
  -n NUMBER           audit tail: how many records (50)
  -follow             audit tail: go on with new records until stopped
  -anchors FILE       audit verify: the logs must also go through what was anchored there
  -out FILE           audit anchor: append to this file; what has not moved since is left out
`

// Flags are the flags of the audit's commands.
type Flags struct {
	format, since, until string
	only                 audit.Filter // which records
	n                    int
	follow               bool
	anchors              string
	Out                  string   // bot permissions export has it, too
	given                []string // the names of those that stand on the command line
}

// Define names the flags.
func (a *Flags) Define(fs *flag.FlagSet) {
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"format", &a.format}, {"since", &a.since}, {"until", &a.until}, {"chat", &a.only.Chat}, {"server", &a.only.Server}, {"tool", &a.only.Tool},
		{"kind", &a.only.Kind}, {"actor", &a.only.Actor}, {"anchors", &a.anchors}, {"out", &a.Out},
	} {
		fs.StringVar(f.to, f.name, "", "")
	}
	fs.IntVar(&a.n, "n", 0, "")
	fs.BoolVar(&a.follow, "follow", false, "")
}

// takes says which flags each command looks at.
var takes = map[string][]string{
	"audit tail":   {"format", "since", "until", "chat", "server", "tool", "kind", "actor", "n", "follow"},
	"audit export": {"format", "since", "until", "chat", "server", "tool", "kind", "actor"},
	"audit verify": {"anchors"},
	"audit anchor": {"out"},
}

// Note remembers which flags of the audit were given. It is called after each parse of a stretch of flags.
func (a *Flags) Note(fs *flag.FlagSet) {
	fs.Visit(func(f *flag.Flag) {
		if len(owners(f.Name)) > 0 && !slices.Contains(a.given, f.Name) {
			a.given = append(a.given, f.Name)
		}
	})
}

// owners are the commands that look at a flag.
func owners(name string) (out []string) {
	for _, command := range []string{"audit tail", "audit export", "audit verify", "audit anchor"} {
		if slices.Contains(takes[command], name) {
			out = append(out, "bot "+command)
		}
	}
	return out
}

// Check refuses flags that the command would not look at, but for those that it shares with others.
func (a Flags) Check(command string, shared ...string) error {
	for _, name := range a.given {
		if !slices.Contains(takes[command], name) && !slices.Contains(shared, name) {
			return fmt.Errorf("-%s goes with: %s", name, strings.Join(owners(name), ", "))
		}
	}
	return nil
}

// parse reads the flags that name something.
func (a *Flags) parse(verb string) error {
	for _, x := range []struct {
		name, given string
		to          *time.Time
	}{{"since", a.since, &a.only.Since}, {"until", a.until, &a.only.Until}} {
		if x.given == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, x.given)
		if err != nil {
			at, err = time.Parse(time.RFC3339, x.given)
		}
		if err != nil {
			return fmt.Errorf("-%s: %q is no time: want 2026-01-02 (UTC) or 2026-01-02T15:04:05Z", x.name, x.given)
		}
		*x.to = at
	}
	if a.only.Chat != "" {
		if _, err := chat.ParseID(a.only.Chat); err != nil {
			return fmt.Errorf("-chat: %w, as records have it", err)
		}
	}
	forms := []string{"jsonl", "csv"}
	if verb == "tail" {
		forms = append(forms, "text")
	}
	switch {
	case a.format != "" && !slices.Contains(forms, a.format):
		return fmt.Errorf("-format: want one of %s", strings.Join(forms, ", "))
	case a.n < 0, a.n == 0 && slices.Contains(a.given, "n"):
		return errors.New("-n: want a number of records, at least 1")
	}
	return nil
}

// auditor is one run of a command of the audit. It can only read the store.
type auditor struct {
	command.Process
	Flags
	store    *state.Store
	findings io.Writer     // what does not hold: what verify is there to say, an error elsewhere
	keep     time.Duration // as state.Options has it
	keyless  string        // where the key should be, which is not there
	broken   int           // chats that do not hold, and what else could not be read
}

// Run runs bot audit VERB. Codes: 0 done, and all holds; 1 something does not hold or cannot be read; 2 the command line or the
// configuration is wrong.
func Run(p command.Process, flags Flags, verb string) int {
	do, ok := map[string]func(*auditor, context.Context) error{
		"tail": (*auditor).tail, "export": (*auditor).export, "verify": (*auditor).verify, "anchor": (*auditor).anchor,
	}[verb]
	if !ok {
		return p.Refuse(command.Usage, errors.New("audit what? There is: bot audit tail, bot audit export, bot audit verify, bot audit anchor"))
	}
	a := &auditor{Process: p, Flags: flags, findings: p.Stderr}
	if verb == "verify" {
		a.findings = p.Stdout
	}
	if err := a.parse(verb); err != nil {
		return p.Refuse(command.Usage, err)
	}
	c, ok := p.Load()
	if !ok {
		return command.Usage
	}
	a.keep = parts.Keep(c)
	if c.Redis.URL.IsZero() && a.follow {
		return p.Refuse(command.Usage, errors.New("-follow needs redis.url: the embedded state belongs to one process, and nothing new comes while that one is stopped"))
	}
	ctx, release := p.Context()
	defer release()
	key, err := parts.AuditKey(c)
	if err != nil {
		return p.Refuse(command.Fail, err)
	}
	if key.Secret == "" {
		a.keyless = parts.AuditKeyPath(c)
	}
	if a.store, err = state.OpenToRead(ctx, c.DataDir, state.Options{URL: c.Redis.URL.Reveal(), Audit: key, Log: p.Logger()}); err != nil {
		return p.Refuse(command.Fail, err)
	}
	defer func() { _ = a.store.Close() }()
	err = do(a, ctx)
	switch {
	case err != nil && a.follow && ctx.Err() != nil: // stopped as asked
	case err != nil:
		return p.Refuse(command.Fail, err)
	case a.broken > 0:
		return command.Fail
	}
	return command.OK
}

// chats walks the chats that the filter leaves, in order, and says on the error stream how far it is. What is broken is named and
// counted, and the walk goes on.
func (a *auditor) chats(ctx context.Context, take func(chat.ID) error) (n int, err error) {
	if a.only.Chat != "" {
		id, err := chat.ParseID(a.only.Chat)
		if err != nil {
			return 0, err
		}
		return 1, a.report(take(id))
	}
	err = a.store.EachChat(ctx, func(id chat.ID) error {
		if n++; n%1000 == 0 {
			fmt.Fprintf(a.Stderr, "audit: %d chats so far\n", n)
		}
		return a.report(take(id))
	})
	return n, a.report(err)
}

// report names what is wrong with one log, and lets the walk go on; any other error ends it.
func (a *auditor) report(err error) error {
	if !isOfOneLog(err) {
		return err
	}
	a.broken++
	fmt.Fprintln(a.findings, "broken:", err)
	return nil
}
