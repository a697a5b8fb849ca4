package fakediscord

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Flags of a message. https://docs.discord.com/developers/resources/message#message-object-message-flags
const (
	FlagSuppressEmbeds        = 1 << 2
	FlagHasThread             = 1 << 5
	FlagEphemeral             = 1 << 6
	FlagLoading               = 1 << 7
	FlagSuppressNotifications = 1 << 12
	FlagComponentsV2          = 1 << 15
)

// Types of a message. https://docs.discord.com/developers/resources/message#message-object-message-types
const (
	TypeDefault       = 0
	TypeJoin          = 7
	TypeThreadCreated = 18
	TypeReply         = 19
	TypeCommand       = 20
	TypeThreadStarter = 21
)

// Version is what a message says at one time.
type Version struct {
	Content      string
	Embeds       []any
	Components   []any // as Discord gives them back
	Attachments  []Attachment
	Flags        int
	Mentions     []string // users, after allowed_mentions
	MentionRoles []string
	Everyone     bool
	At           time.Time
	Via          string // the method that made it, "callback", or "person"
}

// Attachment is a file of a message.
type Attachment struct {
	ID, Name, Description, Type string
	Size                        int
	URL                         string           // for [Server.Post], empty: the right one
	Data                        []byte           // of a person's file, for [Server.Post]; nil: it cannot be downloaded
	Answer                      http.HandlerFunc `json:"-"` // what the right address gives while it is good; nil: Data
}

// Reference is what a message answers, or where a thread came from.
type Reference struct {
	Message, Channel, Guild string
	Kind                    int // 1: it is forwarded
}

// Message is a message. It embeds what it says now.
type Message struct {
	ID      string
	Channel string
	Guild   string // empty in a DM
	Author  string // user, or the webhook
	Webhook string // the webhook's ID; the application's for answers to interactions
	Type    int
	Version
	Versions  []Version // all, the present one last
	Reference *Reference
	Edited    time.Time // zero: never
	Nonce     string
	Thread    string // the thread that was started on it
	Deleted   bool
	Ephemeral string   // the only person who sees it
	Pinged    []string // who was notified when it came
	Name      string   // of a webhook's author

	nonceJSON any // as it was sent
	poll      any
	snapshot  obj // of the message that it forwards
	kind      int // of the interaction it came of
	by        string
	cause     string // the interaction's ID
	on        string // the message whose component it was
}

// Message is a message as it is now, or as it was when it was deleted; also one that only one person sees.
func (s *Server) Message(channel, id string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.hidden {
		if m.ID == id {
			return m.copy(), true
		}
	}
	if c := s.channels[channel]; c != nil {
		for _, m := range c.messages {
			if m.ID == id {
				return m.copy(), true
			}
		}
	}
	return Message{}, false
}

// Messages are the messages of a channel that everybody there sees, oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if c := s.channels[channel]; c != nil {
		for _, m := range c.messages {
			if !m.Deleted {
				out = append(out, m.copy())
			}
		}
	}
	return out
}

// Mine are the bot's own messages in a channel, oldest first.
func (s *Server) Mine(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Author != s.opt.BotUser })
}

// Seen are the ephemeral messages of a channel that a person has on screen, oldest first.
func (s *Server) Seen(user, channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.hidden {
		if m.Ephemeral == user && m.Channel == channel && !m.Deleted {
			out = append(out, m.copy())
		}
	}
	return out
}

func (m *Message) copy() Message {
	out := *m
	out.Versions, out.Pinged = slices.Clone(m.Versions), slices.Clone(m.Pinged)
	return out
}

// Text is what a person reads: the content, or the texts of the components with their selects and buttons in brackets.
func (v Version) Text() string {
	lines := []string{}
	if v.Content != "" {
		lines = append(lines, v.Content)
	}
	walk(v.Components, func(c obj) {
		switch integer(c["type"]) {
		case kindText:
			lines = append(lines, str(c, "content"))
		case kindSeparator:
			lines = append(lines, "---")
		case kindButton:
			lines = append(lines, "["+str(c, "label")+"]")
		case kindSelect:
			lines = append(lines, "["+str(c, "placeholder")+" ▾]")
		}
	})
	for _, a := range v.Attachments {
		lines = append(lines, "<"+a.Name+">")
	}
	return strings.Join(lines, "\n")
}

// Accent is the colour of the first container; -1: none.
func (v Version) Accent() int {
	colour := -1
	walk(v.Components, func(c obj) {
		if integer(c["type"]) == kindContainer && c["accent_color"] != nil && colour < 0 {
			colour = integer(c["accent_color"])
		}
	})
	return colour
}

// Links are the addresses of link buttons and of plain http links in the texts: what Discord's crawler would fetch, and where a
// click goes.
func (v Version) Links() []string {
	out := linksIn(v.Content)
	walk(v.Components, func(c obj) {
		if u := str(c, "url"); u != "" {
			out = append(out, u)
		}
		if integer(c["type"]) == kindText {
			out = append(out, linksIn(str(c, "content"))...)
		}
	})
	return out
}

// linksIn finds what Discord makes a link of: http and https addresses outside code.
func linksIn(text string) []string {
	var out []string
	for i, fenced := range strings.Split(text, "```") {
		if i%2 == 1 {
			continue
		}
		for j, part := range strings.Split(fenced, "`") {
			if j%2 == 1 {
				continue
			}
			for _, word := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \n\t<>()[]\"|", r) }) {
				if at := max(strings.Index(word, "https://"), strings.Index(word, "http://")); at >= 0 {
					out = append(out, word[at:])
				}
			}
		}
	}
	return out
}

// walk calls f for every component, depth first, a section's accessory after its texts.
func walk(list []any, f func(obj)) {
	for _, e := range list {
		c, ok := e.(obj)
		if !ok {
			continue
		}
		f(c)
		inner, _ := c["components"].([]any)
		walk(inner, f)
		for _, k := range []string{"accessory", "component"} {
			if c[k] != nil {
				walk([]any{c[k]}, f)
			}
		}
	}
}

// put adds a message to a channel. s.mu is held.
func (s *Server) put(c *channel, m *Message, v Version) *Message {
	m.ID, m.Channel, m.Guild = s.id(), c.ID, c.Guild
	v.At = s.clock.Now()
	m.Version, m.Versions = v, []Version{v}
	for _, u := range v.Mentions {
		if u != m.Author && v.Flags&FlagSuppressNotifications == 0 {
			m.Pinged = append(m.Pinged, u)
		}
	}
	if m.Ephemeral != "" {
		s.hidden = append(s.hidden, m)
		s.Fire()
		return m
	}
	c.messages = append(c.messages, m)
	if c.Archived { // sending un-archives: https://docs.discord.com/developers/topics/threads
		c.Archived = false
		s.channelEvent("THREAD_UPDATE", c)
	}
	if c.Thread() && m.Author != "" && m.Webhook == "" {
		s.join(c, m.Author)
	}
	s.Fire()
	return m
}

// change gives a message something else to say. s.mu is held.
func (s *Server) change(m *Message, v Version) {
	v.At = s.clock.Now()
	m.Version = v
	if s.opt.Lean {
		m.Versions = m.Versions[:0]
	}
	m.Versions = append(m.Versions, v)
	s.Fire()
}

func str(o obj, k string) string {
	v, _ := o[k].(string)
	return v
}

// integer is a JSON number as an int, of any Go type it may have here; 0 for all else.
func integer(v any) int {
	switch n := v.(type) {
	case json.Number:
		i, _ := n.Int64()
		return int(i)
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}
