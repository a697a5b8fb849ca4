package person

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Hold is nod hold. Codes as of nod person.
func Hold(p *command.Process) *cobra.Command {
	r := run{instead: ", or as an admin say /nod permissions hold in a chat"}
	var why string
	var list, release bool
	c := p.Command("hold [CHAT|PERSON]", "keep a chat, or a person's chats, from being dropped or deleted; nod may run meanwhile", func(p command.Process, words []string) int {
		switch {
		case list == (len(words) == 1), list && release, why != "" && (list || release):
			return p.Refuse(command.Usage, errors.New("want a chat or a person, with -why TEXT or with -release; or -list alone"))
		case list:
			return r.do(p, parts.OpenToRead, (*run).holds)
		}
		return r.do(p, parts.OpenToWrite, func(r *run, ctx context.Context) error {
			return r.hold(ctx, permission.Holding{What: words[0], Why: why, Off: release})
		})
	})
	c.Long = "Keep a chat, or all chats that a person takes part in, from being dropped by time or deleted, until it is released.\n" +
		"Both are written as in the configuration and the audit: slack:T1:U9, web::ana, slack:T1:C1/1700000000.000100."
	c.Flags().StringVar(&why, "why", "", "the reason, for the record: `TEXT`")
	c.Flags().BoolVar(&list, "list", false, "print what is held, since when, by whom and why")
	c.Flags().BoolVar(&release, "release", false, "take the hold off: the time of what it kept begins anew")
	return c
}

func (r *run) holds(ctx context.Context) error {
	s, err := r.settings(ctx)
	for _, h := range s.Holds {
		fmt.Fprintln(r.Stdout, text.OneLine(text.HeldLine(h.What, h.At.UTC().Format(time.DateTime), h.By.String(), h.Why)))
	}
	if err == nil && len(s.Holds) == 0 {
		fmt.Fprintln(r.Stdout, text.NothingHeld)
	}
	return err
}

func reason(h permission.Hold) string {
	return strings.TrimSuffix(": "+text.OneLine(h.Why), ": ")
}

func (r *run) hold(ctx context.Context, c permission.Holding) error {
	if _, err := chat.ParseID(c.What); err != nil {
		return command.Mistake(fmt.Errorf("%w, of a chat or a person", err))
	}
	e, err := parts.StillEngine(r.config, r.store, nil, r.log)
	if err != nil {
		return err
	}
	said, left, err := settings.PutHold(ctx, e, e.Log, e.Index, r.Operator(), c, func(id chat.ID, err error) {
		fmt.Fprintf(r.Stderr, "chat %s cannot be read: %v\n", id, err)
	})
	if err = r.report(err); err != nil {
		return err
	}
	if said == "" {
		return fmt.Errorf("there is no hold on %s; nod hold -list has those that there are", c.What)
	}
	fmt.Fprintln(r.Stdout, said)
	if left != "" {
		return errors.New(left)
	}
	return nil
}
