package agent

import (
	"context"
	"fmt"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// toolView is one tool: what it is, what is set and from where, what changed, and why it would ask now.
func (l *looking) toolView(ctx context.Context) (render.Panel, bool, error) {
	s, k, ok, err := l.find(ctx, l.view)
	if err != nil || !ok {
		return render.Panel{}, false, err
	}
	name, srv := shown(k.tool().Name), shown(s.name)
	about := render.Section{Rows: []render.PanelRow{
		{Line: words(k.facts()), Acts: []render.Act{goTo(srv, viewOf(viewServer, s.name))}},
	}}
	if d := k.spec.Description; d != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(render.ServerSays + clipped(d, 600))})
	}
	if k.is.Impact != "" {
		about.Rows = append(about.Rows, render.PanelRow{Line: words(clipped(k.is.Impact, 300))})
	}
	p := render.Panel{Title: render.RunLine(name, srv), Sections: []render.Section{about}}
	if look := l.lookSection(k); len(look.Rows) > 0 {
		p.Sections = append(p.Sections, look)
	}
	p.Sections = append(p.Sections,
		l.ownSection(k),
		render.Section{Title: render.PanelToolSettings, Note: l.readOnly(), Rows: l.fields(permission.Setting{Server: s.name, Tool: k.tool().Name})},
		l.whySection(k))
	return p, true, nil
}

// lookSection is what is new or changed, with the word that somebody looked at it.
func (l *looking) lookSection(k known) render.Section {
	s := render.Section{Title: render.PanelLook}
	if !k.changed() && !k.isNew() {
		return s
	}
	row := render.PanelRow{Line: words(k.mark())}
	if k.pinned {
		for _, d := range k.pin.Differences() {
			row.Details = append(row.Details, words(render.DifferenceLine(shown(d.Part), clipped(d.Was, 400), clipped(d.Now, 400))))
		}
	}
	if l.admin && k.offered {
		a := l.act(render.LabelAccept, "accept", k.tool().Server+"/"+k.tool().Name, string(k.tool().Definition),
			l.change(l.view, "", render.NowAccepted(1), accepting(k)...))
		row.Acts = append(row.Acts, a)
	}
	s.Rows = append(s.Rows, row)
	return s
}

// accepting are the changes by which a tool counts as it is now. One that was never recorded is recorded with it.
func accepting(k known) []permission.Change {
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

// ownSection is what whoever looks chose for themselves.
func (l *looking) ownSection(k known) render.Section {
	s := render.Section{Title: render.PanelOwnChoice, Note: render.PanelOwnNote}
	current, id, line := "", "", render.OwnNone
	for _, r := range l.settings.Of(l.env.User) {
		if r.Tool.Server == k.tool().Server && r.Tool.Name == k.tool().Name {
			current, id, line = r.Choice.String(), r.ID, render.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), clipped(r.Limits(), 300))
		}
	}
	row := render.PanelRow{Line: words(line)}
	var options []option
	for _, c := range []permission.Standing{permission.StandAsk, permission.StandAllow, permission.StandDeny} {
		if l.mayRemember(l.policy, k, c) != nil {
			continue
		}
		o := option{value: c.String(), label: render.OwnChoice(c.String()), current: c.String() == current, do: l.remembering(k, c, l.view)}
		if c == permission.StandAllow {
			o.confirm = render.ConfirmRemember(shown(k.tool().Name), shown(k.tool().Server))
		}
		options = append(options, o)
	}
	row.Acts = l.pick(render.PanelOwnChoice, "own", k.tool().Server+"/"+k.tool().Name, fmt.Sprint(current, " ", k.tool().Definition), options)
	if id != "" {
		do := l.forgetting(id)
		view := l.view
		row.Acts = append(row.Acts, l.act(render.LabelForget, "forget", id, current, func(ctx context.Context, text string) (Done, error) {
			done, err := do(ctx, text)
			done.View = view
			return done, err
		}))
	}
	s.Rows = append(s.Rows, row)
	return s
}

// whySection explains what would happen to a call of whoever looks (R150).
func (l *looking) whySection(k known) render.Section {
	s := render.Section{Title: render.PanelWhy}
	for _, line := range l.explain(k) {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	return s
}

// explain is every rule that is consulted for a call of whoever looks, here and now, with the winner and the timeout.
func (l *looking) explain(k known) []string {
	var out []string
	for _, line := range permission.Explain(l.policy, l.here.Grants, l.request(k), l.now).Lines() {
		out = append(out, clipped(line, 400))
	}
	return out
}
