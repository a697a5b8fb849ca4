package permissions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// What these commands need of the world is an engine, for it is the one way to the settings. This one drives no chat: it is never run, it
// claims nothing, and its model, its tools and its platform refuse whatever a turn would want of them.

var errNoTurns = errors.New("the command line runs no turns")

// open makes an engine over the configured state, with these tools.
func (p *run) open(tools agent.Tools) (err error) {
	policy := parts.Operators(p.config)
	if err := policy.Validate(); err != nil {
		return err
	}
	p.tools = tools
	p.engine, err = agent.New(agent.Config{
		Log: unclaiming{p.store}, Index: p.store, Leases: p.store, Model: idle{}, Tools: tools, Policies: parts.Fixed(policy),
		Platforms: map[string]agent.Platform{command.Platform: idle{}}, Lease: p.config.Lease, Logger: p.log,
	})
	return err
}

// connect is open with the configured servers, connected like those of one more replica, until stop. Nothing here calls any of them.
func (p *run) connect() (stop func(), err error) {
	servers, err := parts.OpenServers(p.config, p.Version, p.log)
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

// unclaiming is a log whose writes claim no chat: what is written here, the bot's own processes take notice of.
type unclaiming struct{ agent.Log }

func (u unclaiming) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	w.Claim = ""
	return u.Log.Append(ctx, w)
}

// idle is a model, no tools, and a platform, for an engine that runs no turns: nobody calls what is not written out here.
type idle struct {
	agent.Model
	agent.Platform
}

func (idle) Name() string { return "none" }

func (idle) Limits() render.Limits { return render.Limits{} }

func (idle) List(context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	return nil, nil, nil
}

func (idle) Check(context.Context, permission.Tool, json.RawMessage) error { return errNoTurns }

func (idle) Call(context.Context, agent.RunToken, func(turn.Progress)) (turn.Result, error) {
	return turn.Result{}, errors.Join(agent.ErrNotRun, errNoTurns)
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
	no, refused := errors.AsType[*decision.Refusal](err)
	switch {
	case errors.Is(err, agent.ErrUnchanged):
		fmt.Fprintln(p.Stdout, "Nothing would change by that.")
	case refused:
		return errors.New(no.Say)
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
