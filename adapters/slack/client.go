package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
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
	self  inbound.Self
	known chan struct{}

	urls     urls
	sent     surface.Sent
	purse    surface.Purse
	presence *presence
	in       intake // what comes in
	health   health

	now   func() time.Time
	pause func(context.Context, time.Duration) error // waits; an error is the context's
}

var (
	_ agent.Platform  = (*Adapter)(nil)
	_ agent.Starter   = (*Adapter)(nil)
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
		now: time.Now, pause: surface.Pause,
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
func (a *Adapter) Limits() render.Limits { return blocks.Limits }

// Pace is how far apart progress edits of one message are at least; the shared budget spreads them further where it must, and
// to 0.98 s even for one message alone (lua/spend.lua). Asking it a little early costs nothing and loses no time.
func (a *Adapter) Pace() time.Duration { return 900 * time.Millisecond }

// me is who the bot is. It waits for Run to find that out.
func (a *Adapter) me(ctx context.Context) (inbound.Self, error) {
	select {
	case <-a.known:
		return a.self, nil
	case <-ctx.Done():
		return inbound.Self{}, faultOf(fmt.Errorf("waiting for auth.test: %w", ctx.Err()))
	}
}

// introduce calls auth.test until it answers, or says that it never will.
func (a *Adapter) introduce(ctx context.Context) error {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		tctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
		r, err := a.api.AuthTestContext(tctx)
		cancel()
		if err == nil {
			a.self = inbound.Self{Team: r.TeamID, Enterprise: r.EnterpriseID, User: r.UserID, Bot: r.BotID, URL: r.URL, App: a.ownApp(ctx, r.BotID)}
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
	if do, ok := TokenAdvice(no.Err); ok {
		return fmt.Errorf("the token is refused (%s): %s", no.Err, do)
	}
	return nil
}

// TokenAdvice is what to do about an error of auth.test that no waiting mends. ok is false for every other error.
func TokenAdvice(code string) (do string, ok bool) {
	do, ok = authAdvice[code]
	return do, ok
}

const maxAnswer = 16 << 20 // bytes of one answer

// lean takes the echo out of the answers to what we send: slack-go parses the whole message or view that Slack returns, strictly, so one
// block that it does not know as it expects would make a message that is there look like a failure.
type lean struct{ *http.Client }

// echoes names the echo by method.
var echoes = map[string]string{
	"chat.postMessage": "message", "chat.update": "message",
	"views.open": "view", "views.push": "view", "views.update": "view", "views.publish": "view",
}

func (l lean) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.Client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	keep := echoes[path.Base(r.URL.Path)]
	if resp.StatusCode != http.StatusOK || keep == "" {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(body, &whole) == nil && whole[keep] != nil {
		var bare struct {
			TS     string `json:"ts,omitempty"`
			Thread string `json:"thread_ts,omitempty"`
			ID     string `json:"id,omitempty"`
			Hash   string `json:"hash,omitempty"`
		}
		_ = json.Unmarshal(whole[keep], &bare)
		whole[keep], _ = json.Marshal(bare)
		body, _ = json.Marshal(whole)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// ownApp is the app that the bot token belongs to, by bots.info; auth.test does not say. Empty where Slack does not say: then only who signed, or
// whose socket it came by, says which app something is of.
// https://docs.slack.dev/reference/methods/bots.info
func (a *Adapter) ownApp(ctx context.Context, bot string) string {
	ctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
	defer cancel()
	b, err := a.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: bot})
	if err != nil {
		a.Logger.Info("slack: which app the bot token is of is not known", "err", faultOf(err))
		return ""
	}
	return b.AppID
}
