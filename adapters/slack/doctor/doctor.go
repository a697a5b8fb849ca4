// Package doctor says how a Slack app for nod has to be set up, and whether one is: the app's manifest for "nod manifest slack", and what
// "nod doctor" looks at of Slack. It changes nothing and posts nothing. It may import the adapter, for its configuration, its addresses and its
// words about errors, and adapters/slack/blocks for a sample card; nothing that runs imports it.
//
// Start with Examine: it makes one examination and calls its looks one after the other, each of which is a method that returns findings.
// Those of the tokens, scopes and the sample card are here; looks.go looks at channels and at who can decide, opens a connection in Socket
// Mode, and with Reach asks a running bot's addresses what Slack would ask them. manifest.go has the app's scopes and events.
//
// A new look is a method of examination in Examine's list, with a finding for each outcome: what it is about, what was found, what to do. A
// new scope or event goes into the tables of manifest.go, and docs/slack.md explains it. No finding holds a token: all go through hide.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Examine looks at everything of an app that can be seen from outside, and yields each finding when it is made. In Socket Mode it opens a
// connection for a moment; what Slack sends there meanwhile is not acknowledged, so events come again, to the bot, and a click has to be
// repeated. groups says that user groups may decide, which takes a scope more; people are those whom the configuration lets decide.
func Examine(ctx context.Context, c adapter.Config, groups bool, people []chat.User) iter.Seq[surface.Finding] {
	x := examine(c, groups)
	deciders := func(ctx context.Context) []surface.Finding { return x.deciders(ctx, people) }
	return x.each(ctx, x.botToken, x.scopes, x.agent, x.hearing, x.settings, x.channels, deciders, x.card)
}

// ExamineApp looks at what is the app's in every workspace.
func ExamineApp(ctx context.Context, c adapter.Config) iter.Seq[surface.Finding] {
	x := examine(c, false)
	return x.each(ctx, x.hearing, x.settings)
}

// ExamineWorkspace looks at the token of a workspace that installed the bot. again is where it does that.
func ExamineWorkspace(ctx context.Context, c adapter.Config, groups bool, again string) iter.Seq[surface.Finding] {
	return func(yield func(surface.Finding) bool) {
		x := examine(c, groups)
		for f := range x.each(ctx, x.botToken, x.scopes) {
			f.What = "Slack, workspace " + c.Team + strings.TrimPrefix(f.What, "Slack")
			if f.Mark == surface.Wrong {
				f.Do = "Install nod there once more, at " + again
			}
			if x.self == nil && f.Mark == surface.Unchecked || !yield(f) {
				return
			}
		}
	}
}

func (x *examination) each(ctx context.Context, looks ...func(context.Context) []surface.Finding) iter.Seq[surface.Finding] {
	return func(yield func(surface.Finding) bool) {
		defer x.http.CloseIdleConnections()
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
		}
	}
}

// notChecked: the line about the token says why, and that need not be the token's fault.
const notChecked = "not checked, because the bot token could not be"

// one is the only finding of a look.
func one(what string, mark surface.Mark, found, do string) []surface.Finding {
	return []surface.Finding{{What: "Slack: " + what, Mark: mark, Found: found, Do: do}}
}

type examination struct {
	adapter.Config
	api     *slack.Client
	http    *http.Client
	self    *slack.AuthTestResponse // nil: the bot token does not work, or Slack did not say
	granted []string                // scopes of the bot token; nil: Slack did not say
	needed  []scope                 // scopes that it should have
	command string                  // prints the app as it should be
}

func examine(c adapter.Config, groups bool) *examination {
	x := &examination{Config: c, http: surface.HTTPClient(c.Client), needed: scopesWith(groups), command: "nod manifest slack"}
	if groups {
		x.command += " -groups" // without it, what is printed would take the scope away again
	}
	x.APIURL = strings.TrimSuffix(cmp.Or(c.APIURL, slack.APIURL), "/") + "/"
	x.api = slack.New(c.BotToken, slack.OptionHTTPClient(x.http), slack.OptionAPIURL(x.APIURL), slack.OptionAppLevelToken(c.AppToken))
	return x
}

