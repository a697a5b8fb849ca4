package settings

import (
	"context"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

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
	stats, x := audit.StatsOf(records), insightsOf(records)
	for _, line := range []string{
		text.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries),
		text.DigestDangerous(x.dangerous, x.unasked),
		text.DigestLooser(x.grants, x.never, x.settings),
		text.DigestTools(x.tools, x.halts),
	} {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	for _, t := range stats.Blocked[:min(len(stats.Blocked), 3)] {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(text.BlockedLine(text.ToolOf(shown(t.Tool), shown(t.Server)), t.Denials, t.Expiries, t.Forbidden))})
	}
	return s
}

// insights are counts that bear on safety.
type insights struct{ dangerous, unasked, grants, never, settings, tools, halts int }

func insightsOf(records []audit.Record) (x insights) {
	for _, r := range records {
		switch r.Kind {
		case audit.Start:
			if r.Risk != permission.Dangerous.String() {
				continue
			}
			if x.dangerous++; r.Outcome != audit.Approved {
				x.unasked++
			}
		case audit.Grant:
			x.grants++
		case audit.Decision:
			if r.Grant != "" && r.Outcome == audit.Approved {
				x.grants++
			}
		case audit.Mode:
			if r.Outcome == permission.ModeNever.String() {
				x.never++
			}
		case audit.Setting:
			switch {
			case slices.Contains([]string{audit.Set, audit.Remembered, audit.Forgot}, r.Outcome):
				x.settings++
			case r.Outcome == audit.Seen:
				x.tools++
			case r.Outcome == audit.Halted:
				x.halts++
			}
		}
	}
	return x
}

// digestCommand is for admins alone: it is of every chat.
func (q *request) digestCommand(ctx context.Context, _ []string) ([]string, error) {
	if err := q.mustAdmin(); err != nil {
		return nil, err
	}
	records, _, left, err := q.history(ctx, ofEverything)
	if err != nil {
		return nil, err
	}
	out := lines(q.digest(records))
	if left > 0 {
		out = append(out, text.ChatsNotLookedAt(left))
	}
	return out, nil
}
