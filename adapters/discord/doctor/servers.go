package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Discord's limits.
const (
	// A page of servers: https://docs.discord.com/developers/resources/user#get-current-user-guilds
	serversPage = 200
	// serversSaid is how many servers are spoken of one by one.
	serversSaid = 5
)

// servers says where the bot is, and what it may not do in all of a server.
func (x *examination) servers(ctx context.Context) []surface.Finding {
	if err := x.get(ctx, "users/@me/guilds?limit="+strconv.Itoa(serversPage), &x.in); err != nil {
		return []surface.Finding{x.unchecked(err)}
	}
	if len(x.in) == 0 {
		application := ""
		if x.app != nil && ids.IsSnowflake(x.app.ID) {
			application = x.app.ID
		}
		return []surface.Finding{wrong("the bot is in none",
			"Somebody who may manage a server opens "+invite(application)+" (nod manifest discord explains it).")}
	}
	var names []string
	for _, g := range x.in[:min(serversSaid, len(x.in))] {
		names = append(names, fmt.Sprintf("%s (%s)", surface.Tame(g.Name), g.ID))
	}
	in := "is in " + strings.Join(names, ", ")
	if more := len(x.in) - len(names); more > 0 {
		least := ""
		if len(x.in) == serversPage {
			least = "at least "
		}
		in += fmt.Sprintf(" and %s%d more", least, more)
	}
	out := []surface.Finding{fine(in)}
	for _, g := range x.in {
		if f := x.server(g); f.Found != "" && len(out) <= serversSaid {
			f.What = "server " + surface.Tame(g.Name)
			out = append(out, f)
		}
	}
	return out
}

// server says what the bot may not do in a server, or that it may do everything; nothing where there is nothing to say.
func (x *examination) server(g *discordgo.UserGuild) surface.Finding {
	switch lacks, mark := missing(lacking(g.Permissions), x.Conversation); {
	case g.Owner:
		return surface.Finding{}
	case g.Permissions&mayAll != 0:
		return doubtful("the bot is an administrator there, which nod does not need: who has its token has the server",
			"Take Administrator from the bot's role (Server Settings, Roles).")
	case mark == surface.Fine:
		return surface.Finding{}
	default: // at most doubtful: a channel may give what the server does not
		return doubtful(lacks, "Give the bot's role these permissions (Server Settings, Roles), or open the invite of nod manifest discord again. "+
			"Single channels may give them, too.")
	}
}

// missing lists rights that are not there, as far as conversations of this kind need them, and how bad that is.
func missing(list []right, c discord.Conversation) (string, surface.Mark) {
	mark := surface.Fine
	var names, lacks []string
	for _, r := range list {
		if r.In != "" && r.In != cmp.Or(c, discord.InThread) {
			continue
		}
		if r.Vital {
			mark = surface.Wrong
		} else if mark == surface.Fine {
			mark = surface.Doubtful
		}
		names, lacks = append(names, r.Name), append(lacks, r.Lacks)
	}
	return "missing: " + strings.Join(names, ", ") + "; " + strings.Join(lacks, "; "), mark
}

// channel says what the bot may not do in a channel of the configuration.
func (x *examination) channel(ctx context.Context, id string) surface.Finding {
	var c discordgo.Channel
	err := x.get(ctx, "channels/"+id, &c)
	switch rest.CodeOf(err) {
	case discordgo.ErrCodeUnknownChannel:
		return wrong("there is none",
			"Correct the ID under discord.channels (Developer Mode in your settings, then Copy Channel ID), or take it out.")
	case discordgo.ErrCodeMissingAccess:
		return wrong("the bot does not see it: View Channels is missing there, or it is in a server that the bot is not in",
			"Give the bot's role View Channels in that channel (Edit Channel, Permissions).")
	}
	if err != nil {
		return x.unchecked(err)
	}
	f := x.rightsIn(ctx, c, cmp.Or(x.Channels[id].Conversation, x.Conversation))
	f.What = "channel #" + surface.Tame(c.Name)
	return f
}

