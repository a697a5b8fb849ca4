// Package doctor says what a Discord application must have to be nod, and whether it has it. [Manifest] is the first: what to enter, click
// and switch on, for nod manifest. [Check] and [Reach] are the second, for nod doctor: findings for people about the token, the intents, the
// way of clicks, the gateway, the servers, the channels and the roles of a configuration.
//
// It looks from outside: it posts nothing, changes nothing, does not identify itself at the gateway, and asks once, with no budget between
// what Discord says and what is reported (api.go). It imports the adapter for its configuration, and the adapter does not know it.
// A new thing to look at is a method of examination that gives findings, and a line in [Check].
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
)

// Check looks at everything of an application that can be seen from outside: its token, its intents, where its clicks go, whether
// the gateway answers, the servers that it is in, what it may do in the channels that c names, and whether roles, those of the
// configuration that may decide, are there, and that whose members sign in on the page, where it is not empty. It takes nothing of the daily budget. Of c it reads Token, PublicKey, APIURL, Client,
// Conversation, Follow, Channels and Shards. Each finding is yielded when it is made; each takes at most some seconds, and less where
// ctx ends.
func Check(ctx context.Context, c discord.Config, roles []chat.User, signIn string) iter.Seq[surface.Finding] {
	return func(yield func(surface.Finding) bool) {
		x := examine(c)
		defer x.http.CloseIdleConnections()
		looks := []look{
			{"token", just(x.token)}, {"application", x.application}, {"gateway", x.gateway},
			{"servers", x.servers}, {"slash command", just(x.commands)},
		}
		for _, id := range slices.Sorted(maps.Keys(c.Channels)) {
			looks = append(looks, look{"channel " + id, just(func(ctx context.Context) surface.Finding { return x.channel(ctx, id) })})
		}
		for _, r := range roles {
			id := strings.TrimPrefix(r.Key, chat.GroupPrefix)
			looks = append(looks, look{"role " + id, just(func(ctx context.Context) surface.Finding { return x.role(ctx, r, id) })})
		}
		if signIn != "" {
			looks = append(looks, look{"sign-in", just(func(ctx context.Context) surface.Finding { return x.signIn(ctx, signIn) })})
		}
		for i, l := range looks {
			found := []surface.Finding{{Found: notChecked}}
			if i == 0 || x.self != nil || l.what == "slash command" {
				lctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
				found = l.at(lctx)
				cancel()
			}
			for _, f := range found {
				f.What = "Discord: " + cmp.Or(f.What, l.what)
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

// look is one thing to look at. What its findings do not name otherwise is what.
type look struct {
	what string
	at   func(context.Context) []surface.Finding
}

func just(one func(context.Context) surface.Finding) func(context.Context) []surface.Finding {
	return func(ctx context.Context) []surface.Finding { return []surface.Finding{one(ctx)} }
}

func fine(found string) surface.Finding { return surface.Finding{Mark: surface.Fine, Found: found} }

func doubtful(found, do string) surface.Finding {
	return surface.Finding{Mark: surface.Doubtful, Found: found, Do: do}
}

func wrong(found, do string) surface.Finding {
	return surface.Finding{Mark: surface.Wrong, Found: found, Do: do}
}

// unchecked is a finding about something that could not be asked.
func (x *examination) unchecked(err error) surface.Finding {
	return doubtful("not checked: "+x.said(err), x.advice(err))
}

// notChecked: the line about the token says why, and that need not be the token's fault.
const notChecked = "not checked, because the token could not be"

// examination is one run of the doctor, with what earlier looks found out.
type examination struct {
	discord.Config
	http  *http.Client
	api   *rest.Client                 // with no limits but Discord's own; nil: its address is none
	self  *userSeen                    // nil: the token does not work, or Discord did not say
	app   *applicationSeen             // nil: not known
	in    []*discordgo.UserGuild       // servers that it is in
	roles map[string][]*discordgo.Role // by server, as far as asked for
}

// What the doctor reads of Discord's objects.
type (
	userSeen struct {
		ID       string `json:"id"`
		Username string `json:"username"`
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
	x := &examination{Config: c, http: surface.HTTPClient(c.Client), roles: map[string][]*discordgo.Role{}}
	x.api, _ = rest.New(rest.Config{Token: c.Token, APIURL: c.APIURL, Client: x.http, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Pause: backoff.Wait})
	return x
}

func (x *examination) token(ctx context.Context) surface.Finding {
	var self userSeen
	err := x.get(ctx, "users/@me", &self)
	switch {
	case err != nil:
		return wrong(x.said(err), x.advice(err))
	case !ids.IsSnowflake(self.ID):
		return wrong(x.said(rest.ErrUnexpected), x.advice(rest.ErrUnexpected))
	}
	x.self = &self
	return fine(fmt.Sprintf("is that of %s (%s)", surface.Tame(self.Username), self.ID))
}

// application looks at what is set on the application's pages.
func (x *examination) application(ctx context.Context) []surface.Finding {
	var app applicationSeen
	if err := x.get(ctx, "applications/@me", &app); err != nil {
		return []surface.Finding{x.unchecked(err)}
	}
	x.app = &app
	content, clicks := x.content(), x.clicks()
	content.What, clicks.What = "message content", "clicks and commands"
	out := []surface.Finding{content, clicks}
	if app.CodeGrant {
		out = append(out, doubtful("Requires OAuth2 Code Grant is on, so the invite adds the bot to no server",
			"Switch it off on the application's page Bot."))
	}
	return out
}

// content says what the bot hears.
func (x *examination) content() surface.Finding {
	switch {
	case x.app.Flags&contentIntent != 0:
		return fine("the intent is on")
	case x.onlyMentions():
		return fine("the intent is off, and with follow: mention everywhere it is not needed")
	}
	return doubtful("the intent is off: nod hears only what mentions it, replies to it, direct messages and commands",
		"Switch Message Content Intent on, on the application's page Bot, and restart the bot. "+
			"Or set discord.follow to mention, and people mention it each time.")
}

func (x *examination) onlyMentions() bool {
	for _, c := range x.Channels {
		if c.Follow.Unmentioned() {
			return false
		}
	}
	return x.Follow == surface.FollowMention
}

// clicks says which way clicks and commands come: Discord has one for an application, its gateway or an address.
func (x *examination) clicks() surface.Finding {
	at, key := x.app.Endpoint, x.app.VerifyKey
	other := x.PublicKey != "" && key != "" && !strings.EqualFold(x.PublicKey, key)
	set := "Set discord.public_key (DISCORD_PUBLIC_KEY) to the Public Key of the application's page General Information" // it is no secret
	switch {
	case at != "" && x.PublicKey == "":
		return wrong("never arrive: Discord posts them to "+address(at)+", and without discord.public_key the bot does not take them there",
			set+", or empty the field Interactions Endpoint URL on that page: they then come through the gateway.")
	case at != "" && other:
		return wrong("never arrive: Discord signs them with another key than discord.public_key, so the bot refuses them",
			set+" of this application, "+x.app.Name+".")
	case at != "" && !strings.HasSuffix(strings.TrimRight(at, "/"), discord.PathInteractions):
		return doubtful("are posted to "+address(at)+", and nod takes them at "+discord.PathInteractions,
			"Unless your proxy rewrites it, correct the Interactions Endpoint URL on the page General Information, or empty it.")
	case at != "":
		return fine("are posted to " + address(at) + ", with the key that is set")
	case other:
		return doubtful("come through the gateway; discord.public_key is that of another application", set+", or leave it empty.")
	case x.PublicKey != "":
		return fine("come through the gateway; discord.public_key is set, so they could be posted as well")
	}
	return fine("come through the gateway")
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
func (x *examination) commands(ctx context.Context) surface.Finding {
	if x.app == nil {
		return surface.Finding{Found: "not checked, because the application is not known"}
	}
	type named struct{ Name string }
	var all []struct {
		named
		Options []named `json:"options"`
	}
	if err := x.get(ctx, "applications/"+x.app.ID+"/commands", &all); err != nil {
		return x.unchecked(err)
	}
	for _, c := range all {
		if c.Name == inbound.CommandName {
			var words []string
			for _, o := range c.Options {
				words = append(words, surface.Tame(o.Name))
			}
			return fine("/" + inbound.CommandName + " is registered: " + strings.Join(words, ", "))
		}
	}
	return surface.Finding{
		Found: "/" + inbound.CommandName + " is not registered yet",
		Do:    "Start the bot: it registers the command then. People's clients may take a minute to show it.",
	}
}

// Reach looks whether the bot that runs at base, such as http://127.0.0.1:8080, takes what Discord posts: it knocks without a
// signature, as Discord itself does now and then, and a refusal is what should come back. That a right signature is accepted cannot
// be tried, because only Discord can sign; nor can it be seen from here whether Discord gets to that address. It reads Client of c.
// https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
func Reach(ctx context.Context, base string, c discord.Config) surface.Finding {
	ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
	defer cancel()
	x := examine(c)
	defer x.http.CloseIdleConnections()
	f := x.knock(ctx, base+discord.PathInteractions)
	f.What, f.Found = "Discord: "+discord.PathInteractions, x.hide(f.Found)
	return f
}

func (x *examination) knock(ctx context.Context, at string) surface.Finding {
	silent := func(err error) surface.Finding {
		return wrong("does not answer: "+surface.Tame(err.Error()), "Look at listen (NOD_LISTEN) and at the bot's log.")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(`{"type":1}`))
	if err != nil {
		return silent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := x.http.Do(req)
	if err != nil {
		return silent(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return wrong("is not served", "Restart the bot with discord.public_key (DISCORD_PUBLIC_KEY) set.")
	case http.StatusUnauthorized:
		return fine("refuses what is not signed")
	}
	return wrong(fmt.Sprintf("answers %d to a request without a signature, where Discord wants 401", resp.StatusCode),
		"Look whether listen (NOD_LISTEN) is this bot's.")
}
