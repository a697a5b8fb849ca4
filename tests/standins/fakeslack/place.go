package fakeslack

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a person, or another bot.
type User struct {
	ID, Name     string
	Team         string // empty: the workspace's own. Another: somebody from another organisation
	EnterpriseID string // empty: that of the workspace, for its own people
	Guest        bool   // is_restricted: multi-channel guest
	UltraGuest   bool   // is_ultra_restricted: single-channel guest
	Stranger     bool   // is_stranger: of another organisation, with no channel in common
	Deleted      bool   // deactivated
	Bot          bool
	Admin, Owner bool
	TZ           string // empty: UTC
}

// Kind is what sort of conversation a channel is.
type Kind string

// The kinds. The zero value is a public channel.
const (
	Public  Kind = "public"
	Private Kind = "private"
	DM      Kind = "im"
	Group   Kind = "mpim"
)

// Channel is a conversation.
type Channel struct {
	ID, Name string
	Kind     Kind
	Members  []string // the bot gets events only of what it is a member of
	Archived bool
	Shared   bool // with another organisation (Slack Connect)
}

// channel is a conversation with what was said in it.
type channel struct {
	Channel
	messages []*Message // in order of time
	byTS     map[string]*Message
	threads  map[string][]*Message // root → replies
}

// AddUser adds a person, or replaces them. Empty fields get their defaults.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.Name, u.Team = cmp.Or(u.Name, u.ID), cmp.Or(u.Team, s.opt.Team)
	if u.Team == s.opt.Team {
		u.EnterpriseID = cmp.Or(u.EnterpriseID, s.opt.Enterprise)
	}
	s.users[u.ID] = &u
	s.Fire()
}

// AddChannel adds a conversation, or changes one (its messages stay). The bot is a member if it is among Members.
func (s *Server) AddChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addChannel(c)
	s.Fire()
}

func (s *Server) addChannel(c Channel) *channel {
	c.Kind, c.Name = cmp.Or(c.Kind, Public), cmp.Or(c.Name, c.ID)
	c.Members = slices.Clone(c.Members)
	have := s.channels[c.ID]
	if have == nil {
		have = &channel{byTS: map[string]*Message{}, threads: map[string][]*Message{}}
		s.channels[c.ID] = have
	}
	have.Channel = c
	if c.Kind == DM {
		for _, m := range c.Members {
			if m != s.opt.BotUser {
				s.dms[m] = c.ID
			}
		}
	}
	return have
}

// DM is the ID of a person's conversation with the bot, which is opened if there is none.
func (s *Server) DM(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dm(user).ID
}

func (s *Server) dm(user string) *channel {
	if id, ok := s.dms[user]; ok {
		return s.channels[id]
	}
	return s.addChannel(Channel{ID: "D0" + user, Kind: DM, Members: []string{user, s.opt.BotUser}})
}

// Users are all people, and the bot, by ID.
func (s *Server) Users() []User {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []User
	for _, u := range s.users {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b User) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Channels are all conversations, by ID.
func (s *Server) Channels() []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Channel
	for _, c := range s.channels {
		out = append(out, c.Channel)
	}
	slices.SortFunc(out, func(a, b Channel) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// stamp makes a message timestamp: seconds and microseconds, never the same twice. s.mu is held.
func (s *Server) stamp() string {
	t := s.clock.Now().Truncate(time.Microsecond)
	if !t.After(s.lastTS) {
		t = s.lastTS.Add(time.Microsecond)
	}
	s.lastTS = t
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// id makes an ID with a prefix. s.mu is held.
func (s *Server) id(prefix string) string {
	s.counter++
	n := strings.ToUpper(strconv.FormatInt(s.counter, 36))
	return prefix + strings.Repeat("0", max(0, 8-len(n))) + n
}
