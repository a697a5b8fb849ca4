package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Where a history is of, as the view says.
const (
	ofChat       = "chat"
	ofSettings   = "settings"
	ofEverything = "everywhere"
)

// historyKinds are what a history can be narrowed to: kinds and outcomes of records.
var historyKinds = []string{
	audit.Request, audit.Decision, audit.Denied, audit.Expire, audit.Forbidden, audit.Start, audit.Failed,
	audit.Grant, audit.Revoke, audit.Setting,
}

// historyView is the record of what was asked, decided and run (R142), newest first. What is elsewhere is for admins: what somebody may
// not see, or what is not there, is the chat's.
func (p *page) historyView(ctx context.Context) render.Panel {
	parts := append(strings.SplitN(p.view, ":", 3), "", "")
	of, kind := ofChat, ""
	if p.admin && slices.Contains([]string{ofSettings, ofEverything}, parts[1]) {
		of = parts[1]
	}
	if slices.Contains(historyKinds, parts[2]) {
		kind = parts[2]
	}
	s, left := p.historySection(ctx, of, kind, maxPanelRows)
	none := len(s.Rows) == 0
	s.Rows = slices.Concat([]render.PanelRow{row(text.HistoryFilter(kind), p.historyActs(of, kind)...)}, s.Rows, rowsOf(notLookedAt(left)...))
	if none {
		s.Rows = append(s.Rows, row(s.Empty))
	}
	return drawing(text.TabHistory, s)
}

// historyActs narrow a history to a kind, and lead to others.
func (p *page) historyActs(of, kind string) []render.Act {
	view := func(of, kind string) string {
		if kind == "" && of == ofChat {
			return viewHistory
		}
		return strings.TrimSuffix(viewHistory+":"+of+":"+kind, ":")
	}
	var options []option
	for _, k := range append([]string{""}, historyKinds...) {
		options = append(options, option{label: text.KindLabel(k), current: k == kind, action: action{View: view(of, k)}})
	}
	acts := p.pick(text.LabelFilter, kind, options)
	if p.admin {
		for _, o := range []string{ofChat, ofSettings, ofEverything} {
			if o != of {
				acts = append(acts, goTo(text.HistoryOf(o), view(o, kind)))
			}
		}
	}
	return acts
}

// historySection are the newest n records of a kind, and how many chats were not looked into.
func (q *request) historySection(ctx context.Context, of, kind string, n int) (s render.Section, left int) {
	records, left := q.records(ctx, of)
	records = audit.Filter{Kind: kind}.Pick(records)
	s = render.Section{Title: text.HistoryOf(of), Empty: text.PanelNoHistory}
	if of == ofChat && !q.hasChat() {
		s.Empty = text.PanelNoChat
	}
	for i, r := range slices.Backward(records) {
		if len(records)-i > n {
			s.Rows = append(s.Rows, row(text.AndMore(i+1)))
			break
		}
		s.Rows = append(s.Rows, q.recordRow(r))
	}
	return s, left
}

// records are those of this chat, which may be none, of the settings, or of everything, which only admins may see: the caller checks
// that. left is how many chats at least were not looked into.
func (q *request) records(ctx context.Context, of string) (out []audit.Record, left int) {
	ids := []chat.ID{q.env.Chat}
	switch {
	case of == ofSettings:
		ids = []chat.ID{agent.SettingsChat}
	case of == ofEverything:
		ids, left = q.everyChat(ctx)
	case !q.hasChat():
		return nil, 0
	}
	return q.read(ctx, ids), left
}

// read gives the records of chats, oldest first.
func (q *request) read(ctx context.Context, ids []chat.ID) (out []audit.Record) {
	for _, id := range ids {
		entries, err := q.Log.History(ctx, id)
		if q.failed("read the history", err) {
			return nil
		}
		out = append(out, audit.Records(id, entries)...)
	}
	slices.SortStableFunc(out, func(a, b audit.Record) int { return a.At.Compare(b.At) })
	return out
}

