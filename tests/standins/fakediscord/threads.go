package fakediscord

import (
	"cmp"
	"slices"
)

// Minutes after which a thread is archived. https://docs.discord.com/developers/resources/channel#thread-metadata-object
var autoArchive = []int{60, 1440, 4320, 10080}

// MaxThreadName is the characters of a thread's name.
const MaxThreadName = 100

// checkThread checks what a thread is made or changed with.
func checkThread(o obj, need bool) *refusal {
	c := &checker{}
	if need || o["name"] != nil {
		c.str(o, "name", 1, MaxThreadName, need)
	}
	c.choice(o, "auto_archive_duration", false, autoArchive...)
	c.num(o, "rate_limit_per_user", 0, 21600, false)
	c.choice(o, "type", false, AnnouncementThread, PublicThread, PrivateThread)
	c.bool(o, "archived")
	c.bool(o, "locked")
	return c.refusal()
}

// startThreadOn starts a thread on a message. Its ID is the message's.
func startThreadOn(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	m := c.find(q.path("message"))
	switch {
	case c.Kind != Text && c.Kind != Announcement:
		return no(400, 50024, "Cannot execute action on this channel type")
	case m == nil:
		return unknownMessage.answer()
	case !s.may(c, CreatePublicThreads):
		return notAllowed.answer()
	case m.Type != TypeDefault && m.Type != TypeReply && m.Type != TypeCommand:
		return no(400, 50021, "Cannot execute action on a system message")
	}
	if bad := checkThread(q.body(), true); bad != nil {
		return 0, nil, bad
	}
	if m.Thread != "" {
		return no(400, 160004, "A thread has already been created for this message")
	}
	return 201, s.wireChannel(s.thread(c, m, s.opt.BotUser, q.body())), nil
}

func startThread(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	if c.Kind != Text && c.Kind != Announcement {
		return no(400, 50024, "Cannot execute action on this channel type")
	}
	if bad := checkThread(q.body(), true); bad != nil {
		return 0, nil, bad
	}
	need := CreatePublicThreads
	if integer(cmp.Or(q.body()["type"], any(PrivateThread))) == PrivateThread { // the documented default
		need = CreatePrivateThreads
	}
	if !s.may(c, need) {
		return notAllowed.answer()
	}
	return 201, s.wireChannel(s.thread(c, nil, s.opt.BotUser, q.body())), nil
}

// thread starts a thread, on a message or without. s.mu is held.
func (s *Server) thread(c *channel, m *Message, owner string, o obj) *channel {
	t := &channel{Channel: Channel{Guild: c.Guild, Parent: c.ID, Kind: PublicThread, Name: str(o, "name"), Owner: owner, AutoArchive: cmp.Or(integer(o["auto_archive_duration"]), 1440), People: []string{owner}}}
	if c.Kind == Announcement {
		t.Kind = AnnouncementThread
	}
	if m != nil {
		t.ID, m.Thread = m.ID, m.ID
	} else {
		t.ID, t.Kind = s.id(), cmp.Or(integer(o["type"]), PrivateThread)
	}
	s.channels[t.ID] = t
	if s.sees(t) {
		data := s.wireChannel(t)
		data["newly_created"] = true
		s.dispatch(event{name: "THREAD_CREATE", guild: c.Guild, intents: IntentGuilds, data: data})
	}
	switch {
	case m != nil:
		v := m.Version
		v.Flags |= FlagHasThread
		s.change(m, v)
		s.messageEvent("MESSAGE_UPDATE", m) // not an edit: edited_timestamp stays
		first := &Message{Author: owner, Type: TypeThreadStarter, Reference: &Reference{Message: m.ID, Channel: c.ID, Guild: c.Guild}}
		s.put(t, first, Version{Via: "discord"})
		s.messageEvent("MESSAGE_CREATE", first)
	case t.Kind != PrivateThread:
		told := &Message{Author: owner, Type: TypeThreadCreated, Reference: &Reference{Channel: t.ID, Guild: c.Guild}}
		s.put(c, told, Version{Content: t.Name, Via: "discord"})
		s.messageEvent("MESSAGE_CREATE", told)
	}
	s.Fire()
	return t
}

func getChannel(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireChannel(c), nil
}

