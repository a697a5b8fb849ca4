// Package slack is the surface for Slack: a thread is a chat, and a turn's one message lives in it.
//
// Below stand blocks, which draws, and reads back what a click on a drawing says, and inbound, which reads what Slack sends: both are pure.
// calls knows what a call of Slack's may cost and what a refusal means, install how a workspace lets the bot in, and doctor sets an app up and
// looks it over. This is the adapter between Slack and the engine: it may import core/*, adapters/surface and all of these but doctor.
//
// Start with New and Run below. What Slack sends comes by sockets (socket.go) or signed requests (http.go), waits in lanes (surface.Lanes)
// and is served by receive.go (events), interact.go (clicks and forms) and commands.go, with who did it (people.go) and what was said
// before. What the engine shows is drawn by blocks and sent by post.go, private.go and presence.go when the workspace's budget has room. A
// tool's server asks its requester (elicitation.go), settings are a panel (panel.go) or a command, and health.go says whether Slack can be
// spoken to and heard. Several workspaces are an adapter each behind one (workspaces.go).
//
// How something looks goes to blocks, a new event to inbound with its case in receive.go, a new click or form to serveInteraction, a new
// method of Slack's to calls with its tier. What the engine or the page asks about a chat or a person begins with [Adapter.home].
//
//   - Acknowledged means durable, for events. An interaction is always acknowledged, because Slack never repeats it: the person is told
//     when it was not recorded.
//   - Who did something is the user of the signed envelope, looked up with users.info. Nothing else says it: what stands in a button, in an
//     option or in private_metadata has no authority.
//   - Words of models, tools, servers and people are never markup, and a card never loses a button because Slack refused a block.
//   - Nothing is posted blindly a second time (Seek), and no method is called beyond its budget except where that cannot be asked.
//   - Nothing is stored. A response_url is a key to its message: in memory only, and in no log.
package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/render"
)

const Platform = blocks.Platform // the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints

type Config struct {
	BotToken      string                    // xoxb-
	Team          string                    // the workspace that the token has to be of; empty: any
	AppToken      string                    // xapp-; set: Socket Mode
	SigningSecret string                    // for HTTP delivery, where AppToken is empty
	APIURL        string                    // of a stand-in, ending in "/"; empty: Slack's own
	Client        *http.Client              // nil: one with timeouts
	Engine        surface.Engine            //
	Asks          surface.Asks              //
	Settings      surface.Settings          // nil: nobody manages anything here
	Budget        surface.Budget            // nil: no limits are kept but Slack's own
	Follow        surface.Follow            //
	Channels      map[string]surface.Follow // by channel ID, over Follow
	Bots          []string                  // programs that may begin a chat, by the ID of their bot, app or user
	Guests        bool                      // guests of the workspace may decide
	External      bool                      // people of other organisations (Slack Connect) may decide
	MembersOnly   bool                      // guests and people of other organisations who may not decide may not talk either
	Feedback      bool                      // a finished turn can be rated
	Suggestions   []string                  // prompts offered in the agent view, at most four
	Connections   int                       // Socket Mode connections of this process. 0: 2
	Logger        *slog.Logger              // nil: none
}

func (c *Config) validate() error {
	var missing []error
	for _, x := range []struct {
		is   bool
		name string
	}{
		{c.Engine == nil, "Config.Engine"}, {c.Asks == nil, "Config.Asks"},
		{c.AppToken == "" && c.SigningSecret == "", "Config.AppToken (Socket Mode) or Config.SigningSecret (HTTP)"},
	} {
		if x.is {
			missing = append(missing, errors.New("slack: "+x.name+" is missing"))
		}
	}
	c.Connections = cmp.Or(max(c.Connections, 0), 2)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return errors.Join(missing...)
}

// Adapter is the bot in one workspace; [Workspaces] are several of them. Its methods are safe for concurrent use; before Run has found out who the bot is, they wait.
type Adapter struct {
	Config
	api  *slack.Client
	http *http.Client // for what slack-go has no function for; api uses it too

	self       inbound.Self    // written once, before introduced is closed: read it through me, or in what Run starts
	introduced chan struct{}   // closed when self is there
	life       context.Context // until Run ends
	end        context.CancelFunc

	urls     urls
	sent     surface.Sent
	limiter  surface.RateLimiter
	presence *presence
	in       intake // what comes in
	health   health

	served  func(context.Context, inbound.Delivery) (receipt, error) // [Adapter.serve], but where another hears for it
	several *Workspaces                                              // that it hears for; nil: it works in its own
	lost    func()                                                   // is told that nod was removed; nil: nobody is

	now   func() time.Time
	pause func(context.Context, time.Duration) error // [backoff.Wait]
}

var (
	_ agent.Platform  = (*Adapter)(nil)
	_ agent.Starter   = (*Adapter)(nil)
	_ agent.Whisperer = (*Adapter)(nil)
	_ agent.Annotator = (*Adapter)(nil)
	_ agent.Seeker    = (*Adapter)(nil)
	_ agent.Pacer     = (*Adapter)(nil)
	_ agent.Teller    = (*Adapter)(nil)
	_ groups.Groups   = (*Adapter)(nil)
	_ groups.Names    = (*Adapter)(nil)
)

// New makes the adapter. It speaks to nobody before Run.
func New(c Config) (*Adapter, error) {
	if c.BotToken == "" {
		return nil, errors.Join(errors.New("slack: Config.BotToken is missing"), c.validate())
	}
	return build(c)
}