func (x *examination) botToken(ctx context.Context) []surface.Finding {
	const what = "bot token"
	self, err := x.api.AuthTestContext(ctx)
	switch {
	case err != nil:
		return one(what, surface.Wrong, words(err), x.advice(err))
	case self.BotID == "":
		return one(what, surface.Wrong, "this is the token of a person",
			"Give the Bot User OAuth Token (xoxb-…) of the app's page OAuth & Permissions as slack.bot_token (SLACK_BOT_TOKEN).")
	}
	x.self = self
	if list := self.Header.Get("X-Oauth-Scopes"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			x.granted = append(x.granted, strings.TrimSpace(name))
		}
	}
	return one(what, surface.Fine, fmt.Sprintf("@%s in the workspace %s (%s)", self.User, self.Team, self.TeamID), "")
}

func (x *examination) scopes(context.Context) (out []surface.Finding) {
	const what = "scopes"
	switch {
	case x.self == nil:
		return one(what, surface.Unchecked, notChecked, "")
	case x.granted == nil:
		return one(what, surface.Unchecked, "not checked, because Slack did not say which the token has", "")
	}
	for _, s := range x.needed {
		if slices.Contains(x.granted, s.Name) {
			continue
		}
		mark := surface.Doubtful
		if s.Vital {
			mark = surface.Wrong
		}
		out = append(out, one("scope "+s.Name, mark, "missing: "+s.Lacks,
			"Add it to the bot's scopes on the app's page OAuth & Permissions ("+x.command+" prints them all), then reinstall the app in the workspace.")...)
	}
	if out != nil {
		return out
	}
	found := fmt.Sprintf("all %d", len(x.needed))
	if more := x.unused(); len(more) > 0 {
		found += "; it also has " + strings.Join(more, ", ") + ", which nod does not use"
	}
	return one(what, surface.Fine, found, "")
}

// unused are scopes that the token has and the bot has no use for: rights that a thief of the token would have.
func (x *examination) unused() []string {
	return slices.DeleteFunc(slices.Clone(x.granted), func(name string) bool {
		return !scopeForm.MatchString(name) || slices.ContainsFunc(x.needed, func(s scope) bool { return s.Name == name })
	})
}

var scopeForm = regexp.MustCompile(`^[a-z_.]+(:[a-z_.]+)*$`)

// agent says what is known of the features of agents. Their methods create sessions, so none is called for a try.
func (x *examination) agent(context.Context) []surface.Finding {
	const what = "agent view"
	switch {
	case x.granted == nil:
		return one(what, surface.Unchecked, "not checked, because the scopes are not known", "")
	case !slices.Contains(x.granted, "assistant:write"):
		return one(what, surface.Doubtful, "no prompts are suggested, without the scope assistant:write",
			"Create the app from what "+x.command+" prints: declaring agent_view gives the scope.")
	}
	return one(what, surface.Unchecked, "its scope is there; whether the workspace's plan shows every agent feature cannot be asked. "+
		"What is absent is left out, and the message has it all", "")
}

func (x *examination) hearing(ctx context.Context) []surface.Finding {
	const what = "signing secret"
	switch {
	case x.AppToken != "":
		return x.socket(ctx)
	case x.SigningSecret == "":
		return one(what, surface.Wrong, "neither an app token nor a signing secret is set, so the bot cannot hear",
			"Set slack.app_token (SLACK_APP_TOKEN) for Socket Mode, or slack.signing_secret (SLACK_SIGNING_SECRET) for HTTP.")
	case !secretForm.MatchString(x.SigningSecret):
		return one(what, surface.Doubtful, "does not look like one: Slack's have 32 hexadecimal digits",
			"Copy the Signing Secret (not the Client Secret) of the app's page Basic Information to slack.signing_secret (SLACK_SIGNING_SECRET).")
	}
	return one(what, surface.Fine, "has the form of one; whether it is this app's shows when Slack first posts", "")
}

var secretForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// settings says where to look for what no token of the bot can see.
func (x *examination) settings(context.Context) []surface.Finding {
	where := "no addresses are needed there"
	if x.AppToken == "" {
		where = "their addresses end in " + adapter.PathEvents + ", " + adapter.PathInteractivity + " and " + adapter.PathCommands
	}
	return one("events and interactivity", surface.Unchecked, "not checked: Slack shows these settings to the app's owners only",
		"If the bot hears no mention or no click, compare the app's page App Manifest with what "+x.command+" prints; "+where+".")
}

