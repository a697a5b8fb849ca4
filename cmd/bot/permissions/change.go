package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
)

// open makes an engine over the configured state, with these tools; nil: none.
func (p *run) open(tools agent.Tools) (err error) {
	p.tools = tools
	p.engine, err = parts.StillEngine(p.config, p.store, tools, p.log)
	return err
}

// connect is open with the configured servers, connected like those of one more replica, until stop. Nothing here calls any of them.
func (p *run) connect() (stop func(), err error) {
	servers, err := parts.OpenServers(p.config, p.Version, nil, p.log)
	if err != nil {
		return nil, err
	}
	servers.Start()
	stop = func() { _ = servers.Close() }
	if err := p.open(servers); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// errOnlyLook ends a change that was only to be shown.
var errOnlyLook = errors.New("only looked")

// change prints what build would change, and with -yes changes it: one record, all or nothing. What is printed is what is recorded:
// both come of the settings as they stood at that moment.
func (p *run) change(ctx context.Context, note string, build func(permission.Policy, permission.Settings) ([]permission.Change, error)) error {
	var lines []string
	_, err := p.engine.Change(ctx, p.by, note, func(policy permission.Policy, now permission.Settings) ([]permission.Change, error) {
		changes, err := build(policy, now)
		if err != nil {
			return nil, err
		}
		lines = nil
		for _, c := range changes {
			lines = append(lines, "  "+command.OneLine(preview(policy, c))+"\n")
		}
		if !p.yes && len(changes) > 0 {
			return nil, errOnlyLook
		}
		return changes, nil
	})
	count := command.Count(len(lines), "change", "changes")
	switch {
	case errors.Is(err, agent.ErrUnchanged):
		fmt.Fprintln(p.Stdout, "Nothing would change by that.")
	case errors.Is(err, errOnlyLook):
		fmt.Fprintf(p.Stdout, "%s%s. Nothing was changed yet: -yes does it.\n", strings.Join(lines, ""), count)
	case err != nil:
		return err
	default:
		fmt.Fprintf(p.Stdout, "%sDone: %s, recorded as made by %s.\n", strings.Join(lines, ""), count, command.OneLine(p.by.User.String()))
	}
	return nil
}

// preview says what a change does: of a setting, from what to what.
func preview(policy permission.Policy, c permission.Change) string {
	at, ok := c.(permission.Setting)
	if !ok {
		return c.String()
	}
	const none = "(not set)"
	return fmt.Sprintf("%s: %s = %s → %s", at.Where(), at.Field, cmp.Or(policy.Setting(at).Value, none), cmp.Or(at.Value, none))
}
