package rest

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	lru "github.com/hashicorp/golang-lru/v2"

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
	r, hard := rates[c.Verb], 0
	if c.Lane == agent.Decision { // the numbers are a guess, and Discord says when it is not so
		hard = surface.Overdraw
	}
	return surface.Spend{Pool: c.pool(app), Limit: r.limit, Hard: hard, Per: r.per, Lane: c.Lane, Message: c.Message, Rate: c.Rate, Ends: c.Ends}
}

func globalPool(app string) string  { return ids.Platform + "/" + app + "/global" }
func invalidPool(app string) string { return ids.Platform + "/" + app + "/invalid" }

// Spent makes a call when its channel's budget has room for it. All replicas learn of a 429.
func (c *Client) Spent(ctx context.Context, s Spending, do func(context.Context) error) error {
	ctx = WithLane(ctx, s.Lane)
	app := c.application()
	if err := c.limiter.Acquire(ctx, string(s.Verb), s.spend(app)); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, errSlow) {
		return c.limiter.Failed(ctx, string(s.Verb), s.pool(app), err)
	}
	pe := new(agent.PlatformError)
	errors.As(FaultOf(err), &pe)
	return &agent.PlatformError{Kind: pe.Kind, RetryAfter: pe.RetryAfter, Cause: fmt.Errorf("%s: %w", s.Verb, pe.Cause)}
}

// Paid is [Client.CallFiles] when the channel's budget has room for it.
func (c *Client) Paid(ctx context.Context, s Spending, method, endpoint string, in any, files []*discordgo.File, into any) error {
	return c.Spent(ctx, s, func(ctx context.Context) error { return c.CallFiles(ctx, method, endpoint, in, files, into) })
}

// Refund notes a call of a budget that was made another way.
func (c *Client) Refund(ctx context.Context, s Spending) {
	c.limiter.Refund(ctx, s.spend(c.application()))
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

// Limits of the whole bot. https://discord.com/developers/docs/topics/rate-limits
const (
	globalLimit = 45               // a second, of Discord's 50: other programs may use the token too (the doctor)
	maxInvalid  = 5_000            // answers 401, 403 and 429 in invalidPer, of the 10,000 after which Cloudflare shuts the network out
	invalidPer  = 10 * time.Minute //
	maxBuckets  = 4096             // exhausted ones that are remembered. One that is forgotten costs a 429
)

// route is what Discord counts a call by: method, path and the major parameter in it. Edits of messages older than an hour have a
// limit of their own, so they are another route here.
type route struct {
	key    uint64 // of all that
	exempt bool   // not counted against the bot's global limit: answers to interactions
	answer bool   // the first answer to an interaction: it is let out even where invalid answers are many
}

// routeSeed makes keys of paths: they hold tokens of interactions, which nobody should find in a dump of a map.
var routeSeed = maphash.MakeSeed()

// routeOf names the route of a request. Unknown paths are routes of their own.
func routeOf(method, path string, now time.Time) route {
	path = strings.TrimPrefix(strings.TrimPrefix(path, apiTheirs), apiOurs)
	parts := strings.Split(path, "/")
	to := route{answer: parts[0] == "interactions", exempt: parts[0] == "interactions" || parts[0] == "webhooks"} // these differ by their tokens
	for i, p := range parts {
		switch {
		case !ids.IsSnowflake(p), i == 1 && (parts[0] == "channels" || parts[0] == "guilds"):
		case i == 3 && parts[2] == "messages" && method == "PATCH" && IsOld(p, now):
			parts[i] = "{old}"
		default:
			parts[i] = "{id}"
		}
	}
	to.key = maphash.String(routeSeed, method+" "+strings.Join(parts, "/"))
	return to
}

// oldAfter is when edits of a message begin to be counted as those of an old one: after an hour by Discord's clock, and ours may differ.
const oldAfter = 55 * time.Minute

func IsOld(message string, now time.Time) bool {
	return now.Sub(ids.Time(message)) > oldAfter
}

// throttle is what Discord said about limits. Everything in it is bounded, however many channels and interactions there are.
type throttle struct {
	mu      sync.Mutex
	buckets *lru.Cache[uint64, time.Time] // exhausted until then
	stopped time.Time                     // everything but answers to interactions, until then: the global limit
	paused  time.Time                     // the same: too many invalid answers
	shutOut time.Time                     // everything: Cloudflare

	minutes [int(invalidPer / time.Minute)]int // invalid answers, by minute
	minute  int64                              // the newest of these, since 1970
}

// shut is how long a call must not be made, and why.
func (l *throttle) shut(to route, now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.shutOut.Sub(now); d > 0 {
		return d, errors.New("Discord shuts this network out for a while: too many refused requests came from it")
	}
	if d := l.paused.Sub(now); d > 0 && !to.answer {
		return d, errors.New("too many requests were refused lately (401, 403, 429): paused before Discord shuts this network out; look for what is refused in the log above")
	}
	if d := l.stopped.Sub(now); d > 0 && !to.exempt {
		return d, errors.New("the bot's limit of 50 requests a second is used up")
	}
	if until, _ := l.buckets.Peek(to.key); until.After(now) {
		d := until.Sub(now)
		return d, errors.New("the limit of this channel for this is used up")
	}
	return 0, nil
}

// exhausted says that a route has no room before then.
func (l *throttle) exhausted(to route, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, _ := l.buckets.Peek(to.key); until.After(was) {
		l.buckets.Add(to.key, until)
	}
}

// until lets out nothing before t that one of the throttle's moments holds back.
func (l *throttle) until(which *time.Time, t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(*which) {
		*which = t
	}
}

// count counts an invalid answer of this process, and says how many there were lately. It is the backstop where the budget that all replicas share
// cannot be asked.
func (l *throttle) count(now time.Time) (sum int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(len(l.minutes))
	for at := now.Unix() / 60; l.minute < at; l.minute++ {
		if at-l.minute > n {
			l.minute = at - n
		}
		l.minutes[(l.minute+1)%n] = 0
	}
	l.minutes[l.minute%n]++
	for _, m := range l.minutes {
		sum += m
	}
	return sum
}
