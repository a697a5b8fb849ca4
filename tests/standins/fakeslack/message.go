package fakeslack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Version is what a message said at some time.
type Version struct {
	Text     string
	Blocks   json.RawMessage // as they were sent; nil: none
	Metadata json.RawMessage
	At       time.Time
	Via      string // "chat.postMessage", "chat.update", "response_url" or "person"
}

// Message is one message as it is now, with what it said before.
type Message struct {
	Channel, TS string
	Thread      string    // timestamp of the root it replies to; empty: it is no reply
	User        string    // who wrote it; the bot's own user for the bot's
	BotID       string    // empty for people's
	Version               // as it is now
	Versions    []Version // every one, the last included. With Options.Lean only the last
	Edited      bool
	Deleted     bool
	Unfurl      Unfurl // what the post said of link previews
	Files       []string
	Replies     int

	beside Beside // of a person's message, or another program's
	root   *Message
}

// Unfurl is whether link previews are made of a message's links.
type Unfurl struct{ Links, Media bool }

// JSON gives the blocks as a value, for tests that look into them.
func (v Version) JSON() []map[string]any {
	var out []map[string]any
	_ = json.Unmarshal(v.Blocks, &out) // it was checked when it came in
	return out
}

// Ephemeral is a message that only one person sees.
type Ephemeral struct {
	Channel, TS, Thread, User string
	Version
	Deleted bool
}

// Session is an agent session.
type Session struct {
	Channel, Thread string
	Status          string // active, processing, suspended or closed
	Title           string
	History         []string // each status it was given
	Typing          string   // assistant.threads.setStatus; empty: none
	TypingSince     time.Time
	Prompts         []Prompt
}

// Prompt is a suggested prompt.
type Prompt struct{ Title, Message string }

// File is something that was uploaded.
type File struct {
	ID, Name, Title string
	Type            string // empty: text/plain
	Owner           string // empty: the bot
	Mode            string // empty: hosted; "tombstone", "external"
	Data            []byte
	At              string           // the address that Slack says; empty: the right one
	Answer          http.HandlerFunc `json:"-"` // what the right one gives to the bot; nil: Data
	Channel, Thread string           // where it was shared; empty: nowhere yet
}

// Message is a copy of one message. A deleted one is still here, with Deleted set.
func (s *Server) Message(channel, ts string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil || c.byTS[ts] == nil {
		return Message{}, false
	}
	return c.byTS[ts].copy(), true
}

// Messages are a channel's messages in order of time, without the deleted: all of them, or with a thread its root and replies.
func (s *Server) Messages(channel, thread string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil {
		return nil
	}
	var out []Message
	for _, m := range c.in(thread) {
		if !m.Deleted {
			out = append(out, m.copy())
		}
	}
	return out
}

// in are the messages of a thread, or of the whole channel.
func (c *channel) in(thread string) []*Message {
	if thread == "" {
		return c.messages
	}
	var out []*Message
	if root := c.byTS[thread]; root != nil {
		out = append(out, root)
	}
	return append(out, c.threads[thread]...)
}

func (m *Message) copy() Message {
	out := *m
	out.root = nil
	out.Versions = slices.Clone(m.Versions)
	out.Files = slices.Clone(m.Files)
	return out
}

// Ephemerals are what only this person saw, in order of time, without those deleted since.
func (s *Server) Ephemerals(user string) []Ephemeral {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Ephemeral, 0, len(s.ephs[user]))
	for _, e := range s.ephs[user] {
		if !e.Deleted {
			out = append(out, *e)
		}
	}
	return out
}

// Session is the agent session of a thread.
func (s *Server) Session(channel, thread string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[[2]string{channel, thread}]
	if x == nil {
		return Session{}, false
	}
	out := *x
	if s.clock.Now().Sub(x.TypingSince) >= TypingFor {
		out.Typing = ""
	}
	out.History, out.Prompts = slices.Clone(x.History), slices.Clone(x.Prompts)
	return out, true
}

// Files are the uploaded files, by ID.
func (s *Server) Files() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []File
	for _, f := range s.files {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.ID, b.ID) })
	return out
}
