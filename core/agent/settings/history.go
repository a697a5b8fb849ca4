package settings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// historyView is the record of what was asked, decided and run (R142), newest first. What is elsewhere is for admins.
func (q *request) historyView(ctx context.Context) (render.Panel, bool, error) {
	of, kind := q.historyOf()
	records, found, left, err := q.history(ctx, of)
	if err != nil {
		return render.Panel{}, false, err
	}
	records = audit.Filter{Kind: kind}.Pick(records)
	s := render.Section{Title: text.HistoryOf(of), Empty: text.PanelNoHistory}
	if !found {
		s.Empty = text.PanelNoChat
	}
	s.Rows = append(s.Rows, render.PanelRow{Line: words(text.HistoryFilter(kind)), Acts: q.historyActs(of, kind)})
	for i, r := range slices.Backward(records) {
		if len(records)-i > maxPanelRows {
			s.Rows = append(s.Rows, render.PanelRow{Line: words(text.AndMore(i + 1))})
			break
		}
		s.Rows = append(s.Rows, q.recordRow(r))
	}
	if left > 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(text.ChatsNotLookedAt(left))})
	}
	if len(records) == 0 {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(s.Empty)})
	}
	return render.Panel{Title: text.TabHistory, Sections: []render.Section{s}}, true, nil
}

// historyOf reads the view. What somebody may not see, or what is not there, is the chat's.
func (q *request) historyOf() (of, kind string) {
	parts := strings.SplitN(q.view, ":", 3)
	of = ofChat
	if len(parts) > 1 && q.admin && slices.Contains([]string{ofSettings, ofEverything}, parts[1]) {
		of = parts[1]
	}
	if len(parts) > 2 && slices.Contains(historyKinds, parts[2]) {
		kind = parts[2]
	}
	return of, kind
}

func (q *request) historyActs(of, kind string) []render.Act {
	view := func(of, kind string) string {
		if kind == "" && of == ofChat {
			return viewHistory
		}
		return strings.TrimSuffix(viewHistory+":"+of+":"+kind, ":")
	}
	options := []option{{label: text.KindLabel(""), current: kind == "", action: show{view(of, "")}}}
	for _, k := range historyKinds {
		options = append(options, option{value: k, label: text.KindLabel(k), current: k == kind, action: show{view(of, k)}})
	}
	acts := q.pick(text.LabelFilter, "filter", of, kind, options)
	if q.admin {
		for _, o := range []string{ofChat, ofSettings, ofEverything} {
			if o != of {
				acts = append(acts, goTo(text.HistoryOf(o), view(o, kind)))
			}
		}
	}
	return acts
}

// history are the records of one chat, of the settings, or of everything, which only admins may see: the caller checks that. found is
// false where there is nothing to look at.
func (q *request) history(ctx context.Context, of string) (out []audit.Record, found bool, left int, err error) {
	ids := []chat.ID{q.env.Chat}
	switch {
	case of == ofSettings:
		ids = []chat.ID{agent.SettingsChat}
	case of == ofEverything:
		if ids, left, err = q.everyChat(ctx); err != nil {
			return nil, true, 0, err
		}
	case !q.hasChat():
		return nil, false, 0, nil
	}
	for _, id := range ids {
		entries, err := q.Log.History(ctx, id)
		if err != nil {
			return nil, true, 0, fmt.Errorf("read the history: %w", err)
		}
		out = append(out, audit.Records(id, entries)...)
	}
	slices.SortStableFunc(out, func(a, b audit.Record) int { return a.At.Compare(b.At) })
	return out, true, left, nil
}

// errEnough ends a walk over all chats.
var errEnough = errors.New("enough")

