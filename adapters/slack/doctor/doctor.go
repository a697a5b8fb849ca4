// Package doctor says how a Slack app for nod has to be set up, and whether one is: the app's manifest for "bot manifest slack", and what
// "bot doctor" looks at of Slack. It changes nothing and posts nothing. It may import the adapter, for its configuration, its addresses and its
// words about errors, and adapters/slack/blocks for a sample card; nothing that runs imports it.
//
// Start with Examine: it makes one examination and calls its looks one after the other, each of which is a method that returns findings. Those
// of the tokens, scopes and the sample card are here; people.go looks at channels and at who can decide, socket.go opens a connection in Socket
// Mode, and Reach in reach.go asks a running bot's addresses what Slack would ask them. manifest.go has the app's scopes and events with what
// each is for: the manifest asks for them, and the doctor says what does not work without them.
//
// A new look is a method of examination in Examine's list, with a finding for each outcome: what it is about, what was found, what to do. A
// new scope or event goes into the tables of manifest.go, and docs/slack.md explains it. No finding holds a token: all go through hide.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Examine looks at everything of an app that can be seen from outside: its tokens, its scopes, its connection, and
// whether Slack takes the bot's cards. It posts nothing and changes nothing. In Socket Mode it opens a connection for a
// moment; what Slack sends there meanwhile is not acknowledged, so events come again, to the bot, and a click has to be
// repeated. Of c it reads the tokens, APIURL and Client; groups says that user groups may decide, which takes a scope more; people
// are those whom the configuration lets decide. Each finding is yielded when it is made; each takes at most some seconds, and less where ctx ends.
func Examine(ctx context.Context, c adapter.Config, groups bool, people []chat.User) iter.Seq[surface.Finding] {
	return func(yield func(surface.Finding) bool) {
		x := examine(c, groups)
		x.People = people
		defer x.http.CloseIdleConnections()
		for _, look := range []func(context.Context) []surface.Finding{x.botToken, x.scopes, x.agent, x.hearing, x.settings, x.channels, x.deciders, x.card} {
			lctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
			found := look(lctx)
			cancel()
			for _, f := range found {
				f.Found, f.Do = x.hide(f.Found), x.hide(f.Do)
				if !yield(f) {
					return
				}
			}
		}
	}
}

// notChecked: the line about the token says why, and that need not be the token's fault.
const notChecked = "not checked, because the bot token could not be"

// examination is one run of the doctor, with what earlier looks found out.
type examination struct {
	adapter.Config
	api     *slack.Client
	http    *http.Client
	self    *slack.AuthTestResponse // nil: the bot token does not work, or Slack did not say
	granted []string                // scopes of the bot token; nil: Slack did not say
	wanted  []scope                 // scopes that it should have
	People  []chat.User             // whom the configuration lets decide
	command string                  // prints the app as it should be
}

func examine(c adapter.Config, groups bool) *examination {
	x := &examination{Config: c, http: surface.HTTPClient(c.Client), wanted: scopesWith(groups), command: "bot manifest slack"}
	if groups {
		x.command += " -groups" // without it, what is printed would take the scope away again
	}
	x.APIURL = strings.TrimSuffix(x.APIURL, "/") + "/"
	if c.APIURL == "" {
		x.APIURL = slack.APIURL
	}
	x.api = slack.New(c.BotToken, slack.OptionHTTPClient(x.http), slack.OptionAPIURL(x.APIURL), slack.OptionAppLevelToken(c.AppToken))
	return x
}

func (x *examination) botToken(ctx context.Context) []surface.Finding {
	f := surface.Finding{What: "Slack: bot token"}
	self, err := x.api.AuthTestContext(ctx)
	switch {
	case err != nil:
		f.Mark, f.Found, f.Do = surface.Wrong, x.said(err), x.advice(err)
	case self.BotID == "":
		f.Mark, f.Found, f.Do = surface.Wrong, "this is the token of a person", "Give the Bot User OAuth Token (xoxb-…) of the app's page OAuth & Permissions as slack.bot_token (SLACK_BOT_TOKEN)."
	default:
		x.self = self
		if list := self.Header.Get("X-Oauth-Scopes"); list != "" {
			for name := range strings.SplitSeq(list, ",") {
				x.granted = append(x.granted, strings.TrimSpace(name))
			}
		}
		f.Mark, f.Found = surface.Fine, fmt.Sprintf("@%s in the workspace %s (%s)", self.User, self.Team, self.TeamID)
	}
	return []surface.Finding{f}
}