// card asks Slack's own validator whether it takes an asking message. https://docs.slack.dev/reference/methods/blocks.validate
func (x *examination) card(ctx context.Context) []surface.Finding {
	const what = "sample card"
	if x.self == nil {
		return one(what, surface.Unchecked, notChecked, "")
	}
	v, err := x.validate(ctx, sampleCard())
	switch {
	case err != nil:
		return one(what, surface.Doubtful, "not checked: "+words(err), x.advice(err))
	case v.OK:
		return one(what, surface.Fine, "Slack's validator takes it", "")
	case strings.HasPrefix(v.Error, "invalid_"):
		found := "Slack's validator refuses it (" + v.Error + ")"
		for _, e := range v.Errors[:min(3, len(v.Errors))] {
			found += "; " + surface.Tame(e.Message) + " at " + surface.Tame(e.Pointer)
		}
		return one(what, surface.Wrong, found, "Slack changed what it takes, or this is a bug of nod: please report this line.")
	}
	// unknown_method above all: a stand-in, or a workspace that does not have it
	return one(what, surface.Unchecked, "not checked: blocks.validate answered "+surface.Tame(v.Error), "")
}

type verdict struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Errors []struct {
		Pointer string `json:"pointer"`
		Message string `json:"message"`
	} `json:"errors"`
}

// validate posts by hand: slack-go v0.34 does not have the method.
func (x *examination) validate(ctx context.Context, card []slack.Block) (v verdict, err error) {
	blocks, err := json.Marshal(card)
	if err != nil {
		return v, err
	}
	form := url.Values{"token": {x.BotToken}, "blocks": {string(blocks)}}
	status, answer, err := x.post(ctx, x.APIURL+"blocks.validate", form.Encode(), map[string]string{"Content-Type": formType})
	switch {
	case err != nil:
		return v, err
	case status != http.StatusOK:
		return v, slack.StatusCodeError{Code: status}
	case json.Unmarshal([]byte(answer), &v) != nil:
		return v, errNotSlack
	}
	return v, nil
}

var errNotSlack = errors.New("the answer is not Slack's")

// words says an error, without addresses of sockets.
func words(err error) string {
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
		if do, ok := calls.TokenAdvice[no.Err]; ok {
			return "Look at slack.bot_token (SLACK_BOT_TOKEN): " + do + "."
		}
		return "Look the word up at https://docs.slack.dev/reference/methods/auth.test."
	case errors.As(err, &busy):
		return "Try again in a minute."
	case x.APIURL != slack.APIURL:
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
	return calls.Scrub(s)
}

// sampleCard is a message of every shape: an answer, a step, and a question with its buttons, as people get it.
func sampleCard() []slack.Block {
	at := time.Unix(1_900_000_000, 0)
	m := render.Message{State: render.Waiting, Token: "sample", Blocks: []render.Block{
		render.Text{Markdown: "I'll read **both** files first, see <notes> & `a.txt`."},
		render.Step{Call: "one", State: render.StepDone, Title: "read_file", Server: "files", Detail: render.Line{render.Plain("0.2 s")}},
		render.Ask{
			Call: "two", Token: "sample", Kind: render.AskPermission, Header: "Allow tool call from files?", Run: "Run write_file from files", Tool: "write_file",
			Server: "files", Icon: "📁", Question: "Write hello to notes.txt?", Warning: text.Warning(""), Review: text.Review,
			Args:    render.ArgsOf([]byte(`{"content":"hello","path":"notes.txt"}`), "7f3a9c"),
			Facts:   render.Line{render.Plain(text.SymbolConfirm + " " + text.FactWrites)},
			Choices: []render.Choice{render.NewChoice(chat.AllowChat, "sample"), render.NewChoice(chat.AllowOnce, "sample"), render.NewChoice(chat.Deny, "sample")},
			More:    []render.Choice{render.NewChoice(chat.ViewDetail, "sample")},
			Footer:  render.Line{render.Plain("Ana" + text.CanAnswer + text.Until), render.Time{At: at, Until: true}}, Expires: at,
		},
	}}
	return blocks.EncodeMessage(render.Fit(m, blocks.Limits)).Blocks
}
