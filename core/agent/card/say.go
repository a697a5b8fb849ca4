package card

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// naming are the arguments that say what a call is about, the first of them best; where says where it goes.
var (
	naming = strings.Fields("path file_path filename file uri url source from src old_path command cmd sql query q pattern expression title name subject summary " +
		"to recipient channel channel_id user repo repository branch issue_number pull_number id key service directory dir folder message text body content")
	where = text.WordSet("destination dest target new_path to version")
)

// What says in a few words what a call does, and to what: “Write file “notes.txt””. The tool's name is its server's, the value the
// model's: it stands in quotes.
func What(c turn.ToolCall) string {
	say := text.Sentence(c.Tool.Name)
	rows := render.ArgsOf(c.Args, "").Rows
	i := namingRow(rows)
	if i < 0 {
		return say
	}
	say += " " + quoted(rows[i])
	for j, r := range rows {
		if j != i && where[r.Name] && isShort(r.Value) {
			return say + " → " + quoted(r)
		}
	}
	return say
}

// namingRow is the argument to be named, or -1.
func namingRow(rows []render.Row) int {
	for _, name := range naming {
		if i := slices.IndexFunc(rows, func(r render.Row) bool { return strings.EqualFold(r.Name, name) && isShort(r.Value) }); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(rows, func(r render.Row) bool { return isShort(r.Value) && len(r.Value) <= 40 })
}

// isShort leaves out what is empty, stands in several lines, is masked, or is no single value.
func isShort(value string) bool {
	return value != `""` && !strings.ContainsAny(value, "\n‹") && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[")
}

const maxValue = 60 // characters of a value that is named

func quoted(r render.Row) string { return text.Quoted(text.Clip(r.Value, maxValue)) }
