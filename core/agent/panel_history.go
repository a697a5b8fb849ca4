package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// everyChat gives all chats of which anything is kept, until take errs.
type everyChat interface {
	EachChat(ctx context.Context, take func(chat.ID) error) error
}

// Where a history is of, as the view says.
const (
	ofChat       = "chat"
	ofSettings   = "settings"
	ofEverything = "everywhere"
)

// historyKinds are what a history can be narrowed to: kinds and outcomes of records.
var historyKinds = []string{
	turn.AuditRequest, turn.AuditDecision, turn.AuditDenied, turn.AuditExpire, turn.AuditForbidden, turn.AuditStart, turn.AuditFailed,
	turn.AuditGrant, turn.AuditRevoke, turn.AuditSetting,
}

// historyView is the record of what was asked, decided and run (R142), newest first. What is elsewhere is for admins.
func (l *looking) historyView(ctx context.Context) (render.Panel, bool, error) {
	of, kind := l.historyOf()
	records, found, left, err := l.history(ctx, of)
	if err != nil {
		return render.Panel{}, false, err
	}
	records = turn.Filter{Kind: kind}.Pick(records)
	s := render.Section{Title: render.HistoryOf(of), Empty: render.PanelNoHistory}
	if !found {
		s.Empty = render.PanelNoChat
	}
	s.Rows = append(s.Rows, render.PanelRow{Line: words(render.HistoryFilter(kind)), Acts: l.historyActs(of, kind)})
	for i, r := range slices.Backward(records) {
		if len(records)-i > maxPanelRows {
			s.Rows = append(s.Rows, render.PanelRow{Line: words(render.AndMore(i + 1))})
			break
		}
		s.Rows = append(s.Rows, l.recordRow(r))
	}
	if left > 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(render.ChatsNotLookedAt(left))})
	}
	if len(records) == 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(s.Empty)})
	}
	return render.Panel{Title: render.TabHistory, Sections: []render.Section{s}}, true, nil
}

// historyOf reads the view. What somebody may not see, or what is not there, is the chat's.
func (l *looking) historyOf() (of, kind string) {
	parts := strings.SplitN(l.view, ":", 3)
	of = ofChat
	if len(parts) > 1 && l.admin && slices.Contains([]string{ofSettings, ofEverything}, parts[1]) {
		of = parts[1]
	}
	if len(parts) > 2 && slices.Contains(historyKinds, parts[2]) {
		kind = parts[2]
	}
	return of, kind
}

func (l *looking) historyActs(of, kind string) []render.Act {
	view := func(of, kind string) string {
		if kind == "" && of == ofChat {
			return viewHistory
		}
		return strings.TrimSuffix(viewHistory+":"+of+":"+kind, ":")
	}
	show := func(v string) deed {
		return func(context.Context, string) (Done, error) { return Done{View: v}, nil }
	}
	options := []option{{label: render.KindLabel(""), current: kind == "", do: show(view(of, ""))}}
	for _, k := range historyKinds {
		options = append(options, option{value: k, label: render.KindLabel(k), current: k == kind, do: show(view(of, k))})
	}
	acts := l.pick(render.LabelFilter, "filter", of, kind, options)
	if l.admin {
		for _, o := range []string{ofChat, ofSettings, ofEverything} {
			if o != of {
				acts = append(acts, goTo(render.HistoryOf(o), view(o, kind)))
			}
		}
	}
	return acts
}

// history are the records of one chat, of the settings, or of everything, which only admins may see: whoever calls it looks. found is
// false where there is nothing to look at.
func (l *looking) history(ctx context.Context, of string) (out []turn.Record, found bool, left int, err error) {
	ids := []chat.ID{l.env.Chat}
	switch {
	case of == ofSettings:
		ids = []chat.ID{SettingsChat}
	case of == ofEverything:
		if ids, left, err = l.everyChat(ctx); err != nil {
			return nil, true, 0, err
		}
	case !l.hasChat():
		return nil, false, 0, nil
	}
	for _, id := range ids {
		entries, err := l.Log.History(ctx, id)
		if err != nil {
			return nil, true, 0, fmt.Errorf("read the history: %w", err)
		}
		out = append(out, turn.Audit(id, entries)...)
	}
	slices.SortStableFunc(out, func(a, b turn.Record) int { return a.At.Compare(b.At) })
	return out, true, left, nil
}

// errEnough ends a walk over all chats.
var errEnough = errors.New("enough")

