package surface

import (
	"cmp"
	"slices"

	"github.com/nodhq/nod/core/render"
)

// Quietly is a message with names in place of mentions. A mention in a new message notifies people, and one in an edit does not, so a message that is
// about to be posted names them only.
func Quietly(m render.Message) render.Message {
	m.Blocks = slices.Clone(m.Blocks)
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			b.Detail = named(b.Detail)
			m.Blocks[i] = b
		case render.Note:
			b.Line = named(b.Line)
			m.Blocks[i] = b
		case render.Ask:
			b.Because, b.Footer = named(b.Because), named(b.Footer)
			m.Blocks[i] = b
		default: // nobody is named in it
		}
	}
	return m
}

func named(l render.Line) render.Line {
	out := slices.Clone(l)
	for i, s := range out {
		if p, ok := s.(render.Person); ok {
			out[i] = render.Plain(cmp.Or(p.Name, p.User.Key))
		}
	}
	return out
}
