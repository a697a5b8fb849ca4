package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/nodhq/nod/adapters/discord"
	discorddoctor "github.com/nodhq/nod/adapters/discord/doctor"
	"github.com/nodhq/nod/adapters/openai"
	"github.com/nodhq/nod/adapters/slack"
	slackdoctor "github.com/nodhq/nod/adapters/slack/doctor"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

func (p *examination) configuration(context.Context) {
	from := "there is no file; the defaults and the environment have no mistake"
	if p.File != "" {
		from = p.File + " has no mistake"
	}
	p.found("configuration", surface.Fine, from, "")
	for _, w := range p.warnings {
		if w != config.NobodyIsAdmin {
			p.found("configuration", surface.Doubtful, w, "")
		}
	}
}

// timeout says how long people have to answer, and why.
func (p *examination) timeout(context.Context) {
	how, why := config.Timeout(p.policy.Timeout).String(), "set by approvals.timeout"
	if p.policy.Timeout == permission.TimeoutUnset {
		how = config.Timeout(permission.TimeoutOnPage).String() + " on the page"
		if p.Slack.Enabled() || p.Discord.Enabled() {
			how = config.Timeout(permission.TimeoutNotified).String() + " in Slack and Discord, where asks notify people, " + how
		}
		why = "approvals.timeout is not set"
	}
	p.found("time to answer", surface.Fine, how+": "+why+"; servers, tools and settings may say otherwise", "")
}

// listener looks whether the address is free, or a bot's already.
func (p *examination) listener(ctx context.Context) {
	what := "listen " + p.Listen
	ln, err := parts.Listen(ctx, p.Config)
	switch {
	case err == nil:
		_ = ln.Close()
		p.found(what, surface.Fine, "is free", "")
	case !errors.Is(err, syscall.EADDRINUSE):
		p.found(what, surface.Wrong, err.Error(), "Set listen (NOD_LISTEN) to an address of this machine.")
	case healthy(ctx, local(p.Listen)):
		p.running = true
		p.found(what, surface.Fine, "a bot runs there", "")
	default:
		p.found(what, surface.Wrong, "another program has it", "Stop that program, or set listen (NOD_LISTEN) to another address.")
	}
}

// signIn asks each provider of the page for its document, and whether it takes the client's secret.
func (p *examination) signIn(ctx context.Context) {
	doors, err := parts.SignIn(p.Config, nil)
	if err != nil {
		p.found("sign-in", surface.Wrong, err.Error(), "Look at web.oidc.")
	}
	for i, door := range doors {
		o := p.Web.OIDC[i]
		what := "sign-in by " + o.Issuer
		if err := door.Try(ctx); err != nil {
			_, variable := p.SignInSecret(o)
			p.found(what, surface.Wrong, err.Error(), "Look at web.oidc.issuer, web.oidc.client_id and "+variable+", and whether this machine reaches it.")
			continue
		}
		p.found(what, surface.Fine, "answers, and takes the client's secret; it has to send people back to "+door.Return(), "")
	}
}

func healthy(ctx context.Context, base string) bool {
	status, body, err := get(ctx, base+"/healthz")
	return err == nil && status == http.StatusOK && strings.Contains(string(body), `"status":"ok"`)
}

// model asks the model for one word, and hangs up when it begins to speak.
func (p *examination) model(ctx context.Context) {
	if p.Demo() {
		p.found("model", surface.Unchecked, "none is configured: the scripted demo answers", "Set model.name (OPENAI_MODEL) and model.api_key (OPENAI_API_KEY) to use one.")
		return
	}
	what := "model " + p.Model.Name
	client, err := openai.New(openai.Config{BaseURL: p.Model.BaseURL.Reveal(), APIKey: p.Model.APIKey.Reveal(), Model: p.Model.Name, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}})
	if err != nil {
		p.found(what, surface.Wrong, err.Error(), "Correct the section model of the configuration.")
		return
	}
	asking, hangUp := context.WithCancel(ctx)
	defer hangUp()
	spoke := false
	_, err = client.Reply(asking, []turn.Utterance{{Role: turn.RoleUser, Text: "Reply with the word ok."}}, nil, func(d agent.Delta) {
		if d.Text != "" {
			spoke = true
			hangUp()
		}
	})
	refused, ok := errors.AsType[*agent.ModelError](err)
	switch {
	case spoke || err == nil:
		p.found(what, surface.Fine, "answers", "")
	case ok:
		say := strings.Replace(refused.Say, " No tool was run in this step.", "", 1)
		if refused.Cause != nil { // whose words are for operators: a name, a certificate, a proxy
			say = strings.TrimRight(say, ".") + " (" + text.Shorten(command.OneLine(refused.Cause.Error()), 300) + ")"
		}
		p.found(what, surface.Wrong, say,
			"Look at model.base_url (OPENAI_BASE_URL), model.api_key (OPENAI_API_KEY) and model.name (OPENAI_MODEL).")
	case errors.Is(err, context.DeadlineExceeded):
		p.found(what, surface.Doubtful, fmt.Sprintf("did not begin to answer in %s", surface.LookTimeout),
			"If the model is a slow one, nothing need be done; else look at model.base_url (OPENAI_BASE_URL).")
	default:
		p.found(what, surface.Wrong, err.Error(), "Look at model.base_url (OPENAI_BASE_URL).")
	}
}

