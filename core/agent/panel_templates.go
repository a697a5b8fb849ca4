package agent

import (
	"context"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// templatesView are the sets of settings that can be applied at once (R156).
func (l *looking) templatesView() (render.Panel, bool, error) {
	s := render.Section{Title: render.TabTemplates, Note: render.PanelTemplatesNote}
	for _, t := range permission.Templates() {
		s.Rows = append(s.Rows, render.PanelRow{
			Line: render.Line{render.Strong(t.Title)}, Details: []render.Line{words(t.Says)}, Acts: []render.Act{goTo(render.LabelPreview, viewTemplate+t.Name)},
		})
	}
	return render.Panel{Title: render.TabTemplates, Sections: []render.Section{s}}, true, nil
}

// templateView is what applying one would change now.
func (l *looking) templateView(ctx context.Context) (render.Panel, bool, error) {
	t, ok := permission.FindTemplate(strings.TrimPrefix(l.view, viewTemplate))
	if !ok {
		return render.Panel{}, false, nil
	}
	changes, err := l.applying(ctx, t)
	if err != nil {
		return render.Panel{}, false, err
	}
	s := render.Section{Title: render.PanelPreview, Note: t.Says, Empty: render.NothingToChange}
	for _, line := range l.preview(changes) {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if len(changes) > 0 && l.admin {
		a := l.act(render.LabelApply, "apply", t.Name, actToken(l.preview(changes)...), l.change(viewTemplates, "template "+t.Name, render.NowApplied(t.Title, len(changes)), changes...))
		a.Confirm, a.Style = render.ConfirmApply(t.Title, len(changes)), render.Danger
		s.Rows = append(s.Rows, render.PanelRow{Line: words(render.ChangesCount(len(changes))), Acts: []render.Act{a}})
	}
	p := render.Panel{Title: t.Title, Sections: []render.Section{s}}
	if !l.admin {
		p.Sections = append(p.Sections, render.Section{Note: l.readOnly()})
	}
	return p, true, nil
}

// applying is what a template would change, for the tools that are known now.
func (l *looking) applying(ctx context.Context, t permission.Template) ([]permission.Change, error) {
	all, err := l.servers(ctx)
	if err != nil {
		return nil, err
	}
	var tools []permission.Known
	for _, s := range all {
		for _, k := range s.tools {
			tools = append(tools, permission.Known{Tool: k.tool(), Source: k.spec.Source, Hints: k.spec.Hints, Metadata: k.spec.Metadata})
		}
	}
	return t.Changes(l.policy, tools), nil
}

// preview says what changes, from what to what.
func (l *looking) preview(changes []permission.Change) []string {
	var out []string
	for _, c := range changes {
		if c.Set == nil {
			continue
		}
		was := l.policy.Setting(*c.Set).Value
		out = append(out, render.FromTo(shown(c.Set.Where()), render.FieldLabel(c.Set.Field), clipped(l.valueLabel(*c.Set, was), 120), clipped(l.valueLabel(*c.Set, c.Set.Value), 120)))
	}
	return out
}
