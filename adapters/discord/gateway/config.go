// Package gateway keeps a bot's connections to Discord's gateway, one per shard, and hands on what comes. It reads no event: what they mean is
// the adapter's.
//
// Start at [Config] and [Gateway.Run], which keeps the shards that this process has the right to (shards.go) until its context ends. A shard's
// connection is kept by gateway.go: what to do after each end, how long to wait, what cannot be mended. A session is one discordgo.Session
// over as many connections as it takes (session.go). An IDENTIFY leaves only when the gate that all replicas share has opened (identify.go):
// Discord resets the token of a bot that sends too many.
//
// Beneath discordgo stands a connection that reads the frames (wire.go, wire_frames.go, wire_out.go, wire_dial.go), because discordgo deadlocks,
// panics or storms on some of them: those never reach it. What is known of that stands at the type wire.
//
// It imports package rest for asking how sessions may begin, and for discordgo's sessions. What Discord closes a connection with, and what is
// done about it, goes to gateway.go; a packet that discordgo must not see to wire.go.
package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
)

// Holds are rights that one process has at a time, by name.
type Holds interface {
	// Hold takes the right, or renews it. mine is false where another owner has it, and left is then how long that still lasts.
	Hold(ctx context.Context, name, owner string, d time.Duration) (mine bool, left time.Duration, err error)
	// Drop gives it back.
	Drop(ctx context.Context, name, owner string) error
}

// Config is what a connection is made of.
type Config struct {
	Token        string
	Shards       int            // 0: as many as Discord recommends
	Holds        Holds          // nil: this is the only process
	Owner        string         // this process, as holder of shards
	Lease        time.Duration  // how long a shard is held without renewal
	Budget       surface.Budget // the gate that all replicas share; nil: this is the only process
	Rest         *rest.Client   // for asking how sessions may begin
	Client       *http.Client   // whose proxy and roots are used; nil: the plain network
	OpenWithin   time.Duration  // for the gateway to say READY
	SilentWithin time.Duration  // for the gateway to say anything at all
	Logger       *slog.Logger
	Now          func() time.Time
	Pause        func(context.Context, time.Duration) error // waits; an error is the context's

	// Event is told what comes, of one shard in order and one at a time, and Connected of each READY and RESUMED, after its event. They must
	// not block: nothing more is read meanwhile.
	Event     func(kind string, raw json.RawMessage)
	Connected func(shard int, resumed bool)
	// Beside runs beside the connection of each shard that this process keeps, until its ctx ends; nil: nothing does. silentFor is how long ago
	// something came; ok is false where there is no session.
	Beside func(ctx context.Context, shard int, silentFor func() (d time.Duration, ok bool))
}

// Gateway keeps a bot's connections to the gateway.
type Gateway struct {
	Config
	application string // its ID; written by Run

	// refused: Discord does not let the bot read what people write, but for mentions and direct messages.
	refused atomic.Bool
	own     identifyLimiter // the gate, without a shared one

	mu     sync.Mutex
	shards []*shard
}

// New makes a Gateway that connects to nothing before [Gateway.Run].
func New(c Config) *Gateway { return &Gateway{Config: c} }

// HearsContent reports whether the bot hears messages that neither mention it nor are sent to it directly, as far as that is known.
func (g *Gateway) HearsContent() bool { return !g.refused.Load() }

// ShardCount is how many shards there are; 1 before that is known.
func (g *Gateway) ShardCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(len(g.shards), 1)
}
