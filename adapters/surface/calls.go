package surface

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
)

// Budget is what may still be called of a platform's methods. All replicas share one.
type Budget interface {
	// Spend asks for one call. Zero: make it now, it is counted. Otherwise nothing was spent: look again after so long, with
	// what is newest then.
	Spend(context.Context, Spend) (wait time.Duration, err error)
	// CoolOff stops every spending from a pool for d: the platform said so.
	CoolOff(ctx context.Context, pool string, d time.Duration) error
}

// Overdraw is a [Spend.Hard] that no budget reaches: whoever clicked sees what came of it at once, and only the platform's own refusal, which
// all replicas keep to, delays it.
const Overdraw = 1 << 20

// Spend is one call that somebody would like to make.
type Spend struct {
	Pool    string        // what the limit is counted by: workspace, method and, where the platform counts so, channel
	Limit   int           // calls in Per; 0 with Ends: the message ended by other means, and nothing is spent
	Hard    int           // calls in Per that decisions may go up to, where the platform bears bursts; less than Limit: that
	Per     time.Duration //
	Evenly  bool          // Limit at once, and then one every Per/Limit: where the platform bears short bursts
	Lane    agent.Urgency // a decision goes before a final, a final before progress
	Message string        // the live message it is for; empty where there is none. Each one keeps a call in reserve for its final
	Rate    float64       // how fast that message grows, in characters a second
	Ends    bool          // the message needs nothing after this
}

const (
	// BusyForUnknown is what a caller waits when nobody knows how long.
	BusyForUnknown = time.Second
	spendTimeout   = time.Second // for asking the budget: what is left of an edit's time is for the edit
)

// RateLimiter asks the shared budget before a platform is called. With a nil Budget no limits are kept but the platform's own.
type RateLimiter struct {
	Budget   Budget
	Platform string // for the log
	Logger   *slog.Logger
	Patience time.Duration                              // with the budget; 0: a second
	Pause    func(context.Context, time.Duration) error // nil: [backoff.Wait]

	degraded atomic.Bool // the budget could not be asked
}

// Acquire asks the budget for one call; errors name it, and are of type [*agent.PlatformError]. Where there is no room now:
//
//   - progress does not wait: the caller comes again with a newer view;
//   - a decision or a final waits here until there is room, or ctx ends;
//   - a question that nobody has seen yet waits for at most [agent.QuestionWithin].
//
// Where the budget cannot be asked, progress is refused and everything else may be called: the platform answers one call too many with a
// time to wait, but one too few leaves a person before a card that is not true.
func (p *RateLimiter) Acquire(ctx context.Context, call string, s Spend) error {
	if p.Budget == nil {
		return nil
	}
	pause := p.Pause
	if pause == nil {
		pause = backoff.Wait
	}
	question, waited := s.Lane == agent.Question, time.Duration(0)
	if question {
		s.Lane = agent.Decision
	}
	for {
		wait, err := p.ask(ctx, s)
		switch {
		case err != nil && ctx.Err() != nil:
			return &agent.PlatformError{Kind: agent.FaultTransient, Cause: ctx.Err()}
		case err != nil && s.Lane == agent.Progress:
			return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: BusyForUnknown, Cause: fmt.Errorf("%s: the shared budget cannot be asked", call)}
		case err != nil, wait <= 0:
			return nil
		}
		usedUp := fmt.Errorf("%s: the share that everybody has of it is used up", call)
		refused := &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: wait, Cause: usedUp}
		if s.Lane == agent.Progress {
			return refused
		}
		if s.Lane == agent.Decision { // nothing is more urgent
			refused.Kind = agent.FaultBusy
		}
		waited += wait
		until, bounded := ctx.Deadline()
		if bounded && time.Until(until) < wait || question && waited > agent.QuestionWithin || pause(ctx, wait) != nil {
			return refused
		}
	}
}

func (p *RateLimiter) ask(ctx context.Context, s Spend) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.Patience, spendTimeout))
	defer cancel()
	wait, err := p.Budget.Spend(ctx, s)
	if (err != nil) != p.degraded.Swap(err != nil) { // once, not with every call
		p.Logger.Warn(p.Platform+": the shared budget: progress is shown only while it can be asked", "asked", err == nil, "err", err)
	}
	return wait, err
}

// Refund tells the budget that a message ended by other means than a counted call, so that no call is kept in reserve for it.
func (p *RateLimiter) Refund(ctx context.Context, s Spend) {
	if p.Budget == nil || !s.Ends {
		return
	}
	s.Limit = 0
	if _, err := p.Budget.Spend(ctx, s); err != nil {
		p.Logger.Debug(p.Platform+": could not tell the budget that a message ended", "pool", s.Pool, "err", err)
	}
}

// Failed names the call in a fault of type [*agent.PlatformError]. All replicas learn of a 429, so that none of them asks again too early.
func (p *RateLimiter) Failed(ctx context.Context, call, pool string, fault error) error {
	pe, ok := errors.AsType[*agent.PlatformError](fault)
	if !ok {
		return fault
	}
	if pe.Kind == agent.FaultBusy && p.Budget != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := p.Budget.CoolOff(ctx, pool, pe.RetryAfter); err != nil {
			p.Logger.Warn(p.Platform+": could not tell the other replicas of a 429", "pool", pool, "err", err)
		}
	}
	named := *pe
	named.Cause = fmt.Errorf("%s: %w", call, pe.Cause)
	return &named
}

// How long one call of a platform's API may take.
const (
	DialTimeout   = 5 * time.Second // of a connection, or its TLS handshake
	headerTimeout = 15 * time.Second
	// CallTimeout bounds one call, its answer's body included.
	CallTimeout = 30 * time.Second
)

// HTTPClient is c with what must not be missing: a timeout, and no redirects, because a redirected request would carry the token
// to wherever it leads.
func HTTPClient(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	if own.Transport == nil {
		own.Transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   DialTimeout,
			ResponseHeaderTimeout: headerTimeout,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          128,
			MaxIdleConnsPerHost:   64, // the default of 2 opens a connection for nearly every edit
			IdleConnTimeout:       90 * time.Second,
		}
	}
	if own.Timeout <= 0 {
		own.Timeout = CallTimeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