func build(c Config) (*Adapter, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	a := &Adapter{
		Config: c, http: surface.HTTPClient(c.Client), introduced: make(chan struct{}), now: time.Now, pause: backoff.Wait,
	}
	a.life, a.end = context.WithCancel(context.Background())
	a.limiter.Budget, a.limiter.Platform, a.limiter.Logger = c.Budget, Platform, c.Logger
	a.limiter.Pause = func(ctx context.Context, d time.Duration) error { return a.pause(ctx, d) }
	a.presence, a.served = newPresence(a), a.serve
	a.health.doubts, a.health.deaf = make(chan struct{}, 1), a.now()
	// No OptionRetry: a repeated chat.postMessage is a second message. No OptionDebug: it prints messages, and reconnects every six
	// minutes.
	a.APIURL = strings.TrimSuffix(cmp.Or(c.APIURL, slack.APIURL), "/") + "/"
	a.api = slack.New(c.BotToken, slack.OptionHTTPClient(lean{a.http}), slack.OptionAPIURL(a.APIURL), slack.OptionAppLevelToken(c.AppToken))
	return a, nil
}

// Run finds out who the bot is, then listens until ctx ends, which is no error; an error says what to do where Slack refuses the tokens.
// All goroutines have ended when it returns.
func (a *Adapter) Run(ctx context.Context) error { return a.run(ctx, a.listen) }

func (a *Adapter) run(ctx context.Context, listen func(context.Context) error) error {
	if err := a.introduce(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	working, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { a.presence.run(working) })
	workers.Go(func() { a.watchToken(working) })
	err := listen(ctx)
	cancel()
	a.end()
	workers.Wait()
	a.http.CloseIdleConnections()
	return err
}

func (a *Adapter) Limits() render.Limits { return blocks.Limits }

// Pace is how far apart progress edits of one message are at least; the shared budget spreads them to 0.98 s and more (lua/spend.lua).
func (a *Adapter) Pace() time.Duration { return 900 * time.Millisecond }

// me waits for Run to find out who the bot is.
func (a *Adapter) me(ctx context.Context) (inbound.Self, error) {
	select {
	case <-a.introduced:
		return a.self, nil
	case <-ctx.Done():
		return inbound.Self{}, calls.FaultOf(fmt.Errorf("waiting for auth.test: %w", ctx.Err()))
	}
}

// home is the adapter of a workspace, once that knows who it is, for whoever wants something of it: this one, except where it hears for
// several. Each method that the engine calls about a chat or a person begins with it, or with known.
func (a *Adapter) home(ctx context.Context, team string) (*Adapter, error) {
	if a.several != nil && team != "" {
		var err error
		if a, err = a.several.of(ctx, team); err != nil {
			return nil, err
		}
	}
	_, err := a.me(ctx)
	return a, err
}

// known is home for who cannot wait; nil: there is none here, as far as it was looked.
func (a *Adapter) known(team string) *Adapter {
	if a.several == nil {
		return a
	}
	return a.several.at(team)
}

// introduce calls auth.test until it answers, or says that it never will.
func (a *Adapter) introduce(ctx context.Context) error {
	wait := backoff.Exponential{First: 500 * time.Millisecond, Most: 30 * time.Second, Jitter: -0.5}
	for failed := 0; ; failed++ {
		r, err := a.api.AuthTestContext(ctx)
		if err == nil {
			if a.Team != "" && r.TeamID != a.Team {
				return fmt.Errorf("the token is of the workspace %s", r.TeamID)
			}
			a.self = inbound.Self{Team: r.TeamID, Enterprise: r.EnterpriseID, User: r.UserID, Bot: r.BotID, URL: r.URL, App: a.ownApp(ctx, r.BotID)}
			close(a.introduced)
			return nil
		}
		if fatal := calls.FatalAuth(err); fatal != nil {
			if a.lost != nil && calls.Removed(err) {
				a.lost()
			}
			return fatal
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pe := calls.FaultOf(err)
		a.Logger.Warn("slack: auth.test failed; trying again", "err", pe)
		if err := a.pause(ctx, max(pe.RetryAfter, wait.After(failed))); err != nil {
			return err
		}
	}
}

const maxAnswer = 16 << 20 // bytes of one answer

// lean takes the echo out of the answers to what we send: slack-go parses the message or view that Slack returns strictly, so one block
// that it does not know would make a message that is there look like a failure.
type lean struct{ *http.Client }

var echoes = map[string]string{
	"chat.postMessage": "message", "chat.update": "message",
	"views.open": "view", "views.push": "view", "views.update": "view", "views.publish": "view",
}

func (l lean) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.Client.Do(r)
	if err != nil {
		return nil, err
	}
	came := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(came, maxAnswer), came}
	echo := echoes[path.Base(r.URL.Path)]
	if resp.StatusCode != http.StatusOK || echo == "" {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = came.Close() // until then what was sent is kept, for as long as a call may take
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(body, &whole) == nil && whole[echo] != nil {
		var bare struct {
			TS     string `json:"ts,omitempty"`
			Thread string `json:"thread_ts,omitempty"`
			ID     string `json:"id,omitempty"`
			Hash   string `json:"hash,omitempty"`
		}
		_ = json.Unmarshal(whole[echo], &bare)
		whole[echo], _ = json.Marshal(bare)
		body, _ = json.Marshal(whole)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// ownApp is the app of the bot token, or "" where Slack does not say: then only who signed, or whose socket it came by, says which app
// something is of. https://docs.slack.dev/reference/methods/bots.info
func (a *Adapter) ownApp(ctx context.Context, bot string) string {
	b, err := a.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: bot})
	if err != nil {
		a.Logger.Info("slack: which app the bot token is of is not known", "err", calls.FaultOf(err))
		return ""
	}
	return b.AppID
}