func (x *examination) rightsIn(ctx context.Context, c discordgo.Channel, conversation discord.Conversation) surface.Finding {
	has, silent, err := x.allowed(ctx, c)
	if err != nil {
		return x.unchecked(err)
	}
	switch c.Type {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews:
	case discordgo.ChannelTypeGuildVoice, discordgo.ChannelTypeGuildStageVoice: // no thread hangs there
		conversation = discord.InChannel
	case discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia, discordgo.ChannelTypeGuildNewsThread,
		discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread: // people make the threads
		conversation = discord.InThread
		has |= mayStartThread
	default:
		return doubtful("nobody writes there, so nothing that is set for it counts",
			"Name channels that people write in under discord.channels; a category's are named one by one.")
	}
	lacks, mark := missing(lacking(has), conversation)
	switch {
	case silent:
		return wrong("the bot is timed out in this server, and may say nothing", "End its timeout (the member list of the server).")
	case mark == surface.Fine:
		return fine("the bot may do there what it needs")
	}
	return surface.Finding{Mark: mark, Found: lacks,
		Do: "Give them to the bot's role in that channel (Edit Channel, Permissions), or take away what denies them.",
	}
}

// allowed is what the bot may do in a channel, and whether it is timed out in the server. A thread has what the channel has that it
// hangs in.
func (x *examination) allowed(ctx context.Context, c discordgo.Channel) (has int64, silent bool, err error) {
	if c.IsThread() {
		parent := c.ParentID
		c = discordgo.Channel{}
		if err = x.get(ctx, "channels/"+parent, &c); err != nil {
			return 0, false, err
		}
	}
	var m discordgo.Member
	if err = x.get(ctx, "guilds/"+c.GuildID+"/members/"+x.self.ID, &m); err != nil {
		return 0, false, err
	}
	roles, err := x.rolesOf(ctx, c.GuildID)
	if err != nil {
		return 0, false, err
	}
	m.User = &discordgo.User{ID: x.self.ID}
	owner := slices.ContainsFunc(x.in, func(g *discordgo.UserGuild) bool { return g.ID == c.GuildID && g.Owner })
	silent = m.CommunicationDisabledUntil != nil && m.CommunicationDisabledUntil.After(time.Now()) && !owner
	return effective(c, &m, owner, roles), silent, nil
}

// effective is what a member may do in a channel, as discordgo works it out. Whoever does not see it may do nothing there.
// https://docs.discord.com/developers/topics/permissions#permission-overwrites
func effective(c discordgo.Channel, m *discordgo.Member, owner bool, roles []*discordgo.Role) int64 {
	g := &discordgo.Guild{ID: c.GuildID, Roles: roles, Channels: []*discordgo.Channel{&c}, Members: []*discordgo.Member{m}}
	if m.GuildID = g.ID; owner {
		g.OwnerID = m.User.ID
	}
	state := discordgo.NewState()
	_ = state.GuildAdd(g)
	has, err := state.UserChannelPermissions(m.User.ID, c.ID)
	if err != nil || has&mayView == 0 { // https://docs.discord.com/developers/topics/permissions#implicit-permissions
		return 0
	}
	return has
}

// rolesOf are the roles of a server.
func (x *examination) rolesOf(ctx context.Context, guild string) ([]*discordgo.Role, error) {
	if list, known := x.roles[guild]; known {
		return list, nil
	}
	var list []*discordgo.Role
	if err := x.get(ctx, "guilds/"+guild+"/roles", &list); err != nil {
		return nil, err
	}
	x.roles[guild] = list
	return list, nil
}

// role looks for a role that may decide. One that is not there gives nobody a right, and nothing else would say so.
func (x *examination) role(ctx context.Context, u chat.User, id string) surface.Finding {
	list, err := x.rolesOf(ctx, u.Workspace)
	switch c := rest.CodeOf(err); {
	case c == discordgo.ErrCodeUnknownGuild || c == discordgo.ErrCodeMissingAccess:
		return wrong("the bot is not in its server, "+surface.Tame(u.Workspace),
			"Correct the server's ID in "+u.String()+", or invite the bot there.")
	case err != nil:
		return x.unchecked(err)
	}
	i := slices.IndexFunc(list, func(r *discordgo.Role) bool { return r.ID == id })
	if i < 0 {
		return wrong("its server has no such role, so nobody decides by it", "Correct "+u.String()+" (Server Settings, Roles, ⋯, Copy Role ID).")
	}
	return fine("@" + surface.Tame(list[i].Name) + " may decide")
}

// signIn looks whether the bot can tell who is in the server whose members sign in on the page.
func (x *examination) signIn(ctx context.Context, guild string) surface.Finding {
	_, err := x.rolesOf(ctx, guild)
	switch c := rest.CodeOf(err); {
	case c == discordgo.ErrCodeUnknownGuild || c == discordgo.ErrCodeMissingAccess:
		return wrong("the bot is not in server "+guild+", so nobody can sign in on the page", "Correct web.oidc.discord_server, or invite the bot there.")
	case err != nil:
		return x.unchecked(err)
	}
	return fine("members of server " + guild + " can sign in on the page")
}
