package parts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/state"
)

// What a command that changes settings needs of the world is an engine, for it is the one way to them. This one drives no chat: it is never run,
// it claims nothing, and its model, its tools and its platform refuse whatever a turn would want of them.

var errNoTurns = errors.New("the command line runs no turns")

// StillEngine makes an engine over a store, with these tools; nil: none.
func StillEngine(c config.Config, store *state.Store, tools agent.Tools, log *slog.Logger) (*agent.Engine, error) {
	policy := Operators(c)
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	if tools == nil {
		tools = idle{}
	}
	return agent.New(agent.Config{
		Log: unclaiming{store, store}, Index: store, Leases: store, Model: idle{}, Tools: tools, Policies: Fixed(policy),
		Platforms: map[string]agent.Platform{command.Platform: idle{}}, Lease: c.Lease, Logger: log,
	})
}

// unclaiming is a log whose writes claim no chat: what is written here, the bot's own processes take notice of.
type unclaiming struct {
	agent.Log
	agent.Retainer
}

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
