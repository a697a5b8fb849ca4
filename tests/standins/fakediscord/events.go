package fakediscord

import (
	"slices"
	"strings"
)

// Intents, by which an IDENTIFY chooses its events. https://docs.discord.com/developers/events/gateway#list-of-intents
const (
	IntentGuilds         = 1 << 0
	IntentMembers        = 1 << 1 // privileged
	IntentPresences      = 1 << 8 // privileged
	IntentMessages       = 1 << 9
	IntentTyping         = 1 << 11
	IntentDirectMessages = 1 << 12
	IntentDirectTyping   = 1 << 14
	IntentContent        = 1 << 15 // privileged

	intentsKnown = 1<<26 - 1 - 1<<17 - 1<<18 - 1<<19 - 1<<22 - 1<<23
)

// event is something to dispatch.
type event struct {
	name    string
	guild   string // empty: a DM, or everybody's
	intents int    // any of them; 0: every session gets it
	data    obj
	message *Message // whose content needs the intent
}

// inOrder are all channels that are there, by ID.
func (s *Server) inOrder() []*channel {
	var out []*channel
	for _, c := range s.channels {
		if !c.deleted {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *channel) int { return order(a.ID, b.ID) })
	return out
}

// channelEvent tells of a channel or thread, if the bot may see it. s.mu is held.
func (s *Server) channelEvent(name string, c *channel) {
	if c.Kind != DM && s.sees(c) {
		s.dispatch(event{name: name, guild: c.Guild, intents: IntentGuilds, data: s.wireChannel(c)})
	}
}

// syncThreads tells of the threads of a channel that the bot came to see. s.mu is held.
func (s *Server) syncThreads(parent *channel) {
	threads, members := []any{}, []any{}
	for _, c := range s.inOrder() {
		if c.Parent == parent.ID && c.Thread() && !c.Archived {
			threads = append(threads, s.wireChannel(c))
			if slices.Contains(c.People, s.opt.BotUser) {
				members = append(members, s.wireThreadMember(c, s.opt.BotUser))
			}
		}
	}
	s.dispatch(event{name: "THREAD_LIST_SYNC", guild: parent.Guild, intents: IntentGuilds,
		data: obj{"guild_id": parent.Guild, "channel_ids": []any{parent.ID}, "threads": threads, "members": members}})
}

// join adds somebody to a thread. s.mu is held.
func (s *Server) join(c *channel, user string) {
	if slices.Contains(c.People, user) {
		return
	}
	c.People = append(c.People, user)
	member := s.wireThreadMember(c, user)
	e := event{name: "THREAD_MEMBERS_UPDATE", guild: c.Guild, intents: IntentMembers,
		data: obj{"id": c.ID, "guild_id": c.Guild, "member_count": min(len(c.People), 50), "added_members": []any{member}, "removed_member_ids": []any{}}}
	if user == s.opt.BotUser {
		e.intents = IntentGuilds | IntentMembers
		if c.Kind == PrivateThread {
			data := s.wireChannel(c)
			data["newly_created"] = false
			s.dispatch(event{name: "THREAD_CREATE", guild: c.Guild, intents: IntentGuilds, data: data})
		}
	}
	if s.sees(c) {
		s.dispatch(e)
	}
}

// messageEvent tells of a message that came or changed. Nobody but one person knows of ephemeral ones. s.mu is held.
func (s *Server) messageEvent(name string, m *Message) {
	c := s.channels[m.Channel]
	if c == nil || m.Ephemeral != "" || !s.sees(c) {
		return
	}
	data := s.wireMessage(m)
	data["channel_type"] = c.Kind
	e := event{name: name, guild: c.Guild, intents: IntentMessages, data: data, message: m}
	if c.Kind == DM {
		e.intents = IntentDirectMessages
		s.dispatch(e)
		return
	}
	g := s.guilds[c.Guild]
	data["guild_id"] = c.Guild
	if m.Webhook == "" {
		if member := s.wireMember(g, m.Author, false); member != nil {
			data["member"] = member
		}
	}
	for _, u := range data["mentions"].([]any) {
		u := u.(obj)
		u["member"] = s.wireMember(g, u["id"].(string), false)
	}
	s.dispatch(e)
}

// remove deletes a message. s.mu is held.
func (s *Server) remove(m *Message) {
	m.Deleted = true
	s.Fire()
	c := s.channels[m.Channel]
	if m.Ephemeral != "" || c == nil || !s.sees(c) {
		return
	}
	e := event{name: "MESSAGE_DELETE", guild: c.Guild, intents: IntentMessages, data: obj{"id": m.ID, "channel_id": c.ID}}
	if c.Guild == "" {
		e.intents = IntentDirectMessages
	} else {
		e.data["guild_id"] = c.Guild
	}
	s.dispatch(e)
}

// contentless reports whether somebody without the content intent gets a message blank.
// https://docs.discord.com/developers/events/gateway#message-content-intent
func (s *Server) contentless(m *Message) bool {
	return m.Author != s.opt.BotUser && m.Guild != "" && m.Webhook != s.opt.AppID && !slices.Contains(m.Mentions, s.opt.BotUser)
}

// blank empties what people put into a message.
func blank(data obj) obj {
	out := obj{}
	for k, v := range data {
		out[k] = v
	}
	out["content"], out["embeds"], out["attachments"], out["components"] = "", []any{}, []any{}, []any{}
	delete(out, "poll")
	delete(out, "message_snapshots")
	return out
}

// forReaders is a message for those without (or with) the content intent; also what it refers to is blank then.
func (s *Server) forReaders(m *Message, data obj, content bool) obj {
	if content {
		return data
	}
	if s.contentless(m) {
		data = blank(data)
	}
	inner, ok := data["referenced_message"].(obj)
	if !ok {
		return data
	}
	c := s.channels[m.Reference.Channel]
	if of := c.find(m.Reference.Message); of != nil && s.contentless(of) {
		out := obj{}
		for k, v := range data {
			out[k] = v
		}
		out["referenced_message"] = blank(inner)
		return out
	}
	return data
}

// mentioned finds who a text mentions, as far as it is allowed.
func (s *Server) mentioned(c *channel, text string, a allowed) (users, roles []string, everyone bool) {
	for _, part := range strings.Split(text, "<@")[1:] {
		id, _, ok := strings.Cut(part, ">")
		role := strings.HasPrefix(id, "&")
		id = strings.TrimPrefix(strings.TrimPrefix(id, "!"), "&")
		switch {
		case !ok || !snowflake(id):
		case role && a.role(id) && !slices.Contains(roles, id):
			roles = append(roles, id)
		case !role && s.users[id] != nil && a.user(id) && !slices.Contains(users, id):
			users = append(users, id)
		}
	}
	everyone = a.everyone && (strings.Contains(text, "@everyone") || strings.Contains(text, "@here"))
	return users, roles, everyone
}
