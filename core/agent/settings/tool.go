package settings

import (
	"context"
	"fmt"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// toolView is one tool: what it is, what is set and from where, what changed, and why it would ask now.
func (q *request) toolView(ctx context.Context) (render.Panel, bool, error) {
	s, k, ok, err := q.find(ctx, q.view)
	if err != nil || !ok {
		return render.Panel{}, false, err
	}
	name, srv := shown(k.tool().Name), shown(s.name)
	about := render.Section{Rows: []render.PanelRow{
		{Line: words(k.facts()), Acts: []render.Act{goTo(srv, viewOf(viewServer, s.name))}},
	}}
	if d := k.spec.Description; d != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(text.ServerSays + text.Clip(d, 600))})
	}
	if k.is.Impact != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(text.Clip(k.is.Impact, 300))})
	}
	p := render.Panel{Title: text.RunLine(name, srv), Sections: []render.Section{about}}
	if review := q.reviewSection(k); len(review.Rows) > 0 {
		p.Sections = append(p.Sections, review)
	}
	p.Sections = append(p.Sections,
		q.ownSection(k),
		render.Section{Title: text.PanelToolSettings, Note: q.readOnly(), Rows: q.fields(permission.Setting{Server: s.name, Tool: k.tool().Name})},
		q.whySection(k))
	return p, true, nil
}

// reviewSection is what is new or changed, with the word that somebody looked at it.
func (q *request) reviewSection(k toolEntry) render.Section {
	s := render.Section{Title: text.PanelLook}
	if !k.changed() && !k.isNew() {
		return s
	}
	row := render.PanelRow{Line: words(k.mark())}
	if k.pinned {
		for _, d := range k.pin.Differences() {
			row.Details = append(row.Details, words(text.DifferenceLine(shown(d.Part), text.Clip(d.Was, 400), text.Clip(d.Now, 400))))
		}
	}
	if q.admin && k.offered {
		a := q.offer(text.LabelAccept, "accept", k.tool().Server+"/"+k.tool().Name, string(k.tool().Definition),
			adminChange{changes: k.accept(), say: text.NowAccepted(1), view: q.view})
		row.Acts = append(row.Acts, a)
	}
	s.Rows = append(s.Rows, row)
	return s
}

// accept are the changes by which a tool counts as it is now. One that was never recorded is recorded with it.
func (k toolEntry) accept() []permission.Change {
	t := k.tool()
	accept := permission.Change{Accept: &t}
	switch {
	case k.spec.Source == permission.SourceWorkbench: // ours: it changes with the program
		return nil
	case k.pinned && k.pin.Tool == t && k.pin.Accepted && !k.pin.Changed():
		return nil
	case k.pinned && k.pin.Tool == t:
		return []permission.Change{accept}
	}
	return []permission.Change{{Seen: &permission.Seen{Tool: t, Definition: k.spec.Definition.Kept()}}, accept}
}

// ownSection is what the person chose for themselves.
func (q *request) ownSection(k toolEntry) render.Section {
	s := render.Section{Title: text.PanelOwnChoice, Note: text.PanelOwnNote}
	current, id, line := "", "", text.OwnNone
	for _, r := range q.settings.Of(q.env.User) {
		if r.Tool.Server == k.tool().Server && r.Tool.Name == k.tool().Name {
			current, id, line = r.Choice.String(), r.ID, text.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), text.Clip(r.Limits(), 300))
		}
	}
	row := render.PanelRow{Line: words(line)}
	var options []option
	for _, c := range []permission.Standing{permission.StandAsk, permission.StandAllow, permission.StandDeny} {
		if q.mayRemember(q.policy, k, c) != nil {
			continue
		}
		o := option{value: c.String(), label: text.OwnChoice(c.String()), current: c.String() == current, action: remember{k, c, q.view}}
		if c == permission.StandAllow {
			o.confirm = text.ConfirmRemember(shown(k.tool().Name), shown(k.tool().Server))
		}
		options = append(options, o)
	}
	row.Acts = q.pick(text.PanelOwnChoice, "own", k.tool().Server+"/"+k.tool().Name, fmt.Sprint(current, " ", k.tool().Definition), options)
	if id != "" {
		row.Acts = append(row.Acts, q.offer(text.LabelForget, "forget", id, current, forget{[]string{id}, q.view}))
	}
	s.Rows = append(s.Rows, row)
	return s
}

// whySection explains what would happen to a call of the person (R150).
func (q *request) whySection(k toolEntry) render.Section {
	s := render.Section{Title: text.PanelWhy}
	for _, line := range q.explain(k) {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	return s
}

// explain is every rule that is consulted for a call of the person, here and now, with the winner and the timeout.
func (q *request) explain(k toolEntry) []string {
	var out []string
	for _, line := range permission.Explain(q.policy, q.here.Grants, q.callOf(k), q.now).Lines() {
		out = append(out, text.Clip(line, 400))
	}
	return out
}
