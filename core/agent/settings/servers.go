package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// serversView is everything that nod can use, and what holds for all of it.
func (q *request) serversView(ctx context.Context) (render.Panel, bool, error) {
	all, err := q.servers(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	list := render.Section{Title: text.TabServers, Empty: text.PanelNoServers}
	for _, s := range all {
		row := render.PanelRow{
			Line:    render.Line{render.Strong(shown(s.name)), render.Plain(" · " + s.summary())},
			Details: []render.Line{words(s.state())},
			Acts:    []render.Act{goTo(text.LabelOpen, viewOf(viewServer, s.name))},
		}
		if s.unreviewed() > 0 {
			row.Acts = append(row.Acts, goTo(text.LabelLook, viewOf(viewInstall, s.name)))
		}
		list.Rows = append(list.Rows, row)
	}
	list.Rows = cut(list.Rows, maxPanelRows)
	everything := render.Section{Title: text.PanelEverything, Note: q.readOnly(), Rows: q.fields(permission.Setting{})}
	return render.Panel{Title: text.TabServers, Sections: []render.Section{list, everything}}, true, nil
}

// readOnly says why nothing can be changed, to those who cannot.
func (q *request) readOnly() string {
	switch {
	case q.admin:
		return ""
	case len(q.policy.Admins) == 0:
		return text.OnlyAdmins + " " + permission.NoAdminsNotice
	}
	return text.OnlyAdmins
}

// serverView is one server: what holds for all its tools, and each of them.
func (q *request) serverView(ctx context.Context) (render.Panel, bool, error) {
	s, _, ok, err := q.find(ctx, q.view)
	if err != nil || !ok {
		return render.Panel{}, false, err
	}
	about := render.Section{Rows: []render.PanelRow{{Line: words(s.state())}}}
	if d := cmp.Or(s.about.Description, s.set.Description); d != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(text.ServerSays + text.Clip(d, 400))})
	}
	trust, err := q.trustRow(ctx, s)
	if err != nil {
		return render.Panel{}, false, err
	}
	about.Rows = append(about.Rows, trust)
	records, err := q.reputationRows(ctx, s)
	if err != nil {
		return render.Panel{}, false, err
	}
	about.Rows = append(about.Rows, records...)
	p := render.Panel{Title: shown(s.name), Sections: []render.Section{about}}
	p.Sections = append(p.Sections, q.toolSections(s)...)
	p.Sections = append(p.Sections, render.Section{Title: text.PanelServerSettings, Note: q.readOnly(), Rows: q.fields(permission.Setting{Server: s.name})})
	return p, true, nil
}

// toolSections group the tools by what they are for (R22).
func (q *request) toolSections(s server) []render.Section {
	if len(s.tools) == 0 {
		return []render.Section{{Title: text.PanelTools, Empty: text.PanelNoTools}}
	}
	var out []render.Section
	tools := slices.Clone(s.tools)
	slices.SortStableFunc(tools, func(a, b toolEntry) int { return cmp.Compare(a.is.Category, b.is.Category) })
	left := max(len(tools)-maxPanelRows, 0)
	for _, k := range tools[:len(tools)-left] {
		title := cmp.Or(shown(k.is.Category), text.PanelTools)
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, render.Section{Title: title})
		}
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, q.toolRow(k))
	}
	if left > 0 {
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, render.PanelRow{Line: words(text.AndMore(left))})
	}
	return out
}

func (q *request) toolRow(k toolEntry) render.PanelRow {
	row := render.PanelRow{
		Line:    render.Line{render.Strong(shown(k.tool().Name)), render.Plain(" · " + k.facts())},
		Details: []render.Line{words(q.verdict(k) + " " + text.SettingIs(k.setting(q.policy).Label()))},
		Acts:    []render.Act{goTo(text.LabelOpen, viewOf(viewTool, k.tool().Server, k.tool().Name))},
	}
	if mark := k.mark(); mark != "" {
		row.Details = append(row.Details, words(mark))
	}
	return row
}

// trustNote marks the change that "Trust server" makes, so that it can be undone as one.
func trustNote(server string) string { return "trust server " + server }

