// Package gateway keeps a bot's connections to Discord's gateway, one per shard, and hands on what comes. It reads no event: what they mean is
// the adapter's.
//
// Start at [Config] and [Gateway.Run], which keeps the shards that this process has the right to (shards.go) until its context ends. A shard's
// connection is kept by gateway.go: what to do after each end, how long to wait, what cannot be mended. A session is what Discord calls so,
// over as many connections as it takes (session.go): HELLO, heartbeats, IDENTIFY, RESUME, op 7 and 9, close codes. An IDENTIFY leaves only
// when the gate that all replicas share has opened (identify.go): Discord resets the token of a bot that sends too many.
//
// The protocol is spoken here, on a websocket library, with discordgo's types: discordgo's own client deadlocks, panics or storms on some
// packets (docs/decisions/0010). It imports package rest for asking how sessions may begin. What Discord closes a connection with, and what
// is done about it, goes to gateway.go; a new opcode to session.go.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/backoff"
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

const (
	// intentsNeeded bring guilds, their channels and threads, and messages. Interactions need none.
	// https://discord.com/developers/docs/events/gateway#gateway-intents
	intentsNeeded = discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsDirectMessages

	resumeMost = 4 * time.Second // after a connection that worked and can be resumed: that costs nothing of the day's budget, and the bot is deaf meanwhile
	// lasting: a connection that stood for so long was no part of the trouble before it.
	lasting = time.Minute
	// working: one that stood for so long can be resumed soon. One that is sent away at once each time cannot: that would be a storm.
	working = 5 * time.Second
	// Before an IDENTIFY that answers an op 9, "wait a random amount of time — between 1 and 5 seconds".
	// https://discord.com/developers/docs/events/gateway#resuming
	invalidLeast, invalidMost = time.Second, 5 * time.Second
	// maxAgain is how often a session is resumed although Discord calls it invalid: it may say every time that it can be.
	maxAgain = 3
	// maxUnanswered is how many RESUMEs in a row may end without RESUMED. The session is begun anew after them: Discord can lose one so that
	// every RESUME is ignored or closed, while an IDENTIFY succeeds at once. https://github.com/discord/discord-api-docs/issues/1619
	maxUnanswered = 2
)

// Close codes that something is done about; after all others the session is resumed.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
const (
	closeBadToken      = 4004
	closeBadSequence   = 4007
	closeTimedOut      = 4009
	closeBadShard      = 4010
	closeNeedsShards   = 4011
	closeBadVersion    = 4012
	closeBadIntents    = 4013
	closeNoSuchIntents = 4014
)

const portal = "https://discord.com/developers/applications"

// closedForGood are sentences for the codes that no waiting mends.
var closedForGood = map[int]string{ //nolint:gosec // words about a token, none of them one
	closeBadToken:    "the token is refused (4004): copy the bot's token from the application's \"Bot\" page at " + portal + " to DISCORD_TOKEN, without \"Bot \" before it; \"Reset Token\" there makes a new one",
	closeBadShard:    "the shard is refused (4010): the number of shards is not one that it takes; leave it empty, so that Discord's own recommendation is used",
	closeNeedsShards: "more shards are wanted (4011): the bot is in too many servers for as many as are set; leave the number empty, so that Discord's own recommendation is used, and start again",
	closeBadVersion:  "version " + rest.APIVersion + " of the gateway is no longer spoken (4012): a newer version of this program is needed",
	closeBadIntents:  "the intents that were asked for are not known (4013): a newer version of this program is needed",
	closeNoSuchIntents: "intents that need no permission are refused (4014): look at the application's \"Bot\" page at " + portal + ", \"Privileged Gateway Intents\"; \"Message Content Intent\" is the only one that is wanted, " +
		"and the bot does without it",
}

// withoutContent notes that Discord does not let the bot read what people write, and reports whether that is news.
func (g *Gateway) withoutContent() bool {
	if g.refused.Swap(true) {
		return false
	}
	g.Logger.Warn("discord: the bot may not read messages that neither mention it nor are sent to it directly (4014): it answers mentions, direct messages and commands only. " +
		"To change that switch on \"Message Content Intent\" on the application's \"Bot\" page at " + portal + ", and start again")
	return true
}

// keep keeps one shard's connection until ctx ends (nil), or Discord refuses it for good.
func (g *Gateway) keep(ctx context.Context, sh *shard) error {
	sh.heard.Store(time.Now().UnixNano())
	defer sh.heard.Store(0)
	sh.lostSession()
	if g.Beside != nil {
		var beside sync.WaitGroup
		defer beside.Wait()
		own, enough := context.WithCancel(ctx)
		defer enough()
		beside.Go(func() { g.Beside(own, sh.id, sh.silentFor) })
	}
	var l *session
	defer func() { l.end() }()
	for tries, after := 0, "the start"; ctx.Err() == nil; tries++ {
		if l == nil {
			s, err := g.admit(ctx, sh)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			l = g.begin(sh, s.URL)
		}
		c := l.run(ctx, after)
		if ctx.Err() != nil {
			return nil
		}
		sh.lostSession()
		if c.code == closeNoSuchIntents && g.withoutContent() {
			c.say += "; trying without the message content"
			c.fresh, c.soon, tries = true, true, 0
		} else if say, ok := closedForGood[c.code]; ok && (c.code != closeNoSuchIntents || !l.content) {
			return errors.New(say)
		}
		stood := l.conn.stood()
		if stood >= lasting {
			tries = 0
		}
		resume := l.resumes(c)
		wait := waitAfter(c, tries, resume && stood >= working)
		level := slog.LevelInfo
		if stood == 0 {
			level = slog.LevelWarn
		}
		g.Logger.Log(ctx, level, "discord: a gateway connection ended; opening another", "shard", sh.id, "why", c.say, "resume", resume, "in", wait)
		if after = c.say; !resume {
			l.end()
			l = nil
		}
		_ = g.Pause(ctx, wait) // the loop asks ctx
	}
	return nil
}

// backOff grows after each connection that did not last. Replicas and shards do not come all at once.
var backOff = backoff.Exponential{First: time.Second, Most: time.Minute, Jitter: -0.5}

// waitAfter is how long to wait after a connection has ended, and tries others before it that did not last. worked: it stood for
// a while, and can be resumed.
func waitAfter(c closeReason, tries int, worked bool) time.Duration {
	if c.soon && tries == 0 {
		return 0
	}
	again := backOff
	if worked {
		again.Most = resumeMost
	}
	wait := again.After(tries)
	if c.invalid {
		wait = max(wait, invalidLeast+rand.N(invalidMost-invalidLeast)) //nolint:gosec // no secret
	}
	return wait
}
