// Package settings is how people look at what nod may do and change it: the panel, the typed commands, the answer to "Why am I asked?",
// and the notification of admins about tools that nobody accepted yet.
//
// It decides nothing about a call and writes no log by itself. What holds is [agent.Rules]; each change goes through the engine
// ([Engine]: Change, Decide, Command), which looks again who may make it. It may import core and the engine's package; the engine does not
// know it, and adapters see it through a small interface of their own.
//
// Where to start reading: [Settings.Panel] and [Settings.Act] (panel.go) and [Settings.Permissions] (commands.go) are what adapters call.
// Each of them makes a [request]: what one person sees at one moment. Its views are each drawn as a [page]: home.go, grants.go,
// servers.go, field.go, history.go; tools.go has the servers and tools that they are about. What a person can do with the
// settings is an [action], which is data: a page offers it under a token, a command names the same one, and only [request.do] does it.
// [Settings.Run] looks for news about tools, with the model's opinion of them if it is asked for one (notify.go).
//
// Where a line goes: what can be set, and what it means, is core/permission's; a sentence is core/text's; who may write is the engine's;
// how a panel looks on a platform is the adapter's.
package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Engine is what the settings need of [agent.Engine].
type Engine interface {
	// Rules are what decides now.
	Rules(context.Context) (agent.Rules, error)
	// WithGroups is the policy with the groups of whoever acts. unsure: their platform does not say which they are.
	WithGroups(ctx context.Context, p permission.Policy, by chat.Envelope) (with permission.Policy, unsure bool)
	// Session is a chat as its log stands now.
	Session(context.Context, chat.ID) (turn.Session, error)
	// Now is the log's clock.
	Now() time.Time
	// NameOf is what people call somebody in a chat.
	NameOf(turn.Session, chat.User) string

	// Change records what build makes of the settings as they are: all of it, or nothing. [agent.ErrUnchanged]: it would change nothing.
	Change(ctx context.Context, by chat.Envelope, note string, build func(permission.Policy, permission.Settings) ([]permission.Change, error)) (permission.Settings, error)
	// ChangeAsAdmin is Change by somebody who has to be an admin.
	ChangeAsAdmin(ctx context.Context, by chat.Envelope, note string, changes ...permission.Change) (permission.Settings, error)
	// Decide takes a choice about a chat.
	Decide(context.Context, chat.Clicked) ([]decision.Outcome, error)
	// Command does what is typed in a chat.
	Command(context.Context, chat.Commanded) error

	// Observe asks every server for its tools and records what is new; Listed are they as they were listed last, and News signals
	// that a turn found something new.
	Observe(context.Context) error
	Listed() []agent.ToolSpec
	News() <-chan struct{}
}

var _ Engine = (*agent.Engine)(nil)

// Reputation is what others say of a server, with where that comes from. It is shown, and never decides anything (R157).
type Reputation struct{ Score, Source string }

// Reputations are scores of servers, from a list that the operator keeps. ok is false for a server that is not on it.
type Reputations interface {
	Reputation(server string) (r Reputation, ok bool)
}

// Config is what settings are made of.
type Config struct {
	Engine    Engine
	Log       agent.Log // only its history is read
	Index     agent.Index
	Tools     agent.Tools               // only listed
	Platforms map[string]agent.Platform // admins are written to on those that can; it is read when somebody is
	// Place reads the name of a place that somebody typed. Nil: [permission.ParsePlace], which knows no platform's IDs.
	Place func(string) (permission.Place, error)
	// Reputations are shown with servers. Nil: none.
	Reputations Reputations
	// Analyst says what it thinks of tools that nobody accepted: it may only add caution. Nil: nobody does.
	Analyst agent.Model
	Logger  *slog.Logger
}

// Settings answer people who look at the settings or change them. All methods are safe for concurrent use.
type Settings struct{ Config }

// New makes settings. They answer at once; [Settings.Run] tells admins of what is new.
func New(c Config) (*Settings, error) {
	var missing []error
	for _, x := range []struct {
		there bool
		name  string
	}{{c.Engine != nil, "Engine"}, {c.Log != nil, "Log"}, {c.Index != nil, "Index"}, {c.Tools != nil, "Tools"}} {
		if !x.there {
			missing = append(missing, fmt.Errorf("settings: Config.%s is missing", x.name))
		}
	}
	if c.Place == nil {
		c.Place = permission.ParsePlace
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	return &Settings{c}, nil
}
