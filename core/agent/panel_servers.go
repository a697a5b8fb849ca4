package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Reputation is what others say of a server, with where that comes from. It is shown, and never decides anything (R157).
type Reputation struct{ Score, Source string }

// Reputations is an optional extra of [Tools]: scores from a list that the operator keeps.
type Reputations interface {
	Reputation(server string) (Reputation, bool)
}

// serversView is everything that nod can use, and what holds for all of it.
func (l *looking) serversView(ctx context.Context) (render.Panel, bool, error) {
	all, err := l.servers(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	list := render.Section{Title: render.TabServers, Empty: render.PanelNoServers}
	for _, s := range all {
		row := render.PanelRow{
			Line:    render.Line{render.Strong(shown(s.name)), render.Plain(" · " + s.summary())},
			Details: []render.Line{words(s.state())},
			Acts:    []render.Act{goTo(render.LabelOpen, viewOf(viewServer, s.name))},
		}
		if s.unlooked() > 0 {
			row.Acts = append(row.Acts, goTo(render.LabelLook, viewOf(viewInstall, s.name)))
		}
		list.Rows = append(list.Rows, row)
	}
	list.Rows = cut(list.Rows, maxPanelRows)
	everything := render.Section{Title: render.PanelEverything, Note: l.readOnly(), Rows: l.fields(permission.Setting{})}
	return render.Panel{Title: render.TabServers, Sections: []render.Section{list, everything}}, true, nil
}

// readOnly says why nothing can be changed, to those who cannot.
func (l *looking) readOnly() string {
	switch {
	case l.admin:
		return ""
	case len(l.policy.Admins) == 0:
		return render.OnlyAdmins + " " + permission.NoAdminsNotice
	}
	return render.OnlyAdmins
}

// unlooked counts the tools that somebody should look at: those that are new, or changed.
func (s server) unlooked() (n int) {
	for _, k := range s.tools {
		if k.changed() || k.isNew() {
			n++
		}
	}
	return n
}

func (s server) offered() (n int) {
	for _, k := range s.tools {
		if k.offered {
			n++
		}
	}
	return n
}

// trusted is the operator's word; the workbench is nod's own.
func (s server) trusted() bool { return s.set.Trusted || s.workbench() }

func (s server) workbench() bool {
	return slices.ContainsFunc(s.tools, func(k known) bool { return k.offered && k.spec.Source == permission.SourceWorkbench })
}

func (s server) summary() string {
	return render.ServerSummary(s.offered(), s.trusted(), s.set.Disabled, s.set.Ask.Label())
}

func (s server) state() string {
	switch {
	case s.fault != "":
		return render.ServerFails(clipped(s.fault, 300))
	case s.offered() == 0:
		return render.ServerSilent
	}
	return render.ServerAnswers(s.unlooked())
}

// serverView is one server: what holds for all its tools, and each of them.
func (l *looking) serverView(ctx context.Context) (render.Panel, bool, error) {
	s, _, ok, err := l.find(ctx, l.view)
	if err != nil || !ok {
		return render.Panel{}, false, err
	}
	about := render.Section{Rows: []render.PanelRow{{Line: words(s.state())}}}
	if d := cmp.Or(s.about.Description, s.set.Description); d != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(render.ServerSays + clipped(d, 400))})
	}
	trust, err := l.trustRow(ctx, s)
	if err != nil {
		return render.Panel{}, false, err
	}
	about.Rows = append(about.Rows, trust)
	records, err := l.reputationRows(ctx, s)
	if err != nil {
		return render.Panel{}, false, err
	}
	about.Rows = append(about.Rows, records...)
	p := render.Panel{Title: shown(s.name), Sections: []render.Section{about}}
	p.Sections = append(p.Sections, l.toolSections(s)...)
	p.Sections = append(p.Sections, render.Section{Title: render.PanelServerSettings, Note: l.readOnly(), Rows: l.fields(permission.Setting{Server: s.name})})
	return p, true, nil
}

// toolSections group the tools by what they are for (R22).
func (l *looking) toolSections(s server) []render.Section {
	if len(s.tools) == 0 {
		return []render.Section{{Title: render.PanelTools, Empty: render.PanelNoTools}}
	}
	var out []render.Section
	tools := slices.Clone(s.tools)
	slices.SortStableFunc(tools, func(a, b known) int { return cmp.Compare(a.is.Category, b.is.Category) })
	left := max(len(tools)-maxPanelRows, 0)
	for _, k := range tools[:len(tools)-left] {
		title := cmp.Or(shown(k.is.Category), render.PanelTools)
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, render.Section{Title: title})
		}
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, l.toolRow(k))
	}
	if left > 0 {
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, render.PanelRow{Line: words(render.AndMore(left))})
	}
	return out
}

func (l *looking) toolRow(k known) render.PanelRow {
	row := render.PanelRow{
		Line:    render.Line{render.Strong(shown(k.tool().Name)), render.Plain(" · " + k.facts())},
		Details: []render.Line{words(l.verdict(k) + " " + render.SettingIs(k.setting(l.policy).Label()))},
		Acts:    []render.Act{goTo(render.LabelOpen, viewOf(viewTool, k.tool().Server, k.tool().Name))},
	}
	if mark := k.mark(); mark != "" {
		row.Details = append(row.Details, words(mark))
	}
	return row
}