// everyChat are the chats that an admin's view looks into, and how many more there are at least.
func (q *request) everyChat(ctx context.Context) (ids []chat.ID, left int) {
	enough := errors.New("enough")
	err := q.Index.EachChat(ctx, func(id chat.ID) error {
		if len(ids) < maxPanelChats {
			ids = append(ids, id)
			return nil
		}
		if left++; left > 10*maxPanelChats {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) && q.failed("find the chats", err) {
		return nil, 0
	}
	return ids, left
}

// recordRow is one line of the history. What stands below it is redacted, as everything in a record.
func (q *request) recordRow(r audit.Record) render.PanelRow {
	says := text.RecordLabel(r.Kind, r.Outcome)
	switch {
	case r.Tool != "":
		says += " · " + text.ToolOf(sanitize(r.Tool), sanitize(r.Server))
	case r.Server != "":
		says += " · " + sanitize(r.Server)
	}
	by := render.Span(render.Plain(text.Product))
	if !r.By.IsZero() {
		by = q.person(r.By, r.Name)
	}
	details := []string{text.Clip(r.Why, 200), text.Clip(r.Note, 200), r.Digest.Short()}
	details = slices.DeleteFunc(details, func(s string) bool { return s == "" })
	return render.PanelRow{
		Line:    render.Line{render.Time{At: r.At}, render.Plain(" · " + says + " · "), by},
		Details: linesOf(strings.Join(details, " · ")),
	}
}

// statsView are the numbers (R144–R147) of everything for admins, and of this chat for everybody else. What they speak for is done only
// by an admin's own act.
func (p *page) statsView(ctx context.Context) render.Panel {
	records, there := p.statsRecords(ctx)
	stats := audit.StatsOf(records)
	numbers := render.Section{Title: text.PanelStats(p.admin), Empty: text.PanelNoHistory}
	if stats.Records > 0 {
		numbers.Rows = rowsOf(
			text.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries),
			text.StatsRates(stats.ApprovalRate, stats.DenialRate, stats.ExpiryRate),
			text.StatsTimes(stats.Median, stats.P90),
			text.StatsRuns(stats.AutoRuns, stats.GrantRuns, stats.ApprovedRuns, stats.Failed, stats.Unknown),
			text.StatsOther(stats.Forbidden, stats.Invalid, stats.Undone, stats.Cancelled),
		)
	}
	blocked := render.Section{Title: text.PanelBlocked, Empty: text.PanelNoBlocked, Rows: rowsOf(blockedLines(stats.Blocked)...)}
	ideas := render.Section{Title: text.PanelSuggestions, Note: text.PanelSuggestionsNote, Empty: text.PanelNoSuggestions}
	ideas.Rows = rowsFor(stats.Suggestions, func(x audit.Suggestion) render.PanelRow {
		return row(text.ToolOf(sanitize(x.Tool), sanitize(x.Server))+": "+x.Say, p.suggestionActs(ctx, x)...)
	})
	var digest render.Section
	if p.admin {
		digest = p.digest(records)
		ideas.Rows = append(p.readsIdeas(ctx, records), ideas.Rows...)
	}
	ideas.Rows = append(p.channelIdeas(ctx, there), ideas.Rows...)
	return drawing(text.TabStats, digest, numbers, blocked, ideas)
}

// statsRecords are those that the numbers are of, and those of the chats of this channel, where something could be suggested for it. Each log
// is read once.
func (p *page) statsRecords(ctx context.Context) (records, there []audit.Record) {
	of := map[string]bool{}
	ids := p.channelChats(ctx)
	for _, id := range ids {
		of[id.String()] = true
	}
	outside := func(r audit.Record) bool { return !of[r.Chat] }
	switch {
	case p.admin:
		records, _ = p.records(ctx, ofEverything)
		return records, slices.DeleteFunc(slices.Clone(records), outside)
	case len(ids) == 0:
		records, _ = p.records(ctx, ofChat)
		return records, nil
	}
	there = p.read(ctx, ids)
	here := p.env.Chat.String()
	return slices.DeleteFunc(slices.Clone(there), func(r audit.Record) bool { return r.Chat != here }), there
}

// channelChats are the chats of this chat's channel, this one first; none where nothing can be allowed for it.
func (p *page) channelChats(ctx context.Context) []chat.ID {
	if p.here.Channel == "" || !p.policy.ChannelGrants {
		return nil
	}
	ids := []chat.ID{p.env.Chat}
	chats, _ := p.everyChat(ctx)
	sessions, _ := p.sessions(ctx, "read a chat of the channel", chats)
	for _, s := range sessions {
		if s.Channel == p.here.Channel && s.Chat != p.env.Chat {
			ids = append(ids, s.Chat)
		}
	}
	return ids
}

// suggestReads is how many asks a suggestion about a server's reads rests on: all of them were allowed.
const suggestReads = 5

// readsIdeas are the servers of which people allowed every read that they were asked about, with what lets those tools run unasked. What
// people allowed of another definition speaks for nothing: a server that earned it could have become another one since.
func (p *page) readsIdeas(ctx context.Context, records []audit.Record) (rows []render.PanelRow) {
	type counts struct{ allowed, not int }
	of := map[permission.Tool]counts{}
	for _, r := range records {
		n := of[permission.Tool{Server: r.Server, Name: r.Tool, Definition: r.Definition}]
		switch {
		case r.Kind == audit.Decision && r.Outcome == audit.Approved:
			n.allowed++
		case r.Kind == audit.Decision, r.Kind == audit.Expire, r.Kind == audit.Undo:
			n.not++
		}
		of[permission.Tool{Server: r.Server, Name: r.Tool, Definition: r.Definition}] = n
	}
	for _, s := range p.servers(ctx) {
		sum, tools := counts{}, 0
		var changes []permission.Change
		for _, k := range s.tools {
			n, more := of[k.tool()], k.accept(true)
			if k.does != permission.DoesRead || !k.offered || k.changed() || n == (counts{}) || len(more) == 0 {
				continue
			}
			sum, tools = counts{sum.allowed + n.allowed, sum.not + n.not}, tools+1
			changes = append(changes, more...)
		}
		if sum.allowed >= suggestReads && sum.not == 0 {
			let := accept(true, changes, tools, p.view)
			let.note = "suggested by the numbers"
			rows = append(rows, row(text.ReadsAllowed(sanitize(s.name), sum.allowed),
				p.offer(text.LabelAcceptReads(tools), string(s.digest()), let), goTo(text.LabelLook, viewOf(viewInstall, s.name))))
		}
	}
	return rows
}

// channelIdeas are the servers whose reads the person allowed in this channel each time that they were asked, with what allows them there.
// Only what such a standing click would let run is in it.
func (p *page) channelIdeas(ctx context.Context, records []audit.Record) (rows []render.PanelRow) {
	allowed, denied := map[permission.Tool]int{}, map[string]bool{}
	for _, r := range records {
		switch {
		case r.By != p.env.User:
		case r.Kind == audit.Decision && r.Outcome == audit.Approved:
			allowed[permission.Tool{Server: r.Server, Name: r.Tool, Definition: r.Definition}]++
		case r.Kind == audit.Decision, r.Kind == audit.Undo:
			denied[r.Server+"/"+r.Tool] = true
		}
	}
	if len(allowed) == 0 {
		return nil
	}
	for _, s := range p.servers(ctx) {
		keep := permission.Remembered{
			By: p.env.User, Choice: permission.StandAllow, Channel: p.here.Channel, Scope: permission.ScopeReads,
		}
		holds := cmp.Or(p.policy.ChannelFor, permission.ChannelGrantFor)
		var first toolEntry
		times, no := 0, false
		for _, k := range s.tools {
			if !k.offered || k.is.Access != permission.Read || permission.Weigh(p.policy, p.here.Grants, p.callOf(k), p.now).Verdict != permission.Ask {
				continue
			}
			keep.Tool, keep.Tools = k.tool(), append(keep.Tools, k.tool())
			first, times, no = k, times+allowed[k.tool()], no || denied[s.name+"/"+k.tool().Name]
		}
		with, then := p.policy, keep
		then.Until = p.now.Add(holds)
		with.Remembered = append(slices.Clip(with.Remembered), then)
		if no || times < suggestReads || permission.Weigh(with, nil, p.callOf(first), p.now).Winner() != permission.RuleChannel {
			continue
		}
		name := sanitize(s.name)
		a := action{Changes: []permission.Change{keep}, own: true, tool: first, note: "suggested by the numbers", say: text.NowInChannel(name), View: p.view}
		rows = append(rows, row(text.ReadsInChannel(name, times),
			p.offerDangerous(text.LabelReadsInChannel, text.ConfirmReadsInChannel(name, holds), string(s.digest()), a)))
	}
	return rows
}

func (p *page) suggestionActs(ctx context.Context, x audit.Suggestion) []render.Act {
	if !p.admin {
		return nil
	}
	open := goTo(text.LabelOpen, viewOf(viewTool, x.Server, x.Tool))
	at, found := map[string]permission.Setting{
		"allow": {Field: "ask", Value: permission.NeverAsk.String()}, "disable": {Field: "enabled", Value: "false"},
	}[x.Do]
	if x.Definition != "" {
		_, k, _ := p.named(ctx, []string{x.Server, x.Tool}) // one that is not there is not offered
		found = k.offered && k.tool().Definition == x.Definition && !k.unreviewed()
	}
	if !found { // who to reach, how long to wait, or what became of it, the tool's own view asks
		return []render.Act{open}
	}
	at.Server, at.Tool = x.Server, x.Tool
	where := text.ToolOf(sanitize(x.Tool), sanitize(x.Server))
	a := action{
		Changes: []permission.Change{at}, note: "suggested by the numbers", View: viewStats,
		say: text.NowSet(text.FieldLabel(at.Field), where, valueLabel(at, at.Value)),
	}
	return []render.Act{p.offerDangerous(text.SuggestionLabel(x.Do), text.ConfirmSuggestion(x.Do, where), p.policy.Setting(at).Value, a), open}
}

// digestDays is how far back the admins' digest looks.
const digestDays = 7

// digest is what an admin would want to know of the last days (R147): how asks ended, what was stopped most, and what bears on safety.
// It is made of the same records as the numbers and the export, of those chats that the admins' view looks into.
func (q *request) digest(all []audit.Record) render.Section {
	s := render.Section{Title: text.DigestTitle(digestDays), Empty: text.DigestEmpty(digestDays)}
	records := audit.Filter{Since: q.now.Add(-digestDays * 24 * time.Hour)}.Pick(all)
	if len(records) == 0 {
		return s
	}
	count := func(kind string, is func(audit.Record) bool) (n int) {
		for _, r := range records {
			if r.Kind == kind && is(r) {
				n++
			}
		}
		return n
	}
	ended := func(outcomes ...string) func(audit.Record) bool {
		return func(r audit.Record) bool { return slices.Contains(outcomes, r.Outcome) }
	}
	dangerous := func(r audit.Record) bool { return r.Risk == permission.Dangerous.String() }
	unasked := func(r audit.Record) bool { return dangerous(r) && r.Outcome != audit.Approved }
	granting := func(r audit.Record) bool { return r.Grant != "" }
	grants := count(audit.Grant, func(audit.Record) bool { return true }) + count(audit.Decision, granting)
	never := count(audit.Mode, ended(permission.ModeNever.String()))
	set := count(audit.Setting, ended(audit.Set, audit.Remembered, audit.Forgot))
	stats := audit.StatsOf(records)
	s.Rows = rowsOf(
		text.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries),
		text.DigestDangerous(count(audit.Start, dangerous), count(audit.Start, unasked)),
		text.DigestLooser(grants, never, set),
		text.DigestTools(count(audit.Setting, ended(audit.Seen)), count(audit.Setting, ended(audit.Halted))),
	)
	s.Rows = append(s.Rows, rowsOf(blockedLines(stats.Blocked[:min(len(stats.Blocked), 3)])...)...)
	return s
}

func blockedLines(tools []audit.ToolStats) (says []string) {
	for _, t := range tools {
		says = append(says, text.BlockedLine(text.ToolOf(sanitize(t.Tool), sanitize(t.Server)), t.Denials, t.Expiries, t.Forbidden))
	}
	return says
}