// everyChat are the chats that an admin's view looks into, and how many more there are at least.
func (l *looking) everyChat(ctx context.Context) (ids []chat.ID, left int, err error) {
	all, can := l.Log.(everyChat)
	if !can {
		ids = []chat.ID{SettingsChat}
		if l.hasChat() {
			ids = append(ids, l.env.Chat)
		}
		return ids, 0, nil
	}
	err = all.EachChat(ctx, func(id chat.ID) error {
		if len(ids) == maxPanelChats {
			left++
			if left > 10*maxPanelChats {
				return errEnough
			}
			return nil
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, 0, fmt.Errorf("find the chats: %w", err)
	}
	return ids, left, nil
}

// records are what numbers are made of: everything for admins, this chat for everybody else.
func (l *looking) records(ctx context.Context) (out []turn.Record, whole bool, err error) {
	of := ofChat
	if l.admin {
		of = ofEverything
	}
	out, _, _, err = l.history(ctx, of)
	return out, l.admin, err
}

// recordRow is one line of the history.
func (l *looking) recordRow(r turn.Record) render.PanelRow {
	row := render.PanelRow{Line: render.Line{render.Time{At: r.At}, render.Plain(" · " + l.recordSays(r) + " · ")}}
	if r.By.IsZero() {
		row.Line = append(row.Line, render.Plain(render.Product))
	} else {
		row.Line = append(row.Line, l.person(r.By, r.Name))
	}
	if d := recordDetail(r); d != "" {
		row.Details = append(row.Details, words(d))
	}
	return row
}

func (l *looking) recordSays(r turn.Record) string {
	say := render.RecordLabel(r.Kind, r.Outcome)
	switch {
	case r.Tool != "":
		say += " · " + render.ToolOf(shown(r.Tool), shown(r.Server))
	case r.Server != "":
		say += " · " + shown(r.Server)
	}
	return say
}

// recordDetail is what stands below: redacted, as everything in a record.
func recordDetail(r turn.Record) string {
	var parts []string
	for _, x := range []string{r.Why, r.Note} {
		if x != "" {
			parts = append(parts, clipped(x, 200))
		}
	}
	if r.Digest != "" {
		parts = append(parts, r.Digest.Short())
	}
	return strings.Join(parts, " · ")
}

// statsView are the numbers (R144–R147). What they speak for is done only by an admin's own act.
func (l *looking) statsView(ctx context.Context) (render.Panel, bool, error) {
	records, whole, err := l.records(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	stats := turn.StatsOf(records)
	numbers := render.Section{Title: render.PanelStats(whole), Empty: render.PanelNoHistory}
	if stats.Records > 0 {
		for _, line := range statsLines(stats) {
			numbers.Rows = append(numbers.Rows, render.PanelRow{Line: words(line)})
		}
	}
	blocked := render.Section{Title: render.PanelBlocked, Empty: render.PanelNoBlocked}
	for _, t := range stats.Blocked {
		blocked.Rows = append(blocked.Rows, render.PanelRow{Line: words(render.BlockedLine(render.ToolOf(shown(t.Tool), shown(t.Server)), t.Denials, t.Expiries, t.Forbidden))})
	}
	ideas := render.Section{Title: render.PanelSuggestions, Note: render.PanelSuggestionsNote, Empty: render.PanelNoSuggestions}
	for _, x := range stats.Suggestions {
		row := render.PanelRow{Line: words(render.ToolOf(shown(x.Tool), shown(x.Server)) + ": " + x.Say)}
		if l.admin {
			row.Acts = l.suggestionActs(x)
		}
		ideas.Rows = append(ideas.Rows, row)
	}
	ideas.Rows = cut(ideas.Rows, maxPanelRows)
	sections := []render.Section{numbers, blocked, ideas}
	if whole {
		sections = append([]render.Section{l.digest(records)}, sections...)
	}
	return render.Panel{Title: render.TabStats, Sections: sections}, true, nil
}

func statsLines(s turn.Stats) []string {
	return []string{
		render.StatsDecisions(s.Asked, s.Approvals, s.Denials, s.Expiries),
		render.StatsRates(s.ApprovalRate, s.DenialRate, s.ExpiryRate),
		render.StatsTimes(s.Median, s.P90),
		render.StatsRuns(s.AutoRuns, s.GrantRuns, s.ApprovedRuns, s.Failed, s.Unknown),
		render.StatsOther(s.Forbidden, s.Invalid, s.Undone, s.Cancelled),
	}
}

func (l *looking) suggestionActs(x turn.Suggestion) []render.Act {
	at := permission.Setting{Server: x.Server, Tool: x.Tool}
	where := render.ToolOf(shown(x.Tool), shown(x.Server))
	acts := []render.Act{goTo(render.LabelOpen, viewOf(viewTool, x.Server, x.Tool))}
	switch x.Do {
	case "allow":
		at.Field, at.Value = "ask", permission.NeverAsk.String()
	case "disable":
		at.Field, at.Value = "enabled", "false"
	default: // who to reach, or how long to wait, the tool's own view asks
		return acts
	}
	a := l.act(render.SuggestionLabel(x.Do), "suggested "+x.Do, where, l.policy.Setting(at).Value, l.change(viewStats, "suggested by the numbers",
		render.NowSet(render.FieldLabel(at.Field), where, l.valueLabel(at, at.Value)), permission.Change{Set: &at}))
	a.Confirm, a.Style = render.ConfirmSuggestion(x.Do, where), render.Danger
	return append([]render.Act{a}, acts...)
}
