package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// panel makes the view, or the first one where there is no such view.
func (l *looking) panel(ctx context.Context) (render.Panel, error) {
	p, ok, err := l.open(ctx)
	if err == nil && !ok {
		l.view = viewHome
		clear(l.deeds)
		p, _, err = l.open(ctx)
	}
	if err != nil {
		return render.Panel{}, err
	}
	if l.admin {
		if _, p.News, err = l.newsSection(ctx); err != nil {
			return render.Panel{}, err
		}
	}
	p.View, p.Banner, p.Tabs = l.view, l.banner(), l.tabs(p.News)
	return p, nil
}

func (l *looking) open(ctx context.Context) (render.Panel, bool, error) {
	kind, _, _ := strings.Cut(l.view, ":")
	switch kind + ":" {
	case viewServer:
		return l.serverView(ctx)
	case viewTool:
		return l.toolView(ctx)
	case viewInstall:
		return l.installView(ctx)
	case viewTemplate:
		return l.templateView(ctx)
	case viewHistory + ":":
		return l.historyView(ctx)
	}
	switch l.view {
	case "", viewHome:
		l.view = viewHome
		return l.homeView(ctx)
	case viewGrants:
		return l.grantsView(ctx)
	case viewServers:
		return l.serversView(ctx)
	case viewMine:
		return l.mineView(ctx)
	case viewTemplates:
		return l.templatesView()
	case viewStats:
		return l.statsView(ctx)
	}
	return render.Panel{}, false, nil
}

// tabs are the other views. One that shows a part belongs to the tab of the whole.
func (l *looking) tabs(news int) []render.Act {
	kind, _, _ := strings.Cut(l.view, ":")
	switch kind + ":" {
	case viewServer, viewTool, viewInstall:
		kind = viewServers
	case viewTemplate:
		kind = viewTemplates
	}
	var tabs []render.Act
	for _, t := range []struct{ label, view string }{
		{render.TabHome, viewHome}, {render.TabGrants, viewGrants}, {render.ServersTab(news), viewServers}, {render.TabMine, viewMine},
		{render.TabTemplates, viewTemplates}, {render.TabHistory, viewHistory}, {render.TabStats, viewStats},
	} {
		a := goTo(t.label, t.view)
		a.Current = t.view == kind
		tabs = append(tabs, a)
	}
	return tabs
}

// banner is what everybody should see first.
func (l *looking) banner() []render.Line {
	var out []render.Line
	if h := l.settings.Halted; h != nil {
		out = append(out, words(render.HaltedBy(shown(h.Name))))
	}
	if l.hasChat() {
		switch l.here.Mode {
		case permission.ModeAlways:
			out = append(out, words(render.AlwaysAsks))
		case permission.ModeNever:
			out = append(out, words(render.NeverAsks))
		case permission.ModeTool:
		}
	}
	return out
}

