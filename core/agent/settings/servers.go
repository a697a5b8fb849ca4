package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// serversView is everything that nod can use, and what holds for all of it.
func (p *page) serversView(ctx context.Context) render.Panel {
	rows := rowsFor(p.servers(ctx), func(s server) render.PanelRow {
		r := s.row()
		r.Acts = []render.Act{goTo(text.LabelOpen, viewOf(viewServer, s.name))}
		if s.unreviewed() > 0 {
			r.Acts = append(r.Acts, goTo(text.LabelLook, viewOf(viewInstall, s.name)))
		}
		return r
	})
	list := render.Section{Title: text.TabServers, Empty: text.PanelNoServers, Rows: rows}
	return drawing(text.TabServers, list, p.fieldSection(text.PanelEverything, permission.Setting{}))
}

// row is a server in a line and a detail.
func (s server) row() render.PanelRow {
	return titled(s.name, text.ServerSummary(s.offered(), s.trusted(), s.set.Disabled, s.set.Ask.Label()), s.state())
}

// serverView is one server: what holds for all its tools, and each of them.
func (p *page) serverView(ctx context.Context) render.Panel {
	s, _, ok := p.find(ctx, p.view)
	if !ok {
		return render.Panel{}
	}
	about := rowsOf(s.state(), serverSays(cmp.Or(s.about.Description, s.set.Description), 400))
	about = append(append(about, p.trustRow(ctx, s)), p.readsRow(s)...)
	about = append(about, rowsOf(p.reputation(ctx, s.name)...)...)
	sections := append([]render.Section{{Rows: about}}, p.toolSections(s)...)
	return drawing(sanitize(s.name), append(sections, p.fieldSection(text.PanelServerSettings, permission.Setting{Server: s.name}))...)
}

// serverSays are the first n characters of what a server says of itself, if it does.
func serverSays(description string, n int) string {
	if description == "" {
		return ""
	}
	return text.ServerSays + text.Clip(description, n)
}

// toolSections group the tools by what they are for (R22).
func (p *page) toolSections(s server) []render.Section {
	if len(s.tools) == 0 {
		return []render.Section{{Title: text.PanelTools, Empty: text.PanelNoTools}}
	}
	var out []render.Section
	tools := slices.Clone(s.tools)
	slices.SortStableFunc(tools, func(a, b toolEntry) int { return cmp.Compare(a.is.Category, b.is.Category) })
	left := max(len(tools)-maxPanelRows, 0)
	for _, k := range tools[:len(tools)-left] {
		title := cmp.Or(sanitize(k.is.Category), text.PanelTools)
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, render.Section{Title: title})
		}
		last := &out[len(out)-1]
		asks := s.set.Tools[k.tool().Name].Ask.Label()
		last.Rows = append(last.Rows, k.row(p.verdict(k)+" "+text.SettingIs(asks), text.LabelOpen))
	}
	if left > 0 {
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, row(text.AndMore(left)))
	}
	return out
}

// row is a tool in a line, with what is said of it, what somebody should know before they use it, and the way to its view.
func (k toolEntry) row(says, label string) render.PanelRow {
	r := titled(k.tool().Name, k.facts(), says, k.mark())
	r.Acts = []render.Act{goTo(label, viewOf(viewTool, k.tool().Server, k.tool().Name))}
	return r
}

// trustNote marks the change that "Trust server" makes, so that it can be undone as one.
func trustNote(server string) string { return "trust server " + server }

// trustSettings are what trusting a server sets: its word, and its asking.
func trustSettings(server string) []permission.Setting {
	return []permission.Setting{
		{Server: server, Field: "trusted", Value: "true"},
		{Server: server, Field: "ask", Value: permission.NeverAsk.String()},
	}
}

// trustRow is "Trust server" (R112), or its undo.
func (p *page) trustRow(ctx context.Context, s server) render.PanelRow {
	r := row(text.ServerUntrusted)
	switch {
	case s.workbench():
		return row(text.ServerBuiltIn)
	case s.set.Trusted:
		r = row(text.ServerTrusted)
	}
	if !p.admin {
		return r
	}
	if before := p.beforeTrust(ctx, s.name); len(before) > 0 {
		r.Acts = []render.Act{p.offer(text.LabelUndoTrust, "",
			action{Changes: before, note: "undo of: " + trustNote(s.name), say: text.NowUntrusted(sanitize(s.name)), View: p.view})}
	} else if !s.set.Trusted || s.set.Ask != permission.NeverAsk {
		r.Acts = []render.Act{p.offerDangerous(text.LabelTrust, text.ConfirmTrust(sanitize(s.name), s.offered()), string(s.digest()),
			action{Changes: s.trust(), note: trustNote(s.name), say: text.NowTrusted(sanitize(s.name)), View: p.view})}
	}
	return r
}

