package fakeslack

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxPostText is where chat.postMessage truncates its text. https://docs.slack.dev/reference/methods/chat.postMessage
	MaxPostText = 40_000
	// MaxUpdateText is where chat.update refuses its text. https://docs.slack.dev/reference/methods/chat.update
	MaxUpdateText = 4_000
	// MaxMetadata is the size of event_payload, in bytes. Slack states none; measured at about 15 KB by others.
	MaxMetadata = 15_000
)

// content is what a message is to say.
type content struct {
	text     string
	blocks   json.RawMessage
	metadata json.RawMessage
}

// contentOf reads and checks text, blocks and metadata of a request.
func contentOf(v values) (content, *refusal) {
	c := content{text: v.Get("text")}
	if md := v.Get("markdown_text"); md != "" {
		if c.text != "" || v.Get("blocks") != "" {
			return c, &refusal{Error: "markdown_text_conflict"}
		}
		if utf8.RuneCountInString(md) > maxMarkdown {
			return c, &refusal{Error: "msg_too_long"}
		}
		c.text = md
	}
	if raw := strings.TrimSpace(v.Get("blocks")); raw != "" && raw != "[]" {
		if bad := checkMessage([]byte(raw)); bad != nil {
			return c, bad
		}
		c.blocks = json.RawMessage(raw)
	}
	if raw := v.Get("metadata"); raw != "" && raw != "{}" {
		var m struct {
			EventType string          `json:"event_type"`
			Payload   json.RawMessage `json:"event_payload"`
		}
		if json.Unmarshal([]byte(raw), &m) != nil {
			return c, &refusal{Error: "invalid_metadata_format"}
		}
		if m.EventType == "" && string(m.Payload) == "null" { // what slack-go writes for none
			return c, nil
		}
		if m.EventType == "" || len(m.Payload) == 0 {
			return c, &refusal{Error: "invalid_metadata_schema"}
		}
		if len(m.Payload) > MaxMetadata {
			return c, &refusal{Error: "metadata_too_large"}
		}
		c.metadata = json.RawMessage(raw)
	}
	return c, nil
}

func (c content) empty() bool { return strings.TrimSpace(c.text) == "" && c.blocks == nil }

// writable is the channel if the bot may write to it. s.mu is held.
func (s *Server) writable(id string) (*channel, *refusal) {
	if id == "" {
		return nil, &refusal{Error: "channel_not_found"}
	}
	if u := s.users[id]; u != nil && !u.Bot { // a person's ID means the conversation with them
		return s.dm(id), nil
	}
	c := s.channels[id]
	switch {
	case c == nil:
		return nil, &refusal{Error: "channel_not_found"}
	case c.Archived:
		return nil, &refusal{Error: "is_archived"}
	case s.member(c):
		return c, nil
	case c.Kind == Public && slices.Contains(s.opt.Scopes, "chat:write.public"):
		return c, nil
	case c.Kind == Public:
		return nil, &refusal{Error: "not_in_channel"}
	}
	return nil, &refusal{Error: "channel_not_found"}
}

// member reports whether the bot is there: in a workspace that removed it it is nowhere. s.mu is held.
func (s *Server) member(c *channel) bool {
	return s.token != "" && slices.Contains(c.Members, s.opt.BotUser)
}