// homeView is what is open, and what is set for whoever looks.
func (l *looking) homeView(ctx context.Context) (render.Panel, bool, error) {
	waiting, err := l.waiting(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	pending := render.Section{Title: render.PanelPending, Note: render.PanelPendingNote, Empty: render.PanelPendingNone}
	for _, w := range waiting.asks {
		pending.Rows = append(pending.Rows, w.row(l))
	}
	pending.Rows = cut(pending.Rows, maxPanelRows)
	if waiting.left > 0 {
		pending.Rows = append(pending.Rows, render.PanelRow{Line: words(render.ChatsNotLookedAt(waiting.left))})
	}
	p := render.Panel{Title: render.PanelTitle, Sections: []render.Section{pending}}
	if l.hasChat() {
		p.Sections = append(p.Sections, l.chatSection())
	}
	if l.admin {
		news, _, err := l.newsSection(ctx)
		if err != nil {
			return render.Panel{}, false, err
		}
		if len(news.Rows) > 0 {
			p.Sections = append(p.Sections, news)
		}
	}
	p.Sections = append(p.Sections, l.youSection())
	if l.admin {
		p.Sections = append(p.Sections, l.haltSection())
	}
	return p, true, nil
}

// chatSection is how this chat asks, and what was allowed in it.
func (l *looking) chatSection() render.Section {
	row := render.PanelRow{Line: words(render.ModeIs(l.here.Mode.Label()))}
	if l.here.Mode == permission.ModeTool && l.policy.Mode != permission.ModeTool {
		row.Details = append(row.Details, words(render.ModeFromDefault(l.policy.Mode.Label())))
	}
	var options []option
	for _, m := range []permission.Mode{permission.ModeTool, permission.ModeAlways, permission.ModeNever} {
		if m == permission.ModeNever && m != l.here.Mode && !mayRelax(l.policy, l.here, l.env.User) {
			continue
		}
		o := option{value: m.String(), label: m.Label(), current: m == l.here.Mode, do: l.setMode(m)}
		if m == permission.ModeNever {
			o.confirm = render.ConfirmNeverMode
		}
		options = append(options, o)
	}
	row.Acts = l.pick(render.LabelMode, "mode", "", l.here.Mode.String(), options)
	n := len(l.grantsHere())
	return render.Section{Title: render.PanelHere, Rows: []render.PanelRow{
		row, {Line: words(render.GrantsHere(n)), Acts: []render.Act{goTo(render.TabGrants, viewGrants)}},
	}}
}

func (l *looking) setMode(m permission.Mode) deed {
	return func(ctx context.Context, _ string) (Done, error) {
		err := l.command(ctx, chat.Commanded{Envelope: l.env, Verb: "mode", Args: []string{m.String(), "yes"}}) // it was confirmed on the way here
		return told(viewHome, render.ModeSet(m.Label()), err)
	}
}

// youSection is who looks, as nod knows them.
func (l *looking) youSection() render.Section {
	s := render.Section{Title: render.PanelYou}
	for _, line := range l.whoami() {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	s.Rows = append(s.Rows, render.PanelRow{
		Line: words(render.RememberedCount(len(l.settings.Of(l.env.User)))), Acts: []render.Act{goTo(render.TabMine, viewMine)},
	})
	return s
}

// haltSection stops everything, or lets it go on: for admins.
func (l *looking) haltSection() render.Section {
	row := render.PanelRow{Line: words(render.NotHalted)}
	if h := l.settings.Halted; h != nil {
		row.Line = render.Line{render.Plain(render.HaltedSince), l.person(h.By, h.Name), render.Plain(" "), render.Time{At: h.At}}
		row.Acts = []render.Act{l.act(render.LabelResume, "resume", "", "", l.halting(false))}
	} else {
		a := l.act(render.LabelHalt, "halt", "", "", l.halting(true))
		a.Confirm, a.Style = render.ConfirmHalt, render.Danger
		row.Acts = []render.Act{a}
	}
	return render.Section{Title: render.PanelHalt, Rows: []render.PanelRow{row}}
}

func (l *looking) halting(halt bool) deed {
	say := render.NowResumed
	if halt {
		say = render.NowHalted
	}
	return l.change(viewHome, "", say, permission.Change{Halt: &halt})
}

// newsSection are the tools that nobody looked at yet, or that changed.
func (l *looking) newsSection(ctx context.Context) (s render.Section, count int, err error) {
	all, err := l.servers(ctx)
	s.Title = render.PanelNews
	for _, srv := range all {
		fresh, changed := 0, 0
		for _, k := range srv.tools {
			switch {
			case k.changed():
				changed++
			case k.isNew():
				fresh++
			}
		}
		count += fresh + changed
		if fresh+changed > 0 {
			s.Rows = append(s.Rows, render.PanelRow{
				Line: words(render.NewsOf(shown(srv.name), fresh, changed)), Acts: []render.Act{goTo(render.LabelLook, viewOf(viewInstall, srv.name))},
			})
		}
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	return s, count, err
}

// told is what a person hears of a deed.
func told(view, say string, err error) (Done, error) {
	switch {
	case errors.Is(err, ErrUnchanged):
		return Done{Say: render.NothingToChange, View: view}, nil
	case err != nil:
		return Done{}, err
	}
	return Done{Say: say, View: view}, nil
}