// trustRow is "Trust server" (R112), or its undo.
func (q *request) trustRow(ctx context.Context, s server) (render.PanelRow, error) {
	row := render.PanelRow{Line: words(text.ServerUntrusted)}
	if s.trusted() {
		row.Line = words(text.ServerTrusted)
	}
	if s.workbench() {
		row.Line = words(text.ServerBuiltIn)
		return row, nil
	}
	if !q.admin {
		return row, nil
	}
	before, undoable, err := q.beforeTrust(ctx, s.name)
	switch {
	case err != nil:
		return row, err
	case undoable:
		row.Acts = append(row.Acts, q.offer(text.LabelUndoTrust, "untrust", s.name, fmt.Sprint(before),
			adminChange{changes: before, note: "undo of: " + trustNote(s.name), say: text.NowUntrusted(shown(s.name)), view: q.view}))
	case !s.set.Trusted || s.set.Ask != permission.NeverAsk:
		a := q.offer(text.LabelTrust, "trust", s.name, string(s.digest()),
			adminChange{changes: s.trust(), note: trustNote(s.name), say: text.NowTrusted(shown(s.name)), view: q.view})
		a.Confirm, a.Style = text.ConfirmTrust(shown(s.name), s.offered()), render.Danger
		row.Acts = append(row.Acts, a)
	}
	return row, nil
}

// trust is all that trusting a server changes: its word, its asking, and its tools as they are.
func (s server) trust() []permission.Change {
	out := []permission.Change{
		{Set: &permission.Setting{Server: s.name, Field: "trusted", Value: "true"}},
		{Set: &permission.Setting{Server: s.name, Field: "ask", Value: permission.NeverAsk.String()}},
	}
	for _, k := range s.tools {
		if k.offered {
			out = append(out, k.accept()...)
		}
	}
	return out
}

// beforeTrust are the changes that give a server the settings which it had before it was trusted. There are none where somebody set
// them otherwise since.
func (q *request) beforeTrust(ctx context.Context, name string) ([]permission.Change, bool, error) {
	trusted, one := q.setBy(permission.Setting{Server: name, Field: "trusted"})
	asks, two := q.setBy(permission.Setting{Server: name, Field: "ask"})
	if !one && !two {
		return nil, false, nil
	}
	if trusted.Value == "false" || asks.Value != permission.NeverAsk.String() && two {
		return nil, false, nil
	}
	entries, err := q.Log.History(ctx, agent.SettingsChat)
	if err != nil && !errors.Is(err, agent.ErrVersion) {
		return nil, false, fmt.Errorf("read what was set: %w", err)
	}
	at := -1
	for i, e := range entries {
		if ev, ok := e.Event.(turn.Changed); ok && ev.Note == trustNote(name) {
			at = i
		}
	}
	if at < 0 {
		return nil, false, nil
	}
	was, after := agent.SettingsAt(entries[:at]), agent.SettingsAt(entries[:at+1])
	var out []permission.Change
	for _, field := range []string{"trusted", "ask"} {
		spot := permission.Setting{Server: name, Field: field}
		if valueIn(after, spot) != valueIn(q.settings, spot) {
			return nil, false, nil // somebody chose otherwise since
		}
		if old := valueIn(was, spot); old != valueIn(after, spot) {
			spot.Value = old
			out = append(out, permission.Change{Set: &spot})
		}
	}
	return out, len(out) > 0, nil
}

func valueIn(s permission.Settings, at permission.Setting) string {
	for _, x := range s.Set {
		if x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field {
			return x.Value
		}
	}
	return ""
}

// reputationRows are what others say of a server, and what people here decided about it.
func (q *request) reputationRows(ctx context.Context, s server) ([]render.PanelRow, error) {
	var rows []render.PanelRow
	if q.Reputations != nil {
		if r, listed := q.Reputations.Reputation(s.name); listed {
			rows = append(rows, render.PanelRow{Line: words(text.ReputationIs(text.Clip(r.Score, 80), text.Clip(r.Source, 120)))})
		}
	}
	records, _, _, err := q.history(ctx, ofChat)
	if err != nil {
		return nil, err
	}
	stats := audit.StatsOf(audit.Filter{Server: s.name}.Pick(records))
	if n := stats.Approvals + stats.Denials + stats.Expiries; n > 0 {
		rows = append(rows, render.PanelRow{Line: words(text.OwnRecord(stats.Approvals, stats.Denials, stats.Expiries, stats.Failed))})
	}
	return rows, nil
}