// setting is the tool's own.
func (k known) setting(p permission.Policy) permission.Prompt {
	return p.Servers[k.tool().Server].Tools[k.tool().Name].Ask
}

// facts are access, risk and level.
func (k known) facts() string {
	return render.ToolFacts(k.is.Access.String(), k.is.Classified, k.is.Risk.String(), levelMark(k.is.Approval))
}

// mark says what somebody should know before they use the tool.
func (k known) mark() string {
	switch {
	case !k.offered:
		return render.ToolNotThere
	case k.changed():
		return render.ToolChanged
	case k.isNew():
		return render.NewOnCard
	}
	return ""
}

// verdict is what would happen to a call of whoever looks, in this chat.
func (l *looking) verdict(k known) string {
	r := permission.Evaluate(l.policy, l.here.Grants, l.request(k), l.now)
	switch {
	case r.Verdict == permission.Forbid:
		return render.VerdictForbid
	case r.Verdict == permission.Allow:
		return render.VerdictAllow
	case r.Level == permission.LevelAdmin:
		return render.VerdictAdmin
	}
	return render.VerdictAsk
}

// trustNote marks the change that "Trust server" makes, so that it can be undone as one.
func trustNote(server string) string { return "trust server " + server }

// trustRow is "Trust server" (R112), or its undo.
func (l *looking) trustRow(ctx context.Context, s server) (render.PanelRow, error) {
	row := render.PanelRow{Line: words(render.ServerUntrusted)}
	if s.trusted() {
		row.Line = words(render.ServerTrusted)
	}
	if s.workbench() {
		row.Line = words(render.ServerBuiltIn)
		return row, nil
	}
	if !l.admin {
		return row, nil
	}
	before, undoable, err := l.beforeTrust(ctx, s.name)
	switch {
	case err != nil:
		return row, err
	case undoable:
		row.Acts = append(row.Acts, l.act(render.LabelUndoTrust, "untrust", s.name, fmt.Sprint(before),
			l.change(l.view, "undo of: "+trustNote(s.name), render.NowUntrusted(shown(s.name)), before...)))
	case !s.set.Trusted || s.set.Ask != permission.NeverAsk:
		a := l.act(render.LabelTrust, "trust", s.name, string(s.digest()), l.change(l.view, trustNote(s.name), render.NowTrusted(shown(s.name)), l.trust(s)...))
		a.Confirm, a.Style = render.ConfirmTrust(shown(s.name), s.offered()), render.Danger
		row.Acts = append(row.Acts, a)
	}
	return row, nil
}

// digest names all that is shown of a server's tools: a click on what was shown before they changed is none.
func (s server) digest() permission.Digest {
	var tools []permission.Tool
	for _, k := range s.tools {
		if k.offered {
			tools = append(tools, k.tool())
		}
	}
	return permission.ServerDigest(tools)
}

// trust is all that trusting a server changes: its word, its asking, and its tools as they are.
func (l *looking) trust(s server) []permission.Change {
	out := []permission.Change{
		{Set: &permission.Setting{Server: s.name, Field: "trusted", Value: "true"}},
		{Set: &permission.Setting{Server: s.name, Field: "ask", Value: permission.NeverAsk.String()}},
	}
	for _, k := range s.tools {
		if k.offered {
			out = append(out, accepting(k)...)
		}
	}
	return out
}

// beforeTrust are the changes that give a server the settings which it had before it was trusted. There are none where somebody set
// them otherwise since.
func (l *looking) beforeTrust(ctx context.Context, name string) ([]permission.Change, bool, error) {
	trusted, one := l.set(permission.Setting{Server: name, Field: "trusted"})
	asks, two := l.set(permission.Setting{Server: name, Field: "ask"})
	if !one && !two {
		return nil, false, nil
	}
	if trusted.Value == "false" || asks.Value != permission.NeverAsk.String() && two {
		return nil, false, nil
	}
	entries, err := l.Log.History(ctx, SettingsChat)
	if err != nil && !errors.Is(err, ErrVersion) {
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
	was := settingsOf(turn.Fold(turn.New(SettingsChat), entries[:at]))
	after := settingsOf(turn.Fold(turn.New(SettingsChat), entries[:at+1]))
	var out []permission.Change
	for _, field := range []string{"trusted", "ask"} {
		spot := permission.Setting{Server: name, Field: field}
		if valueIn(after, spot) != valueIn(l.settings, spot) {
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
func (l *looking) reputationRows(ctx context.Context, s server) ([]render.PanelRow, error) {
	var rows []render.PanelRow
	if list, can := l.Tools.(Reputations); can {
		if r, known := list.Reputation(s.name); known {
			rows = append(rows, render.PanelRow{Line: words(render.ReputationIs(clipped(r.Score, 80), clipped(r.Source, 120)))})
		}
	}
	records, _, _, err := l.history(ctx, ofChat)
	if err != nil {
		return nil, err
	}
	stats := turn.StatsOf(turn.Filter{Server: s.name}.Pick(records))
	if n := stats.Approvals + stats.Denials + stats.Expiries; n > 0 {
		rows = append(rows, render.PanelRow{Line: words(render.OwnRecord(stats.Approvals, stats.Denials, stats.Expiries, stats.Failed))})
	}
	return rows, nil
}
