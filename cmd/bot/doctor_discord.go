package main

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
)

// discordConfig is what the configuration says of Discord, without what only a running bot has.
func discordConfig(c config.Config) discord.Config {
	d := discord.Config{
		Token: c.Discord.Token.Reveal(), PublicKey: c.Discord.PublicKey, APIURL: c.Discord.API(),
		Conversation: discord.Conversation(c.Discord.Conversation), Follow: surface.Follow(c.Discord.Follow),
		Channels: map[string]discord.Channel{}, Shards: c.Discord.Shards,
	}
	for id, channel := range c.Discord.Channels {
		d.Channels[id] = discord.Channel{Conversation: discord.Conversation(channel.Conversation), Follow: surface.Follow(channel.Follow)}
	}
	for _, host := range c.Discord.LinkHosts {
		d.LinkHosts = append(d.LinkHosts, strings.ToLower(host)) // as addresses are compared
	}
	return d
}

// discord looks at the application, and at the address of a bot that runs.
func (p *patient) discord(ctx context.Context) iter.Seq[finding] {
	if !p.Discord.Enabled() {
		return one(ctx, func(context.Context) finding {
			return finding{What: "Discord", Found: "not configured", Do: "To be on Discord, see bot manifest discord, and set discord.token (DISCORD_TOKEN)."}
		})
	}
	return func(yield func(finding) bool) {
		c := discordConfig(p.Config)
		for f := range discord.Doctor(ctx, c, p.roles()) {
			if !yield(f) {
				return
			}
		}
		switch {
		case c.PublicKey == "" || ctx.Err() != nil:
		case p.running:
			yield(discord.Reach(ctx, p.local(), c))
		default:
			yield(finding{What: "Discord: " + discord.PathInteractions, Found: "not checked, because no bot runs at " + p.Listen, Do: "Start the bot, then run bot doctor again."})
		}
	}
}

// roles are those of Discord that may decide.
func (p *patient) roles() (out []chat.User) {
	for _, u := range slices.Concat(p.Admins, p.Approvals.Approvers.Users) {
		if u.Platform == discord.Platform && u.IsGroup() && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}
