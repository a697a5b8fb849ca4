package discord

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// memberLife is how long roles are believed: one that was taken away counts at most so much longer.
const (
	memberLife = time.Minute
	maxMembers = 4096
)

// members are the roles of people, by guild and user.
type members = surface.Cache[[]chat.User]

// Groups are the roles that a person has now. Somebody who has left has none; in direct messages there are none.
// https://discord.com/developers/docs/resources/guild#get-guild-member
func (a *Adapter) Groups(ctx context.Context, id chat.ID, u chat.User) ([]chat.User, error) {
	p, _, err := a.where(ctx, id)
	if err != nil {
		return nil, err
	}
	if u.Platform != Platform || u.Workspace != p.Guild || u.IsGroup() || !ids.IsSnowflake(u.Key) || p.Guild == "" {
		return nil, nil
	}
	roles, _, err := a.rolesIn(ctx, p.Guild, u.Key)
	return roles, err
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
	case rest.CodeUnknownMember, rest.CodeUnknownUser:
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

// GroupName is what a role is called, as far as the gateway has told. It asks nobody.
func (a *Adapter) GroupName(_ chat.ID, g chat.User) string {
	if g.Platform != Platform || !g.IsGroup() {
		return ""
	}
	return a.in.channels.roleName(strings.TrimPrefix(g.Key, chat.GroupPrefix))
}
