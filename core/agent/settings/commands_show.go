package settings

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// webPlatform is where people are known by a secret session key, which is never shown.
const webPlatform = "web"

// said is a line as it answers a command: with the day, which is rarely today's.
func said(l render.Line) string {
	l = slices.Clone(l)
	for i, x := range l {
		if t, is := x.(render.Time); is {
			l[i] = render.Plain(t.At.UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return render.PlainLine(l)
}

// lines are what sections say, without their acts.
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
			out = append(out, "  "+said(r.Line))
			for _, d := range r.Details {
				out = append(out, "    "+said(d))
			}
		}
	}
	return out
}

// listed are the first of many lines, each behind an indent and, where they are numbered, its number.
func listed(all []string, indent string, numbered bool) []string {
	var out []string
	for i, x := range all {
		if i == maxPanelRows {
			return append(out, indent+text.AndMore(len(all)-i))
		}
		if numbered {
			x = strconv.Itoa(i+1) + ". " + x
		}
		out = append(out, indent+x)
	}
	return out
}

// showCommand is the overview: what a person would look for first.
func (q *request) showCommand(ctx context.Context, _ []string) ([]string, error) {
	var out []string
	for _, b := range q.banner() {
		out = append(out, said(b))
	}
	if q.hasChat() {
		says := q.modeLines()
		out = slices.Concat(out, says[:1], listed(says[1:], "  ", false), q.grantLines())
	}
	asks, _ := q.openAsks(ctx)
	out = append(out, text.PendingCount(len(asks)), text.RememberedCount(len(q.settings.Of(q.env.User))))
	servers := render.Section{Title: text.TabServers, Empty: text.PanelNoServers, Rows: rowsFor(q.servers(ctx), server.row)}
	return slices.Concat(out, lines(servers), q.whoami(), []string{text.HelpHint}), nil
}

// grantLines are this chat's grants, numbered for revoke.
func (q *request) grantLines() []string {
	grants, _ := q.grantsHere()
	var says []string
	add := func(line, limits render.Line) {
		says = append(says, said(line)+" · "+said(limits))
	}
	for _, g := range grants {
		add(q.grantSays(g, ""))
	}
	for _, r := range q.inChannels() {
		add(q.channelSays(r))
	}
	if len(says) == 0 {
		return []string{text.PanelNoGrants}
	}
	return append([]string{text.PanelGrantsHere}, listed(says, "  ", true)...)
}

// rememberedLines are the person's own choices, numbered for forget.
func (q *request) rememberedLines() []string {
	var says []string
	for _, r := range q.settings.Of(q.env.User) {
		says = append(says, rememberedLine(r))
	}
	if len(says) == 0 {
		return []string{text.PanelMineNone}
	}
	return listed(says, "", true)
}

// toolLines are the tools that there are, each with what happens to a call of it here.
func (q *request) toolLines(ctx context.Context) []string {
	var out []string
	room := maxPanelRows
	for _, s := range q.servers(ctx) {
		section := render.Section{Title: sanitize(s.name) + " · " + s.state()}
		for _, k := range s.tools {
			if room--; room >= 0 {
				section.Rows = append(section.Rows, row(sanitize(k.tool().Name)+" · "+q.verdict(k)))
			}
		}
		out = append(out, lines(section)...)
	}
	switch {
	case len(out) == 0:
		return []string{text.PanelNoServers}
	case room < 0:
		out = append(out, text.AndMore(-room))
	}
	return out
}

func (q *request) pendingCommand(ctx context.Context, _ []string) ([]string, error) {
	s, left := q.pendingSection(ctx)
	return append(lines(s), notLookedAt(left)...), nil
}

