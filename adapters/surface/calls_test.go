package surface

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
)

// purse is a budget that says one thing after the other, and the last of them for ever.
type purse struct {
	waits []time.Duration
	err   error
	asked []Spend
	cools []string
}

func (p *purse) Spend(_ context.Context, s Spend) (time.Duration, error) {
	p.asked = append(p.asked, s)
	return p.waits[min(len(p.asked), len(p.waits))-1], p.err
}

func (p *purse) CoolOff(_ context.Context, pool string, _ time.Duration) error {
	p.cools = append(p.cools, pool)
	return nil
}

func TestWhoWaitsForTheBudget(t *testing.T) {
	broken, over := errors.New("redis is down"), time.Now().Add(-time.Second)
	for name, x := range map[string]struct {
		lane    agent.Urgency
		waits   []time.Duration
		err     error
		until   time.Time // zero: for ever
		want    agent.PlatformFault
		waiting int // times
	}{
		"there is room":                        {agent.Decision, []time.Duration{0}, nil, time.Time{}, "", 0},
		"what was spent is called":             {agent.Decision, []time.Duration{0}, nil, over, "", 0},
		"there is room for progress":           {agent.Progress, []time.Duration{0}, nil, time.Time{}, "", 0},
		"progress comes again":                 {agent.Progress, []time.Duration{1}, nil, time.Time{}, agent.FaultLater, 0},
		"a decision waits":                     {agent.Decision, []time.Duration{time.Hour, time.Hour, 0}, nil, time.Time{}, "", 2},
		"a decision has time":                  {agent.Decision, []time.Duration{time.Second, 0}, nil, time.Now().Add(time.Hour), "", 1},
		"a decision has no time":               {agent.Decision, []time.Duration{time.Minute, 0}, nil, time.Now().Add(time.Second), agent.FaultBusy, 0},
		"an end has no time":                   {agent.Final, []time.Duration{time.Minute, 0}, nil, time.Now().Add(time.Second), agent.FaultLater, 0},
		"a question waits":                     {agent.Question, []time.Duration{agent.QuestionWithin, 0}, nil, time.Time{}, "", 1},
		"a question waits no longer":           {agent.Question, []time.Duration{agent.QuestionWithin, 1, 0}, nil, time.Time{}, agent.FaultBusy, 1},
		"the budget cannot be asked":           {agent.Decision, []time.Duration{time.Hour}, broken, time.Time{}, "", 0},
		"nor for progress":                     {agent.Progress, []time.Duration{0}, broken, time.Time{}, agent.FaultLater, 0},
		"nor in time":                          {agent.Decision, []time.Duration{0}, broken, over, agent.FaultTransient, 0},
		"where nobody spends, nothing is kept": {agent.Progress, nil, nil, time.Time{}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			waited := 0
			p := RateLimiter{Logger: slog.New(slog.DiscardHandler), Pause: func(context.Context, time.Duration) error { waited++; return nil }}
			if x.waits != nil {
				p.Budget = &purse{waits: x.waits, err: x.err}
			}
			ctx := t.Context()
			if !x.until.IsZero() {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, x.until)
				defer cancel()
			}
			err := p.Acquire(ctx, "chat.update", Spend{Lane: x.lane})
			pe, _ := errors.AsType[*agent.PlatformError](err)
			if (err != nil) != (x.want != "") || err != nil && pe.Kind != x.want || waited != x.waiting {
				t.Errorf("%v after waiting %d times", err, waited)
			}
		})
	}
}

func TestWhatTheBudgetIsTold(t *testing.T) {
	(&RateLimiter{}).Refund(t.Context(), Spend{Ends: true}) // there is none to be told
	b := &purse{waits: []time.Duration{0}}
	p := RateLimiter{Budget: b}
	p.Refund(t.Context(), Spend{Limit: 5})
	p.Refund(t.Context(), Spend{Limit: 5, Ends: true})
	if len(b.asked) != 1 || b.asked[0].Limit != 0 {
		t.Errorf("asked %+v", b.asked)
	}
	plain := errors.New("cut")
	if err := p.Failed(t.Context(), "chat.update", "pool", plain); err != plain { //nolint:errorlint // that very error
		t.Error(err)
	}
	for _, kind := range []agent.PlatformFault{agent.FaultGone, agent.FaultBusy} {
		_ = (&RateLimiter{}).Failed(t.Context(), "chat.update", "pool", &agent.PlatformError{Kind: kind}) // there is nobody to be told
		pe, _ := errors.AsType[*agent.PlatformError](p.Failed(t.Context(), "chat.update", string(kind), &agent.PlatformError{Kind: kind, Cause: plain}))
		if pe == nil || pe.Kind != kind || !errors.Is(pe, plain) {
			t.Errorf("%s: %v", kind, pe)
		}
	}
	if len(b.cools) != 1 || b.cools[0] != string(agent.FaultBusy) {
		t.Errorf("it is left alone for %q", b.cools)
	}
}
