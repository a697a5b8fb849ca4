package slack

import (
	"context"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
)

// board is settings as far as a surface can tell: views by name, and what each act does.
type board struct {
	mu     sync.Mutex
	views  map[string]render.Panel
	acts   map[string]settings.Done // by token
	no     error                    // of Act
	down   error                    // of Panel, Permissions and Why
	lines  []string
	why    render.Details
	looked []looking
	done   []doing
	asked  [][]string
	envs   []chat.Envelope // of Permissions and Why
}

type looking struct {
	env  chat.Envelope
	view string
}

type doing struct {
	env               chat.Envelope
	view, token, text string
}

func (b *board) Panel(_ context.Context, env chat.Envelope, view string) (render.Panel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = append(b.looked, looking{env, view})
	p, ok := b.views[view]
	if !ok {
		p = b.views[""]
	}
	return p, b.down
}

func (b *board) Act(_ context.Context, env chat.Envelope, view, token, text string) (settings.Done, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, doing{env, view, token, text})
	if b.no != nil {
		return settings.Done{}, b.no
	}
	d, ok := b.acts[token]
	if !ok {
		return settings.Done{}, &decision.Refusal{Code: decision.RefusedNotOffered, Say: "Not offered: " + token}
	}
	return d, nil
}

func (b *board) Permissions(_ context.Context, env chat.Envelope, words []string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.envs = append(b.asked, words), append(b.envs, env)
	if b.no != nil {
		return nil, b.no
	}
	return b.lines, b.down
}

func (b *board) Why(_ context.Context, env chat.Envelope, ask string) (render.Details, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.envs = append(b.envs, env)
	if b.no != nil {
		return render.Details{}, b.no
	}
	d := b.why
	d.Title += " " + ask
	return d, b.down
}

func (b *board) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *board) acted() []doing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]doing(nil), b.done...)
}

func (b *board) seen() []looking {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]looking(nil), b.looked...)
}

// newBoard has a view of every shape, and one for grants and one that is long.
func newBoard() *board {
	return &board{
		views: map[string]render.Panel{"": samples.FirstPanel(), "start": samples.FirstPanel(), "grants": samples.GrantsPanel(), "long": samples.LongPanel()},
		acts: map[string]settings.Done{
			"revoke-1": {Say: "Revoked: write_file of files.", View: "grants"}, "server-ask": {Say: "files asks always from now on.", View: "start"},
			"note-1": {Say: "The note is kept.", View: "start"}, "row-120": {Say: "Done with row 120.", View: "long"},
		},
		lines: []string{"files · write_file asks (server default).", "Nothing else *is* <!channel> known."},
		why:   render.Details{Title: "Why am I asked?", Parts: []render.Part{{Name: "Rules", Text: strings.Repeat("→ server setting: files asks for *writes* <!here>\n", 400)}}},
	}
}
