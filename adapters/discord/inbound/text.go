package inbound

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// entity is what Discord writes in "<>": people, roles, channels, commands, emoji, times, places of a server.
// https://discord.com/developers/docs/reference#message-formatting
var entity = regexp.MustCompile(`<(?:@!?(\d{1,20})|@&(\d{1,20})|#(\d{1,20})|/([^:<>\n]{1,120}):\d{1,20}|a?:(\w{2,32}):\d{1,20}|t:(-?\d{1,17})(?::[tTdDfFRsS])?|id:(\w{1,40}))>`)

// Names say what IDs are called, or "".
type Names struct{ User, Role, Channel func(id string) string }

// PlainText is text as a person sees it: mentions, channels, emoji and times written out.
func PlainText(text string, of Names) string {
	return strings.TrimSpace(entity.ReplaceAllStringFunc(text, func(s string) string { return spelled(entity.FindStringSubmatch(s), of) }))
}

func spelled(part []string, of Names) string {
	name := func(sign, id string, look func(string) string) string {
		return sign + cmp.Or(surface.Shortened(look(id), 100), id)
	}
	switch {
	case part[1] != "":
		return name("@", part[1], of.User)
	case part[2] != "":
		return name("@", part[2], of.Role)
	case part[3] != "":
		return name("#", part[3], of.Channel)
	case part[4] != "":
		return "/" + part[4]
	case part[5] != "":
		return ":" + part[5] + ":"
	case part[6] != "":
		return instant(part[6])
	}
	return "#" + part[7]
}

// instant is a time that every reader sees in their own zone.
func instant(unix string) string {
	n, _ := strconv.ParseInt(unix, 10, 64) // entity takes no more digits than fit
	t := time.Unix(n, 0).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return unix
	}
	return t.Format("2006-01-02 15:04 UTC")
}

// opening is a mention at the start of a text.
var opening = regexp.MustCompile(`^\s*<@(!|&|)(\d{1,20})>[ ,:]*`)

// WithoutMention is the text without the mentions of the bot that it begins with, as "@nod: do this" does. role is the bot's own, or "".
func WithoutMention(text, bot, role string) string {
	for {
		f := opening.FindStringSubmatch(text)
		if f == nil || f[1] == "&" && f[2] != role || f[1] != "&" && f[2] != bot {
			return text
		}
		text = text[len(f[0]):]
	}
}

// Enclosed is a line for each thing that a message holds beside its words. What was forwarded is quoted, not said.
func (m *Message) Enclosed() (all []string) {
	for _, f := range m.Attachments {
		all = append(all, surface.SayFile(string(f.Name), f.Size))
	}
	return append(all, m.Extras()...)
}

// Attached are the files that the message's author put on it.
func (m *Message) Attached() (files []chat.File) {
	for _, f := range m.Attachments {
		at, ok := ids.HandleOf(string(m.Channel), string(m.ID), string(f.ID))
		if !ok {
			at = ""
		}
		files = append(files, chat.File{Name: string(f.Name), Type: string(f.Type), Size: f.Size, Handle: at})
	}
	return files
}

// Extras is a line for each thing that a message holds beside its words and files.
func (m *Message) Extras() (all []string) {
	for _, s := range m.Stickers {
		all = append(all, "[sticker: "+surface.Shortened(string(s.Name), 100)+"]")
	}
	if m.Poll != nil {
		words := []string{string(m.Poll.Question.Text)}
		for _, a := range m.Poll.Answers {
			words = append(words, string(a.Media.Text))
		}
		all = append(all, "[poll: "+surface.Shortened(strings.Join(words, " / "), 700)+"]")
	}
	return all
}

// maxPieces is how many components are read.
const maxPieces = 200

// pieces are components with those inside them, the outer first.
func pieces(of []Component) (all []Component) {
	for todo := of; len(todo) > 0 && len(all) < maxPieces; {
		c, inside := todo[0], todo[0].Components
		if c.Component != nil {
			inside = slices.Concat(inside, []Component{*c.Component})
		}
		all, todo = append(all, c), slices.Concat(inside, todo[1:])
	}
	return all
}