// deciders are those of a platform who may decide, each once: people, or groups.
func (p *examination) deciders(platform string, groups bool) (out []chat.User) {
	for _, u := range slices.Concat(p.Admins, p.Approvals.Approvers.Users) {
		if u.Platform == platform && u.IsGroup() == groups && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// slack looks at the app, and at the addresses of a bot that runs.
func (p *examination) slack(ctx context.Context) {
	if !p.Slack.Enabled() {
		p.found("Slack", surface.Unchecked, "not configured", "To be in Slack, print an app with nod manifest slack, and set slack.bot_token (SLACK_BOT_TOKEN), or slack.install for several workspaces.")
		return
	}
	c, groups := parts.Slack(p.Config), p.policy.NamesGroups(slack.Platform)
	found := slackdoctor.Examine(ctx, c, groups, p.deciders(slack.Platform, false))
	if p.Slack.Install.Enabled() {
		found = slackdoctor.ExamineApp(ctx, c)
		p.workspaces(ctx, c, groups)
	}
	for f := range found {
		p.say(f)
	}
	if c.AppToken == "" {
		p.reach(ctx, "Slack: addresses", func() []finding { return slackdoctor.Reach(ctx, local(p.Listen), c) })
	}
}

// workspaces looks at those that installed the bot: whether the token of each is read, and works.
func (p *examination) workspaces(ctx context.Context, c slack.Config, groups bool) {
	const what = "Slack: workspaces"
	log, begin := slog.New(slog.DiscardHandler), p.Slack.Install.Page+install.PathBegin
	store, err := state.OpenToRead(ctx, p.DataDir, state.Options{URL: p.Redis.URL.Reveal(), Durability: p.Redis.Durability.String(), Lease: p.Lease, Log: log})
	var all map[string]string
	var door *install.Door
	if err == nil {
		defer func() { _ = store.Close() }()
		if all, err = store.Installs(ctx); err == nil {
			door, err = install.New(parts.SlackInstall(p.Config, nil, store), c.APIURL, nil, log)
		}
	}
	switch {
	case err != nil && !errors.Is(err, state.ErrNothing):
		p.found(what, surface.Unchecked, "not checked: "+err.Error(), "")
		return
	case len(all) == 0:
		p.found(what, surface.Doubtful, "none has installed nod yet", "Open "+begin+" in a browser, and choose one.")
		return
	}
	for _, team := range slices.Sorted(maps.Keys(all)) {
		is, _, err := door.Open(team, all[team])
		if err == nil && !door.Allows(team, is.Enterprise) {
			err = errors.New("it has nod, and is not served: slack.install.workspaces does not have it")
		}
		if err != nil {
			p.found("Slack, workspace "+team, surface.Wrong, err.Error(), "Correct NOD_SLACK_TOKEN_KEYS or slack.install.workspaces, or install nod there once more, at "+begin)
			continue
		}
		c.BotToken, c.Team = is.Token, team
		for f := range slackdoctor.ExamineWorkspace(ctx, c, groups, begin) {
			p.say(f)
		}
	}
}

// discord looks at the application, and at the address of a bot that runs.
func (p *examination) discord(ctx context.Context) {
	if !p.Discord.Enabled() {
		p.found("Discord", surface.Unchecked, "not configured", "To be on Discord, see nod manifest discord, and set discord.token (DISCORD_TOKEN).")
		return
	}
	c := parts.Discord(p.Config)
	signsIn, _ := p.Web.OIDC.Of(signin.Discord)
	for f := range discorddoctor.Check(ctx, c, p.deciders(discord.Platform, true), signsIn.Server) {
		p.say(f)
	}
	if c.PublicKey != "" {
		p.reach(ctx, "Discord: "+discord.PathInteractions, func() []finding { return []finding{discorddoctor.Reach(ctx, local(p.Listen), c)} })
	}
}

// reach tries the addresses that a platform posts to, where a bot runs.
func (p *examination) reach(ctx context.Context, what string, try func() []finding) {
	switch {
	case ctx.Err() != nil:
	case !p.running:
		p.found(what, surface.Unchecked, "not checked, because no bot runs at "+p.Listen, "Start the bot, then run nod doctor again.")
	default:
		for _, f := range try() {
			p.say(f)
		}
	}
}
