package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	if len(newsOf(base, settingsOf(f.s), specs)) == 0 {
		return f, nil
	}
	_, err := e.Change(ctx, chat.Envelope{}, "", func(_ permission.Policy, s permission.Settings) ([]permission.Change, error) {
		return newsOf(base, s, specs), nil
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

// newsOf are the changes that record what servers say and the settings do not hold yet. What is seen first of a server counts as accepted
// where the operator's own configuration stands for the server: it is marked as trusted, or set never to ask.
func newsOf(base permission.Policy, s permission.Settings, specs []ToolSpec) []permission.Change {
	var out []permission.Change
	for _, sp := range specs {
		if sp.Source == permission.SourceWorkbench { // ours: it changes with the program
			continue
		}
		set := base.Servers[sp.Tool.Server]
		vouched := set.Trusted || set.Ask == permission.NeverAsk
		pin, _ := s.Pin(sp.Tool) // of no tool where it is not known
		if pin.IsNews(sp.Tool, vouched) {
			out = append(out, permission.Seen{
				Tool: sp.Tool, Definition: sp.Definition.Kept(), Stranger: !vouched, Vouched: vouched && (!s.Knows(sp.Tool.Server) || pin.Stranger),
			})
		}
	}
	return out
}

// FindTool finds a tool of a server by their names.
func FindTool(specs []ToolSpec, server, name string) (ToolSpec, bool) {
	i := slices.IndexFunc(specs, func(sp ToolSpec) bool { return sp.Tool.Server == server && sp.Tool.Name == name })
	if i < 0 {
		return ToolSpec{}, false
	}
	return specs[i], true
}
