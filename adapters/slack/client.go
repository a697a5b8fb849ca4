package slack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
)

// Adapter is the bot in one workspace. Its methods are safe for concurrent use, and may be called before Run: they wait until
// Slack has said who the bot is.
type Adapter struct {
	Config
	api  *slack.Client
	http *http.Client // for what slack-go has no function for; api uses it too

	// self is who the bot is. It is written once, before known is closed: read it through me, or in what Run starts.
	self  self
	known chan struct{}

	urls     *urls
	sent     surface.Sent
	purse    surface.Purse
	presence *presence
	in       inlet // what comes in
	health   health

	now   func() time.Time
	pause func(context.Context, time.Duration) error // waits; an error is the context's
}

// self is what auth.test, and for App bots.info, say of the bot. https://docs.slack.dev/reference/methods/auth.test
type self struct {
	Team       string // workspace ID
	Enterprise string // of an Enterprise Grid; else empty
	User       string // the bot's user ID, as others mention it
	Bot        string // the bot ID, as its messages carry it
	App        string // the app's ID; empty: not known
	URL        string // of the workspace, ending in "/"
}

var (
	_ agent.Platform  = (*Adapter)(nil)
	_ agent.Whisperer = (*Adapter)(nil)
	_ agent.Annotator = (*Adapter)(nil)
	_ agent.Seeker    = (*Adapter)(nil)
	_ agent.Pacer     = (*Adapter)(nil)
	_ agent.Teller    = (*Adapter)(nil)
)

// New makes the adapter. It speaks to nobody before Run.
func New(c Config) (*Adapter, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	a := &Adapter{
		Config: c, http: surface.HTTPClient(c.Client), known: make(chan struct{}),
		urls: newURLs(), now: time.Now, pause: surface.Pause,
	}
	a.purse.Budget, a.purse.Platform, a.purse.Logger = c.Budget, Platform, c.Logger
	a.purse.Pause = func(ctx context.Context, d time.Duration) error { return a.pause(ctx, d) }
	a.presence = newPresence(a)
	a.health.doubts, a.health.deaf = make(chan struct{}, 1), a.now()
	// No OptionRetry: a repeated chat.postMessage is a second message, and everything else has its own retry with the newest
	// view. No OptionDebug: it prints messages, and makes Socket Mode reconnect every six minutes.
	options := []slack.Option{slack.OptionHTTPClient(lean{a.http})}
	if c.APIURL != "" {
		options = append(options, slack.OptionAPIURL(strings.TrimSuffix(c.APIURL, "/")+"/"))
	}
	if c.AppToken != "" {
		options = append(options, slack.OptionAppLevelToken(c.AppToken))
	}
	a.api = slack.New(c.BotToken, options...)
	return a, nil
}

// Run finds out who the bot is, then listens until ctx ends. It returns nil for an ended ctx, and an error that says what to
// do where Slack refuses the tokens. All goroutines have ended when it returns.
func (a *Adapter) Run(ctx context.Context) error {
	if err := a.introduce(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { a.presence.run(ctx) })
	workers.Go(func() { a.watchToken(ctx) })
	err := a.listen(ctx)
	ended := ctx.Err() != nil
	cancel()
	workers.Wait()
	a.http.CloseIdleConnections()
	if ended {
		return nil
	}
	return err
}

// Limits are what the engine fits messages to.
func (a *Adapter) Limits() render.Limits { return limits }

// Pace is how far apart progress edits of one message are at least; the shared budget spreads them further where it must, and
// to 0.98 s even for one message alone (lua/spend.lua). Asking it a little early costs nothing and loses no time.
func (a *Adapter) Pace() time.Duration { return 900 * time.Millisecond }

// me is who the bot is. It waits for Run to find that out.
func (a *Adapter) me(ctx context.Context) (self, error) {
	select {
	case <-a.known:
		return a.self, nil
	case <-ctx.Done():
		return self{}, faultOf(fmt.Errorf("waiting for auth.test: %w", ctx.Err()))
	}
}

// introduce calls auth.test until it answers, or says that it never will.
func (a *Adapter) introduce(ctx context.Context) error {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		tctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
		r, err := a.api.AuthTestContext(tctx)
		cancel()
		if err == nil {
			a.self = self{Team: r.TeamID, Enterprise: r.EnterpriseID, User: r.UserID, Bot: r.BotID, URL: r.URL, App: a.ownApp(ctx, r.BotID)}
			close(a.known)
			return nil
		}
		if fatal := fatalAuth(err); fatal != nil {
			return fatal
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pe := new(agent.PlatformError)
		errors.As(faultOf(err), &pe)
		a.Logger.Warn("slack: auth.test failed; trying again", "err", pe)
		if err := a.pause(ctx, max(pe.RetryAfter, wait/2+rand.N(wait/2))); err != nil {
			return err
		}
	}
}

// fatalAuth is a sentence for an error that no waiting mends, or nil. It never holds a token.
func fatalAuth(err error) error {
	if code, ok := errors.AsType[slack.StatusCodeError](err); ok && code.Code == http.StatusNotFound {
		return errors.New("there is no Slack API at the address of SLACK_API_URL (HTTP 404 from auth.test); leave it empty for Slack's own")
	}
	var no slack.SlackErrorResponse
	if !errors.As(err, &no) {
		return nil
	}
	if do, ok := authAdvice[no.Err]; ok {
		return fmt.Errorf("the token is refused (%s): %s", no.Err, do)
	}
	return nil
}

const reinstall = "reinstall the app in the workspace, and give its Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN"

// https://docs.slack.dev/reference/methods/auth.test lists these.
var authAdvice = map[string]string{ //nolint:gosec // words about tokens, none of them one
	"not_authed":              "no token arrived; give the app's Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN",
	"invalid_auth":            "it is not a token of this app, or this network is not allowed; copy the Bot User OAuth Token (xoxb-…) from the app's \"OAuth & Permissions\" page to SLACK_BOT_TOKEN, and look at the app's allowed IP ranges",
	"account_inactive":        "the app was removed from the workspace, or the workspace is gone; " + reinstall,
	"token_revoked":           "it was revoked; " + reinstall,
	"token_expired":           "it has expired; " + reinstall + ", with token rotation turned off",
	"not_allowed_token_type":  "it is of the wrong kind; give the Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN and the App-Level Token (xapp-…) as SLACK_APP_TOKEN",
	"org_login_required":      "the workspace is being moved to another organisation; wait until that is done, then start again",
	"team_access_not_granted": "the app was not granted this workspace; ask an organisation admin to approve it, then " + reinstall,
	"ekm_access_denied":       "the organisation's admins have suspended it; ask them",
}
