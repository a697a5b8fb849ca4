package settings

import (
	"context"
	"strings"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// panel makes the view, or the first one where there is no such view.
func (q *request) panel(ctx context.Context) (render.Panel, error) {
	p, ok, err := q.open(ctx)
	if err == nil && !ok {
		q.view = viewHome
		clear(q.offers)
		p, _, err = q.open(ctx)
	}
	if err != nil {
		return render.Panel{}, err
	}
	if q.admin {
		if _, p.News, err = q.toReview(ctx); err != nil {
			return render.Panel{}, err
		}
	}
	p.View, p.Banner, p.Tabs = q.view, q.banner(), q.tabs(p.News)
	return p, nil
}

func (q *request) open(ctx context.Context) (render.Panel, bool, error) {
	kind, _, _ := strings.Cut(q.view, ":")
	switch kind + ":" {
	case viewServer:
		return q.serverView(ctx)
	case viewTool:
		return q.toolView(ctx)
	case viewInstall:
		return q.installView(ctx)
	case viewTemplate:
		return q.templateView(ctx)
	case viewHistory + ":":
		return q.historyView(ctx)
	}
	switch q.view {
	case "", viewHome:
		q.view = viewHome
		return q.homeView(ctx)
	case viewGrants:
		return q.grantsView(ctx)
	case viewServers:
		return q.serversView(ctx)
	case viewMine:
		return q.mineView(ctx)
	case viewTemplates:
		return q.templatesView()
	case viewStats:
		return q.statsView(ctx)
	}
	return render.Panel{}, false, nil
}

// tabs are the other views. One that shows a part belongs to the tab of the whole.
func (q *request) tabs(news int) []render.Act {
	kind, _, _ := strings.Cut(q.view, ":")
	switch kind + ":" {
	case viewServer, viewTool, viewInstall:
		kind = viewServers
	case viewTemplate:
		kind = viewTemplates
	}
	var tabs []render.Act
	for _, t := range []struct{ label, view string }{
		{text.TabHome, viewHome}, {text.TabGrants, viewGrants}, {text.ServersTab(news), viewServers}, {text.TabMine, viewMine},
		{text.TabTemplates, viewTemplates}, {text.TabHistory, viewHistory}, {text.TabStats, viewStats},
	} {
		a := goTo(t.label, t.view)
		a.Current = t.view == kind
		tabs = append(tabs, a)
	}
	return tabs
}

// banner is what everybody should see first.
func (q *request) banner() []render.Line {
	var out []render.Line
	if h := q.settings.Halted; h != nil {
		out = append(out, words(text.HaltedBy(shown(h.Name))))
	}
	if q.hasChat() {
		switch q.here.Mode {
		case permission.ModeAlways:
			out = append(out, words(text.AlwaysAsks))
		case permission.ModeNever:
			out = append(out, words(text.NeverAsks))
		case permission.ModeTool:
		}
	}
	return out
}

// homeView is what is open, and what is set for the person.
func (q *request) homeView(ctx context.Context) (render.Panel, bool, error) {
	waiting, err := q.openAsks(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	pending := render.Section{Title: text.PanelPending, Note: text.PanelPendingNote, Empty: text.PanelPendingNone}
	for _, w := range waiting.asks {
		pending.Rows = append(pending.Rows, w.row(q))
	}
	pending.Rows = cut(pending.Rows, maxPanelRows)
	if waiting.left > 0 {
		pending.Rows = append(pending.Rows, render.PanelRow{Line: words(text.ChatsNotLookedAt(waiting.left))})
	}
	p := render.Panel{Title: text.PanelTitle, Sections: []render.Section{pending}}
	if q.hasChat() {
		p.Sections = append(p.Sections, q.chatSection())
	}
	if q.admin {
		news, _, err := q.toReview(ctx)
		if err != nil {
			return render.Panel{}, false, err
		}
		if len(news.Rows) > 0 {
			p.Sections = append(p.Sections, news)
		}
	}
	p.Sections = append(p.Sections, q.youSection())
	if q.admin {
		p.Sections = append(p.Sections, q.haltSection())
	}
	return p, true, nil
}

// chatSection is how this chat asks, and what was allowed in it.
func (q *request) chatSection() render.Section {
	row := render.PanelRow{Line: words(text.ModeIs(q.here.Mode.Label()))}
	if q.here.Mode == permission.ModeTool && q.policy.Mode != permission.ModeTool {
		row.Details = append(row.Details, words(text.ModeFromDefault(q.policy.Mode.Label())))
	}
	var options []option
	for _, m := range []permission.Mode{permission.ModeTool, permission.ModeAlways, permission.ModeNever} {
		if m == permission.ModeNever && m != q.here.Mode && !decision.MayRelax(q.policy, q.here, q.env.User) {
			continue
		}
		o := option{value: m.String(), label: m.Label(), current: m == q.here.Mode, action: setMode{m}}
		if m == permission.ModeNever {
			o.confirm = text.ConfirmNeverMode
		}
		options = append(options, o)
	}
	row.Acts = q.pick(text.LabelMode, "mode", "", q.here.Mode.String(), options)
	n := len(q.grantsHere())
	return render.Section{Title: text.PanelHere, Rows: []render.PanelRow{
		row, {Line: words(text.GrantsHere(n)), Acts: []render.Act{goTo(text.TabGrants, viewGrants)}},
	}}
}

// youSection is the person, as nod knows them.
func (q *request) youSection() render.Section {
	s := render.Section{Title: text.PanelYou}
	for _, line := range q.whoami() {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	s.Rows = append(s.Rows, render.PanelRow{
		Line: words(text.RememberedCount(len(q.settings.Of(q.env.User)))), Acts: []render.Act{goTo(text.TabMine, viewMine)},
	})
	return s
}

// haltSection stops everything, or lets it go on: for admins.
func (q *request) haltSection() render.Section {
	row := render.PanelRow{Line: words(text.NotHalted)}
	if h := q.settings.Halted; h != nil {
		row.Line = render.Line{render.Plain(text.HaltedSince), q.person(h.By, h.Name), render.Plain(" "), render.Time{At: h.At}}
		row.Acts = []render.Act{q.offer(text.LabelResume, "resume", "", "", setHalt(false))}
	} else {
		a := q.offer(text.LabelHalt, "halt", "", "", setHalt(true))
		a.Confirm, a.Style = text.ConfirmHalt, render.Danger
		row.Acts = []render.Act{a}
	}
	return render.Section{Title: text.PanelHalt, Rows: []render.PanelRow{row}}
}

// toReview are the tools that nobody looked at yet, or that changed.
func (q *request) toReview(ctx context.Context) (s render.Section, count int, err error) {
	all, err := q.servers(ctx)
	s.Title = text.PanelNews
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
				Line: words(text.NewsOf(shown(srv.name), fresh, changed)), Acts: []render.Act{goTo(text.LabelLook, viewOf(viewInstall, srv.name))},
			})
		}
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	return s, count, err
}
