package settings

import (
	"context"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// templatesView are the sets of settings that can be applied at once (R156).
func (q *request) templatesView() (render.Panel, bool, error) {
	s := render.Section{Title: text.TabTemplates, Note: text.PanelTemplatesNote}
	for _, t := range permission.Templates() {
		s.Rows = append(s.Rows, render.PanelRow{
			Line: render.Line{render.Strong(t.Title)}, Details: []render.Line{words(t.Says)}, Acts: []render.Act{goTo(text.LabelPreview, viewTemplate+t.Name)},
		})
	}
	return render.Panel{Title: text.TabTemplates, Sections: []render.Section{s}}, true, nil
}

// templateView is what applying one would change now.
func (q *request) templateView(ctx context.Context) (render.Panel, bool, error) {
	t, ok := permission.FindTemplate(strings.TrimPrefix(q.view, viewTemplate))
	if !ok {
		return render.Panel{}, false, nil
	}
	changes, err := q.changesOf(ctx, t)
	if err != nil {
		return render.Panel{}, false, err
	}
	s := render.Section{Title: text.PanelPreview, Note: t.Says, Empty: text.NothingToChange}
	for _, line := range q.preview(changes) {
		s.Rows = append(s.Rows, render.PanelRow{Line: words(line)})
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if len(changes) > 0 && q.admin {
		a := q.offer(text.LabelApply, "apply", t.Name, digestOf(q.preview(changes)...), apply(t, changes))
		a.Confirm, a.Style = text.ConfirmApply(t.Title, len(changes)), render.Danger
		s.Rows = append(s.Rows, render.PanelRow{Line: words(text.ChangesCount(len(changes))), Acts: []render.Act{a}})
	}
	p := render.Panel{Title: t.Title, Sections: []render.Section{s}}
	if !q.admin {
		p.Sections = append(p.Sections, render.Section{Note: q.readOnly()})
	}
	return p, true, nil
}

// changesOf is what a template would change, for the tools that are known now.
func (q *request) changesOf(ctx context.Context, t permission.Template) ([]permission.Change, error) {
	all, err := q.servers(ctx)
	if err != nil {
		return nil, err
	}
	var tools []permission.Known
	for _, s := range all {
		for _, k := range s.tools {
			tools = append(tools, permission.Known{Tool: k.tool(), Source: k.spec.Source, Hints: k.spec.Hints, Metadata: k.spec.Metadata})
		}
	}
	return t.Changes(q.policy, tools), nil
}

// apply applies a template that changes this.
func apply(t permission.Template, changes []permission.Change) action {
	return adminChange{changes: changes, note: "template " + t.Name, say: text.NowApplied(t.Title, len(changes)), view: viewTemplates}
}

// preview says what changes, from what to what.
func (q *request) preview(changes []permission.Change) []string {
	var out []string
	for _, c := range changes {
		if c.Set == nil {
			continue
		}
		was := q.policy.Setting(*c.Set).Value
		out = append(out, text.FromTo(shown(c.Set.Where()), text.FieldLabel(c.Set.Field), text.Clip(valueLabel(*c.Set, was), 120), text.Clip(valueLabel(*c.Set, c.Set.Value), 120)))
	}
	return out
}