func (x *examination) scopes(context.Context) []surface.Finding {
	const what = "Slack: scopes"
	switch {
	case x.self == nil:
		return []surface.Finding{{What: what, Found: notChecked}}
	case x.granted == nil:
		return []surface.Finding{{What: what, Found: "not checked, because Slack did not say which the token has"}}
	}
	var out []surface.Finding
	for _, s := range x.wanted {
		if slices.Contains(x.granted, s.Name) {
			continue
		}
		mark := surface.Doubtful
		if s.Vital {
			mark = surface.Wrong
		}
		out = append(out, surface.Finding{What: "Slack: scope " + s.Name, Mark: mark, Found: "missing: " + s.Lacks,
			Do: "Add it to the bot's scopes on the app's page OAuth & Permissions (" + x.command + " prints them all), then reinstall the app in the workspace."})
	}
	if len(out) == 0 {
		f := surface.Finding{What: what, Mark: surface.Fine, Found: fmt.Sprintf("all %d", len(x.wanted))}
		if more := x.unused(); len(more) > 0 {
			f.Found += "; it also has " + strings.Join(more, ", ") + ", which nod does not use"
		}
		return []surface.Finding{f}
	}
	return out
}

// unused are scopes that the token has and the bot has no use for: rights that a thief of the token would have.
func (x *examination) unused() (more []string) {
	for _, name := range x.granted {
		if !slices.ContainsFunc(x.wanted, func(s scope) bool { return s.Name == name }) && scopeForm.MatchString(name) {
			more = append(more, name)
		}
	}
	return more
}

var scopeForm = regexp.MustCompile(`^[a-z_.]+(:[a-z_.]+)*$`)

// agent says what is known of the features of agents. Their methods create sessions, so none is called for a try.
func (x *examination) agent(context.Context) []surface.Finding {
	f := surface.Finding{What: "Slack: agent view"}
	switch {
	case x.granted == nil:
		f.Found = "not checked, because the scopes are not known"
	case !slices.Contains(x.granted, "assistant:write"):
		f.Mark, f.Found = surface.Doubtful, "no prompts are suggested, without the scope assistant:write"
		f.Do = "Create the app from what " + x.command + " prints: declaring agent_view gives the scope."
	default:
		f.Found = "its scope is there; whether the workspace's plan shows every agent feature cannot be asked. What is absent is left out, and the message has it all"
	}
	return []surface.Finding{f}
}

func (x *examination) hearing(ctx context.Context) []surface.Finding {
	if x.AppToken != "" {
		return x.socket(ctx)
	}
	f := surface.Finding{What: "Slack: signing secret"}
	switch {
	case x.SigningSecret == "":
		f.Mark, f.Found = surface.Wrong, "neither an app token nor a signing secret is set, so the bot cannot hear"
		f.Do = "Set slack.app_token (SLACK_APP_TOKEN) for Socket Mode, or slack.signing_secret (SLACK_SIGNING_SECRET) for HTTP."
	case !secretForm.MatchString(x.SigningSecret):
		f.Mark, f.Found = surface.Doubtful, "does not look like one: Slack's have 32 hexadecimal digits"
		f.Do = "Copy the Signing Secret (not the Client Secret) of the app's page Basic Information to slack.signing_secret (SLACK_SIGNING_SECRET)."
	default:
		f.Mark, f.Found = surface.Fine, "has the form of one; whether it is this app's shows when Slack first posts"
	}
	return []surface.Finding{f}
}

var secretForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// settings says where to look for what no token of the bot can see.
func (x *examination) settings(context.Context) []surface.Finding {
	where := "no addresses are needed there"
	if x.AppToken == "" {
		where = "their addresses end in " + adapter.PathEvents + ", " + adapter.PathInteractivity + " and " + adapter.PathCommands
	}
	return []surface.Finding{{What: "Slack: events and interactivity", Found: "not checked: Slack shows these settings to the app's owners only",
		Do: "If the bot hears no mention or no click, compare the app's page App Manifest with what " + x.command + " prints; " + where + "."}}
}

