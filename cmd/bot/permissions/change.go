package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// What these commands need of the world is an engine, for it is the one way to the settings. This one drives no chat: it is never run, it
// claims nothing, and its model, its tools and its platform refuse whatever a turn would want of them.

var errNoTurns = errors.New("the command line runs no turns")

// engine is one over the configured state.
func (p *permitting) engine(tools agent.Tools) (*agent.Engine, error) {
	policy := parts.Operators(p.config)
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	return agent.New(agent.Config{
		Log: unclaiming{p.store}, Index: p.store, Leases: p.store, Model: noModel{}, Tools: tools, Policies: parts.Fixed(policy),
		Platforms: map[string]agent.Platform{command.Platform: noPlatform{}}, Lease: p.config.Lease, Logger: p.log,
	})
}

// unclaiming is a log whose writes claim no chat: what is written here, the bot's own processes take notice of.
type unclaiming struct{ agent.Log }

func (u unclaiming) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	w.Claim = ""
	return u.Log.Append(ctx, w)
}

type noModel struct{}

func (noModel) Name() string { return "none" }

func (noModel) Reply(context.Context, []turn.Utterance, []agent.ToolSpec, func(agent.Delta)) (agent.Reply, error) {
	return agent.Reply{}, errNoTurns
}

// noTools are none, for what looks at no tool.
type noTools struct{}

func (noTools) List(context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	return nil, nil, nil
}

func (noTools) Check(context.Context, permission.Tool, json.RawMessage) error { return errNoTurns }

func (noTools) Call(context.Context, agent.RunToken, func(turn.Progress)) (turn.Result, error) {
	return turn.Result{}, errors.Join(agent.ErrNotRun, errNoTurns)
}

type noPlatform struct{}

func (noPlatform) Limits() render.Limits { return render.Limits{} }

func (noPlatform) Post(context.Context, chat.ID, chat.PostKey, render.Message) (chat.MessageRef, error) {
	return "", errNoTurns
}

func (noPlatform) Edit(context.Context, chat.ID, chat.MessageRef, render.Message, agent.Urgency) error {
	return errNoTurns
}

// tools are the configured servers, connected like those of one more replica, until stop. Nothing here calls any of them.
func (p *permitting) tools() (_ agent.Tools, stop func(), err error) {
	servers, err := parts.OpenServers(p.config, p.Version, p.log)
	if err != nil {
		return nil, nil, err
	}
	servers.Start()
	return servers, func() { _ = servers.Close() }, nil
}

// errOnlyLook ends a change that was only to be shown.
var errOnlyLook = errors.New("only looked")

// maker makes changes from what holds now.
type maker func(permission.Policy, permission.Settings) ([]permission.Change, error)

// change prints what build would change, and with -yes changes it: one record, all or nothing. What is printed is what is recorded:
// both come of the settings as they stood at that moment.
func (p *permitting) change(ctx context.Context, tools agent.Tools, note string, build maker) error {
	e, err := p.engine(tools)
	if err != nil {
		return err
	}
	var lines []string
	_, err = e.Change(ctx, p.by, note, func(policy permission.Policy, now permission.Settings) ([]permission.Change, error) {
		changes, err := build(policy, now)
		if err != nil {
			return nil, err
		}
		lines = nil
		for _, c := range changes {
			lines = append(lines, preview(policy, c))
		}
		if !p.yes && len(changes) > 0 {
			return nil, errOnlyLook
		}
		return changes, nil
	})
	var no *decision.Refusal
	switch {
	case errors.Is(err, agent.ErrUnchanged):
		fmt.Fprintln(p.Stdout, "Nothing would change by that.")
		return nil
	case errors.As(err, &no):
		return errors.New(no.Say)
	case err != nil && !errors.Is(err, errOnlyLook):
		return err
	}
	for _, l := range lines {
		fmt.Fprintln(p.Stdout, "  "+command.OneLine(l))
	}
	if err != nil {
		fmt.Fprintf(p.Stdout, "%s. Nothing was changed yet: -yes does it.\n", command.Count(len(lines), "change", "changes"))
		return nil
	}
	fmt.Fprintf(p.Stdout, "Done: %s, recorded as made by %s.\n", command.Count(len(lines), "change", "changes"), command.OneLine(p.by.User.String()))
	return nil
}

// preview says what a change does: of a setting, from what to what.
func preview(policy permission.Policy, c permission.Change) string {
	if c.Set == nil {
		return c.String()
	}
	return fmt.Sprintf("%s: %s = %s → %s", c.Set.Where(), c.Set.Field, valueOr(policy.Setting(*c.Set).Value), valueOr(c.Set.Value))
}

func valueOr(v string) string {
	if v == "" {
		return "(not set)"
	}
	return v
}
