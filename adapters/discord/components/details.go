package components

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Files that details may go into.
const (
	fileArguments = "arguments.json"
	fileDetails   = "details.txt"
	detailsRoom   = 3600   // characters of details in a message
	detailsBytes  = 10_000 // the same in UTF-8
)

// Details is everything about a call or a turn, for one person: in the message where it has room for all, else with the arguments, and
// then with everything, in a file that the message names. A digest always stands in the message, in full. Nothing in it is read as markup.
func Details(d render.Details) Payload {
	parts := surface.DigestFirst(d.Parts)
	if p, ok := inMessage(d.Title, parts, -1); ok {
		return p
	}
	// Of several arguments, the first are those that run, or ran.
	if at := slices.IndexFunc(parts, isArguments); at >= 0 {
		if p, ok := inMessage(d.Title, parts, at); ok {
			return p
		}
	}
	return allInFile(d.Title, parts)
}

// inMessage has every part in the text, but for the one that is in a file.
func inMessage(title string, parts []render.Part, filed int) (Payload, bool) {
	s := &encoder{ids: names{}}
	s.addTitle(title)
	var files []File
	for i, p := range parts {
		said := surface.VisiblePart(p)
		if i != filed {
			s.addPart(p, said)
			continue
		}
		s.say(strong(p.Name), literal(sayInFile(fileArguments, utf8.RuneCountInString(said))))
		files = []File{{fileArguments, "application/json; charset=utf-8", whole(said)}}
	}
	return s.finish(surface.SayNothing, files...)
}

// allInFile has the digests, and of the other parts the names, in the text.
func allInFile(title string, parts []render.Part) Payload {
	s := &encoder{ids: names{}}
	s.addTitle(title)
	var all strings.Builder
	all.WriteString(surface.OneLine(title) + "\n")
	var named []string
	for _, p := range parts {
		if name := surface.OneLine(p.Name); name != "" {
			all.WriteString("\n== " + name + "\n")
			if !slices.Contains(named, name) && len(named) < 12 {
				named = append(named, surface.AtMost(name, 60))
			}
		}
		said := surface.VisiblePart(p)
		all.WriteString(said + "\n")
		if p.Name == text.PartDigest && s.lineRoom() > 200 {
			s.addPart(p, said)
		}
	}
	s.say(literal(surface.Within(sayAllInFile(fileDetails, named), 1200)))
	p, _ := s.finish("", File{fileDetails, "text/plain; charset=utf-8", whole(all.String())})
	return p
}

// digestsRoom is how many characters of the message digests may take, where everything else is in the file.
const digestsRoom = 2000

func (s *encoder) lineRoom() int { return digestsRoom - surface.Width(strings.Join(s.lines, "\n")) }

func isArguments(p render.Part) bool {
	return p.Form == render.FormCode && (p.Name == text.PartArguments || p.Name == text.PartRan || p.Name == text.PartWrote)
}

func (s *encoder) addTitle(title string) {
	s.say(heading(surface.Within(surface.OneLine(title), 300)))
}

func (s *encoder) addPart(p render.Part, text string) {
	s.say(strong(p.Name))
	switch {
	case isArguments(p):
		s.say(fenced("json", text))
	case p.Form == render.FormCode, p.Form == render.FormMarkdown:
		s.say(fenced("", text))
	default:
		for l := range strings.SplitSeq(text, "\n") {
			s.say(literal(l))
		}
	}
}

// finish closes the message; ok is whether Discord takes it.
func (s *encoder) finish(empty string, files ...File) (p Payload, ok bool) {
	if len(s.lines) == 0 {
		s.say(literal(empty))
	}
	s.flush()
	for _, f := range files {
		s.add(discordgo.FileComponent{File: discordgo.UnfurledMediaItem{URL: uploaded + f.Name}}, 1)
	}
	return Payload{Components: s.parts, Files: files}, s.chars <= detailsRoom && s.bytes <= detailsBytes
}

// uploaded begins the address of a file that goes along. https://discord.com/developers/docs/reference#uploading-files
const uploaded = "attachment://"

// whole is a file's content; what Discord would not take is counted at its end.
func whole(s string) []byte {
	const most = maxFileBytes - 64
	if len(s) <= most {
		return []byte(s)
	}
	head := text.HeadBytes(s, most)
	return []byte(head + "\n" + sayFileCut(len(s)-len(head)) + "\n")
}

// Attachment is a file with a note above it that notifies nobody. What a file does not hold is left out at its end.
func Attachment(note render.Message, f File) Payload {
	p := encodeNote(note, "")
	p.Users, p.Roles = nil, nil
	f.Data = whole(string(f.Data))
	p.Files = []File{f}
	p.Components = append(p.Components, discordgo.FileComponent{File: discordgo.UnfurledMediaItem{URL: uploaded + f.Name}})
	return p
}

// SettingsLines are lines for one person: in the message, or where they are many in a file.
func SettingsLines(words, said []string) Payload {
	p := render.Part{Text: strings.Join(said, "\n"), Form: render.FormPlain}
	if len(words) > 0 && strings.EqualFold(words[0], "export") { // its spaces mean something
		p.Form = render.FormCode
	}
	return Details(render.Details{Parts: []render.Part{p}})
}
