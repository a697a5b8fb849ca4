package fakediscord

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// NonceFor is how long a nonce is remembered: "the past few minutes", the documentation says.
// https://docs.discord.com/developers/resources/message#create-message
const NonceFor = 3 * time.Minute

// place is the channel of a request, if the bot can see it. s.mu is held.
func (s *Server) place(q *request) (*channel, *refusal) {
	id := q.path("channel")
	if !snowflake(id) {
		return nil, &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"channel_id": leaf("NUMBER_TYPE_COERCE", "Value \""+id+"\" is not snowflake.")}}
	}
	c := s.channels[id]
	if c == nil || c.deleted {
		r := unknownChannel
		return nil, &r
	}
	if g := s.guilds[c.Guild]; c.Guild != "" && (g == nil || !s.sees(c)) {
		r := missingAccess
		return nil, &r
	}
	return c, nil
}

// sendable reports why the bot may not write to a channel. s.mu is held.
func (s *Server) sendable(c *channel) *refusal {
	need := SendMessages
	if c.Thread() {
		need = SendMessagesInThreads // https://docs.discord.com/developers/topics/threads#permissions
	}
	r := notAllowed
	switch {
	case c.Kind == Forum:
		r = refusal{status: 400, code: 50008, message: "Cannot send messages in a non-text channel"}
	case c.Kind == DM && s.noDMs[c.With], c.Kind == DM && s.users[c.With] != nil && s.users[c.With].Bot:
		r = refusal{status: 403, code: 50007, message: "Cannot send messages to this user"}
	case !s.may(c, need):
	case c.Locked && c.Archived && !s.may(c, ManageThreads):
		r = archived
		r.status = 403
	case c.Locked && !s.may(c, ManageThreads):
		r = locked
	default:
		return nil
	}
	return &r
}

func createMessage(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	if bad := s.sendable(c); bad != nil {
		return 0, nil, bad
	}
	d, bad := checkMessage(q.body(), where{files: q.files})
	if bad != nil {
		return 0, nil, bad
	}
	if len(q.files) > 0 && !s.may(c, AttachFiles) {
		return notAllowed.answer()
	}
	if m := s.repeated(d); m != nil {
		return 200, s.wireMessage(m), nil
	}
	m := &Message{Author: s.opt.BotUser, nonceJSON: d.nonce}
	if bad := s.answering(c, d, m); bad != nil {
		return 0, nil, bad
	}
	s.publish(c, m, d, q, CreateMessage)
	return 200, s.wireMessage(m), nil
}

// publish puts a draft into a channel and tells everybody. s.mu is held.
func (s *Server) publish(c *channel, m *Message, d *draft, q *request, via string) {
	v := s.compose(c, d, via)
	if r := m.Reference; r != nil && d.allowed.replied {
		if of := c.find(r.Message); of != nil && of.Webhook == "" && !slices.Contains(v.Mentions, of.Author) {
			v.Mentions = append(v.Mentions, of.Author)
		}
	}
	s.store(c, v, d.uploads, q.files)
	s.put(c, m, v)
	if d.nonce != nil {
		m.Nonce = nonce(d.nonce)
		s.nonces[m.Nonce] = m
	}
	s.messageEvent("MESSAGE_CREATE", m)
}

func nonce(v any) string {
	if t, ok := v.(string); ok {
		return t
	}
	return strconv.Itoa(integer(v))
}

// repeated is the message that an enforced nonce was used for a moment ago. s.mu is held.
func (s *Server) repeated(d *draft) *Message {
	if !d.enforce || d.nonce == nil {
		return nil
	}
	m := s.nonces[nonce(d.nonce)]
	if m == nil || m.Deleted || s.clock.Now().Sub(Time(m.ID)) > NonceFor {
		return nil
	}
	return m
}

// answering makes a message a reply. s.mu is held.
func (s *Server) answering(c *channel, d *draft, m *Message) *refusal {
	if d.reply == nil {
		return nil
	}
	if !s.may(c, ReadMessageHistory) {
		return &refusal{status: 403, code: 160002, message: "Cannot reply without permission to read message history"}
	}
	of := c.find(d.reply.Message)
	if of == nil || d.reply.Channel != "" && d.reply.Channel != c.ID {
		if !d.mustReply {
			return nil
		}
		return &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"message_reference": leaf("REPLIES_UNKNOWN_MESSAGE", "Unknown message")}}
	}
	if of.Type != TypeDefault && of.Type != TypeReply && of.Type != TypeCommand {
		return &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"message_reference": leaf("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")}}
	}
	m.Type, m.Reference = TypeReply, &Reference{Message: of.ID, Channel: c.ID, Guild: c.Guild}
	return nil
}

