// Package backup is nod backup and nod restore: everything that is kept, in one file, from a store of either kind into one of either kind.
//
// What is in the file, and when it can be restored, is the store's: state/backup.go. Here are the file and the words. Start reading at [Commands].
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
)

// Commands are nod backup and nod restore.
func Commands(p *command.Process) []*cobra.Command {
	verb := func(use, short string, do func(context.Context, command.Process, config.Config, string) error) *cobra.Command {
		return p.Command(use, short, func(p command.Process, args []string) int {
			c, ok := p.Load()
			if !ok {
				return command.Usage
			}
			ctx, release := p.Context()
			defer release()
			return p.End(do(ctx, p, c, args[0]))
		})
	}
	return []*cobra.Command{
		verb("backup FILE", "write all that is kept to one new file; nod may run meanwhile", backup),
		verb("restore FILE", "put a backup into an empty store, on which no nod runs", restore),
	}
}

func backup(ctx context.Context, p command.Process, c config.Config, path string) error {
	store, err := parts.OpenToRead(ctx, c, p.Logger(c.LogLevel))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	keys := 0
	if err := command.WriteFile(path, false, func(w io.Writer) (err error) {
		keys, err = store.Backup(ctx, w, p.Version)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s holds %s.\n", path, command.Count(keys, "key", "keys"))
	fmt.Fprintf(p.Stdout, "It is as confidential as the chats. Not in it: the configuration, and the audit's key (%s).\n", parts.AuditKeyPath(c))
	return nil
}

func restore(ctx context.Context, p command.Process, c config.Config, path string) error {
	open := func() (io.ReadCloser, error) { return os.Open(path) } //nolint:gosec // the operator names it
	// Before a store is made.
	if _, err := os.Stat(path); err != nil {
		return err
	}
	store, err := parts.OpenToRestore(ctx, c, p.Logger(c.LogLevel))
	if err != nil {
		return err
	}
	was, err := store.Restore(ctx, open)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "Restored: %s, as of %s, written by %s.\n", command.Count(was.Keys, "key", "keys"), was.At.Format(time.RFC3339), command.OneLine(was.Nod))
	fmt.Fprintln(p.Stdout, "What was allowed then and had not started is asked anew: it may have run since.")
	return nil
}
