package discord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// verb is a kind of call that Discord counts by itself, per channel. Discord publishes no numbers: those of creating and editing are
// what its answers' headers say (https://github.com/discord/discord-api-docs/issues/1442), the others are as careful. Threads are not: people
// who mention the bot at once see nothing of it before theirs is there, so Discord's own 429 paces them, which all replicas keep to.
type verb string

const (
	verbPost   verb = "post"
	verbEdit   verb = "edit"
	verbOld    verb = "old" // edits of messages older than an hour: error 30046
	verbDelete verb = "delete"
	verbRead   verb = "read"
	verbThread verb = "thread" // making one, and opening an archived one again
)

// rate is how often a call may be made in a channel.
type rate struct {
	limit int
	per   time.Duration
}

var rates = map[verb]rate{
	verbPost:   {5, 5 * time.Second},
	verbEdit:   {5, 5 * time.Second},
	verbOld:    {3, 6 * time.Second},
	verbDelete: {5, 5 * time.Second},
	verbRead:   {5, 5 * time.Second},
	verbThread: {50, 5 * time.Second},
}

// paceOld is how far apart progress edits of one old message are at least.
const paceOld = 2500 * time.Millisecond

// spending is one call about to be made.
type spending struct {
	verb    verb
	app     string // the application's ID
	channel string // a thread is one
	lane    agent.Urgency
	message string  // the live message it is for, if any
	rate    float64 // how fast that grows
	ends    bool
}

func (c spending) pool() string {
	return Platform + "/" + c.app + "/" + string(c.verb) + "/" + c.channel
}

func (c spending) spend() surface.Spend {
	r := rates[c.verb]
	return surface.Spend{Pool: c.pool(), Limit: r.limit, Per: r.per, Lane: c.lane, Message: c.message, Rate: c.rate, Ends: c.ends}
}

func globalPool(me self) string  { return Platform + "/" + me.Application + "/global" }
func invalidPool(me self) string { return Platform + "/" + me.Application + "/invalid" }

// spent makes a call when its channel's budget has room for it. All replicas learn of a 429.
func (a *Adapter) spent(ctx context.Context, c spending, do func(context.Context) error) error {
	ctx = withLane(ctx, c.lane)
	if err := a.purse.Afford(ctx, string(c.verb), c.spend()); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, errSlow) {
		return a.purse.Failed(ctx, string(c.verb), c.pool(), err)
	}
	pe := new(agent.PlatformError)
	errors.As(faultOf(err), &pe)
	return &agent.PlatformError{Kind: pe.Kind, RetryAfter: pe.RetryAfter, Cause: fmt.Errorf("%s: %w", c.verb, pe.Cause)}
}

type laneKey struct{}

// withLane tells the transport how urgent a request is.
func withLane(ctx context.Context, u agent.Urgency) context.Context {
	return context.WithValue(ctx, laneKey{}, u)
}

func laneOf(ctx context.Context) (u agent.Urgency, known bool) {
	u, known = ctx.Value(laneKey{}).(agent.Urgency)
	return u, known
}
