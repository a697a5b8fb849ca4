package discord

import (
	"cmp"
	lru "container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/agent"
)

const (
	// maxChannels is how many channels are remembered, those that were used last: about 10 MB.
	maxChannels = 1 << 16
	maxRoles    = 1 << 14
	// channelFailed is how long a refusal is believed: calls that Discord refuses are counted against the address they come from.
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	channelFailed = time.Minute
	channelWithin = 2 * time.Second
)

// Types of channels. https://discord.com/developers/docs/resources/channel#channel-object-channel-types
const (
	channelText          = 0
	channelDM            = 1
	channelNews          = 5
	channelNewsThread    = 10
	channelPublicThread  = 11
	channelPrivateThread = 12
)

// channel is what is known of a place where messages stand: in Discord's words a thread is one too.
type channel struct {
	ID, Guild, Parent, Name string
	Type                    int
	Locked, Archived        bool // of a thread
}

func (c channel) thread() bool {
	return c.Type == channelNewsThread || c.Type == channelPublicThread || c.Type == channelPrivateThread
}

// hangs reports whether threads can be made on this channel's messages. In a forum every message is in a thread already; a voice
// channel's chat has none.
func (c channel) hangs() bool { return c.Type == channelText || c.Type == channelNews }

// gone: nobody can write in it any more. An archived thread opens again with the next message, unless it is locked.
func (c channel) gone() bool { return c.Locked && c.Archived }

func (d *channelData) channel(guild string) channel {
	c := channel{
		ID: string(d.ID), Guild: cmp.Or(string(d.Guild), guild), Parent: string(d.Parent), Name: string(d.Name), Type: d.Type,
	}
	if d.Metadata != nil {
		c.Locked, c.Archived = d.Metadata.Locked, d.Metadata.Archived
	}
	return c
}

// channels remembers channels, and what roles are called. The zero value is ready.
type channels struct {
	mu    sync.Mutex
	byID  recent[known]
	roles recent[string]    // names
	own   map[string]string // the bot's own role, by guild
}

type known struct {
	channel
	err   error // it may not be seen, or is no more
	until time.Time
}

func (s *channels) put(c channel) {
	if !isSnowflake(c.ID) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID.put(maxChannels, c.ID, known{channel: c})
}

func (s *channels) refuse(id string, err error, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID.put(maxChannels, id, known{err: err, until: until})
}

// get is what is known without asking anybody.
func (s *channels) get(id string, now time.Time) (known, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.byID.get(id)
	return k, ok && (k.err == nil || now.Before(k.until))
}

func (s *channels) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID.drop(id)
}

// leave forgets what was the bot's in a guild.
func (s *channels) leave(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, guild)
	s.byID.dropIf(func(k known) bool { return k.Guild == guild })
}

// role remembers a role. bot is the user whose own it may be.
func (s *channels) role(guild string, r roleData, bot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles.put(maxRoles, string(r.ID), string(r.Name))
	if r.Tags != nil && bot != "" && string(r.Tags.Bot) == bot {
		if s.own == nil {
			s.own = map[string]string{}
		}
		s.own[guild] = string(r.ID)
	}
}

// ownRole is the role that stands for the bot alone in a guild, or "".
func (s *channels) ownRole(guild string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own[guild]
}

func (s *channels) roleName(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, _ := s.roles.get(id)
	return name
}

// channelOf is a channel or thread: as events told, else as Discord says now. A refusal is remembered for a minute.
//
// Errors are of type [*agent.PlatformError].
func (a *Adapter) channelOf(ctx context.Context, channelID string) (channel, error) {
	if k, ok := a.in.channels.get(channelID, a.now()); ok {
		return k.channel, k.err
	}
	if !isSnowflake(channelID) {
		return channel{}, gone("no channel is named")
	}
	ctx, cancel := context.WithTimeout(ctx, channelWithin)
	defer cancel()
	var body json.RawMessage
	if err := a.rest(ctx, http.MethodGet, discordgo.EndpointChannel(channelID), nil, &body); err != nil {
		if hopelessThere(err) {
			a.in.channels.refuse(channelID, err, a.now().Add(channelFailed))
		}
		return channel{}, err
	}
	var d channelData
	if err := decode(body, &d); err != nil || string(d.ID) != channelID {
		return channel{}, transient(fmt.Errorf("the answer for channel %s is no channel", channelID))
	}
	c := d.channel("")
	a.in.channels.put(c)
	return c, nil
}

// hopelessThere: the channel is no more, or the bot may not see it.
func hopelessThere(err error) bool {
	pe := new(agent.PlatformError)
	return errors.As(err, &pe) && (pe.Kind == agent.FaultGone || pe.Kind == agent.FaultForbidden)
}

// recent is a map that holds what was used last. The zero value is ready.
type recent[T any] struct {
	byKey map[string]*lru.Element
	order lru.List // of keyed[T], the one used longest ago first
}

type keyed[T any] struct {
	key   string
	value T
}

func (r *recent[T]) put(limit int, key string, v T) {
	if r.byKey == nil {
		r.byKey = map[string]*lru.Element{}
	}
	if e := r.byKey[key]; e != nil {
		e.Value = keyed[T]{key, v}
		r.order.MoveToBack(e)
		return
	}
	if r.order.Len() >= limit {
		delete(r.byKey, r.order.Remove(r.order.Front()).(keyed[T]).key)
	}
	r.byKey[key] = r.order.PushBack(keyed[T]{key, v})
}

func (r *recent[T]) get(key string) (v T, ok bool) {
	e := r.byKey[key]
	if e == nil {
		return v, false
	}
	r.order.MoveToBack(e)
	return e.Value.(keyed[T]).value, true
}

func (r *recent[T]) drop(key string) {
	if e := r.byKey[key]; e != nil {
		r.order.Remove(e)
		delete(r.byKey, key)
	}
}

func (r *recent[T]) dropIf(bad func(T) bool) {
	for key, e := range r.byKey {
		if bad(e.Value.(keyed[T]).value) {
			r.order.Remove(e)
			delete(r.byKey, key)
		}
	}
}
