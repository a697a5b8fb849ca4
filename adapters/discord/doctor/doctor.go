// Package doctor says what a Discord application must have to be nod, and whether it has it. [Manifest] is the first: what to enter, click
// and switch on, for bot manifest. [Check] and [Reach] are the second, for bot doctor: findings for people about the token, the intents, the
// way of clicks, the gateway, the servers, the channels and the roles of a configuration.
//
// It looks from outside: it posts nothing, changes nothing, does not identify itself at the gateway, and asks by hand (api.go), with no
// limiter between what Discord says and what is reported. It imports the adapter for its configuration, and the adapter does not know it.
// A new thing to look at is a method of examination that gives findings, and a line in [Check].
package doctor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Check looks at everything of an application that can be seen from outside: its token, its intents, where its clicks go, whether
// the gateway answers, the servers that it is in, what it may do in the channels that c names, and whether roles, those of the
// configuration that may decide, are there. It posts nothing, changes nothing and does not identify itself, so it takes nothing of
// the daily budget. Of c it reads Token, PublicKey, APIURL, Client, Conversation, Follow, Channels and Shards. Each
// finding is yielded when it is made; each takes at most some seconds, and less where ctx ends.
func Check(ctx context.Context, c discord.Config, roles []chat.User) iter.Seq[surface.Finding] {
	return func(yield func(surface.Finding) bool) {
		x := examine(c)
		defer x.http.CloseIdleConnections()
		looks := []func(context.Context) []surface.Finding{x.token, x.application, x.gateway, x.servers, x.commands}
		for _, id := range slices.Sorted(maps.Keys(c.Channels)) {
			looks = append(looks, func(ctx context.Context) []surface.Finding { return just(x.channel(ctx, id)) })
		}
		for _, r := range roles {
			looks = append(looks, func(ctx context.Context) []surface.Finding { return just(x.role(ctx, r)) })
		}
		for _, look := range looks {
			lctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
			found := look(lctx)
			cancel()
			for _, f := range found {
				f.Found, f.Do = x.hide(f.Found), x.hide(f.Do)
				if !yield(f) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}

func just(f surface.Finding) []surface.Finding { return []surface.Finding{f} }

// notChecked: the line about the token says why, and that need not be the token's fault.
const notChecked = "not checked, because the token could not be"

// examination is one run of the doctor, with what earlier looks found out.
type examination struct {
	discord.Config
	http  *http.Client
	base  string              // scheme and host, and the API's path
	self  *userSeen           // nil: the token does not work, or Discord did not say
	app   *applicationSeen    // nil: not known
	in    []guildSeen         // servers that it is in
	roles map[string][]roleOf // by server, as far as asked for
}

// What the doctor reads of Discord's objects.
type (
	userSeen struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Bot      bool   `json:"bot"`
	}
	applicationSeen struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Flags     uint64 `json:"flags"`
		VerifyKey string `json:"verify_key"`
		Endpoint  string `json:"interactions_endpoint_url"`
		CodeGrant bool   `json:"bot_require_code_grant"`
	}
)

// The flags that say that the intent Message Content is on: of a small application, and of one that Discord looked at.
// https://docs.discord.com/developers/resources/application#application-object-application-flags
const contentIntent uint64 = 1<<18 | 1<<19

func examine(c discord.Config) *examination {
	x := &examination{Config: c, http: clientOf(c.Client), roles: map[string][]roleOf{}}
	x.base = strings.TrimSuffix(c.APIURL, "/") + apiPath
	if c.APIURL == "" {
		x.base = discordBase + apiPath
	}
	return x
}

func (x *examination) token(ctx context.Context) []surface.Finding {
	f := surface.Finding{What: "Discord: token"}
	var self userSeen
	switch err := x.get(ctx, "/users/@me", &self); {
	case err != nil:
		f.Mark, f.Found, f.Do = surface.Wrong, x.said(err), x.advice(err)
	case !ids.IsSnowflake(self.ID):
		f.Mark, f.Found, f.Do = surface.Wrong, errNotDiscord.Error(), x.advice(errNotDiscord)
	default:
		x.self = &self
		f.Mark, f.Found = surface.Fine, fmt.Sprintf("is that of %s (%s)", surface.Tame(self.Username), self.ID)
	}
	return just(f)
}

// application looks at what is set on the application's pages.
func (x *examination) application(ctx context.Context) []surface.Finding {
	const what = "Discord: application"
	if x.self == nil {
		return just(surface.Finding{What: what, Found: notChecked})
	}
	var app applicationSeen
	if err := x.get(ctx, "/applications/@me", &app); err != nil {
		return just(surface.Finding{What: what, Mark: surface.Doubtful, Found: "not checked: " + x.said(err), Do: x.advice(err)})
	}
	x.app = &app
	out := []surface.Finding{x.content(), x.clicks()}
	if app.CodeGrant {
		out = append(out, surface.Finding{What: what, Mark: surface.Doubtful, Found: "Requires OAuth2 Code Grant is on, so the invite adds the bot to no server",
			Do: "Switch it off on the application's page Bot."})
	}
	return out
}

// content says what the bot hears.
func (x *examination) content() surface.Finding {
	f := surface.Finding{What: "Discord: message content"}
	switch {
	case x.app.Flags&contentIntent != 0:
		f.Mark, f.Found = surface.Fine, "the intent is on"
	case x.onlyMentions():
		f.Mark, f.Found = surface.Fine, "the intent is off, and with follow: mention everywhere it is not needed"
	default:
		f.Mark, f.Found = surface.Doubtful, "the intent is off: nod hears only what mentions it, replies to it, direct messages and commands"
		f.Do = "Switch Message Content Intent on, on the application's page Bot, and restart the bot. Or set discord.follow to mention, and people mention it each time."
	}
	return f
}

func (x *examination) onlyMentions() bool {
	if x.Follow != surface.FollowMention {
		return false
	}
	for _, c := range x.Channels {
		if c.Follow == surface.FollowThread {
			return false
		}
	}
	return true
}

// clicks says which way clicks and commands come: Discord has one for an application, its gateway or an address.
func (x *examination) clicks() surface.Finding {
	f := surface.Finding{What: "Discord: clicks and commands"}
	at, key := x.app.Endpoint, x.app.VerifyKey
	other := x.PublicKey != "" && key != "" && !strings.EqualFold(x.PublicKey, key)
	set := "Set discord.public_key (DISCORD_PUBLIC_KEY) to the Public Key of the application's page General Information" // it is no secret
	switch {
	case at != "" && x.PublicKey == "":
		f.Mark, f.Found = surface.Wrong, "never arrive: Discord posts them to "+address(at)+", and without discord.public_key the bot does not take them there"
		f.Do = set + ", or empty the field Interactions Endpoint URL on that page: they then come through the gateway."
	case at != "" && other:
		f.Mark, f.Found = surface.Wrong, "never arrive: Discord signs them with another key than discord.public_key, so the bot refuses them"
		f.Do = set + " of this application, " + x.app.Name + "."
	case at != "" && !strings.HasSuffix(strings.TrimRight(at, "/"), discord.PathInteractions):
		f.Mark, f.Found = surface.Doubtful, "are posted to "+address(at)+", and nod takes them at "+discord.PathInteractions
		f.Do = "Unless your proxy rewrites it, correct the Interactions Endpoint URL on the page General Information, or empty it."
	case at != "":
		f.Mark, f.Found = surface.Fine, "are posted to "+address(at)+", with the key that is set"
	case other:
		f.Mark, f.Found = surface.Doubtful, "come through the gateway; discord.public_key is that of another application"
		f.Do = set + ", or leave it empty."
	case x.PublicKey != "":
		f.Mark, f.Found = surface.Fine, "come through the gateway; discord.public_key is set, so they could be posted as well"
	default:
		f.Mark, f.Found = surface.Fine, "come through the gateway"
	}
	return f
}

// address is an address without what could be a secret in it.
func address(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return surface.Tame(u.Scheme + "://" + u.Host + u.EscapedPath())
}

// commands says whether the slash command is there. It is registered when the bot starts.
func (x *examination) commands(ctx context.Context) []surface.Finding {
	f := surface.Finding{What: "Discord: slash command"}
	if x.app == nil {
		f.Found = "not checked, because the application is not known"
		return just(f)
	}
	var all []struct {
		Name    string                  `json:"name"`
		Options []struct{ Name string } `json:"options"`
	}
	if err := x.get(ctx, "/applications/"+x.app.ID+"/commands", &all); err != nil {
		f.Mark, f.Found, f.Do = surface.Doubtful, "not checked: "+x.said(err), x.advice(err)
		return just(f)
	}
	f.Found, f.Do = "/"+inbound.CommandName+" is not registered yet", "Start the bot: it registers the command then. People's clients may take a minute to show it."
	for _, c := range all {
		if c.Name == inbound.CommandName {
			var words []string
			for _, o := range c.Options {
				words = append(words, surface.Tame(o.Name))
			}
			f.Mark, f.Found, f.Do = surface.Fine, "/"+inbound.CommandName+" is registered: "+strings.Join(words, ", "), ""
		}
	}
	return just(f)
}
