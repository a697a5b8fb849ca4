package talk

import (
	"slices"
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

// WithPictures gives a talk with the bytes of its newest pictures, at most so many, as load has them. The talk's own utterances stay as they are.
func WithPictures(talk []turn.Utterance, most int, load func(key string) []byte) []turn.Utterance {
	talk = slices.Clone(talk)
	look := func(p *turn.Picture) *turn.Picture {
		if p == nil || most == 0 {
			return p
		}
		most--
		seen := *p
		seen.Data = load(p.Key)
		return &seen
	}
	for i := range slices.Backward(talk) {
		u := &talk[i]
		u.Files = slices.Clone(u.Files)
		for j := range slices.Backward(u.Files) {
			u.Files[j].Picture = look(u.Files[j].Picture)
		}
		u.Calls = slices.Clone(u.Calls)
		for j := range slices.Backward(u.Calls) {
			r := &u.Calls[j].Result
			r.Pictures = slices.Clone(r.Pictures)
			for k := range slices.Backward(r.Pictures) {
				r.Pictures[k] = look(r.Pictures[k])
			}
		}
	}
	return talk
}