// trust is all that trusting a server changes: its settings, and its tools, which count as they are.
func (s server) trust() (out []permission.Change) {
	for _, at := range trustSettings(s.name) {
		out = append(out, at)
	}
	for _, k := range s.tools {
		if k.offered {
			out = append(out, k.accept(false)...)
		}
	}
	return out
}

// beforeTrust are the changes that give a server the settings which it had before it was trusted. There are none where somebody set
// them otherwise since.
func (q *request) beforeTrust(ctx context.Context, name string) (out []permission.Change) {
	for _, at := range trustSettings(name) {
		if setIn(q.settings, at).Value != at.Value {
			return nil
		}
	}
	entries, err := q.Log.History(ctx, agent.SettingsChat)
	if !errors.Is(err, agent.ErrVersion) && q.failed("read what was set", err) {
		return nil
	}
	for i, e := range slices.Backward(entries) {
		if ev, _ := e.Event.(turn.Changed); ev.Note != trustNote(name) {
			continue
		}
		was := agent.SettingsAt(entries[:i])
		for _, at := range trustSettings(name) {
			if old := setIn(was, at).Value; old != at.Value {
				at.Value = old
				out = append(out, at)
			}
		}
		return out
	}
	return nil
}

// reputation is what others say of a server, and what people here decided about it.
func (q *request) reputation(ctx context.Context, server string) (says []string) {
	if q.Reputations != nil {
		if r, listed := q.Reputations.Reputation(server); listed {
			says = append(says, text.ReputationIs(text.Clip(r.Score, 80), text.Clip(r.Source, 120)))
		}
	}
	records, _ := q.records(ctx, ofChat)
	stats := audit.StatsOf(audit.Filter{Server: server}.Pick(records))
	if stats.Approvals+stats.Denials+stats.Expiries > 0 {
		says = append(says, text.OwnRecord(stats.Approvals, stats.Denials, stats.Expiries, stats.Failed))
	}
	return says
}

// toolView is one tool: what it is, what is set and from where, what changed, and why it would ask now.
func (p *page) toolView(ctx context.Context) render.Panel {
	s, k, ok := p.find(ctx, p.view)
	if !ok {
		return render.Panel{}
	}
	name, srv := sanitize(k.tool().Name), sanitize(s.name)
	about := append([]render.PanelRow{row(k.facts(), goTo(srv, viewOf(viewServer, s.name)))},
		rowsOf(serverSays(k.spec.Description, 600), text.Clip(k.is.Impact, 300))...)
	why := rowsOf(explain(p.policy, p.here.Grants, p.callOf(k), p.now)...)
	return drawing(text.RunLine(name, srv), render.Section{Rows: about}, p.reviewSection(k), p.ownSection(k),
		p.fieldSection(text.PanelToolSettings, permission.Setting{Server: s.name, Tool: k.tool().Name}),
		render.Section{Title: text.PanelWhy, Rows: why})
}

// reviewSection is what is new, changed or gone, with the word that somebody looked at it.
func (p *page) reviewSection(k toolEntry) render.Section {
	mark := k.mark()
	if mark == "" {
		return render.Section{}
	}
	r := row(mark)
	for _, d := range k.pin.Differences() {
		r.Details = append(r.Details, plainLine(text.DifferenceLine(sanitize(d.Part), text.Clip(d.Was, 400), text.Clip(d.Now, 400))))
	}
	if p.admin && k.offered {
		r.Acts = []render.Act{p.offer(text.LabelAccept, string(k.tool().Definition), accept(false, k.accept(false), 1, p.view))}
	}
	return render.Section{Title: text.PanelNews, Rows: []render.PanelRow{r}}
}