// InputValue is what stands in a form's input, however the form is built.
func InputValue(of []Component, customID string) string {
	all := pieces(of)
	if i := slices.IndexFunc(all, func(c Component) bool { return string(c.CustomID) == customID }); i >= 0 {
		return string(all[i].Value)
	}
	return ""
}

// Words are all that can be read of a message that somebody else, or a program, wrote, as Markdown.
func (m *Message) Words() string {
	parts := append([]string{string(m.Content)}, m.Beside()...)
	for _, snap := range m.Snapshots {
		if snap.Message != nil {
			parts = append(parts, "> "+strings.ReplaceAll(strings.Join(append([]string{"[forwarded]"}, snap.Message.own()...), "\n"), "\n", "\n> "))
		}
	}
	return joined(append(parts, m.Enclosed()...))
}

// own is what a message that was forwarded says: one that it forwards itself is left out.
func (m *Message) own() []string {
	return append(append([]string{string(m.Content)}, m.Beside()...), m.Enclosed()...)
}

// Beside is what stands in embeds and components.
func (m *Message) Beside() (parts []string) {
	for _, e := range m.Embeds {
		parts = append(parts, e.words())
	}
	for _, c := range pieces(m.Components) {
		parts = append(parts, string(c.Content))
		for _, x := range c.Items {
			parts = append(parts, picture(x.Description))
		}
	}
	return parts
}

func (e Embed) words() string {
	title := string(e.Title)
	switch {
	case title != "" && e.URL != "":
		title = "**" + title + "** (" + string(e.URL) + ")"
	case title != "":
		title = "**" + title + "**"
	}
	if e.Type != "" && e.Type != "rich" {
		title = strings.TrimSpace("[preview of a link] " + title)
	}
	parts := []string{string(e.Author.Name), title, string(e.Description)}
	for _, f := range e.Fields {
		parts = append(parts, strings.Trim(string(f.Name+": "+f.Value), ": "))
	}
	return joined(append(parts, picture(e.Image.URL), string(e.Footer.Text)))
}

func picture(what LooseString) string {
	if what == "" {
		return ""
	}
	return "[picture: " + surface.Shortened(string(what), 200) + "]"
}

// joined are the lines that say something.
func joined(parts []string) string {
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n")
}

// WrittenBy reports whether a user did.
func (m *Message) WrittenBy(user string) bool { return m.author() == user }

// Quote is a message of a guild as text of its author. It is not ok where the message says nothing.
func (m *Message) Quote(guild string, of Names) (q chat.Quote, ok bool) {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply, 20, 23: // 20 and 23 are answers of programs to commands
	default:
		return chat.Quote{}, false
	}
	q.Text = PlainText(m.Words(), of)
	if m.Author != nil {
		q.Name = cmp.Or(DisplayName(m.Author, m.Member), "a bot")
		if !m.isOfProgram() {
			q.By = ids.Person(guild, m.author())
		}
	}
	return q, q.Text != ""
}

// maxThreadName is how many characters a thread's name has at most. https://discord.com/developers/docs/resources/channel#start-thread-from-message
const maxThreadName = 100

// ThreadName is the first line of what somebody wrote that says something: mentions of people and roles say nothing there, because
// Discord shows names of threads as they are. It is otherwise where no line says anything.
func ThreadName(text, otherwise string) string {
	for line := range strings.Lines(text) {
		if name := surface.Shortened(withoutMentions(line), maxThreadName); strings.Trim(name, " .…") != "" {
			return name
		}
	}
	return otherwise
}

// mention is what Discord writes for a person, a role, a channel, a command, an emoji, a time or a place of a guild.
// https://discord.com/developers/docs/reference#message-formatting
var mention = regexp.MustCompile(`<(?:@[!&]?|#|/[^<>]*:|a?:\w+:|t:|id:)[^<>\s]*>`)

// withoutMentions takes mentions out, and disarms those of everybody.
func withoutMentions(s string) string {
	return strings.NewReplacer("@everyone", "everyone", "@here", "here").Replace(mention.ReplaceAllString(s, ""))
}
