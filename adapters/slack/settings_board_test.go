package slack

import (
	"context"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// board is settings as far as a surface can tell: views by name, and what each act does.
type board struct {
	mu     sync.Mutex
	views  map[string]render.Panel
	acts   map[string]agent.Done // by token
	no     error                 // of Act
	down   error                 // of Panel, Permissions and Why
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

func (b *board) Act(_ context.Context, env chat.Envelope, view, token, text string) (agent.Done, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, doing{env, view, token, text})
	if b.no != nil {
		return agent.Done{}, b.no
	}
	d, ok := b.acts[token]
	if !ok {
		return agent.Done{}, &agent.Refusal{Code: agent.RefusedNotOffered, Say: "Not offered: " + token}
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
		views: map[string]render.Panel{"": firstPanel(), "start": firstPanel(), "grants": grantsPanel(), "long": longPanel()},
		acts: map[string]agent.Done{
			"revoke-1": {Say: "Revoked: write_file of files.", View: "grants"}, "server-ask": {Say: "files asks always from now on.", View: "start"},
			"note-1": {Say: "The note is kept.", View: "start"}, "row-120": {Say: "Done with row 120.", View: "long"},
		},
		lines: []string{"files · write_file asks (server default).", "Nothing else *is* <!channel> known."},
		why:   render.Details{Title: "Why am I asked?", Parts: []render.Part{{Name: "Rules", Text: strings.Repeat("→ server setting: files asks for *writes* <!here>\n", 400)}}},
	}
}

func tabsOf(open string) (tabs []render.Act) {
	for _, t := range []struct{ view, label string }{{"start", "Overview"}, {"grants", "Grants"}, {"long", "Servers"}} {
		tabs = append(tabs, render.Act{Kind: render.ActGo, View: t.view, Label: t.label, Current: t.view == open})
	}
	return tabs
}

func firstPanel() render.Panel {
	return render.Panel{
		View: "start", Title: "Settings", Tabs: tabsOf("start"),
		Banner: []render.Line{{render.Strong("This chat never asks"), render.Plain(" (dangerous). Set by "), anaPerson, render.Plain(" "), render.Time{At: twoPM}}},
		Sections: []render.Section{
			{Title: "Waiting for me", Empty: "Nothing waits for you."},
			{Title: "Servers", Note: "What holds for all their tools.", Rows: []render.PanelRow{{
				Line:    render.Line{render.Strong("files"), render.Plain(" · 4 tools · not trusted")},
				Details: []render.Line{{render.Plain("asks for writes")}, {render.Plain("set by "), anaPerson}},
				Acts: []render.Act{
					{Kind: render.ActPick, Label: "When it asks", Options: []render.Option{{Token: "server-ask", Label: "Always ask"}, {Token: "server-inherit", Label: "Use each tool's setting", Current: true}}},
					{Kind: render.ActDo, Token: "trust-1", Label: "Trust server…", Confirm: "Trust files? Tools that only read then run without asking.", Style: render.Danger},
					{Kind: render.ActFill, Token: "note-1", Label: "Change note…", Value: "Team files", Max: 300, Like: "what it is for"},
					{Kind: render.ActGo, View: "long", Label: "Tools"},
					{Kind: render.ActLink, Label: "Open the question", Link: render.ChatLink{Chat: place{"T1", "C1", "1795269720.000100"}.id().String(), Message: "1795269721.000200"}},
				},
			}}},
		},
	}
}

func grantsPanel() render.Panel {
	return render.Panel{View: "grants", Title: "Settings", Tabs: tabsOf("grants"), Sections: []render.Section{{Title: "Grants in this chat", Rows: []render.PanelRow{{
		Line: render.Line{render.Plain("write_file of files, for "), anaPerson, render.Plain("'s requests, until "), render.Time{At: twoPM, Until: true}},
		Acts: []render.Act{{Kind: render.ActDo, Token: "revoke-1", Label: "Revoke", Style: render.Danger}},
	}}}}}
}

func longPanel() render.Panel {
	p := render.Panel{View: "long", Title: "All tools of the server files, one after the other", Tabs: tabsOf("long")}
	for _, s := range []string{"Tools that read", "Tools that write"} {
		x := render.Section{Title: s, Note: "Each of them."}
		for i := range 100 {
			n := render.Number(len(p.Sections)*100 + i)
			x.Rows = append(x.Rows, render.PanelRow{Line: render.Line{render.Plain("tool_" + n + " <!channel> *x*")}, Acts: []render.Act{{Kind: render.ActDo, Token: "row-" + n, Label: "Disable"}}})
		}
		p.Sections = append(p.Sections, x)
	}
	return p
}
