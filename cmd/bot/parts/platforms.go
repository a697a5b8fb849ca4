package parts

import (
	"cmp"
	"log/slog"
	"strings"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/cmd/bot/config"
)

// Slack is what the configuration says of Slack, without what only a running bot has.
func Slack(c config.Config) slack.Config {
	s := slack.Config{
		BotToken: c.Slack.BotToken.Reveal(), AppToken: c.Slack.AppToken.Reveal(), SigningSecret: c.Slack.SigningSecret.Reveal(),
		APIURL: c.Slack.APIURL.Reveal(), Follow: surface.Follow(c.Slack.Follow), Channels: map[string]surface.Follow{},
		Bots: c.Slack.Bots, Guests: c.Slack.Guests, External: c.Slack.External, MembersOnly: !c.Slack.Visitors, Feedback: c.Slack.Feedback, Suggestions: c.Slack.Suggestions, Connections: c.Slack.Connections,
	}
	for id, channel := range c.Slack.Channels {
		s.Channels[id] = surface.Follow(channel.Follow)
	}
	return s
}

// SlackInstall is what it says of workspaces that install the bot, with scopes.
func SlackInstall(c config.Config, scopes []string, store install.Store) install.Config {
	i := c.Slack.Install
	return install.Config{
		ClientID: i.ClientID, ClientSecret: i.ClientSecret.Reveal(), Page: i.Page, Workspaces: i.Workspaces, Keys: config.RevealAll(i.TokenKeys),
		Scopes: scopes, Store: store,
	}
}

// Discord is what the configuration says of Discord, without what only a running bot has.
func Discord(c config.Config) discord.Config {
	d := discord.Config{
		Token: c.Discord.Token.Reveal(), PublicKey: c.Discord.PublicKey, APIURL: c.Discord.API(),
		Conversation: discord.Conversation(c.Discord.Conversation), Follow: surface.Follow(c.Discord.Follow),
		Channels: map[string]discord.Channel{}, Bots: c.Discord.Bots, Members: c.Discord.Members, MembersOnly: !c.Discord.Visitors, Shards: c.Discord.Shards,
	}
	for id, channel := range c.Discord.Channels {
		d.Channels[id] = discord.Channel{Conversation: discord.Conversation(channel.Conversation), Follow: surface.Follow(channel.Follow)}
	}
	for _, host := range c.Discord.LinkHosts {
		d.LinkHosts = append(d.LinkHosts, strings.ToLower(host)) // as addresses are compared
	}
	return d
}

// SignIn is where people on the page sign in.
func SignIn(c config.Config, log *slog.Logger) (out signin.Doors, err error) {
	for _, o := range c.Web.OIDC {
		issuer := o.Issuer
		switch o.Platform() {
		case signin.Slack:
			issuer = strings.TrimSuffix(strings.TrimSuffix(cmp.Or(c.Slack.APIURL.Reveal(), "https://slack.com"), "/"), "/api")
		case signin.Discord:
			issuer = cmp.Or(c.Discord.API(), "https://discord.com")
		}
		secret, _ := c.SignInSecret(o)
		door, err := signin.New(signin.Config{
			Platform: o.Platform(), Server: o.Server,
			Issuer: issuer, ClientID: o.ClientID, ClientSecret: secret.Reveal(), Page: o.Page, Claim: o.Claim, GroupsClaim: o.GroupsClaim,
			Scopes: o.Scopes, Groups: o.Groups, Domains: o.Domains, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		out = append(out, door)
	}
	return out, nil
}
