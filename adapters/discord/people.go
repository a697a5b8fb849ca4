package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// memberLife is how long roles are believed: one that was taken away counts at most so much longer.
const memberLife = time.Minute

// Groups are the roles that a person has now. Somebody who has left has none; in direct messages there are none. On the page, where people
// sign in by Discord, they are those of the server they are listed of.
// https://discord.com/developers/docs/resources/guild#get-guild-member
func (a *Adapter) Groups(ctx context.Context, id chat.ID, u chat.User) ([]chat.User, error) {
	if u.Platform != Platform || u.Workspace == "" || id.Platform == Platform && u.Workspace != id.Workspace || !ids.IsSnowflake(u.Key) {
		return nil, nil
	}
	roles, _, err := a.rolesIn(ctx, u.Workspace, u.Key)
	return roles, err
}

// Member is who somebody of a server is who signed in on the page by Discord: there, or in a chat of Discord's, which may be of another
// server. no says to them why they may do nothing there.
func (a *Adapter) Member(ctx context.Context, in chat.ID, u chat.User) (is chat.User, name, no string) {
	if in.Platform == Platform {
		u.Workspace = in.Workspace
	}
	by := inbound.Person{User: u}
	if u.Workspace != "" {
		roles, member, err := a.rolesIn(ctx, u.Workspace, u.Key)
		switch {
		case err != nil && !rest.IsUnreachable(err):
			a.Logger.Warn("discord: whether somebody is in a server is not known", "guild", u.Workspace, "err", err)
			return is, "", sayNobody
		case !member:
			return is, "", sayNotThere
		}
		by.Groups = roles
	}
	switch a.standing(ctx, by) {
	case chat.Member:
		return u, "", ""
	case chat.Visitor:
		return is, "", sayNotMember
	}
	return is, "", sayNobody
}

// rolesIn are a person's roles in a server, and whether they are in it.
func (a *Adapter) rolesIn(ctx context.Context, guild, user string) (roles []chat.User, is bool, err error) {
	key := guild + "/" + user
	if roles, ok := a.memberOf.Get(key, a.now()); ok {
		return roles, roles != nil, nil
	}
	asked := a.now() // what was read is as old as the question
	var m struct {
		Roles []string `json:"roles"`
	}
	err = a.api.Call(rest.WithLane(ctx, agent.Decision), http.MethodGet, discordgo.EndpointGuildMember(guild, user), nil, &m)
	switch rest.CodeOf(err) {
	case discordgo.ErrCodeUnknownMember, discordgo.ErrCodeUnknownUser:
		err = nil // they have left, and have no roles
	default:
		roles = []chat.User{}
	}
	if err != nil {
		return nil, false, err
	}
	for _, r := range m.Roles {
		if ids.IsSnowflake(r) {
			roles = append(roles, ids.Role(guild, r))
		}
	}
	a.memberOf.Put(key, roles, asked)
	return roles, roles != nil, nil
}

// standing is what somebody may do. Roles that an event does not say, of a message that was fetched or direct, are asked for.
func (a *Adapter) standing(ctx context.Context, by inbound.Person) chat.Standing {
	if len(a.Members) == 0 {
		return chat.Member
	}
	roles, untold := by.Groups, false
	for _, m := range a.Members {
		if by.Groups != nil || by.User.Workspace != "" && by.User.Workspace != m.Workspace {
			continue
		}
		has, _, err := a.rolesIn(ctx, m.Workspace, by.User.Key) // remembered
		if err != nil && !rest.IsUnreachable(err) {             // of a server that the bot is not in nobody is a member
			untold = true
			a.Logger.Warn("discord: the roles of somebody are not known", "guild", m.Workspace, "err", err)
		}
		roles = append(roles, has...)
	}
	switch {
	case slices.ContainsFunc(roles, func(r chat.User) bool { return slices.Contains(a.Members, r) }):
		return chat.Member
	case untold:
		return chat.Untold
	}
	return chat.Visitor
}

