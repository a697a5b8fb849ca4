package fakediscord

import (
	"cmp"
	"slices"
	"strconv"
)

// Permission is a set of permission bits. https://docs.discord.com/developers/topics/permissions
type Permission uint64

// The permissions that this Discord knows the meaning of.
const (
	Administrator         Permission = 1 << 3
	ManageGuild           Permission = 1 << 5
	ViewChannel           Permission = 1 << 10
	SendMessages          Permission = 1 << 11
	ManageMessages        Permission = 1 << 13
	EmbedLinks            Permission = 1 << 14
	AttachFiles           Permission = 1 << 15
	ReadMessageHistory    Permission = 1 << 16
	MentionEveryone       Permission = 1 << 17
	UseCommands           Permission = 1 << 31
	ManageThreads         Permission = 1 << 34
	CreatePublicThreads   Permission = 1 << 35
	CreatePrivateThreads  Permission = 1 << 36
	SendMessagesInThreads Permission = 1 << 38
)

// DefaultPermissions are what the bot was invited with.
const DefaultPermissions = ViewChannel | SendMessages | EmbedLinks | AttachFiles | ReadMessageHistory | UseCommands | CreatePublicThreads | SendMessagesInThreads

func (p Permission) String() string { return strconv.FormatUint(uint64(p), 10) }

// Kinds of channels. https://docs.discord.com/developers/resources/channel#channel-object-channel-types
const (
	Text               = 0
	DM                 = 1
	Announcement       = 5
	AnnouncementThread = 10
	PublicThread       = 11
	PrivateThread      = 12
	Forum              = 15
)

// User is somebody on Discord.
type User struct {
	ID     string // empty: a new one
	Name   string // what others see
	Handle string // the unique username. Empty: the name in lower case
	Bot    bool
}

// Role is a role of a guild.
type Role struct {
	ID          string // empty: a new one
	Name        string
	Permissions Permission
	Mentionable bool
}

// Guild is a server.
type Guild struct {
	ID    string // empty: a new one
	Name  string
	Owner string
}

type guild struct {
	Guild
	roles       []*Role
	members     map[string]*Member
	unavailable bool
}

// Member is somebody in a guild.
type Member struct {
	User        string
	Nick        string
	Roles       []string
	Permissions Permission // what interactions say they may. 0: what a member usually may
}

// Channel is a place for messages.
type Channel struct {
	ID     string // empty: a new one
	Guild  string // empty: the first one
	Name   string
	Kind   int
	Parent string // of a thread: its channel
	With   string // of a DM: the other person

	Denied Permission // what the bot lacks here

	Owner       string // of a thread: who started it
	Archived    bool
	Locked      bool
	AutoArchive int      // minutes
	People      []string // of a thread: who joined
}

// Thread reports whether it is one.
func (c Channel) Thread() bool { return c.Kind >= AnnouncementThread && c.Kind <= PrivateThread }

type channel struct {
	Channel
	messages []*Message // by ID
	deleted  bool
	typing   int
}

func (c *channel) find(id string) *Message {
	for _, m := range c.messages {
		if m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

// AddGuild adds a guild with the bot in it and returns its ID.
func (s *Server) AddGuild(g Guild) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.ID == "" {
		g.ID = s.id()
	}
	in := &guild{Guild: g, members: map[string]*Member{}}
	in.roles = []*Role{{ID: g.ID, Name: "@everyone", Permissions: DefaultPermissions}, {ID: s.id(), Name: s.opt.BotName, Permissions: s.opt.Permissions}}
	in.members[s.opt.BotUser] = &Member{User: s.opt.BotUser, Roles: []string{in.roles[1].ID}}
	s.guilds[g.ID] = in
	s.order = append(s.order, g.ID)
	s.dispatch(event{name: "GUILD_CREATE", guild: g.ID, intents: IntentGuilds, data: s.wireGuildCreate(in)})
	s.Fire()
	return g.ID
}

// RemoveGuild throws the bot out of a guild; with unavailable, the guild is only down (GUILD_DELETE with unavailable: true).
func (s *Server) RemoveGuild(id string, unavailable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := obj{"id": id}
	if g := s.guilds[id]; g != nil && unavailable {
		data["unavailable"] = true
		g.unavailable = true
	} else {
		delete(s.guilds, id)
		s.order = slices.DeleteFunc(s.order, func(g string) bool { return g == id })
	}
	s.dispatch(event{name: "GUILD_DELETE", guild: id, intents: IntentGuilds, data: data})
	s.Fire()
}

// AddUser adds somebody, makes them a member of the first guild, and returns their ID.
func (s *Server) AddUser(u User) string {
	s.mu.Lock()
	if u.ID == "" {
		u.ID = s.id()
	}
	s.users[u.ID] = &u
	s.mu.Unlock()
	s.Join(s.opt.Guild, Member{User: u.ID})
	return u.ID
}

// AddStranger adds somebody who is in no guild.
func (s *Server) AddStranger(u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.ID == "" {
		u.ID = s.id()
	}
	s.users[u.ID] = &u
	return u.ID
}

// Join makes somebody a member of a guild, or changes what they are there.
func (s *Server) Join(in string, m Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(in)
	_, was := g.members[m.User]
	g.members[m.User] = &m
	e := event{name: "GUILD_MEMBER_ADD", guild: in, intents: IntentMembers, data: s.wireMember(g, m.User, true)}
	if was {
		e.name = "GUILD_MEMBER_UPDATE"
	}
	if m.User == s.opt.BotUser {
		e.intents = 0 // https://docs.discord.com/developers/events/gateway-events#guild-member-update: of oneself always
	}
	e.data["guild_id"] = in
	s.dispatch(e)
	s.Fire()
}

func (s *Server) mustGuild(id string) *guild {
	g := s.guilds[cmp.Or(id, s.opt.Guild)]
	if g == nil {
		panic("fakediscord: no guild " + id)
	}
	return g
}

// SetRoles gives a member of the first guild these roles and no others.
func (s *Server) SetRoles(user string, roles ...string) {
	s.mu.Lock()
	m := Member{User: user}
	if old := s.guilds[s.opt.Guild].members[user]; old != nil {
		m = *old
	}
	s.mu.Unlock()
	m.Roles = roles
	s.Join(s.opt.Guild, m)
}

// AddRole adds a role to a guild ("" is the first) and returns its ID.
func (s *Server) AddRole(in string, r Role) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(in)
	if r.ID == "" {
		r.ID = s.id()
	}
	g.roles = append(g.roles, &r)
	s.dispatch(event{name: "GUILD_ROLE_CREATE", guild: g.ID, intents: IntentGuilds, data: obj{"guild_id": g.ID, "role": s.wireRole(g, &r)}})
	s.Fire()
	return r.ID
}

