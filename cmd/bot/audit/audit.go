// Package audit is the command nod audit: it reads the logs of all chats as records of what was asked, decided and run (tail, export), checks
// that they hold (verify) and prints where they stand (anchor).
//
// It can only read the store. A log that does not hold is named and counted, and the walk over the others goes on. audit.go has the verbs
// with their flags; records.go tail and export, with the three forms of a record; check.go verify and anchor. What a record is stands in
// core/agent/audit, and how a log is kept and checked in state; a new form is a case in newRecordWriter.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// flags are those of the audit's commands: each has some of them.
type flags struct {
	format       string
	only         audit.Filter // which records
	n            int
	follow       bool
	anchors, out string
}

// Commands is nod audit. Codes: 0 done, and all holds; 1 something does not hold or cannot be read; 2 the command line or the
// configuration is wrong.
func Commands(p *command.Process) *cobra.Command {
	f := &flags{}
	verb := func(name, short string, do func(*auditor, context.Context) error) *cobra.Command {
		return p.Command(name, short, func(p command.Process, _ []string) int { return f.run(p, do, name == "verify") })
	}
	tail := verb("tail", "print the newest records of what was asked, decided and run; with -follow those to come", (*auditor).tail)
	f.selection(tail, "text", "jsonl", "csv")
	tail.Flags().FuncP("n", "n", fmt.Sprintf("how many records: `NUMBER` (%d, or with -since all)", tailRecords), func(s string) (err error) {
		if f.n, err = strconv.Atoi(s); err == nil && f.n < 1 {
			err = errors.New("want a number of records, at least 1")
		}
		return err
	})
	tail.Flags().BoolVar(&f.follow, "follow", false, "go on with new records until stopped")
	export := verb("export", "print all records, as JSON lines or CSV", (*auditor).export)
	f.selection(export, "jsonl", "csv")
	verify := verb("verify", "check every chat's log from its first entry; name what does not hold", (*auditor).verify)
	verify.Flags().StringVar(&f.anchors, "anchors", "", "the logs must also go through what was anchored in `FILE`")
	anchor := verb("anchor", "print where every log stands, for keeping where nobody who can write to the store can", (*auditor).anchor)
	anchor.Flags().StringVar(&f.out, "out", "", "append to `FILE`; what has not moved since is left out")
	return command.Group("audit", "read and check what was asked, decided and run", tail, export, verify, anchor)
}

// selection gives a command the flags that say which records, and in which of these forms; the first one is the default.
func (f *flags) selection(c *cobra.Command, forms ...string) {
	fs := c.Flags()
	fs.Func("format", "print as `FORM`: "+text.OneOf(forms)+" ("+forms[0]+")", func(s string) error {
		if f.format = s; !slices.Contains(forms, s) {
			return errors.New("want one of " + strings.Join(forms, ", "))
		}
		return nil
	})
	moment := func(to *time.Time) func(string) error {
		return func(s string) (err error) {
			if *to, err = time.Parse(time.DateOnly, s); err != nil {
				*to, err = time.Parse(time.RFC3339, s)
			}
			if err != nil {
				err = fmt.Errorf("%q is no time: want 2026-01-02 (UTC) or 2026-01-02T15:04:05Z", s)
			}
			return err
		}
	}
	fs.Func("since", "only from this day or moment on: `TIME` is 2026-01-02 or 2026-01-02T15:04:05Z", moment(&f.only.Since))
	fs.Func("until", "only before this day or moment: `TIME`", moment(&f.only.Until))
	fs.Func("chat", "only of the chat `NAME`, written as records have it", func(s string) error {
		f.only.Chat = s
		if _, err := chat.ParseID(s); err != nil {
			return fmt.Errorf("%w, as records have it", err)
		}
		return nil
	})
	fs.StringVar(&f.only.Server, "server", "", "only of the server `NAME`")
	fs.StringVar(&f.only.Tool, "tool", "", "only of the tool `NAME`")
	fs.StringVar(&f.only.Kind, "kind", "", "only of the kind or with the outcome `NAME`, such as denied")
	fs.StringVar(&f.only.Actor, "actor", "", "only of what `NAME` did")
}

// auditor is one run of a command of the audit. It can only read the store.
type auditor struct {
	command.Process
	flags
	store    *state.Store
	findings io.Writer     // what does not hold: what verify is there to say, an error elsewhere
	keep     time.Duration // as state.Options has it
	keyless  string        // where the key should be, which is not there
	broken   int           // chats that do not hold, and what else could not be read
}

func (f *flags) run(p command.Process, do func(*auditor, context.Context) error, isVerify bool) int {
	a := &auditor{Process: p, flags: *f, findings: p.Stderr}
	if isVerify {
		a.findings = p.Stdout
	}
	c, ok := p.Load()
	if !ok {
		return command.Usage
	}
	a.keep = parts.Keep(c)
	if c.Redis.URL.IsZero() && a.follow {
		return p.Refuse(command.Usage, errors.New("-follow needs redis.url: without, run it again to see what is new"))
	}
	ctx, release := p.Context()
	defer release()
	var err error
	if a.store, err = parts.OpenToRead(ctx, c, p.Logger(c.LogLevel)); err != nil {
		return p.Refuse(command.Fail, err)
	}
	if key, _ := parts.AuditKey(c); key.Secret == "" {
		a.keyless = parts.AuditKeyPath(c)
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
		id, _ := chat.ParseID(a.only.Chat) // its flag took it
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
