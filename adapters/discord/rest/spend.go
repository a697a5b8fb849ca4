package rest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// Verb is a kind of call that Discord counts by itself, per channel. Discord publishes no numbers: those of creating and editing are
// what its answers' headers say (https://github.com/discord/discord-api-docs/issues/1442), the others are as careful. Threads are not: people
// who mention the bot at once see nothing of it before theirs is there, so Discord's own 429 paces them, which all replicas keep to.
type Verb string

const (
	Post    Verb = "post"
	Edit    Verb = "edit"
	EditOld Verb = "old" // edits of messages older than an hour: error 30046
	Delete  Verb = "delete"
	Read    Verb = "read"
	Thread  Verb = "thread" // making one, and opening an archived one again
)

// rate is how often a call may be made in a channel.
type rate struct {
	limit int
	per   time.Duration
}

var rates = map[Verb]rate{
	Post:    {5, 5 * time.Second},
	Edit:    {5, 5 * time.Second},
	EditOld: {3, 6 * time.Second},
	Delete:  {5, 5 * time.Second},
	Read:    {5, 5 * time.Second},
	Thread:  {50, 5 * time.Second},
}

// PaceOld is how far apart progress edits of one old message are at least.
const PaceOld = 2500 * time.Millisecond

// Spending is one call about to be made.
type Spending struct {
	Verb    Verb
	Channel string // a thread is one
	Lane    agent.Urgency
	Message string  // the live message it is for, if any
	Rate    float64 // how fast that grows
	Ends    bool
}

func (c Spending) pool(app string) string {
	return ids.Platform + "/" + app + "/" + string(c.Verb) + "/" + c.Channel
}

func (c Spending) spend(app string) surface.Spend {
	r := rates[c.Verb]
	return surface.Spend{Pool: c.pool(app), Limit: r.limit, Per: r.per, Lane: c.Lane, Message: c.Message, Rate: c.Rate, Ends: c.Ends}
}

func globalPool(app string) string  { return ids.Platform + "/" + app + "/global" }
func invalidPool(app string) string { return ids.Platform + "/" + app + "/invalid" }

// Spent makes a call when its channel's budget has room for it. All replicas learn of a 429.
func (c *Client) Spent(ctx context.Context, s Spending, do func(context.Context) error) error {
	ctx = WithLane(ctx, s.Lane)
	app, _ := c.application()
	if err := c.purse.Afford(ctx, string(s.Verb), s.spend(app)); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, errSlow) {
		return c.purse.Failed(ctx, string(s.Verb), s.pool(app), err)
	}
	pe := new(agent.PlatformError)
	errors.As(FaultOf(err), &pe)
	return &agent.PlatformError{Kind: pe.Kind, RetryAfter: pe.RetryAfter, Cause: fmt.Errorf("%s: %w", s.Verb, pe.Cause)}
}

// Spared notes a call of a budget that was made another way.
func (c *Client) Spared(ctx context.Context, s Spending) {
	app, _ := c.application()
	c.purse.Spared(ctx, s.spend(app))
}

type laneKey struct{}

// WithLane tells the transport how urgent a request is.
func WithLane(ctx context.Context, u agent.Urgency) context.Context {
	return context.WithValue(ctx, laneKey{}, u)
}

func laneOf(ctx context.Context) (u agent.Urgency, known bool) {
	u, known = ctx.Value(laneKey{}).(agent.Urgency)
	return u, known
}