// AddChannel adds a channel (not a thread: see [Server.CreateThread]) and returns its ID.
func (s *Server) AddChannel(c Channel) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Guild = cmp.Or(c.Guild, s.opt.Guild)
	s.mustGuild(c.Guild)
	if c.ID == "" {
		c.ID = s.id()
	}
	in := &channel{Channel: c}
	s.channels[c.ID] = in
	s.channelEvent("CHANNEL_CREATE", in)
	s.Fire()
	return c.ID
}

// OpenDM is the DM of a person with the bot; it is made if there is none.
func (s *Server) OpenDM(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dm(user).ID
}

func (s *Server) dm(user string) *channel {
	if id := s.dms[user]; id != "" {
		return s.channels[id]
	}
	c := &channel{Channel: Channel{ID: s.id(), Kind: DM, With: user}}
	s.channels[c.ID], s.dms[user] = c, c.ID
	return c
}

// BlockDMs makes a person refuse messages from the bot (50007).
func (s *Server) BlockDMs(user string, block bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noDMs[user] = block
}

// SetPermissions says what the bot lacks in a channel and its threads.
func (s *Server) SetPermissions(id string, denied Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	saw := s.may(c, ViewChannel)
	c.Denied = denied
	switch {
	case saw && !s.may(c, ViewChannel): // as for somebody who no longer sees it
		s.dispatch(event{name: "CHANNEL_DELETE", guild: c.Guild, intents: IntentGuilds, data: s.wireChannel(c)})
	case !saw && s.may(c, ViewChannel):
		s.channelEvent("CHANNEL_CREATE", c)
		s.syncThreads(c)
	default:
		s.channelEvent("CHANNEL_UPDATE", c)
	}
	s.Fire()
}

// Channel is a channel or thread as it is now.
func (s *Server) Channel(id string) (Channel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	if c == nil || c.deleted {
		return Channel{}, false
	}
	out := c.Channel
	out.People = slices.Clone(out.People)
	return out, true
}

// Threads are the threads of a channel, oldest first.
func (s *Server) Threads(parent string) []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Channel
	for _, c := range s.channels {
		if c.Parent == parent && c.Thread() && !c.deleted {
			out = append(out, c.Channel)
		}
	}
	slices.SortFunc(out, func(a, b Channel) int { return order(a.ID, b.ID) })
	return out
}

// Typing is how often the bot showed that it is typing in a channel.
func (s *Server) Typing(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typing
}

// permissions are what the bot may in a channel. s.mu is held.
func (s *Server) permissions(c *channel) Permission {
	if c.Kind == DM {
		return DefaultPermissions | MentionEveryone
	}
	p := s.opt.Permissions
	if p&Administrator != 0 {
		return ^Permission(0) >> 14
	}
	denied := c.Denied
	if parent := s.channels[c.Parent]; parent != nil {
		denied |= parent.Denied
	}
	return p &^ denied
}

func (s *Server) may(c *channel, p Permission) bool { return s.permissions(c)&p == p }

// sees reports whether the bot gets events of a channel.
func (s *Server) sees(c *channel) bool {
	return s.may(c, ViewChannel) && (c.Kind != PrivateThread || slices.Contains(c.People, s.opt.BotUser) || s.may(c, ManageThreads))
}

// Users are all people and bots, by ID.
func (s *Server) Users() []User {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []User
	for _, u := range s.users {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b User) int { return order(a.ID, b.ID) })
	return out
}

// Channels are all channels, threads and DMs, by ID.
func (s *Server) Channels() []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Channel
	for _, c := range s.inOrder() {
		out = append(out, c.Channel)
	}
	return out
}
