package discord

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// entity is what Discord writes in "<>": people, roles, channels, commands, emoji, times, places of a server.
// https://discord.com/developers/docs/reference#message-formatting
var entity = regexp.MustCompile(`<(?:@!?(\d{1,20})|@&(\d{1,20})|#(\d{1,20})|/([^:<>\n]{1,120}):\d{1,20}|a?:(\w{2,32}):\d{1,20}|t:(-?\d{1,17})(?::[tTdDfFRsS])?|id:(\w{1,40}))>`)

// callings say what IDs are called, or "".
type callings struct{ user, role, channel func(id string) string }

// readable is text as a person sees it: mentions, channels, emoji and times written out.
func readable(text string, of callings) string {
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

func spelled(part func(int) string, of callings) string {
	name := func(sign, id string, look func(string) string) string {
		return sign + cmp.Or(surface.Shortened(look(id), 100), id)
	}
	switch {
	case part(1) != "":
		return name("@", part(1), of.user)
	case part(2) != "":
		return name("@", part(2), of.role)
	case part(3) != "":
		return name("#", part(3), of.channel)
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

// unaddressed is the text without the mentions of the bot that it begins with, as "@nod: do this" does. role is the bot's own, or "".
func unaddressed(text, bot, role string) string {
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

// wording is what a person wrote, as they see it, without the mention it begins with.
func (a *Adapter) wording(m *message) string {
	own := a.in.channels.ownRole(string(m.Guild))
	return readable(unaddressed(string(m.Content), a.self.User, own), a.namesIn(m))
}

// namesIn are the names that a message brings, and those of roles and channels that are known anyway. Nobody is asked.
func (a *Adapter) namesIn(m *message) callings {
	return callings{
		user: func(id string) string {
			if id == a.self.User {
				return render.Product
			}
			for i := range m.Mentions {
				if u := &m.Mentions[i]; string(u.ID) == id {
					return calledIn(&u.account, u.Member)
				}
			}
			return ""
		},
		role: a.in.channels.roleName,
		channel: func(id string) string {
			k, _ := a.in.channels.get(id, a.now())
			return k.Name
		},
	}
}

// enclosed names what a message holds beside its words. What was forwarded is quoted, not said (inbound_history.go).
func (m *message) enclosed() (all []string) {
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

// words are all that can be read of a message that somebody else, or a program, wrote.
func (m *message) words() string {
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

func (m *message) enclosedFiles() (all []string) {
	for _, f := range m.Attachments {
		all = append(all, "attached file: "+string(f.Name))
	}
	return all
}

// displayed is the text of components.
func displayed(of []piece, left *int) (all []string) {
	for i := range of {
		if *left--; *left < 0 {
			return all
		}
		all = append(all, string(of[i].Content))
		all = append(all, displayed(of[i].Components, left)...)
	}
	return all
}
