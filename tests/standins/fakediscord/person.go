package fakediscord

import (
	"cmp"
	"time"
)

// What people do. Each makes the change and sends the events that the program would get for it.

// Post is a message in full, for what [Server.Say] and [Server.Reply] do not say.
type Post struct {
	User    string // empty with Webhook
	Channel string
	Text    string
	To      string // the message it answers
	NoPing  bool   // the answer does not mention who wrote that
	Webhook string // the name under which a webhook writes it
	Type    int    // of a system message
	Files   []Attachment
	// Components are put into the message as they are, also kinds that nobody knows.
	Components []any
	Embeds     []any
	Poll       any    // https://docs.discord.com/developers/resources/poll#poll-object
	Forward    string // the message of the same channel that it forwards, as a snapshot
}

// Say writes a message as a person and returns its ID. Mentions are written as Discord writes them, <@ID>. A message into an
// archived thread opens it again. It panics on a person or channel that does not exist.
func (s *Server) Say(user, channel, text string) (id string) {
	return s.Post(Post{User: user, Channel: channel, Text: text})
}

// Reply answers a message as a person, and mentions its author as the client does unless told otherwise.
func (s *Server) Reply(user, channel, to, text string) (id string) {
	return s.Post(Post{User: user, Channel: channel, Text: text, To: to})
}

// Post writes any message.
func (s *Server) Post(p Post) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[p.Channel]
	m := &Message{Author: p.User, Type: p.Type}
	if p.Webhook != "" {
		m.Author, m.Name = "600000000000000001", p.Webhook
		m.Webhook = m.Author
	} else if err := s.person(p.User, p.Channel); err != nil {
		panic(err)
	}
	if c.Locked {
		panic("fakediscord: " + p.Channel + " is locked")
	}
	v := Version{Content: p.Text, Via: "person", Components: settled(p.Components), Embeds: rich(p.Embeds), Attachments: p.Files}
	v.Mentions, v.MentionRoles, v.Everyone = s.mentioned(c, p.Text, allowed{users: true, roles: true, everyone: true})
	if p.To != "" {
		of := c.find(p.To)
		if of == nil {
			panic("fakediscord: no message " + p.To + " in " + p.Channel)
		}
		m.Type, m.Reference = TypeReply, &Reference{Message: of.ID, Channel: c.ID, Guild: c.Guild}
		if !p.NoPing && !contains(v.Mentions, of.Author) && of.Author != p.User {
			v.Mentions = append(v.Mentions, of.Author)
		}
	}
	if p.Poll != nil {
		m.poll = completed([]any{p.Poll}, obj{"expiry": stamp(s.clock.Now().Add(24 * time.Hour)), "allow_multiselect": false, "layout_type": 1,
			"results": obj{"is_finalized": false, "answer_counts": []any{}}})[0]
	}
	if p.Forward != "" {
		of := c.find(p.Forward)
		m.Reference, m.snapshot = &Reference{Message: of.ID, Channel: c.ID, Guild: c.Guild, Kind: 1}, s.wireSnapshot(of)
	}
	for i := range v.Attachments {
		a := &v.Attachments[i]
		a.ID = s.id()
		path := "/attachments/" + c.ID + "/" + a.ID + "/" + a.Name
		a.URL = cmp.Or(a.URL, s.Base()+path)
		if a.Answer != nil {
			s.answers[path] = a.Answer
		}
		if a.Data != nil {
			a.Size, s.files[path] = len(a.Data), a.Data
		}
	}
	s.put(c, m, v)
	s.messageEvent("MESSAGE_CREATE", m)
	return m.ID
}

// EditMessage changes what a person said.
func (s *Server) EditMessage(channel, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m := s.channels[channel], s.any(channel, id)
	v := m.Version
	v.Content, v.Via = text, "person"
	v.Mentions, v.MentionRoles, v.Everyone = s.mentioned(c, text, allowed{users: true, roles: true, everyone: true})
	m.Edited = s.clock.Now()
	s.change(m, v)
	s.messageEvent("MESSAGE_UPDATE", m)
}

// TakeFiles takes the files off a person's message, as its author can.
func (s *Server) TakeFiles(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.any(channel, id)
	v := m.Version
	v.Attachments, v.Via = nil, "person"
	m.Edited = s.clock.Now()
	s.change(m, v)
	s.messageEvent("MESSAGE_UPDATE", m)
}

// Unfurl adds the preview of a link to a message. Discord sends a MESSAGE_UPDATE for it, although nobody edited anything.
func (s *Server) Unfurl(channel, id, link string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.any(channel, id)
	v := m.Version
	v.Embeds, v.Via = append(v.Embeds[:len(v.Embeds):len(v.Embeds)], obj{"type": "link", "url": link, "title": "A page"}), "discord"
	s.change(m, v)
	s.messageEvent("MESSAGE_UPDATE", m)
}

// DeleteMessage deletes any message, the bot's too.
func (s *Server) DeleteMessage(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.any(channel, id))
}

// DeleteMessages deletes several at once: one MESSAGE_DELETE_BULK.
func (s *Server) DeleteMessages(channel string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	for _, id := range ids {
		s.any(channel, id).Deleted = true
	}
	s.dispatch(event{name: "MESSAGE_DELETE_BULK", guild: c.Guild, intents: IntentMessages, data: obj{"ids": list(ids), "channel_id": c.ID, "guild_id": c.Guild}})
	s.Fire()
}

// CreateThread starts a public thread as a person: on a message, or with an empty one without. It returns the thread's ID.
func (s *Server) CreateThread(user, channel, on, name string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.person(user, channel); err != nil {
		panic(err)
	}
	var m *Message
	if on != "" {
		m = s.any(channel, on)
	}
	return s.thread(s.channels[channel], m, user, obj{"name": name, "type": PublicThread}).ID
}

// Archive archives a thread, or opens it again.
func (s *Server) Archive(thread string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setThread(s.channels[thread], obj{"archived": archived})
}

// Lock locks a thread: nobody without MANAGE_THREADS writes to it any more. With archive it is archived at the same time, as a
// moderator's "Close and lock" does.
func (s *Server) Lock(thread string, locked, archive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setThread(s.channels[thread], obj{"locked": locked, "archived": archive})
}

// Rename renames a channel or thread.
func (s *Server) Rename(channel, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	c.Name = name
	if c.Thread() {
		s.channelEvent("THREAD_UPDATE", c)
	} else {
		s.channelEvent("CHANNEL_UPDATE", c)
	}
	s.Fire()
}

// DeleteChannel deletes a channel or thread with all that is in it.
func (s *Server) DeleteChannel(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.channels[channel])
}

// Type shows that a person is typing.
func (s *Server) Type(user, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	e := event{name: "TYPING_START", guild: c.Guild, intents: IntentTyping, data: obj{"channel_id": c.ID, "user_id": user, "timestamp": s.clock.Now().Unix()}}
	if c.Guild == "" {
		e.intents = IntentDirectTyping
	} else {
		e.data["guild_id"], e.data["member"] = c.Guild, s.wireMember(s.guilds[c.Guild], user, true)
	}
	s.dispatch(e)
}

// AllowContent switches the MESSAGE_CONTENT intent of the application on or off, as a person does in the developer portal.
func (s *Server) AllowContent(allow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noContent = !allow
}
