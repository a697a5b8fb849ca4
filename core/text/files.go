package text

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// What came of the files that people attach, for people and for models.

// Attach is what was said with a line for each file that came with it: a model that does not know of them would answer beside the point. It
// gives those of them that can be fetched.
func Attach(said string, files []chat.File) (string, []chat.File) {
	for i, f := range files {
		said = strings.TrimPrefix(said+"\n"+Attached(f.Name, f.Size), "\n")
		files[i].Name = ShortName(f.Name)
	}
	return said, slices.DeleteFunc(files, func(f chat.File) bool { return f.Handle == "" })
}

// Attached stands in a message for a file that came with it.
func Attached(name string, size int) string {
	line := "[file " + fileName(name)
	if size > 0 {
		line += ", " + Size(size)
	}
	return line + "]"
}

func fileName(name string) string {
	if name = Clip(name, 100); name == "" {
		return "without a name"
	}
	return name
}

// FileRead is a file whose text the model is given: chars of its of characters, and pages of a longer document, where those are not zero.
func FileRead(name string, chars, of, pages int) string {
	part := ""
	switch {
	case of > 0:
		part = "first " + Number(chars) + " of " + Number(of) + " characters"
	case pages > 0:
		part = "first " + Count(pages, "page")
	case chars == 0:
		part = "no text in it"
	}
	if part != "" {
		part = " (" + part + ")"
	}
	return fileName(name) + part
}

// FilePicture is a picture that the model is given.
func FilePicture(name string) string { return fileName(name) + " (a picture)" }

// NoPictures is for people whose picture a model's service refused.
const NoPictures = "The model's service did not take the pictures, so the model answers without having seen them."

var unread = map[string]string{
	"kind":        " is of a kind that " + Product + " cannot read",
	"picture":     " is a picture, and this model is given none (model.images)",
	"too_big":     " is too big to be read",
	"too_many":    " was not read: there is too much in one message",
	"gone":        " is no longer there",
	"forbidden":   " may not be read by " + Product,
	"scope":       " was not read: " + Product + " lacks the scope files:read, which an admin can give it",
	"elsewhere":   " is only a link to another site, where " + Product + " does not look",
	"locked":      " is protected by a password or against copying, and was not read",
	"unavailable": " could not be fetched just now",
	"broken":      " cannot be read: it is not what it says, or takes too much",
}

// FileUnread is a file that was not read, and why.
func FileUnread(name, why string) string {
	say, known := unread[why]
	if !known {
		say = " was not read"
	}
	return fileName(name) + say
}
