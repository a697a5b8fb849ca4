package discord

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Files that details may go into.
const (
	fileArguments = "arguments.json"
	fileDetails   = "details.txt"
	detailsRoom   = 3600   // characters of details in a message
	detailsBytes  = 10_000 // the same in UTF-8
)

// detailsPayload is everything about a call or a turn, for one person: in the message where it has room for all, else in a file that
// the message names. A digest always stands in the message, in full. Nothing in it is read as markup.
func detailsPayload(d render.Details) payload {
	parts := surface.DigestFirst(d.Parts)
	for _, try := range []func(string, []render.Part) (payload, bool){inMessage, argumentsInFile} {
		if p, ok := try(d.Title, parts); ok {
			return p
		}
	}
	return allInFile(d.Title, parts)
}

// inMessage has every part in the text.
func inMessage(title string, parts []render.Part) (payload, bool) {
	s := &sheet{ids: names{}}
	s.titled(title)
	for _, p := range parts {
		s.part(p, shownPart(p))
	}
	return s.details(surface.SayNothing)
}

// argumentsInFile has all but the arguments in the text. Of several, the first are those that run, or ran.
func argumentsInFile(title string, parts []render.Part) (payload, bool) {
	at := slices.IndexFunc(parts, isArguments)
	if at < 0 {
		return payload{}, false
	}
	s := &sheet{ids: names{}}
	s.titled(title)
	args := shownPart(parts[at])
	for i, p := range parts {
		if i != at {
			s.part(p, shownPart(p))
			continue
		}
		s.say(strong(p.Name), literal(sayInFile(fileArguments, utf8.RuneCountInString(args))))
	}
	return s.details("", file{fileArguments, "application/json; charset=utf-8", whole(args)})
}

// allInFile has the digests, and of the other parts the names, in the text.
func allInFile(title string, parts []render.Part) payload {
	s := &sheet{ids: names{}}
	s.titled(title)
	var all strings.Builder
	all.WriteString(oneLine(title) + "\n")
	var named []string
	for _, p := range parts {
		if name := oneLine(p.Name); name != "" {
			all.WriteString("\n== " + name + "\n")
			if !slices.Contains(named, name) && len(named) < 12 {
				named = append(named, surface.AtMost(name, 60))
			}
		}
		text := shownPart(p)
		all.WriteString(text + "\n")
		if p.Name == render.PartDigest && s.lineRoom() > 200 {
			s.part(p, text)
		}
	}
	s.say(literal(surface.Within(sayAllInFile(fileDetails, named), 1200)))
	p, _ := s.details("", file{fileDetails, "text/plain; charset=utf-8", whole(all.String())})
	return p
}

// digestsRoom is how many characters of the message digests may take, where everything else is in the file.
const digestsRoom = 2000

func (s *sheet) lineRoom() int { return digestsRoom - surface.Width(strings.Join(s.lines, "\n")) }

func isArguments(p render.Part) bool {
	return p.Form == render.FormCode && (p.Name == render.PartArguments || p.Name == render.PartRan || p.Name == render.PartWrote)
}

func (s *sheet) titled(title string) {
	if title = strings.TrimSpace(oneLine(title)); title != "" {
		s.say("### " + literal(surface.Within(title, 300)))
	}
}

func (s *sheet) part(p render.Part, text string) {
	s.say(strong(p.Name))
	switch p.Form {
	case render.FormCode, render.FormMarkdown:
		language := ""
		if isArguments(p) {
			language = "json"
		}
		s.say(fenced(language, text))
	default:
		for l := range strings.SplitSeq(text, "\n") {
			s.say(literal(l))
		}
	}
}

// details closes the message; ok is whether Discord takes it.
func (s *sheet) details(empty string, files ...file) (p payload, ok bool) {
	if len(s.lines) == 0 {
		s.say(literal(empty))
	}
	s.flush()
	for _, f := range files {
		s.add(discordgo.FileComponent{File: discordgo.UnfurledMediaItem{URL: uploaded + f.Name}}, 1)
	}
	return payload{Components: s.parts, Files: files}, s.chars <= detailsRoom && s.bytes <= detailsBytes
}

// uploaded begins the address of a file that goes along. https://discord.com/developers/docs/reference#uploading-files
const uploaded = "attachment://"

// whole is a file's content; what Discord would not take is counted at its end.
func whole(s string) []byte {
	const most = maxFileBytes - 64
	if len(s) <= most {
		return []byte(s)
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return []byte(s[:end] + "\n" + sayFileCut(len(s)-end) + "\n")
}

func shownPart(p render.Part) string {
	s, _ := render.Visible(p.Text)
	return strings.Trim(s, "\n")
}
