package inbound

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

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
	found := entity.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return strings.TrimSpace(text)
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f[0]])
		part := func(n int) string {
			if f[2*n] < 0 {
				return ""
			}
			return text[f[2*n]:f[2*n+1]]
		}
		b.WriteString(spelled(part, of))
		at = f[1]
	}
	b.WriteString(text[at:])
	return strings.TrimSpace(b.String())
}

func spelled(part func(int) string, of Names) string {
	name := func(sign, id string, look func(string) string) string {
		return sign + cmp.Or(surface.Shortened(look(id), 100), id)
	}
	switch {
	case part(1) != "":
		return name("@", part(1), of.User)
	case part(2) != "":
		return name("@", part(2), of.Role)
	case part(3) != "":
		return name("#", part(3), of.Channel)
	case part(4) != "":
		return "/" + part(4)
	case part(5) != "":
		return ":" + part(5) + ":"
	case part(6) != "":
		return instant(part(6))
	}
	return "#" + part(7)
}

// instant is a time that every reader sees in their own zone.
func instant(unix string) string {
	n, err := strconv.ParseInt(unix, 10, 64)
	t := time.Unix(n, 0).UTC()
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return unix
	}
	return t.Format("2006-01-02 15:04 UTC")
}

// opening is a mention at the start of a text.
var opening = regexp.MustCompile(`^\s*<@(!|&|)(\d{1,20})>[ ,:]*`)

// WithoutMention is the text without the mentions of the bot that it begins with, as "@nod: do this" does. role is the bot's own, or "".
func WithoutMention(text, bot, role string) string {
	for {
		f := opening.FindStringSubmatchIndex(text)
		if f == nil {
			return text
		}
		want := bot
		if text[f[2]:f[3]] == "&" {
			want = role
		}
		if text[f[4]:f[5]] != want {
			return text
		}
		text = text[f[1]:]
	}
}

// FileNames names what a message holds beside its words. What was forwarded is quoted, not said.
func (m *Message) FileNames() (all []string) {
	for _, f := range m.Attachments {
		all = append(all, string(cmp.Or(f.Name, "a file")))
	}
	for _, s := range m.Stickers {
		all = append(all, "sticker: "+string(s.Name))
	}
	if m.Poll != nil {
		all = append(all, "poll: "+string(m.Poll.Question.Text))
	}
	if len(m.Snapshots) > 0 {
		all = append(all, "a forwarded message, quoted as text of somebody else")
	}
	return all
}

// maxPieces is how deep and how many components are read.
const maxPieces = 200

// Words are all that can be read of a message that somebody else, or a program, wrote.
func (m *Message) Words() string {
	parts := []string{string(m.Content)}
	if m.Content == "" {
		for _, e := range m.Embeds {
			parts = append(parts, string(e.Title), string(e.Description))
			for _, f := range e.Fields {
				parts = append(parts, strings.Trim(string(f.Name+": "+f.Value), ": "))
			}
		}
		left := maxPieces
		parts = append(parts, displayed(m.Components, &left)...)
	}
	for _, name := range m.enclosedFiles() {
		parts = append(parts, "["+surface.Shortened(name, 100)+"]")
	}
	var b strings.Builder
	for _, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(p)
	}
	return b.String()
}

func (m *Message) enclosedFiles() (all []string) {
	for _, f := range m.Attachments {
		all = append(all, "attached file: "+string(f.Name))
	}
	return all
}

// displayed is the text of components.
func displayed(of []Component, left *int) (all []string) {
	for i := range of {
		if *left--; *left < 0 {
			return all
		}
		all = append(all, string(of[i].Content))
		all = append(all, displayed(of[i].Components, left)...)
	}
	return all
}

// WrittenBy reports whether a user did.
func (m *Message) WrittenBy(user string) bool { return m.Author != nil && string(m.Author.ID) == user }

// Quote is a message of a guild as text of its author. It is not ok where the message says nothing.
func (m *Message) Quote(guild string, of Names) (q chat.Quote, ok bool) {
	switch m.Type {
	case typeDefault, typeReply, 20, 23: // 20 and 23 are answers of programs to commands
	default:
		return chat.Quote{}, false
	}
	q.Text = PlainText(m.Words(), of)
	if m.Author == nil || q.Text == "" {
		return q, q.Text != ""
	}
	q.Name = DisplayName(m.Author, m.Member)
	if !m.Author.Bot && m.Webhook == "" {
		q.By = ids.Person(guild, string(m.Author.ID))
	}
	q.Name = cmp.Or(q.Name, "a bot")
	return q, true
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
