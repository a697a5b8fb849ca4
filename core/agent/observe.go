package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Observe asks every server for its tools and records what is new about them. A server that does not answer is no error.
func (e *Engine) Observe(ctx context.Context) error {
	before := e.listed.Load()
	specs, _, err := e.Tools.List(ctx)
	if err != nil || !e.listed.CompareAndSwap(before, &specs) {
		return nil // a turn has listed them meanwhile: this list may be older
	}
	_, err = e.knownRules(ctx, specs)
	return err
}

// Listed are the tools as they were listed last, by a turn or by [Engine.Observe].
func (e *Engine) Listed() []ToolSpec { return *e.listed.Load() }

// News signals that this replica recorded something new about a tool. It has room for one signal, and one reader.
func (e *Engine) News() <-chan struct{} { return e.newsCh }

// observe records what servers say about their tools where it is new, for every replica, and returns the settings after that.
func (e *Engine) observe(ctx context.Context, base permission.Policy, f fold, specs []ToolSpec) (fold, error) {
	tools := judged(specs)
	if len(decision.News(base, settingsOf(f.s), tools)) == 0 {
		return f, nil
	}
	_, err := e.Change(ctx, chat.Envelope{}, "", func(_ permission.Policy, s permission.Settings) ([]permission.Change, error) {
		return decision.News(base, s, tools), nil
	})
	switch {
	case err == nil:
		signal(e.newsCh) // the admins are to hear of it
	case errors.Is(err, ErrUnchanged): // another replica was first
	default:
		return f, fmt.Errorf("record what servers say about their tools: %w", err)
	}
	return e.readSettings(ctx)
}
