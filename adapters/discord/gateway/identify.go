package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

const (
	// identifyEvery is how far apart two IDENTIFYs are that share a slot: shard % max_concurrency.
	// https://discord.com/developers/docs/events/gateway#rate-limiting
	identifyEvery = 5 * time.Second
	identifyDay   = 24 * time.Hour
	// usualDay is Discord's limit of IDENTIFYs a day for all shards together. "If you hit this limit, Discord will terminate all
	// active sessions for the app, reset the app's token, and send you an email notification."
	// https://discord.com/developers/docs/events/gateway#identifying
	usualDay = 1000
	// spareOf is which part of a day's IDENTIFYs is left alone: 20 of 1,000. Replicas that ask at once, and a person at work on the
	// bot with the same token, must not reach the limit.
	spareOf = 50
	// longWait: whoever waits for longer looks again whether that is still so.
	longWait = time.Minute
)

// Starts is what Discord says about beginning sessions. https://discord.com/developers/docs/events/gateway#get-gateway-bot
type Starts struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"` // recommended
	Limit  struct {
		Total       int   `json:"total"`
		Remaining   int   `json:"remaining"`
		ResetAfter  int64 `json:"reset_after"` // ms
		Concurrency int   `json:"max_concurrency"`
	} `json:"session_start_limit"`
}

// reserve is how many of a day's IDENTIFYs are left alone.
func (s Starts) reserve() int { return s.Limit.Total / spareOf }

// askStarts asks how sessions may begin, until there is an answer. Its errors are ctx's, and those that no waiting mends.
func (g *Gateway) askStarts(ctx context.Context) (s Starts, err error) {
	err = g.Rest.Until(ctx, "could not ask for the address of the gateway", backOff.After, rest.FatalAuth, func(ctx context.Context) error {
		s = Starts{}
		s.Limit.Total, s.Limit.Remaining = usualDay, usualDay // of an answer that does not say
		err := g.Rest.Call(ctx, http.MethodGet, discordgo.EndpointGatewayBot, nil, &s)
		if err == nil && s.URL == "" {
			err = rest.Transient(errors.New("gateway/bot: the answer holds no address"))
		}
		return err
	})
	s.Shards, s.Limit.Concurrency = max(s.Shards, 1), max(s.Limit.Concurrency, 1)
	return s, err
}

// admit waits until a shard may IDENTIFY, and returns what Discord said of it. It is asked right before, each time: the budget of a
// day is Discord's to count, and ours is there for the moment between its answer and the IDENTIFY, when others ask as well.
func (g *Gateway) admit(ctx context.Context, sh *shard) (Starts, error) {
	for said := false; ; {
		s, err := g.askStarts(ctx)
		if err != nil {
			return Starts{}, err
		}
		if left := s.Limit.Remaining; left <= s.reserve() {
			reset := max(time.Duration(s.Limit.ResetAfter)*time.Millisecond, identifyEvery)
			if !said {
				g.Logger.Error("discord: the bot may begin hardly any more sessions today, and begins none until that is over: Discord resets the token of a bot "+
					"that exceeds its limit. Look for what restarts it, or connects with the same token, again and again",
					"shard", sh.id, "left", left, "of", s.Limit.Total, "until", g.Now().Add(reset).Format(time.RFC3339))
				said = true
			}
			_ = g.Pause(ctx, min(reset, 10*time.Minute)) // somebody may have asked Discord for more; the loop asks ctx
			continue
		}
		pools := "discord/" + g.application + "/identify/"
		if !sh.paid.Load() {
			day := surface.Spend{Pool: pools + "day", Limit: s.Limit.Total - s.reserve(), Per: identifyDay, Lane: agent.Decision}
			sh.paid.Store(g.pass(ctx, sh, day) == nil) // or ctx has ended, and nothing passes below either
		}
		slot := surface.Spend{Pool: pools + fmt.Sprint(sh.id%s.Limit.Concurrency), Limit: 1, Per: identifyEvery, Lane: agent.Decision}
		return s, g.pass(ctx, sh, slot)
	}
}

// pass waits until a pool of the gate that all replicas share has room. There is no way around it: a budget that cannot be asked is
// asked again.
func (g *Gateway) pass(ctx context.Context, sh *shard, s surface.Spend) error {
	gate := surface.Budget(&g.own)
	if g.Budget != nil {
		gate = g.Budget
	}
	for said := false; ; {
		wait, err := gate.Spend(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && wait <= 0:
			return nil
		case err != nil:
			wait = jittered(2 * time.Second)
		}
		if !said && (err != nil || wait > longWait) {
			g.Logger.Warn("discord: a shard waits before it may begin a session: the gate that all replicas share is closed, or cannot be asked",
				"shard", sh.id, "gate", s.Pool, "wait", wait, "err", err)
			said = true
		}
		_ = g.Pause(ctx, min(wait, longWait)) // the loop asks ctx
	}
}

// identifyLimiter is the gate of a process that is alone: at most so many in any window. The zero value is ready.
type identifyLimiter struct {
	mu   sync.Mutex
	went map[string][]time.Time
}

var _ surface.Budget = (*identifyLimiter)(nil)

// Spend is [surface.Budget]'s, without lanes.
func (t *identifyLimiter) Spend(_ context.Context, s surface.Spend) (time.Duration, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	went := t.went[s.Pool]
	for len(went) > 0 && now.Sub(went[0]) >= s.Per {
		went = went[1:]
	}
	if t.went == nil {
		t.went = map[string][]time.Time{}
	}
	if t.went[s.Pool] = went; len(went) >= s.Limit {
		return s.Per - now.Sub(went[0]), nil
	}
	t.went[s.Pool] = append(went, now)
	return 0, nil
}

// CoolOff is [surface.Budget]'s. Nothing here is refused with a 429.
func (t *identifyLimiter) CoolOff(context.Context, string, time.Duration) error { return nil }

// jittered is somewhere in the upper half of d, so that replicas and shards do not come all at once.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(max(d/2, 1)) } //nolint:gosec // no secret