// whoami is who somebody is to nod, and how their key is written where admins are listed (R152).
func (q *request) whoami() []string {
	u := q.env.User
	key := text.YourKeyIsSecret
	if u.Platform != webPlatform || u.Vouched() {
		key = text.YourKey(text.Clip(u.String(), 200))
	}
	out := []string{text.YouAre(q.admin), key}
	if len(q.policy.Admins) == 0 {
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

// whyCommand is what would happen to a call of the person, with every rule (R150, R151): with these arguments, and in that place, where they
// are given.
func (q *request) whyCommand(ctx context.Context, args []string) ([]string, error) {
	var at permission.Place
	if len(args) > 1 && args[0] == "-in" {
		var err error
		if at, err = q.Place(args[1]); err != nil {
			return []string{sanitize(err.Error())}, nil
		}
		args = args[2:]
	}
	if len(args) < 2 {
		return nil, errUsage
	}
	_, k, err := q.named(ctx, args[:2])
	if err != nil {
		return nil, err
	}
	call := q.callOf(k)
	if at != (permission.Place{}) { // of somebody who belongs there
		call.Chat, call.Channel = chat.ID{Platform: at.Platform, Workspace: at.Workspace}, chat.Channel(at.String())
		call.Requester.Platform, call.Requester.Workspace = at.Platform, at.Workspace
	}
	if len(args) > 2 {
		if call.Args, err = canonical.Arguments([]byte(strings.Join(args[2:], " "))); err != nil {
			return []string{sanitize(err.Error())}, nil
		}
		call.Masked, call.Unwritten = render.MaskedJSON(call.Args), false
	}
	out := explain(q.policy, q.here.Grants, call, q.now)
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
		switch count, _ := strconv.Atoi(a); {
		case count > 0:
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
	if of == ofChat && !q.hasChat() {
		return []string{text.PanelNoChat}, nil
	}
	s, left := q.historySection(ctx, of, kind, n)
	return append(lines(s), notLookedAt(left)...), nil
}

func (q *request) statsCommand(ctx context.Context, _ []string) ([]string, error) {
	if !q.admin && !q.hasChat() {
		return []string{text.PanelNoChat}, nil
	}
	p := page{request: q, offers: map[string]action{}}
	return lines(p.statsView(ctx).Sections...), nil
}

// digestCommand is for admins alone: it is of every chat.
func (q *request) digestCommand(ctx context.Context, _ []string) ([]string, error) {
	if err := q.mustAdmin(); err != nil {
		return nil, err
	}
	records, left := q.records(ctx, ofEverything)
	return append(lines(q.digest(records)), notLookedAt(left)...), nil
}

func (q *request) templatesCommand(context.Context, []string) ([]string, error) {
	var out []string
	for _, t := range permission.Templates(q.policy.Templates...) {
		out = append(out, text.TemplateLine(t.Name, t.Says))
	}
	return append(out, text.TemplatesHint), nil
}

// exportCommand prints all that people set, as "nod permissions import" reads it (R8). Other people's choices are in it.
func (q *request) exportCommand(context.Context, []string) ([]string, error) {
	if err := q.mustAdmin(); err != nil {
		return nil, err
	}
	return q.settings.Exchange().Lines(), nil
}

// holdCommand lists what must not be dropped or deleted, adds to it or takes from it.
func (q *request) holdCommand(ctx context.Context, args []string) (lines []string, err error) {
	if err := q.mustAdmin(); err != nil {
		return nil, err
	}
	if len(args) == 0 {
		for _, h := range q.settings.Holds {
			lines = append(lines, text.HeldLine(sanitize(h.What), h.At.UTC().Format(time.DateTime), sanitize(h.By.String()), sanitize(h.Why)))
		}
		if len(lines) == 0 {
			lines = []string{text.NothingHeld}
		}
		return lines, nil
	}
	c := permission.Holding{What: args[0], Why: strings.Join(args[1:], " ")}
	if strings.EqualFold(args[0], "release") && len(args) == 2 {
		c = permission.Holding{What: args[1], Off: true}
	}
	if _, err := chat.ParseID(c.What); err != nil {
		return nil, errUsage
	}
	said, left, err := PutHold(ctx, q.Engine, q.Log, q.Index, q.env, c, func(id chat.ID, err error) {
		q.Logger.Warn("a hold or a release could not reach a chat", "chat", id, "err", err)
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc([]string{cmp.Or(said, text.NothingToChange), left}, func(s string) bool { return s == "" }), nil
}