// editChannel changes a channel's name, or a thread's name and state. https://docs.discord.com/developers/topics/threads#editing-deleting-threads
func editChannel(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	o := q.body()
	if bad := checkThread(o, false); bad != nil {
		return 0, nil, bad
	}
	own := c.Owner == s.opt.BotUser && !c.Locked && o["locked"] == nil
	switch unarchive := o["archived"] == false; {
	case c.Kind == DM:
		return no(400, 50024, "Cannot execute action on this channel type")
	case !c.Thread():
		return notAllowed.answer() // MANAGE_CHANNELS is nothing a chat bot has
	case !s.may(c, ManageThreads) && !own && !(unarchive && len(o) == 1 && !c.Locked && slices.Contains(c.People, s.opt.BotUser)):
		return notAllowed.answer()
	case c.Archived && !unarchive:
		return archived.answer()
	}
	s.setThread(c, o)
	return 200, s.wireChannel(c), nil
}

// setThread changes a thread. s.mu is held.
func (s *Server) setThread(c *channel, o obj) {
	if v, ok := o["name"].(string); ok {
		c.Name = v
	}
	if v, ok := o["archived"].(bool); ok {
		c.Archived = v
	}
	if v, ok := o["locked"].(bool); ok {
		c.Locked = v
	}
	if v := integer(o["auto_archive_duration"]); v != 0 {
		c.AutoArchive = v
	}
	s.channelEvent("THREAD_UPDATE", c)
	s.Fire()
}

func deleteChannel(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	switch {
	case bad != nil:
		return 0, nil, bad
	case c.Kind == DM: // it is only closed
		return 200, s.wireChannel(c), nil
	case !c.Thread() || !s.may(c, ManageThreads):
		return notAllowed.answer()
	}
	out := s.wireChannel(c)
	s.drop(c)
	return 200, out, nil
}

// drop deletes a channel with its threads. s.mu is held.
func (s *Server) drop(c *channel) {
	for _, t := range s.inOrder() {
		if t.Parent == c.ID {
			s.drop(t)
		}
	}
	c.deleted = true
	e := event{name: "CHANNEL_DELETE", guild: c.Guild, intents: IntentGuilds, data: s.wireChannel(c)}
	if c.Thread() {
		e.name, e.data = "THREAD_DELETE", obj{"id": c.ID, "guild_id": c.Guild, "parent_id": c.Parent, "type": c.Kind}
	}
	if s.sees(c) {
		s.dispatch(e)
	}
	s.Fire()
}

// member is whom a thread-members request means.
func (s *Server) threadPerson(q *request) string {
	if u := q.path("user"); u != "@me" {
		return u
	}
	return s.opt.BotUser
}

func getThreadMembers(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	if !s.opt.Members {
		return missingAccess.answer()
	}
	out := []any{}
	for _, u := range c.People {
		out = append(out, s.wireThreadMember(c, u))
	}
	return 200, out, nil
}

func getThreadMember(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	if bad != nil {
		return 0, nil, bad
	}
	u := s.threadPerson(q)
	if !slices.Contains(c.People, u) {
		return no(404, 10007, "Unknown Member")
	}
	return 200, s.wireThreadMember(c, u), nil
}

func joinThread(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	switch {
	case bad != nil:
		return 0, nil, bad
	case !c.Thread():
		return no(400, 50024, "Cannot execute action on this channel type")
	case c.Archived:
		return archived.answer()
	}
	s.join(c, s.threadPerson(q))
	return 204, nil, nil
}

func leaveThread(s *Server, q *request) (int, any, *refusal) {
	c, bad := s.place(q)
	u := s.threadPerson(q)
	switch {
	case bad != nil:
		return 0, nil, bad
	case u != s.opt.BotUser && !s.may(c, ManageThreads):
		return notAllowed.answer()
	}
	c.People = slices.DeleteFunc(c.People, func(p string) bool { return p == u })
	s.dispatch(event{name: "THREAD_MEMBERS_UPDATE", guild: c.Guild, intents: IntentGuilds | IntentMembers,
		data: obj{"id": c.ID, "guild_id": c.Guild, "member_count": len(c.People), "added_members": []any{}, "removed_member_ids": []any{u}}})
	s.Fire()
	return 204, nil, nil
}
