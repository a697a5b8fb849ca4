package settings

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// webPlatform is where people are known by a secret session key, which is never shown.
const webPlatform = "web"

// lines are what a section says, without its acts.
func lines(sections ...render.Section) []string {
	var out []string
	for _, s := range sections {
		if s.Title != "" {
			out = append(out, s.Title)
		}
		if s.Note != "" {
			out = append(out, "  "+s.Note)
		}
		if len(s.Rows) == 0 && s.Empty != "" {
			out = append(out, "  "+s.Empty)
		}
		for _, r := range s.Rows {
			out = append(out, "  "+render.PlainLine(r.Line))
			for _, d := range r.Details {
				out = append(out, "    "+render.PlainLine(d))
			}
		}
	}
	return out
}

// showCommand is the overview: what a person would look for first.
func (q *request) showCommand(ctx context.Context, _ []string) ([]string, error) {
	var out []string
	for _, b := range q.banner() {
		out = append(out, render.PlainLine(b))
	}
	if q.hasChat() {
		out = append(out, text.ModeIs(q.here.Mode.Label()))
		if q.here.Mode == permission.ModeTool && q.policy.Mode != permission.ModeTool {
			out = append(out, "  "+text.ModeFromDefault(q.policy.Mode.Label()))
		}
		out = append(out, q.grantLines()...)
	}
	w, err := q.openAsks(ctx)
	if err != nil {
		return nil, err
	}
	all, err := q.servers(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, text.PendingCount(len(w.asks)), text.RememberedCount(len(q.settings.Of(q.env.User))))
	servers := render.Section{Title: text.TabServers, Empty: text.PanelNoServers}
	for _, s := range all {
		servers.Rows = append(servers.Rows, render.PanelRow{Line: words(shown(s.name) + " · " + s.summary()), Details: []render.Line{words(s.state())}})
	}
	servers.Rows = cut(servers.Rows, maxPanelRows)
	out = append(out, lines(servers)...)
	return append(append(out, q.whoami()...), text.HelpHint), nil
}

// grantLines are this chat's grants, numbered for revoke.
func (q *request) grantLines() []string {
	grants := q.grantsHere()
	if len(grants) == 0 {
		return []string{text.PanelNoGrants}
	}
	out := []string{text.PanelGrantsHere}
	for i, g := range grants {
		if i == maxPanelRows {
			return append(out, "  "+text.AndMore(len(grants)-i))
		}
		row := q.grantRow(q.here, g, "")
		say := strconv.Itoa(i+1) + ". " + render.PlainLine(row.Line)
		for _, d := range row.Details {
			say += " · " + render.PlainLine(d)
		}
		out = append(out, "  "+say)
	}
	return out
}

// toolLines are the tools that there are, each with what happens to a call of it here.
func (q *request) toolLines(ctx context.Context) ([]string, error) {
	all, err := q.servers(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []string{text.PanelNoServers}, nil
	}
	var out []string
	room, left := maxPanelRows, 0
	for _, s := range all {
		section := render.Section{Title: shown(s.name) + " · " + s.state()}
		for _, k := range s.tools {
			if room--; room < 0 {
				left++
				continue
			}
			section.Rows = append(section.Rows, render.PanelRow{Line: words(shown(k.tool().Name) + " · " + q.verdict(k))})
		}
		out = append(out, lines(section)...)
	}
	if left > 0 {
		out = append(out, text.AndMore(left))
	}
	return out, nil
}

func (q *request) pendingCommand(ctx context.Context, _ []string) ([]string, error) {
	w, err := q.openAsks(ctx)
	if err != nil {
		return nil, err
	}
	s := render.Section{Title: text.PanelPending, Empty: text.PanelPendingNone}
	for _, x := range w.asks {
		s.Rows = append(s.Rows, x.row(q))
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	out := lines(s)
	if w.left > 0 {
		out = append(out, text.ChatsNotLookedAt(w.left))
	}
	return out, nil
}

// whoami is who somebody is to nod, and how their key is written where admins are listed (R152).
func (q *request) whoami() []string {
	u := q.env.User
	out := []string{text.YouAre(q.admin)}
	if u.Platform == webPlatform {
		out = append(out, text.YourKeyIsSecret)
	} else {
		out = append(out, text.YourKey(text.Clip(u.String(), 200)))
	}
	if !q.admin && len(q.policy.Admins) == 0 {
		out = append(out, permission.NoAdminsNotice)
	}
	var groups []string
	for _, g := range q.policy.Members[u] {
		groups = append(groups, text.Clip(g.String(), 100))
	}
	if len(groups) > 0 {
		slices.Sort(groups)
		out = append(out, text.YourGroups(few(groups)))
	}
	return out
}

func (q *request) whoamiCommand(context.Context, []string) ([]string, error) { return q.whoami(), nil }

// whyCommand is what would happen to a call of the person, with every rule (R150, R151).
func (q *request) whyCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) != 2 {
		return nil, errUsage
	}
	k, err := q.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	out := q.explain(k)
	if mark := k.mark(); mark != "" {
		out = append(out, mark)
	}
	return out, nil
}

// historyCommand is the chat's record; "settings" and "everywhere" are for admins.
func (q *request) historyCommand(ctx context.Context, args []string) ([]string, error) {
	n, of, kind := 20, ofChat, ""
	if q.admin && !q.hasChat() {
		of = ofEverything
	}
	for _, a := range args {
		a = strings.ToLower(a)
		switch count, err := strconv.Atoi(a); {
		case err == nil && count > 0:
			n = min(count, 200)
		case slices.Contains(historyKinds, a):
			kind = a
		case a == ofSettings, a == ofEverything:
			if err := q.mustAdmin(); err != nil {
				return nil, err
			}
			of = a
		default:
			return []string{text.HistoryUsage(historyKinds)}, nil
		}
	}
	records, found, left, err := q.history(ctx, of)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return []string{text.PanelNoChat}, nil
	}
	all := audit.Filter{Kind: kind}.Pick(records)
	s := render.Section{Title: text.HistoryOf(of), Empty: text.PanelNoHistory}
	for i, r := range slices.Backward(all) {
		if len(all)-i > n {
			s.Rows = append(s.Rows, render.PanelRow{Line: words(text.AndMore(i + 1))})
			break
		}
		s.Rows = append(s.Rows, q.recordRow(r))
	}
	out := lines(s)
	if left > 0 {
		out = append(out, text.ChatsNotLookedAt(left))
	}
	return out, nil
}

func (q *request) statsCommand(ctx context.Context, _ []string) ([]string, error) {
	if !q.admin && !q.hasChat() {
		return []string{text.PanelNoChat}, nil
	}
	p, _, err := q.statsView(ctx)
	return lines(p.Sections...), err
}

func (q *request) templatesCommand(context.Context, []string) ([]string, error) {
	var out []string
	for _, t := range permission.Templates() {
		out = append(out, text.TemplateLine(t.Name, t.Says))
	}
	return append(out, text.TemplatesHint), nil
}

// exportCommand prints all that people set, as "bot permissions import" reads it (R8). Other people's choices are in it.
func (q *request) exportCommand(context.Context, []string) ([]string, error) {
	if err := q.mustAdmin(); err != nil {
		return nil, err
	}
	return q.settings.Exchange().Lines(), nil
}
