package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/bwmarrin/discordgo"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
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

// channels remembers channels, and what roles are called.
type channels struct {
	byID  *lru.Cache[string, known]
	roles *lru.Cache[string, string] // names

	mu  sync.Mutex
	own map[string]string // the bot's own role, by guild
}

func newChannels() *channels {
	byID, _ := lru.New[string, known](maxChannels) // it fails for a size below one only
	roles, _ := lru.New[string, string](maxRoles)
	return &channels{byID: byID, roles: roles, own: map[string]string{}}
}

type known struct {
	inbound.Channel
	err   error // it may not be seen, or is no more
	until time.Time
}

func (s *channels) put(c inbound.Channel) {
	if ids.IsSnowflake(c.ID) {
		s.byID.Add(c.ID, known{Channel: c})
	}
}

// get is what is known without asking anybody.
func (s *channels) get(id string, now time.Time) (known, bool) {
	k, ok := s.byID.Get(id)
	return k, ok && (k.err == nil || now.Before(k.until))
}

// leave forgets what was the bot's in a guild.
func (s *channels) leave(guild string) {
	s.mu.Lock()
	delete(s.own, guild)
	s.mu.Unlock()
	for _, id := range s.byID.Keys() {
		if k, _ := s.byID.Peek(id); k.Guild == guild {
			s.byID.Remove(id)
		}
	}
}

// role remembers a role. bot is the user whose own it may be.
func (s *channels) role(guild string, r inbound.RoleObject, bot string) {
	s.roles.Add(string(r.ID), string(r.Name))
	if r.Tags != nil && bot != "" && string(r.Tags.Bot) == bot {
		s.mu.Lock()
		s.own[guild] = string(r.ID)
		s.mu.Unlock()
	}
}

// ownRole is the role that stands for the bot alone in a guild, or "".
func (s *channels) ownRole(guild string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own[guild]
}

func (s *channels) roleName(id string) string {
	name, _ := s.roles.Get(id)
	return name
}

// channelOf is a channel or thread: as events told, else as Discord says now. A refusal is remembered for a minute.
//
// Errors are of type [*agent.PlatformError].
func (a *Adapter) channelOf(ctx context.Context, channelID string) (inbound.Channel, error) {
	if k, ok := a.in.channels.get(channelID, a.now()); ok {
		return k.Channel, k.err
	}
	if !ids.IsSnowflake(channelID) {
		return inbound.Channel{}, rest.Gone("no channel is named")
	}
	ctx, cancel := context.WithTimeout(ctx, channelWithin)
	defer cancel()
	var body json.RawMessage
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointChannel(channelID), nil, &body); err != nil {
		if rest.IsUnreachable(err) {
			a.in.channels.byID.Add(channelID, known{err: err, until: a.now().Add(channelFailed)})
		}
		return inbound.Channel{}, err
	}
	var d inbound.ChannelObject
	if err := inbound.Decode(body, &d); err != nil || string(d.ID) != channelID {
		return inbound.Channel{}, rest.Transient(fmt.Errorf("the answer for channel %s is no channel", channelID))
	}
	c := d.Channel("")
	a.in.channels.put(c)
	return c, nil
}