func postMessage(s *Server, v values) (map[string]any, *refusal) {
	what, bad := contentOf(v)
	if bad != nil {
		return nil, bad
	}
	if r := []rune(what.text); len(r) > MaxPostText {
		what.text = string(r[:MaxPostText])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, bad := s.writable(v.Get("channel"))
	if bad != nil {
		return nil, bad
	}
	if what.empty() {
		return no("no_text")
	}
	thread, bad := c.thread(v.Get("thread_ts"))
	if bad != nil {
		return nil, bad
	}
	m := s.put(c, thread, Version{Text: what.text, Blocks: what.blocks, Metadata: what.metadata, Via: "chat.postMessage"}, s.opt.BotUser)
	if x := s.sessions[[2]string{c.ID, thread}]; x != nil {
		x.Typing = ""
	}
	if !s.opt.NoEcho {
		s.outbox = append(s.outbox, s.said(c, m)...)
	}
	m.Unfurl = Unfurl{Links: v.Get("unfurl_links") == "true", Media: v.Get("unfurl_media") != "false"} // apps: links off, media on
	s.Fire()
	return map[string]any{"channel": c.ID, "ts": m.TS, "message": s.wire(m, m.Version)}, nil
}

// thread is the root that a thread_ts means: that of a reply is its root's.
func (c *channel) thread(ts string) (string, *refusal) {
	if ts == "" {
		return "", nil
	}
	m := c.byTS[ts]
	switch {
	case m == nil, m.Deleted && len(c.threads[ts]) == 0:
		return "", &refusal{Error: "thread_not_found"}
	case m.Thread != "":
		return m.Thread, nil
	}
	return ts, nil
}

// put writes a message. s.mu is held.
func (s *Server) put(c *channel, thread string, v Version, user string) *Message {
	v.At = s.clock.Now()
	m := &Message{Channel: c.ID, TS: s.stamp(), Thread: thread, User: user, Version: v, Versions: []Version{v}}
	if user == s.opt.BotUser {
		m.BotID = s.opt.BotID
	}
	c.messages = append(c.messages, m)
	c.byTS[m.TS] = m
	if root := c.byTS[thread]; thread != "" && root != nil {
		c.threads[thread] = append(c.threads[thread], m)
		root.Replies++
	}
	return m
}

// change gives a message a new version. s.mu is held.
func (s *Server) change(m *Message, v Version) {
	v.At = s.clock.Now()
	m.Version = v
	if s.opt.Lean {
		m.Versions = m.Versions[:0]
	}
	m.Versions = append(m.Versions, v)
}

// swap is a change by the app, with the event of it. s.mu is held.
func (s *Server) swap(c *channel, m *Message, v Version) {
	if s.opt.NoEcho {
		s.change(m, v)
	} else {
		before := s.wire(m, m.Version)
		s.change(m, v)
		s.outbox = append(s.outbox, s.edited(c, m, before)...)
	}
	s.Fire()
}

func updateMessage(s *Server, v values) (map[string]any, *refusal) {
	what, bad := contentOf(v)
	if bad != nil {
		return nil, bad
	}
	if utf8.RuneCountInString(what.text) > MaxUpdateText {
		return no("msg_too_long")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, bad := s.own(v, "cant_update_message")
	if bad != nil {
		return nil, bad
	}
	_, given := v["blocks"]
	if what.empty() && !given {
		return no("no_text")
	}
	next := Version{Text: what.text, Blocks: what.blocks, Metadata: what.metadata, Via: "chat.update"}
	switch { // blocks replace wholly; text alone removes them; blocks alone keep the text
	case what.text == "" && v.Get("text") == "":
		next.Text = m.Text
	case what.blocks == nil:
		m.Edited = true
	}
	if what.metadata == nil && v.Get("metadata") == "" {
		next.Metadata = m.Metadata
	}
	s.swap(c, m, next)
	return map[string]any{"channel": c.ID, "ts": m.TS, "text": m.Text, "message": s.wire(m, m.Version)}, nil
}

// own is the bot's own message that a request names. s.mu is held.
func (s *Server) own(v values, foreign string) (*channel, *Message, *refusal) {
	c, bad := s.writable(v.Get("channel"))
	if bad != nil {
		return nil, nil, bad
	}
	m := c.byTS[v.Get("ts")]
	switch {
	case m == nil || m.Deleted:
		return nil, nil, &refusal{Error: "message_not_found"}
	case m.User != s.opt.BotUser:
		return nil, nil, &refusal{Error: foreign}
	}
	return c, m, nil
}

func deleteMessage(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, bad := s.own(v, "cant_delete_message")
	if bad != nil {
		return nil, bad
	}
	s.outbox = append(s.outbox, s.remove(c, m)...)
	return map[string]any{"channel": c.ID, "ts": m.TS}, nil
}

// remove deletes a message and returns the event of it. s.mu is held.
func (s *Server) remove(c *channel, m *Message) []map[string]any {
	before := s.wire(m, m.Version)
	m.Deleted = true
	if m.Thread != "" {
		c.threads[m.Thread] = slices.DeleteFunc(c.threads[m.Thread], func(x *Message) bool { return x == m })
		c.byTS[m.Thread].Replies--
	}
	s.Fire()
	return s.inChannel(c, map[string]any{"type": "message", "subtype": "message_deleted", "hidden": true, "deleted_ts": m.TS, "previous_message": before})
}

func postEphemeral(s *Server, v values) (map[string]any, *refusal) {
	what, bad := contentOf(v)
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, bad := s.writable(v.Get("channel"))
	if bad != nil {
		return nil, bad
	}
	user := v.Get("user")
	switch {
	case what.empty():
		return no("no_text")
	case s.users[user] == nil:
		return no("user_not_found")
	case !slices.Contains(c.Members, user):
		return no("user_not_in_channel")
	}
	thread, bad := c.thread(v.Get("thread_ts"))
	if bad != nil {
		return nil, bad
	}
	e := s.whisper(c.ID, thread, user, Version{Text: what.text, Blocks: what.blocks, Via: "chat.postEphemeral"})
	return map[string]any{"message_ts": e.TS}, nil
}

// whisper shows something to one person. s.mu is held.
func (s *Server) whisper(channel, thread, user string, v Version) *Ephemeral {
	v.At = s.clock.Now()
	e := &Ephemeral{Channel: channel, TS: s.stamp(), Thread: thread, User: user, Version: v}
	s.ephs[user] = append(s.ephs[user], e)
	s.Fire()
	return e
}

func permalink(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[v.Get("channel")]
	if c == nil {
		return no("channel_not_found")
	}
	m := c.byTS[v.Get("message_ts")]
	if m == nil || m.Deleted {
		return no("message_not_found")
	}
	link := s.base + "/archives/" + c.ID + "/p" + strings.ReplaceAll(m.TS, ".", "")
	if m.Thread != "" {
		link += "?thread_ts=" + m.Thread + "&cid=" + c.ID
	}
	return map[string]any{"channel": c.ID, "permalink": link}, nil
}
