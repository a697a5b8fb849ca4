package settings

import (
	"context"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// fieldSection is everything that can be set in one place. Who may not set it reads it.
func (p *page) fieldSection(title string, at permission.Setting) render.Section {
	rows := rowsFor(at.Fields(), func(f permission.Field) render.PanelRow { return p.fieldRow(at, f) })
	return render.Section{Title: title, Note: p.readOnly(), Rows: rows}
}

// readOnly says why nothing can be changed, to those who cannot.
func (q *request) readOnly() string {
	switch {
	case q.admin:
		return ""
	case len(q.policy.Admins) == 0:
		return text.OnlyAdmins + " " + permission.NoAdminsNotice
	}
	return text.OnlyAdmins
}

func (p *page) fieldRow(at permission.Setting, f permission.Field) render.PanelRow {
	at.Field = f.Name
	value, configured := p.policy.Setting(at).Value, p.configured.Setting(at).Value
	label := text.FieldLabel(f.Name)
	from := plainLine(text.FromNowhere)
	have := setIn(p.settings, at)
	switch {
	case have.Field != "":
		from = render.Line{render.Plain(text.FromChat), p.person(have.By, have.Name), render.Plain(" · "), render.Time{At: have.At}}
	case configured != (permission.Policy{}).Setting(at).Value:
		from = plainLine(text.FromFile)
	}
	r := render.PanelRow{
		Line:    render.Line{render.Strong(label), render.Plain(": " + text.Clip(valueLabel(at, value), 300))},
		Details: []render.Line{append(from, render.Plain(" — "+text.FieldSays(f.Name, f.Says)))},
	}
	if !p.admin {
		return r
	}
	// A word for a server, or a tool, is for the tools that there are: once they change, it is to be said again.
	rev := value + " " + string(permission.ServerDigest(p.settings.ToolsOf(at.Server)))
	if f.Words == nil {
		form := p.offer(text.LabelChange(label), value, action{Changes: []permission.Change{at}, Fill: true, View: p.view})
		form.Kind, form.Value, form.Max, form.Like = render.ActFill, value, MaxFill, f.Like
		r.Acts = append(r.Acts, form)
	} else {
		r.Acts = append(r.Acts, p.pick(label, rev, p.options(at, f, value, configured))...)
	}
	if have.Field != "" && !slices.Contains(f.Words, configured) { // else the word is among the options
		r.Acts = append(r.Acts, p.offer(text.LabelUseDefault, rev, set(at, "", "", p.view)))
	}
	return r
}

// options are the words of a field, each with what has to be confirmed where it takes caution away.
func (p *page) options(at permission.Setting, f permission.Field, value, configured string) []option {
	var out []option
	for _, w := range f.Words {
		to := w
		if w == configured {
			to = "" // what stands above says the same: there is nothing to keep
		}
		out = append(out, option{
			label: valueLabel(at, w), current: strings.EqualFold(w, value), action: set(at, to, w, p.view),
			confirm: text.ConfirmSetting(f.Name, w, sanitize(at.Where()), at.Tool == ""),
		})
	}
	return out
}

// valueLabel is a value as people read it: never the bare word of a setting whose polarity is disputed (C1).
func valueLabel(at permission.Setting, value string) string {
	if value == "" {
		return text.NotSet
	}
	switch at.Field {
	case "ask":
		if p, err := permission.ParsePrompt(value); err == nil {
			return p.Label()
		}
	case "mode":
		if m, err := permission.ParseMode(value); err == nil {
			return m.Label()
		}
	}
	return text.ValueLabel(at.Field, value)
}

// levelMarks are the approvals' symbols and words (R93).
var levelMarks = map[permission.Approval]string{
	permission.AutoApprove:         text.SymbolAuto + " " + text.ChipAuto,
	permission.RequireConfirmation: text.SymbolConfirm + " " + text.ChipConfirm,
	permission.RequireAuth:         text.SymbolAdmin + " " + text.ChipAdmin,
}

// templatesView are the sets of settings that can be applied at once (R156).
func (p *page) templatesView(context.Context) render.Panel {
	rows := rowsFor(permission.Templates(p.policy.Templates...), func(t permission.Template) render.PanelRow {
		preview := goTo(text.LabelPreview, viewTemplate+t.Name)
		return render.PanelRow{Line: render.Line{render.Strong(t.Title)}, Details: linesOf(t.Says), Acts: []render.Act{preview}}
	})
	return drawing(text.TabTemplates, render.Section{Title: text.TabTemplates, Note: text.PanelTemplatesNote, Rows: rows})
}

// templateView is what applying one would change now.
func (p *page) templateView(ctx context.Context) render.Panel {
	t, ok := permission.FindTemplate(strings.TrimPrefix(p.view, viewTemplate), p.policy.Templates...)
	if !ok {
		return render.Panel{}
	}
	changes, says := p.preview(ctx, t)
	s := render.Section{Title: text.PanelPreview, Note: t.Says, Empty: text.NothingToChange, Rows: rowsOf(says...)}
	if len(changes) > 0 && p.admin {
		a := p.offerDangerous(text.LabelApply, text.ConfirmApply(t.Title, len(changes)), digestOf(says...), apply(t, changes))
		s.Rows = append(s.Rows, row(text.ChangesCount(len(changes)), a))
	}
	return drawing(t.Title, s, render.Section{Note: p.readOnly()})
}

// preview is what a template would change, for the tools that are known now, and each change in words: from what to what.
func (q *request) preview(ctx context.Context, t permission.Template) (changes []permission.Change, says []string) {
	q.servers(ctx)
	changes = t.Changes(q.policy, KnownTools(q.specs, q.policy, q.settings))
	for _, c := range changes {
		at, _ := c.(permission.Setting) // templates change nothing else
		was, now := valueLabel(at, q.policy.Setting(at).Value), valueLabel(at, at.Value)
		says = append(says, text.FromTo(sanitize(at.Where()), text.FieldLabel(at.Field), text.Clip(was, 120), text.Clip(now, 120)))
	}
	return changes, says
}