// mayAct refuses whoever may decide nothing, but for what ends or only shows something.
func (a *Adapter) mayAct(ctx context.Context, c interaction) *reply {
	switch c.in.Type {
	case discordgo.InteractionApplicationCommand:
		switch verb, _ := inbound.CommandOf(c.in); verb {
		case inbound.VerbAsk, inbound.VerbHelp, inbound.VerbPending, inbound.VerbStop, inbound.VerbWhy, inbound.VerbWhoami:
			return nil
		}
	case discordgo.InteractionMessageComponent:
		id := string(c.in.Data.CustomID)
		p, _ := components.ParseAction(id, c.in.Values())
		if id == components.CancelID || p.Choice == chat.Stop || p.Choice == chat.ViewDetail || p.Choice == chat.Why {
			return nil
		}
	}
	switch a.standing(ctx, c.by) {
	case chat.Member:
		return nil
	case chat.Visitor:
		return say(sayNotMember)
	}
	return say(sayNobody)
}

// GroupName is what a role is called, as far as the gateway has told. It asks nobody.
func (a *Adapter) GroupName(_ chat.ID, g chat.User) string {
	if g.Platform != Platform || !g.IsGroup() {
		return ""
	}
	return a.in.channels.roleName(strings.TrimPrefix(g.Key, chat.GroupPrefix))
}

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
	byID  *lru.Cache[string, cachedChannel]
	roles *lru.Cache[string, string] // names
	own   *lru.Cache[string, string] // the bot's own role, by guild
}

func newChannels() *channels {
	byID, _ := lru.New[string, cachedChannel](maxChannels) // it fails for a size below one only
	roles, _ := lru.New[string, string](maxRoles)
	own, _ := lru.New[string, string](maxChannels)
	return &channels{byID: byID, roles: roles, own: own}
}

type cachedChannel struct {
	inbound.Channel
	err   error // it may not be seen, or is no more
	until time.Time
}

func (s *channels) put(c inbound.Channel) {
	if ids.IsSnowflake(c.ID) {
		s.byID.Add(c.ID, cachedChannel{Channel: c})
	}
}

// get is what is known without asking anybody.
func (s *channels) get(id string, now time.Time) (cachedChannel, bool) {
	k, ok := s.byID.Get(id)
	return k, ok && (k.err == nil || now.Before(k.until))
}

// leave forgets what was the bot's in a guild.
func (s *channels) leave(guild string) {
	s.own.Remove(guild)
	for _, id := range s.byID.Keys() {
		if k, _ := s.byID.Peek(id); k.Guild == guild {
			s.byID.Remove(id)
		}
	}
}

// role remembers a role. bot is the user whose own it may be.
func (s *channels) role(guild string, r inbound.RoleObject, bot string) {
	s.roles.Add(string(r.ID), string(r.Name))
	if r.Tags != nil && string(r.Tags.Bot) == bot {
		s.own.Add(guild, string(r.ID))
	}
}

// ownRole is the role that stands for the bot alone in a guild, or "".
func (s *channels) ownRole(guild string) string {
	id, _ := s.own.Get(guild)
	return id
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
	ctx, cancel := context.WithTimeout(ctx, channelWithin)
	defer cancel()
	var body json.RawMessage
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointChannel(channelID), nil, &body); err != nil {
		if rest.IsUnreachable(err) {
			a.in.channels.byID.Add(channelID, cachedChannel{err: err, until: a.now().Add(channelFailed)})
		}
		return inbound.Channel{}, err
	}
	var d inbound.ChannelObject
	if err := inbound.Decode(body, &d); err != nil {
		return inbound.Channel{}, rest.Transient(fmt.Errorf("the answer for channel %s is no channel", channelID))
	}
	c := d.Channel("")
	a.in.channels.put(c)
	return c, nil
}
