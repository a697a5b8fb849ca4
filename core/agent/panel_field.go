package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// fields are the rows of everything that can be set in one place. Who may not set it reads it.
func (l *looking) fields(at permission.Setting) []render.PanelRow {
	var rows []render.PanelRow
	for _, f := range at.Fields() {
		at.Field = f.Name
		rows = append(rows, l.fieldRow(at, f))
	}
	return rows
}

// set is what people set there, if they did.
func (l *looking) set(at permission.Setting) (permission.Set, bool) {
	i := slices.IndexFunc(l.settings.Set, func(x permission.Set) bool {
		return x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field
	})
	if i < 0 {
		return permission.Set{}, false
	}
	return l.settings.Set[i], true
}

func (l *looking) fieldRow(at permission.Setting, f permission.Field) render.PanelRow {
	value, configured := l.policy.Setting(at).Value, l.base.Setting(at).Value
	label := render.FieldLabel(f.Name)
	row := render.PanelRow{Line: render.Line{render.Strong(label), render.Plain(": " + clipped(l.valueLabel(at, value), 300))}}
	from := words(render.FromNowhere)
	have, set := l.set(at)
	switch {
	case set:
		from = render.Line{render.Plain(render.FromChat), l.person(have.By, have.Name), render.Plain(" · "), render.Time{At: have.At}}
	case configured != (permission.Policy{}).Setting(at).Value:
		from = words(render.FromFile)
	}
	row.Details = []render.Line{append(from, render.Plain(" — "+render.FieldSays(f.Name, f.Says)))}
	if !l.admin {
		return row
	}
	stands := value
	if at.Server != "" && at.Tool == "" { // a word for a server is for the tools that it has: once they change, it is to be said again
		stands += " " + string(permission.ServerDigest(toolsOf(l.settings, at.Server)))
	}
	if f.Words == nil {
		row.Acts = append(row.Acts, l.fill(render.LabelChange(label), "set "+f.Name, at.Where(), value, f.Like, l.filling(at)))
	} else {
		row.Acts = append(row.Acts, l.pick(label, "set "+f.Name, at.Where(), stands, l.options(at, f, value, configured))...)
	}
	if set && have.Value != configured && !slices.Contains(f.Words, configured) { // else the word is among the options
		row.Acts = append(row.Acts, l.act(render.LabelUseDefault, "unset "+f.Name, at.Where(), stands, l.setting(at, "", "")))
	}
	return row
}

// options are the words of a field, each with what has to be confirmed where it takes caution away.
func (l *looking) options(at permission.Setting, f permission.Field, value, configured string) []option {
	var out []option
	for _, w := range f.Words {
		o := option{value: w, label: l.valueLabel(at, w), current: strings.EqualFold(w, value)}
		o.confirm = render.ConfirmSetting(f.Name, w, shown(at.Where()), at.Server != "" && at.Tool == "")
		to := w
		if w == configured {
			to = "" // what stands above says the same: there is nothing to keep
		}
		o.do = l.setting(at, to, w)
		out = append(out, o)
	}
	return out
}

// setting is a deed that sets a field; an empty value leaves it to what stands above. says is the value as the person chose it.
func (l *looking) setting(at permission.Setting, value, says string) deed {
	at.Value = value
	say := render.NowUnset(render.FieldLabel(at.Field), shown(at.Where()))
	if says != "" {
		say = render.NowSet(render.FieldLabel(at.Field), shown(at.Where()), clipped(l.valueLabel(at, says), 120))
	}
	return l.change(l.view, "", say, permission.Change{Set: &at})
}

func (l *looking) filling(at permission.Setting) deed {
	return func(ctx context.Context, text string) (Done, error) {
		text = strings.TrimSpace(text)
		return l.setting(at, text, text)(ctx, "")
	}
}

// valueLabel is a value as people read it: never the bare word of a setting whose polarity is disputed (C1).
func (l *looking) valueLabel(at permission.Setting, value string) string {
	if value == "" {
		return render.NotSet
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
	return render.ValueLabel(at.Field, value)
}

// levelMark is an approval's symbol and word (R93).
func levelMark(a permission.Approval) string {
	switch a {
	case permission.AutoApprove:
		return render.SymbolAuto + " " + render.ChipAuto
	case permission.RequireAuth:
		return render.SymbolAdmin + " " + render.ChipAdmin
	case permission.RequireConfirmation:
	}
	return render.SymbolConfirm + " " + render.ChipConfirm
}