func editMessage(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	m := c.find(q.path("message"))
	switch {
	case m == nil:
		return unknownMessage.answer()
	case m.Author != s.opt.BotUser:
		return no(403, 50005, "Cannot edit a message authored by another user")
	case c.Archived:
		return archived.answer()
	case c.Locked && !s.may(c, ManageThreads):
		return locked.answer()
	}
	if bad := s.old(m); bad != nil {
		return 0, nil, bad
	}
	if bad := s.edit(c, m, q, EditMessage); bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireMessage(m), nil
}

// edit changes a message as a request says. s.mu is held.
func (s *Server) edit(c *channel, m *Message, q *request, via string) *refusal {
	return s.editBody(c, m, q.body(), q.files, via)
}

func (s *Server) editBody(c *channel, m *Message, body obj, files map[string]upload, via string) *refusal {
	d, bad := checkMessage(body, where{edit: m, files: files})
	if bad != nil {
		return bad
	}
	v := s.compose(c, d, via)
	s.store(c, v, d.uploads, files)
	if !d.has["content"] && !d.has["components"] {
		v.Mentions, v.MentionRoles, v.Everyone = m.Mentions, m.MentionRoles, m.Everyone
	}
	m.Edited = s.clock.Now()
	s.change(m, v)
	s.messageEvent("MESSAGE_UPDATE", m)
	return nil
}

func deleteMessage(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	m := c.find(q.path("message"))
	switch {
	case m == nil:
		return unknownMessage.answer()
	case m.Author != s.opt.BotUser && c.Kind == DM:
		return no(403, 50003, "Cannot execute action on a DM channel")
	case m.Author != s.opt.BotUser && !s.may(c, ManageMessages):
		return notAllowed.answer()
	case c.Locked && c.Archived && !s.may(c, ManageThreads):
		return archived.answer()
	}
	s.remove(m)
	return 204, nil, nil
}

func getMessage(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	if !s.may(c, ReadMessageHistory) {
		return missingAccess.answer()
	}
	m := c.find(q.path("message"))
	if m == nil {
		return unknownMessage.answer()
	}
	return 200, s.forReaders(m, s.wireMessage(m), !s.noContent), nil
}

// getMessages answers newest first. Without READ_MESSAGE_HISTORY there is nothing to read:
// https://docs.discord.com/developers/resources/message#get-channel-messages
func getMessages(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	v := q.http.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(v.Get("limit"), "50"))
	if err != nil || limit < 1 || limit > 100 {
		return 0, nil, &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"limit": leaf("NUMBER_TYPE_MAX", "int value should be between 1 and 100.")}}
	}
	var there []*Message
	for _, m := range c.messages {
		if !m.Deleted && s.may(c, ReadMessageHistory) {
			there = append(there, m)
		}
	}
	out := []any{}
	for _, m := range slices.Backward(window100(there, v.Get("before"), v.Get("after"), v.Get("around"), limit)) {
		out = append(out, s.forReaders(m, s.wireMessage(m), !s.noContent))
	}
	return 200, out, nil
}

// window100 are the messages that were asked for, oldest first. all is by ID.
func window100(all []*Message, until, after, around string, limit int) []*Message {
	at := func(id string, and bool) int { // the first that is later, or with and also the one itself
		i := 0
		for i < len(all) && (before(all[i].ID, id) || !and && all[i].ID == id) {
			i++
		}
		return i
	}
	switch {
	case around != "":
		i := at(around, true)
		lo := max(0, i-limit/2)
		return all[lo:min(len(all), lo+limit)]
	case after != "":
		lo := at(after, false)
		return all[lo:min(len(all), lo+limit)]
	case until != "":
		all = all[:at(until, true)]
	}
	return all[max(0, len(all)-limit):]
}

func triggerTyping(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad == nil {
		bad = s.sendable(c)
	}
	if bad != nil {
		return 0, nil, bad
	}
	c.typing++
	s.Fire()
	return 204, nil, nil
}
