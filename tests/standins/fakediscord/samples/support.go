package samples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// Token is shaped as a bot's, and of nobody.
const Token = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"

// Log is a log that a test reads.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// KindOf is what a fault is, AfterOf when to try again.
func KindOf(err error) agent.PlatformFault {
	pe := new(agent.PlatformError)
	errors.As(err, &pe)
	return pe.Kind
}

func AfterOf(err error) time.Duration {
	pe := new(agent.PlatformError)
	errors.As(err, &pe)
	return pe.RetryAfter
}

// RoundTripper is a transport of one function.
type RoundTripper func(*http.Request) (*http.Response, error)

func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Budget is a shared budget that a test looks into.
type Budget struct {
	Mu    sync.Mutex
	Spent []surface.Spend
	Cool  map[string]time.Duration
	Wait  func(surface.Spend) time.Duration
	Err   error
}

func (p *Budget) Spend(_ context.Context, s surface.Spend) (time.Duration, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Err != nil {
		return 0, p.Err
	}
	if p.Wait != nil {
		if d := p.Wait(s); d > 0 {
			return d, nil
		}
	}
	p.Spent = append(p.Spent, s)
	return 0, nil
}

func (p *Budget) CoolOff(_ context.Context, pool string, d time.Duration) error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Cool == nil {
		p.Cool = map[string]time.Duration{}
	}
	p.Cool[pool] = d
	return nil
}

func (p *Budget) Pools() (out []string) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for _, s := range p.Spent {
		out = append(out, s.Pool)
	}
	return out
}

// ErrorChain are an error and all that it wraps, for a search in what they hold.
func ErrorChain(err error) (out []string) {
	for ; err != nil; err = errors.Unwrap(err) {
		out = append(out, fmt.Sprintf("%+v", err))
	}
	return out
}

// EndedContext is a context that has ended.
func EndedContext(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