// card asks Slack's own validator whether it takes an asking message. https://docs.slack.dev/reference/methods/blocks.validate
func (x *examination) card(ctx context.Context) []surface.Finding {
	f := surface.Finding{What: "Slack: sample card"}
	if x.self == nil {
		f.Found = notChecked
		return []surface.Finding{f}
	}
	blocks, err := json.Marshal(sampleCard())
	if err != nil {
		f.Mark, f.Found = surface.Wrong, "the card cannot be written: "+err.Error()
		return []surface.Finding{f}
	}
	v, err := x.validate(ctx, blocks)
	switch {
	case err != nil:
		f.Mark, f.Found, f.Do = surface.Doubtful, "not checked: "+x.said(err), x.advice(err)
	case v.OK:
		f.Mark, f.Found = surface.Fine, "Slack's validator takes it"
	case strings.HasPrefix(v.Error, "invalid_"):
		f.Mark, f.Found = surface.Wrong, "Slack's validator refuses it ("+v.Error+")"+v.why()
		f.Do = "Slack changed what it takes, or this is a bug of nod: please report this line."
	default: // unknown_method above all: a stand-in, or a workspace that does not have it
		f.Found = "not checked: blocks.validate answered " + surface.Tame(v.Error)
	}
	return []surface.Finding{f}
}

// verdict is what blocks.validate answers.
type verdict struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Errors []struct {
		Pointer string `json:"pointer"`
		Message string `json:"message"`
	} `json:"errors"`
}

// why is the validator's first complaints.
func (v verdict) why() string {
	var b strings.Builder
	for _, e := range v.Errors[:min(3, len(v.Errors))] {
		b.WriteString("; " + surface.Tame(e.Message) + " at " + surface.Tame(e.Pointer))
	}
	return b.String()
}

// validate posts by hand: slack-go v0.34 does not have the method.
func (x *examination) validate(ctx context.Context, blocks []byte) (v verdict, err error) {
	form := url.Values{"token": {x.BotToken}, "blocks": {string(blocks)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.APIURL+"blocks.validate", strings.NewReader(form.Encode()))
	if err != nil {
		return v, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := x.http.Do(req)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return v, slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&v); err != nil {
		return v, errNotSlack
	}
	return v, nil
}

var errNotSlack = errors.New("the answer is not Slack's")

// said is an error in words, without addresses of sockets.
func (x *examination) said(err error) string {
	var no slack.SlackErrorResponse
	var at *url.Error
	var status slack.StatusCodeError
	var busy *slack.RateLimitedError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &no):
		return "Slack refuses it: " + surface.Tame(no.Err)
	case errors.As(err, &busy):
		return "Slack says to slow down (429)"
	case errors.As(err, &status):
		return fmt.Sprintf("the server answered %d, which is not Slack's way", status.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %s", surface.LookTimeout)
	case errors.As(err, &syntax):
		return errNotSlack.Error()
	case errors.As(err, &at):
		err = at.Err
	}
	return "Slack cannot be reached: " + err.Error()
}

// advice is what to do about an error of the bot token's methods.
func (x *examination) advice(err error) string {
	var no slack.SlackErrorResponse
	var busy *slack.RateLimitedError
	switch {
	case errors.As(err, &no):
		if do, ok := adapter.TokenAdvice(no.Err); ok {
			return "Look at slack.bot_token (SLACK_BOT_TOKEN): " + do + "."
		}
		return "Look the word up at https://docs.slack.dev/reference/methods/auth.test."
	case errors.As(err, &busy):
		return "Try again in a minute."
	}
	if x.APIURL != slack.APIURL {
		return "Look at slack.api_url (SLACK_API_URL): it names a stand-in. Empty is Slack itself."
	}
	return "Look at the network: this machine must reach https://slack.com (a proxy is taken from HTTPS_PROXY)."
}

// hide takes secrets out of words that came from outside.
func (x *examination) hide(s string) string {
	for _, secret := range []string{x.BotToken, x.AppToken, x.SigningSecret} {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[secret]")
		}
	}
	return adapter.Scrub(s)
}
