package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/nodhq/nod/adapters/openai"
	"github.com/nodhq/nod/adapters/slack"
	slackdoctor "github.com/nodhq/nod/adapters/slack/doctor"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func (p *patient) configuration(context.Context) iter.Seq[finding] {
	return func(yield func(finding) bool) {
		if !yield(finding{What: "configuration", Mark: surface.Fine, Found: "has no mistake"}) {
			return
		}
		for _, w := range p.warnings {
			if w != config.NobodyIsAdmin && !yield(finding{What: "configuration", Mark: surface.Doubtful, Found: w}) {
				return
			}
		}
	}
}

// listener looks whether the address is free, or a bot's already.
func (p *patient) listener(ctx context.Context) iter.Seq[finding] {
	return one(ctx, func(ctx context.Context) finding {
		f := finding{What: "listen " + p.Listen}
		ln, err := parts.Listen(ctx, p.Config)
		switch {
		case err == nil:
			_ = ln.Close()
			f.Mark, f.Found = surface.Fine, "is free"
		case !errors.Is(err, syscall.EADDRINUSE):
			f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Set listen (BOT_LISTEN) to an address of this machine."
		case healthy(ctx, p.local()):
			p.running = true
			f.Mark, f.Found = surface.Fine, "a bot runs there"
		default:
			f.Mark, f.Found, f.Do = surface.Wrong, "another program has it", "Stop that program, or set listen (BOT_LISTEN) to another address."
		}
		return f
	})
}

// local is the listener's address as this machine reaches it.
func (p *patient) local() string {
	host, port, _ := net.SplitHostPort(p.Listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func healthy(ctx context.Context, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return false
	}
	client := http.Client{Timeout: surface.LookTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(b), `"status":"ok"`)
}

// model asks the model for one word, and hangs up when it begins to speak.
func (p *patient) model(ctx context.Context) iter.Seq[finding] {
	return one(ctx, func(ctx context.Context) finding {
		if p.Demo() {
			return finding{What: "model", Found: "none is configured: the scripted demo answers", Do: "Set model.name (OPENAI_MODEL) and model.api_key (OPENAI_API_KEY) to use one."}
		}
		f := finding{What: "model " + p.Model.Name}
		client, err := openai.New(openai.Config{BaseURL: p.Model.BaseURL.Reveal(), APIKey: p.Model.APIKey.Reveal(), Model: p.Model.Name, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}})
		if err != nil {
			f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Correct the section model of the configuration."
			return f
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
		var refused *agent.ModelError
		switch {
		case spoke || err == nil:
			f.Mark, f.Found = surface.Fine, "answers"
		case errors.As(err, &refused):
			f.Mark, f.Found = surface.Wrong, strings.Replace(refused.Say, " No tool was run in this step.", "", 1)
			f.Do = "Look at model.base_url (OPENAI_BASE_URL), model.api_key (OPENAI_API_KEY) and model.name (OPENAI_MODEL)."
		case errors.Is(err, context.DeadlineExceeded):
			f.Mark, f.Found = surface.Doubtful, fmt.Sprintf("did not begin to answer in %s", surface.LookTimeout)
			f.Do = "If the model is a slow one, nothing need be done; else look at model.base_url (OPENAI_BASE_URL)."
		default:
			f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Look at model.base_url (OPENAI_BASE_URL)."
		}
		return f
	})
}

// people are those of Slack, by name, who may decide.
func (p *patient) people() (out []chat.User) {
	for _, u := range slices.Concat(p.Admins, p.Approvals.Approvers.Users) {
		if u.Platform == slack.Platform && !u.IsGroup() && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// slack looks at the app, and at the addresses of a bot that runs.
func (p *patient) slack(ctx context.Context) iter.Seq[finding] {
	if !p.Slack.Enabled() {
		return one(ctx, func(context.Context) finding {
			return finding{What: "Slack", Found: "not configured", Do: "To be in Slack, print an app with bot manifest slack, and set slack.bot_token (SLACK_BOT_TOKEN)."}
		})
	}
	return func(yield func(finding) bool) {
		c := parts.Slack(p.Config)
		for f := range slackdoctor.Examine(ctx, c, p.policy.NamesGroups(slack.Platform), p.people()) {
			if !yield(f) {
				return
			}
		}
		switch {
		case c.AppToken != "" || ctx.Err() != nil:
		case p.running:
			for _, f := range slackdoctor.Reach(ctx, p.local(), c) {
				if !yield(f) {
					return
				}
			}
		default:
			yield(finding{What: "Slack: addresses", Found: "not checked, because no bot runs at " + p.Listen, Do: "Start the bot, then run bot doctor again."})
		}
	}
}
