package talk

import (
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// File says what came of one file.
func File(f turn.FileRead) string {
	switch {
	case f.Why != "":
		return text.FileUnread(f.Name, string(f.Why))
	case f.Picture != nil:
		return text.FilePicture(f.Name)
	}
	return text.FileRead(f.Name, f.Chars, f.Of, f.Pages)
}

// Files says in one line what came of all of them; empty where there are none.
func Files(all []turn.FileRead) string {
	var read, parts []string
	for _, f := range all {
		if f.Why == "" {
			read = append(read, File(f))
		} else {
			parts = append(parts, File(f))
		}
	}
	if len(read) > 0 {
		parts = append([]string{"Read " + strings.Join(read, ", ")}, parts...)
	}
	return strings.Join(parts, " · ")
}
