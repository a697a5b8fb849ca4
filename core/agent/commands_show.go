package agent

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
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
func (l *looking) showCommand(ctx context.Context, _ []string) ([]string, error) {
	var out []string
	for _, b := range l.banner() {
		out = append(out, render.PlainLine(b))
	}
	if l.hasChat() {
		out = append(out, render.ModeIs(l.here.Mode.Label()))
		if l.here.Mode == permission.ModeTool && l.policy.Mode != permission.ModeTool {
			out = append(out, "  "+render.ModeFromDefault(l.policy.Mode.Label()))
		}
		out = append(out, l.grantLines()...)
	}
	w, err := l.waiting(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.servers(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, render.PendingCount(len(w.asks)), render.RememberedCount(len(l.settings.Of(l.env.User))))
	servers := render.Section{Title: render.TabServers, Empty: render.PanelNoServers}
	for _, s := range all {
		servers.Rows = append(servers.Rows, render.PanelRow{Line: words(shown(s.name) + " · " + s.summary()), Details: []render.Line{words(s.state())}})
	}
	servers.Rows = cut(servers.Rows, maxPanelRows)
	out = append(out, lines(servers)...)
	return append(append(out, l.whoami()...), render.HelpHint), nil
}

// grantLines are this chat's grants, numbered for revoke.
func (l *looking) grantLines() []string {
	grants := l.grantsHere()
	if len(grants) == 0 {
		return []string{render.PanelNoGrants}
	}
	out := []string{render.PanelGrantsHere}
	for i, g := range grants {
		if i == maxPanelRows {
			return append(out, "  "+render.AndMore(len(grants)-i))
		}
		row := l.grantRow(l.here, g, "")
		say := strconv.Itoa(i+1) + ". " + render.PlainLine(row.Line)
		for _, d := range row.Details {
			say += " · " + render.PlainLine(d)
		}
		out = append(out, "  "+say)
	}
	return out
}

// toolLines are the tools that there are, each with what happens to a call of it here.
func (l *looking) toolLines(ctx context.Context) ([]string, error) {
	all, err := l.servers(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []string{render.PanelNoServers}, nil
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
			section.Rows = append(section.Rows, render.PanelRow{Line: words(shown(k.tool().Name) + " · " + l.verdict(k))})
		}
		out = append(out, lines(section)...)
	}
	if left > 0 {
		out = append(out, render.AndMore(left))
	}
	return out, nil
}

func (l *looking) pendingCommand(ctx context.Context, _ []string) ([]string, error) {
	w, err := l.waiting(ctx)
	if err != nil {
		return nil, err
	}
	s := render.Section{Title: render.PanelPending, Empty: render.PanelPendingNone}
	for _, x := range w.asks {
		s.Rows = append(s.Rows, x.row(l))
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	out := lines(s)
	if w.left > 0 {
		out = append(out, render.ChatsNotLookedAt(w.left))
	}
	return out, nil
}

// whoami is who somebody is to nod, and how their key is written where admins are listed (R152).
func (l *looking) whoami() []string {
	u := l.env.User
	out := []string{render.YouAre(l.admin)}
	if u.Platform == webPlatform {
		out = append(out, render.YourKeyIsSecret)
	} else {
		out = append(out, render.YourKey(clipped(u.String(), 200)))
	}
	if !l.admin && len(l.policy.Admins) == 0 {
		out = append(out, permission.NoAdminsNotice)
	}
	var groups []string
	for _, g := range l.policy.Members[u] {
		groups = append(groups, clipped(g.String(), 100))
	}
	if len(groups) > 0 {
		slices.Sort(groups)
		out = append(out, render.YourGroups(few(groups)))
	}
	return out
}

func (l *looking) whoamiCommand(context.Context, []string) ([]string, error) { return l.whoami(), nil }

// whyCommand is what would happen to a call of whoever asks, with every rule (R150, R151).
func (l *looking) whyCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) != 2 {
		return nil, errUsage
	}
	k, err := l.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	out := l.explain(k)
	if mark := k.mark(); mark != "" {
		out = append(out, mark)
	}
	return out, nil
}

// historyCommand is the chat's record; "settings" and "everywhere" are for admins.
func (l *looking) historyCommand(ctx context.Context, args []string) ([]string, error) {
	n, of, kind := 20, ofChat, ""
	if l.admin && !l.hasChat() {
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
			if err := l.mustAdmin(); err != nil {
				return nil, err
			}
			of = a
		default:
			return []string{render.HistoryUsage(historyKinds)}, nil
		}
	}
	records, found, left, err := l.history(ctx, of)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return []string{render.PanelNoChat}, nil
	}
	all := turn.Filter{Kind: kind}.Pick(records)
	s := render.Section{Title: render.HistoryOf(of), Empty: render.PanelNoHistory}
	for i, r := range slices.Backward(all) {
		if len(all)-i > n {
			s.Rows = append(s.Rows, render.PanelRow{Line: words(render.AndMore(i + 1))})
			break
		}
		s.Rows = append(s.Rows, l.recordRow(r))
	}
	out := lines(s)
	if left > 0 {
		out = append(out, render.ChatsNotLookedAt(left))
	}
	return out, nil
}

func (l *looking) statsCommand(ctx context.Context, _ []string) ([]string, error) {
	if !l.admin && !l.hasChat() {
		return []string{render.PanelNoChat}, nil
	}
	p, _, err := l.statsView(ctx)
	return lines(p.Sections...), err
}

func (l *looking) templatesCommand(context.Context, []string) ([]string, error) {
	var out []string
	for _, t := range permission.Templates() {
		out = append(out, render.TemplateLine(t.Name, t.Says))
	}
	return append(out, render.TemplatesHint), nil
}

// exportCommand prints all that people set, as "bot permissions import" reads it (R8). Other people's choices are in it.
func (l *looking) exportCommand(context.Context, []string) ([]string, error) {
	if err := l.mustAdmin(); err != nil {
		return nil, err
	}
	return l.settings.Exchange().Lines(), nil
}
