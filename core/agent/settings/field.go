package settings

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// fields are the rows of everything that can be set in one place. Who may not set it reads it.
func (q *request) fields(at permission.Setting) []render.PanelRow {
	var rows []render.PanelRow
	for _, f := range at.Fields() {
		at.Field = f.Name
		rows = append(rows, q.fieldRow(at, f))
	}
	return rows
}

// setBy is what people set there, if they did.
func (q *request) setBy(at permission.Setting) (permission.Set, bool) {
	i := slices.IndexFunc(q.settings.Set, func(x permission.Set) bool {
		return x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field
	})
	if i < 0 {
		return permission.Set{}, false
	}
	return q.settings.Set[i], true
}

func (q *request) fieldRow(at permission.Setting, f permission.Field) render.PanelRow {
	value, configured := q.policy.Setting(at).Value, q.configured.Setting(at).Value
	label := text.FieldLabel(f.Name)
	row := render.PanelRow{Line: render.Line{render.Strong(label), render.Plain(": " + text.Clip(valueLabel(at, value), 300))}}
	from := words(text.FromNowhere)
	have, set := q.setBy(at)
	switch {
	case set:
		from = render.Line{render.Plain(text.FromChat), q.person(have.By, have.Name), render.Plain(" · "), render.Time{At: have.At}}
	case configured != (permission.Policy{}).Setting(at).Value:
		from = words(text.FromFile)
	}
	row.Details = []render.Line{append(from, render.Plain(" — "+text.FieldSays(f.Name, f.Says)))}
	if !q.admin {
		return row
	}
	stands := value
	if at.Server != "" && at.Tool == "" { // a word for a server is for the tools that it has: once they change, it is to be said again
		stands += " " + string(permission.ServerDigest(q.settings.ToolsOf(at.Server)))
	}
	if f.Words == nil {
		row.Acts = append(row.Acts, q.fill(text.LabelChange(label), "set "+f.Name, at.Where(), value, f.Like, setText{at}))
	} else {
		row.Acts = append(row.Acts, q.pick(label, "set "+f.Name, at.Where(), stands, q.options(at, f, value, configured))...)
	}
	if set && have.Value != configured && !slices.Contains(f.Words, configured) { // else the word is among the options
		row.Acts = append(row.Acts, q.offer(text.LabelUseDefault, "unset "+f.Name, at.Where(), stands, q.set(at, "", "")))
	}
	return row
}

// options are the words of a field, each with what has to be confirmed where it takes caution away.
func (q *request) options(at permission.Setting, f permission.Field, value, configured string) []option {
	var out []option
	for _, w := range f.Words {
		o := option{value: w, label: valueLabel(at, w), current: strings.EqualFold(w, value)}
		o.confirm = text.ConfirmSetting(f.Name, w, shown(at.Where()), at.Server != "" && at.Tool == "")
		to := w
		if w == configured {
			to = "" // what stands above says the same: there is nothing to keep
		}
		o.action = q.set(at, to, w)
		out = append(out, o)
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

// levelMark is an approval's symbol and word (R93).
func levelMark(a permission.Approval) string {
	switch a {
	case permission.AutoApprove:
		return text.SymbolAuto + " " + text.ChipAuto
	case permission.RequireAuth:
		return text.SymbolAdmin + " " + text.ChipAdmin
	case permission.RequireConfirmation:
	}
	return text.SymbolConfirm + " " + text.ChipConfirm
}
