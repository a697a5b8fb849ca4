package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// The bounds of Discord's fields.
const (
	// Each shard identifies itself when it starts, and Discord resets the token of a bot that does so more often than this in a day:
	// https://docs.discord.com/developers/events/gateway#session-start-limit-object
	maxShards = 1000
	// A host's name and each of its labels: RFC 1035, section 2.3.4.
	maxHost = 253
)

var (
	snowflake = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)
	subteam   = regexp.MustCompile(`^S[A-Z0-9]+$`) // a user group of Slack: https://docs.slack.dev/reference/objects/usergroup-object
	publicKey = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	hostName  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// Of the page OAuth2; not documented, as the form of tokens is not. A token has dots.
	clientSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{32}$`)
)

func (d Discord) check(r *File) {
	wrong := discordTokenProblem(d.Token.Reveal())
	r.refuse(wrong != "", "discord.token", "%s; what belongs here is the bot's token, of the application's page Bot (Reset Token shows a new one)", wrong)
	switch {
	case d.PublicKey != "" && !publicKey.MatchString(d.PublicKey):
		r.Add("discord.public_key", "want the 64 hexadecimal digits of the application's page")
	case d.PublicKey != "" && d.Token == "":
		r.Add("discord.public_key", "is set without discord.token (DISCORD_TOKEN): the bot could hear clicks, but not speak")
	}
	r.checkURL("discord.api_url", d.APIURL, "http://", "https://")
	_, host, _ := strings.Cut(d.API(), "://")
	r.refuse(strings.ContainsAny(host, "/?#@") && !r.Has("discord.api_url"), "discord.api_url",
		"want only scheme and host, such as http://127.0.0.1:8092: nod puts /api/v10 behind it")
	for id, channel := range sorted(d.Channels) {
		field := join("discord.channels", id)
		r.refuse(!snowflake.MatchString(id), field,
			"want a channel's ID, which is a number (Developer Mode in your settings, then Copy Channel ID), not its name")
		r.refuse(channel == (DiscordChannel{}) && !r.Has(field), field,
			"says nothing: set conversation to %s or %s, or follow to %s, %s or %s", InThread, InChannel, FollowRequester, FollowThread, FollowMention)
	}
	for i, id := range d.Bots {
		field := fmt.Sprintf("discord.bots[%d]", i)
		r.refuse(!r.Has(field) && !snowflake.MatchString(id), field, "want the ID of a bot or a webhook, which is a number: nod logs that of a program that mentions it")
	}
	for i, role := range d.Members {
		field := fmt.Sprintf("discord.members[%d]", i)
		r.refuse(!r.Has(field) && (!role.IsGroup() || role.Platform != "discord"), field, "want a role, written discord:server:&role")
	}
	r.refuse(!d.Visitors && len(d.Members) == 0, "discord.visitors", "says who may not talk only where discord.members says who is a member")
	for i, host := range d.LinkHosts {
		field, wrong := fmt.Sprintf("discord.link_hosts[%d]", i), hostProblem(host)
		r.refuse(wrong != "" && !r.Has(field), field, "%s", wrong)
	}
	r.refuse(d.Shards < 0 || d.Shards > maxShards, "discord.shards",
		"want 0, as many as Discord recommends, or 1 to %d, as often as a bot may identify itself in a day", maxShards)
}

// discordTokenProblem says what a text is that stands where the bot's token belongs. It never quotes it. What it does not know may be
// a token: their form is not documented.
func discordTokenProblem(token string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(token), " ")
	switch {
	case scheme == "bot" || scheme == "bearer":
		return "leave out the word before the token: nod sends it itself"
	case strings.Contains(token, "://"):
		return "this is an address, such as that of a webhook"
	case strings.HasPrefix(token, "xox") || strings.HasPrefix(token, appPrefix):
		return "this is a token of Slack; it belongs in the section slack"
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "a token is one word of plain characters"
	case strings.HasPrefix(token, "mfa."):
		return "this is a person's token, with which Discord lets no program in"
	case publicKey.MatchString(token):
		return "this has the form of the application's public key; it belongs in discord.public_key (DISCORD_PUBLIC_KEY)"
	case snowflake.MatchString(token):
		return "this is an ID"
	case clientSecret.MatchString(token):
		return "this has the form of the Client Secret of the page OAuth2, which nod does not need"
	}
	return ""
}

// API is APIURL without a path that says what is said anyway: scheme and host. Empty: Discord's own.
func (d Discord) API() string {
	base := strings.TrimRight(d.APIURL.Reveal(), "/")
	return strings.TrimSuffix(strings.TrimSuffix(base, "/api/v10"), "/api")
}

// hostProblem says what keeps a text from being a host, or a star and a host.
func hostProblem(s string) string {
	host, below := strings.CutPrefix(strings.ToLower(s), "*.")
	switch {
	case strings.Contains(s, "/") || strings.Contains(s, ":"):
		return "want a host alone, such as example.com: no scheme, port or path"
	case s == "*" || below && !strings.Contains(host, "."):
		return "this would keep alive whatever a model writes; name hosts, such as example.com or *.example.org"
	case strings.ContainsFunc(s, func(c rune) bool { return c > '~' }):
		return "write it as it stands in addresses: xn--…"
	case len(host) > maxHost || !hostName.MatchString(host):
		return "want a host, such as example.com, or *.example.org for all below it"
	}
	return ""
}

// groupProblem is what is wrong with a group of people as an admin or approver: Discord's roles, Slack's user groups and those of the page's
// provider are known as such.
func groupProblem(u chat.User) error {
	role := strings.TrimPrefix(u.Key, chat.GroupPrefix)
	switch {
	case u.Platform == "slack" && (u.Workspace == "" || !subteam.MatchString(role)):
		return errors.New("a user group of Slack is written slack:workspace:&group, such as slack:T1:&S1 (the group's ID stands in the address of its page)")
	case u.Platform == "web" && (u.Workspace != "" || role == ""):
		return errors.New("a group of web.oidc is written web::&group, with its name as the provider writes it (a : in it as %3A)")
	case u.Platform == "slack", u.Platform == "web":
		return nil
	case !snowflake.MatchString(u.Workspace) || !snowflake.MatchString(role):
		return errors.New("a role is written discord:server:&role, and both are numbers (Developer Mode in your settings, then Copy Server ID and Copy Role ID)")
	case u.Workspace == role:
		return errors.New("this is @everyone, which is no role that somebody is given; name another, or use approvals.approvers: anyone")
	}
	return nil
}
