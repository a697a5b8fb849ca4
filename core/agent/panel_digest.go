package agent

import (
	"context"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// digestDays is how far back the admins' digest looks.
const digestDays = 7

// digest is what an admin would want to know of the last days (R147): how asks ended, what was stopped most, and what bears on safety.
// It is made of the same records as the numbers and the export, of those chats that the admins' view looks into.
func (l *looking) digest(all []turn.Record) render.Section {
	s := render.Section{Title: render.DigestTitle(digestDays), Empty: render.DigestEmpty(digestDays)}
	records := turn.Filter{Since: l.now.Add(-digestDays * 24 * time.Hour)}.Pick(all)
	if len(records) == 0 {
		return s
	}
	stats, x := turn.StatsOf(records), insightsOf(records)
	for _, line := range []string{
		render.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries),
		render.DigestDangerous(x.dangerous, x.unasked),
		render.DigestLooser(x.grants, x.never, x.settings),
		render.DigestTools(x.tools, x.halts),
	} {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	for _, t := range stats.Blocked[:min(len(stats.Blocked), 3)] {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(render.BlockedLine(render.ToolOf(shown(t.Tool), shown(t.Server)), t.Denials, t.Expiries, t.Forbidden))})
	}
	return s
}

// insights are counts that bear on safety.
type insights struct{ dangerous, unasked, grants, never, settings, tools, halts int }

func insightsOf(records []turn.Record) (x insights) {
	for _, r := range records {
		switch r.Kind {
		case turn.AuditStart:
			if r.Risk != permission.Dangerous.String() {
				continue
			}
			if x.dangerous++; r.Outcome != turn.AuditApproved {
				x.unasked++
			}
		case turn.AuditGrant:
			x.grants++
		case turn.AuditDecision:
			if r.Grant != "" && r.Outcome == turn.AuditApproved {
				x.grants++
			}
		case turn.AuditMode:
			if r.Outcome == permission.ModeNever.String() {
				x.never++
			}
		case turn.AuditSetting:
			switch {
			case slices.Contains([]string{turn.AuditSet, turn.AuditRemembered, turn.AuditForgot}, r.Outcome):
				x.settings++
			case r.Outcome == turn.AuditSeen:
				x.tools++
			case r.Outcome == turn.AuditHalted:
				x.halts++
			}
		}
	}
	return x
}

// digestCommand is for admins alone: it is of every chat.
func (l *looking) digestCommand(ctx context.Context, _ []string) ([]string, error) {
	if err := l.mustAdmin(); err != nil {
		return nil, err
	}
	records, _, left, err := l.history(ctx, ofEverything)
	if err != nil {
		return nil, err
	}
	out := lines(l.digest(records))
	if left > 0 {
		out = append(out, render.ChatsNotLookedAt(left))
	}
	return out, nil
}