// ownSection is what the person chose for themselves.
func (p *page) ownSection(k toolEntry) render.Section {
	t := k.tool()
	current, id, has := "", "", row(text.OwnNone)
	for _, r := range p.settings.Of(p.env.User) {
		if r.Tool.Server == t.Server && r.Tool.Name == t.Name && r.Channel == "" && r.Scope == permission.ScopeTool {
			id, has = r.ID, row(rememberedLine(r))
			if has.Details = p.stale(r); has.Details == nil && r.Limits() == "" { // else to allow the tool as it is now is another choice
				current = r.Choice.String()
			}
		}
	}
	var options []option
	for _, c := range []permission.Standing{permission.StandAsk, permission.StandAllow, permission.StandDeny} {
		if p.mayRemember(p.policy, k, c) != nil {
			continue
		}
		o := option{label: text.OwnChoice(c.String()), current: c.String() == current, action: remember(k, c, p.view)}
		if c == permission.StandAllow {
			o.confirm = text.ConfirmRemember(sanitize(t.Name), sanitize(t.Server))
		}
		options = append(options, o)
	}
	has.Acts = p.pick(text.PanelOwnChoice, current, options)
	if id != "" {
		has.Acts = append(has.Acts, p.offer(text.LabelForget, current, forget(p.view, id)))
	}
	return render.Section{Title: text.PanelOwnChoice, Note: text.PanelOwnNote, Rows: []render.PanelRow{has}}
}

// installView is a server's tools with what nod proposes for each and why (R159–R161), to be accepted or changed.
func (p *page) installView(ctx context.Context) render.Panel {
	s, _, ok := p.find(ctx, p.view)
	if !ok || !p.admin {
		return render.Panel{}
	}
	sections := []render.Section{{Note: text.PanelInstallNote}}
	if s.offered() == 0 {
		sections[0].Empty = text.PanelNoTools
	}
	for _, g := range installGroups {
		sections = append(sections, p.groupSection(s, g))
	}
	return drawing(text.InstallTitle(sanitize(s.name)), sections...)
}

// installGroup are tools that are accepted with one click.
type installGroup struct {
	does        permission.Does
	title, note string
}

var installGroups = []installGroup{
	{permission.DoesRead, text.GroupReads, text.GroupReadsNote},
	{permission.DoesReach, text.GroupReach, text.GroupReachNote},
	{permission.DoesChange, text.GroupChanges, text.GroupAsksNote},
	{permission.DoesDestroy, text.GroupDestroys, text.GroupAsksNote},
	{permission.DoesNobodyKnows, text.GroupUnknown, text.GroupAsksNote},
}

// groupSection is one group, with the button that accepts what nobody accepted of it. It is bound to what the server offers now.
func (p *page) groupSection(s server, g installGroup) render.Section {
	var tools []toolEntry
	var changes []permission.Change
	open, reads := 0, g.does == permission.DoesRead
	for _, k := range s.tools {
		if !k.offered || k.does != g.does {
			continue
		}
		tools = append(tools, k)
		more := k.accept(reads)
		if len(more) > 0 {
			changes = append(changes, more...)
			open++
		}
	}
	if len(tools) == 0 {
		return render.Section{}
	}
	out := render.Section{Title: text.GroupTitle(g.title, len(tools)), Rows: rowsFor(tools, p.proposalRow)}
	about, label := row(g.note), text.LabelAcceptGroup(open)
	if reads {
		label = text.LabelAcceptReads(open)
	}
	if open > 0 {
		about.Acts = []render.Act{p.offer(label, string(s.digest()), accept(reads, changes, open, p.view))}
	}
	out.Rows = slices.Insert(out.Rows, 0, about)
	return out
}

// readsRow says how many tools run because an admin accepted them as reads, with the way back.
func (p *page) readsRow(s server) (rows []render.PanelRow) {
	var changes []permission.Change
	for _, k := range s.tools {
		if k.pin.Reads {
			changes = append(changes, permission.AcceptReads{Tool: k.pin.Tool, Off: true})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	r := row(text.ReadsUnasked(len(changes)))
	if p.admin {
		r.Acts = []render.Act{p.offer(text.LabelAskReads, "", action{Changes: changes, say: text.NowAsksReads, View: p.view})}
	}
	return []render.PanelRow{r}
}

// proposalRow is one tool with what holds for it and why: the rules' own answer, which is careful with what nobody vouched for.
func (p *page) proposalRow(k toolEntry) render.PanelRow {
	why := text.ProposalReason(string(k.is.AccessFrom), k.is.Classified, string(k.is.RiskFrom), string(k.is.ApprovalFrom), p.verdict(k))
	r := k.row(why, text.LabelEditTool)
	for _, a := range p.settings.Analyses {
		if a.Tool == k.tool() {
			r.Details = append(r.Details, plainLine(text.AnalysisSays(a.Access.String()+", "+a.Risk.String()+". "+text.Clip(a.Reason, 300))))
		}
	}
	r.Details = append(r.Details, linesOf(serverSays(k.spec.Description, 200))...)
	return r
}
