package agent

import (
	"context"
	"errors"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Observe asks every server for its tools and records what is new about them. It returns an error where that could not be recorded; a
// server that does not answer is none.
func (e *Engine) Observe(ctx context.Context) error {
	before := e.seen.Load()
	specs, _, err := e.Tools.List(ctx)
	if err != nil || !e.seen.CompareAndSwap(before, &specs) {
		return nil // a turn has listed them meanwhile: this list may be older
	}
	_, _, err = e.policyFor(ctx, specs)
	return err
}

// Listed are the tools as they were listed last, by a turn or by [Engine.Observe].
func (e *Engine) Listed() []ToolSpec {
	if p := e.seen.Load(); p != nil {
		return *p
	}
	return nil
}

// News signals that this replica recorded something new about a tool. It has room for one signal, and one reader.
func (e *Engine) News() <-chan struct{} { return e.newsCh }

// observe records what servers say about their tools where it is new or another than before, so that every replica knows before
// anything is asked, and returns the settings after that. It costs one read where nothing is.
func (e *Engine) observe(ctx context.Context, base permission.Policy, specs []ToolSpec) (permission.Settings, error) {
	s, err := e.Settings(ctx)
	if err != nil || len(newsOf(base, s, specs)) == 0 {
		return s, err
	}
	s, err = e.Change(ctx, chat.Envelope{}, "", func(_ permission.Policy, s permission.Settings) ([]permission.Change, error) {
		return newsOf(base, s, specs), nil
	})
	switch {
	case err == nil:
		signal(e.newsCh) // the admins are to hear of it
	case errors.Is(err, ErrUnchanged):
		err = nil // another replica was first
	}
	return s, err
}

// newsOf are the changes that record what servers say and the settings do not hold yet. What is seen first of a server counts as accepted
// where the operator's own configuration stands for the server: it is marked as trusted, or set never to ask.
func newsOf(base permission.Policy, s permission.Settings, specs []ToolSpec) []permission.Change {
	var out []permission.Change
	had := map[string]bool{} // servers that the settings knew before
	for _, sp := range specs {
		if sp.Source == permission.SourceWorkbench { // ours: it changes with the program
			continue
		}
		server := sp.Tool.Server
		set := base.Servers[server]
		vouched := set.Trusted || set.Ask == permission.NeverAsk
		pin, _ := s.Pin(sp.Tool) // of no tool where it is not known
		if !pin.IsNews(sp.Tool, vouched) {
			continue
		}
		if _, looked := had[server]; !looked {
			had[server] = s.Knows(server)
		}
		out = append(out, permission.Change{Seen: &permission.Seen{
			Tool: sp.Tool, Definition: sp.Definition.Kept(), Stranger: !vouched, Vouched: vouched && (!had[server] || pin.Stranger),
		}})
	}
	return out
}
