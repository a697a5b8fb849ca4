package surface

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Small is the small line above a question: how it is asked, and of which call. The emoji that the operator gave its server, if there is one,
// is its sign: the line of facts has the other.
func Small(a render.Ask) string {
	icon := strings.TrimSpace(OneLine(a.Icon))
	if icon == "" || Width(icon) > 8 || strings.Contains(icon, ":") { // an address; what is drawn of it stands beside
		icon = text.SymbolConfirm
	}
	return icon + " " + strings.TrimSpace(OneLine(a.Small()))
}

// Arguments that are shown without opening anything.
const (
	maxRows      = 10
	maxRowsText  = 600 // characters
	maxRowsLines = 24
)

// rowsText is short arguments, one a line, but for text of several lines, which stands as lines. It is empty where they are long, or
// not all there.
func rowsText(a render.Args) string {
	if len(a.Rows) > maxRows || a.Hidden > 0 {
		return ""
	}
	var rows []string
	for _, r := range a.Rows {
		rows = append(rows, text.Prose(r.Name)+": "+text.Prose(r.Value))
	}
	all := strings.Join(rows, "\n")
	if Width(all)-len(rows)+1 > maxRowsText || strings.Count(all, "\n") >= maxRowsLines {
		return ""
	}
	return all
}

// Boxes are the marks of a checkbox where it is a line of a menu.
var Boxes = map[render.Toggle]string{render.ToggleOff: "☐ ", render.ToggleOn: "☑ "}

// Lines that are shown of arguments that are not short, and in a row of a list.
const (
	headLines, tailLines           = 18, 6
	headLinesOfRow, tailLinesOfRow = 6, 2
)

// ArgsShown is what stands on a card of a call's arguments: short ones a line each, else the head and the tail of their JSON, or what
// of a text goes and comes. language is what that is written in; say is what there is to be said below; all is false where something is left
// out.
func ArgsShown(of render.Ask) (code, language, say string, all bool) {
	a := of.Args
	head, tail := headLines, tailLines
	if of.Brief {
		head, tail = headLinesOfRow, tailLinesOfRow
	}
	if a.Diff != "" {
		a.JSON = a.Diff
		code, lines := fewerLines(&a, head, tail)
		return code, "diff", JoinParts(lines, a.Say()), false
	}
	if rows := rowsText(a); rows != "" {
		return rows, "", a.Say(), true
	}
	if a.JSON == "{}" {
		return "", "", a.Say(), true
	}
	code, lines := fewerLines(&a, head, tail)
	return code, "json", JoinParts(lines, a.Say()), a.Hidden == 0
}

// fewerLines keeps the head and the tail of arguments with many lines, and says how many there are. What it leaves out counts as
// hidden, with what Fit cut among it.
func fewerLines(a *render.Args, head, tail int) (shown, say string) {
	lines := strings.Split(a.JSON, "\n")
	if len(lines) <= head+tail+1 {
		return a.JSON, ""
	}
	out := slices.Clone(lines[head : len(lines)-tail])
	left := "… " + text.Count(len(out), "more line") + " …" // no line of JSON begins so
	say = text.Number(head+tail) + " of " + text.Count(len(lines), "line")
	cut := slices.IndexFunc(out, func(l string) bool { return strings.HasPrefix(l, "… ") })
	if cut >= 0 {
		out = slices.Delete(out, cut, cut+1)
	}
	if a.Hidden += utf8.RuneCountInString(strings.Join(out, "\n")); cut >= 0 { // Fit said how much, not how many lines
		left, say = text.MoreCharacters(a.Hidden)+" …", ""
	}
	return strings.Join(slices.Concat(lines[:head], []string{left}, lines[len(lines)-tail:]), "\n"), say
}

// OpensAll reports whether one of the choices opens the details of that very call, which offer whatever its card does.
func OpensAll(a render.Ask, cs []render.Choice) bool { return slices.ContainsFunc(cs, a.Opens) }

// BehindDetails leaves a card without ⋯ where its details offer all of it: a button to them comes to the others. Twenty menus of a list would
// weigh more than the questions.
func BehindDetails(a render.Ask, row, more []render.Choice) (fewer, rest []render.Choice) {
	if OpensAll(a, row) {
		return row, nil
	}
	i := slices.IndexFunc(more, a.Opens)
	if i < 0 {
		return row, more
	}
	door := more[i]
	door.Label = text.LabelDetails
	return append(slices.Clone(row), door), nil
}

// Owned reports whether all choices are about that one call.
func Owned(a render.Ask, cs []render.Choice) bool {
	return !slices.ContainsFunc(cs, func(c render.Choice) bool { return c.Token != a.Token })
}

// Fillable are the choices but for those whose form an input of a platform's, which takes most characters, does not hold.
func Fillable(cs []render.Choice, most int) []render.Choice {
	return slices.DeleteFunc(slices.Clone(cs), func(c render.Choice) bool { return c.Fills > most })
}

// Buttons are a card's buttons, and what stands behind ⋯. Where arguments are not all shown, a button shows them (R71). most is how many
// characters an input takes.
func Buttons(a render.Ask, all bool, most int) (row, more []render.Choice) {
	row, more = Fillable(a.Choices, most), Fillable(a.More, most)
	isView := func(c render.Choice) bool { return c.Choice == chat.ViewDetail }
	if i := slices.IndexFunc(more, isView); i >= 0 && !all && !slices.ContainsFunc(row, isView) {
		row, more = append(row, more[i]), slices.Delete(more, i, i+1)
	}
	for i, c := range row {
		if isView(c) && a.Kind != render.AskInput {
			row[i].Label = text.LabelShowArguments
		}
	}
	return row, more
}