// everyChat are the chats that an admin's view looks into, and how many more there are at least.
func (q *request) everyChat(ctx context.Context) (ids []chat.ID, left int, err error) {
	err = q.Index.EachChat(ctx, func(id chat.ID) error {
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
func (q *request) records(ctx context.Context) (out []audit.Record, whole bool, err error) {
	of := ofChat
	if q.admin {
		of = ofEverything
	}
	out, _, _, err = q.history(ctx, of)
	return out, q.admin, err
}

// recordRow is one line of the history.
func (q *request) recordRow(r audit.Record) render.PanelRow {
	row := render.PanelRow{Line: render.Line{render.Time{At: r.At}, render.Plain(" · " + q.recordSays(r) + " · ")}}
	if r.By.IsZero() {
		row.Line = append(row.Line, render.Plain(text.Product))
	} else {
		row.Line = append(row.Line, q.person(r.By, r.Name))
	}
	if d := recordDetail(r); d != "" {
		row.Details = append(row.Details, words(d))
	}
	return row
}

func (q *request) recordSays(r audit.Record) string {
	say := text.RecordLabel(r.Kind, r.Outcome)
	switch {
	case r.Tool != "":
		say += " · " + text.ToolOf(shown(r.Tool), shown(r.Server))
	case r.Server != "":
		say += " · " + shown(r.Server)
	}
	return say
}

// recordDetail is what stands below: redacted, as everything in a record.
func recordDetail(r audit.Record) string {
	var parts []string
	for _, x := range []string{r.Why, r.Note} {
		if x != "" {
			parts = append(parts, text.Clip(x, 200))
		}
	}
	if r.Digest != "" {
		parts = append(parts, r.Digest.Short())
	}
	return strings.Join(parts, " · ")
}

// statsView are the numbers (R144–R147). What they speak for is done only by an admin's own act.
func (q *request) statsView(ctx context.Context) (render.Panel, bool, error) {
	records, whole, err := q.records(ctx)
	if err != nil {
		return render.Panel{}, false, err
	}
	stats := audit.StatsOf(records)
	numbers := render.Section{Title: text.PanelStats(whole), Empty: text.PanelNoHistory}
	if stats.Records > 0 {
		for _, line := range statsLines(stats) {
			numbers.Rows = append(numbers.Rows, render.PanelRow{Line: words(line)})
		}
	}
	blocked := render.Section{Title: text.PanelBlocked, Empty: text.PanelNoBlocked}
	for _, t := range stats.Blocked {
		blocked.Rows = append(blocked.Rows, render.PanelRow{Line: words(text.BlockedLine(text.ToolOf(shown(t.Tool), shown(t.Server)), t.Denials, t.Expiries, t.Forbidden))})
	}
	ideas := render.Section{Title: text.PanelSuggestions, Note: text.PanelSuggestionsNote, Empty: text.PanelNoSuggestions}
	for _, x := range stats.Suggestions {
		row := render.PanelRow{Line: words(text.ToolOf(shown(x.Tool), shown(x.Server)) + ": " + x.Say)}
		if q.admin {
			row.Acts = q.suggestionActs(x)
		}
		ideas.Rows = append(ideas.Rows, row)
	}
	ideas.Rows = cut(ideas.Rows, maxPanelRows)
	sections := []render.Section{numbers, blocked, ideas}
	if whole {
		sections = append([]render.Section{q.digest(records)}, sections...)
	}
	return render.Panel{Title: text.TabStats, Sections: sections}, true, nil
}

func statsLines(s audit.Stats) []string {
	return []string{
		text.StatsDecisions(s.Asked, s.Approvals, s.Denials, s.Expiries),
		text.StatsRates(s.ApprovalRate, s.DenialRate, s.ExpiryRate),
		text.StatsTimes(s.Median, s.P90),
		text.StatsRuns(s.AutoRuns, s.GrantRuns, s.ApprovedRuns, s.Failed, s.Unknown),
		text.StatsOther(s.Forbidden, s.Invalid, s.Undone, s.Cancelled),
	}
}

func (q *request) suggestionActs(x audit.Suggestion) []render.Act {
	at := permission.Setting{Server: x.Server, Tool: x.Tool}
	where := text.ToolOf(shown(x.Tool), shown(x.Server))
	acts := []render.Act{goTo(text.LabelOpen, viewOf(viewTool, x.Server, x.Tool))}
	switch x.Do {
	case "allow":
		at.Field, at.Value = "ask", permission.NeverAsk.String()
	case "disable":
		at.Field, at.Value = "enabled", "false"
	default: // who to reach, or how long to wait, the tool's own view asks
		return acts
	}
	a := q.offer(text.SuggestionLabel(x.Do), "suggested "+x.Do, where, q.policy.Setting(at).Value, adminChange{
		changes: []permission.Change{{Set: &at}}, note: "suggested by the numbers", view: viewStats,
		say: text.NowSet(text.FieldLabel(at.Field), where, valueLabel(at, at.Value)),
	})
	a.Confirm, a.Style = text.ConfirmSuggestion(x.Do, where), render.Danger
	return append([]render.Act{a}, acts...)
}
