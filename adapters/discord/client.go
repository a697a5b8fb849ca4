package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/backfill"
	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/gateway"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Adapter is the bot of one application. Its methods are safe for concurrent use, and may be called before Run: they wait until
// Discord has said who the bot is.
type Adapter struct {
	Config
	api *rest.Client
	cdn *http.Client // for people's files

	// self is who the bot is. It is written once, before introduced is closed: read it through me, or in what Run starts.
	self       self
	introduced chan struct{}

	gate     *gateway.Gateway // its connections
	in       inbox            // what comes in
	missed   *backfill.Backfill
	sent     surface.Sent                     // what stands there
	stamps   surface.Cache[int]               // by which Seek finds a message that was posted here, by its name in sent: an edit must not take it off
	answers  answers                          // interactions that wait for their first answer
	begun    surface.Cache[beginning]         // conversations that a person began here a moment ago, by room
	notified surface.Cache[struct{}]          // whom was told what is missing where
	memberOf surface.Cache[[]chat.User]       // the roles of people, by guild and user
	drafts   surface.Cache[map[string]string] // forms that were not taken, by person and asking: what stands in each input
	views    surface.Cache[string]            // views of panels that are too long for a button

	now   func() time.Time
	pause func(context.Context, time.Duration) error // waits; an error is the context's
	wait  func(try int) time.Duration                // before the next attempt at what could not be recorded
}

// self is who the bot is.
type self struct {
	User        string // the bot's user ID, as others mention it
	Application string // its application's ID: the same for applications made since 2016, and another for older ones
}

var (
	_ agent.Platform  = (*Adapter)(nil)
	_ agent.Whisperer = (*Adapter)(nil)
	_ agent.Annotator = (*Adapter)(nil)
	_ agent.Attacher  = (*Adapter)(nil)
	_ agent.Seeker    = (*Adapter)(nil)
	_ agent.Pacer     = (*Adapter)(nil)
	_ groups.Groups   = (*Adapter)(nil)
	_ groups.Names    = (*Adapter)(nil)
	_ agent.Teller    = (*Adapter)(nil)
)

// New makes the adapter. It speaks to nobody before Run.
func New(c Config) (*Adapter, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	a := &Adapter{
		Config: c, cdn: surface.HTTPClient(c.Client), in: inbox{channels: newChannels()}, introduced: make(chan struct{}), now: time.Now, pause: backoff.Wait, wait: backfill.Wait,
		answers: answers{byID: surface.Cache[*answer]{Life: answerLife}, byMessage: surface.Cache[[]*answer]{Life: answerLife}},
		begun:   surface.Cache[beginning]{Life: begunLife}, notified: surface.Cache[struct{}]{Life: noticeLife}, memberOf: surface.Cache[[]chat.User]{Life: memberLife},
		stamps: surface.Cache[int]{Life: seekWithin}, drafts: surface.Cache[map[string]string]{Most: maxDrafts, Life: draftLife}, views: surface.Cache[string]{Life: viewsLife},
	}
	api, err := rest.New(rest.Config{
		Token: c.Token, APIURL: c.APIURL, Client: c.Client, Budget: c.Budget, Logger: c.Logger,
		Now: func() time.Time { return a.now() }, Pause: func(ctx context.Context, d time.Duration) error { return a.pause(ctx, d) },
	})
	if err != nil {
		return nil, err
	}
	a.api = api
	g := gateway.Config{
		Token: c.Token, Shards: c.Shards, Holds: c.Holds, Owner: c.Owner, Lease: c.Lease, Budget: c.Budget, Rest: api, Client: c.Client,
		OpenWithin: c.OpenWithin, SilentWithin: c.SilentWithin, Logger: c.Logger, Now: api.Now, Pause: api.Pause,
		Event: a.event, Connected: a.connected,
	}
	a.missed = backfill.New(backfill.Config{
		Marks: c.Marks, Fetch: a.fetchMissed, Shards: func() int { return a.gate.ShardCount() }, Logger: c.Logger,
		Now: api.Now, Pause: api.Pause, Wait: func(try int) time.Duration { return a.wait(try) },
	})
	if c.Marks != nil {
		g.Beside = a.missed.NoteMoments
	}
	a.gate = gateway.New(g)
	return a, nil
}

// Run finds out who the bot is, then listens until ctx ends. It returns nil for an ended ctx, and an error that says what to
// do where Discord refuses the bot. All goroutines have ended when it returns.
func (a *Adapter) Run(ctx context.Context) error {
	if err := a.introduce(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	a.openInbox(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { a.registering(ctx) })
	err := a.gate.Run(ctx, a.self.Application)
	cancel()
	workers.Wait()
	a.closeInbox()
	a.api.CloseIdle()
	a.cdn.CloseIdleConnections()
	return err
}

// registering registers the slash commands. Nothing waits for that: without them the bot still hears whoever mentions it.
func (a *Adapter) registering(ctx context.Context) {
	again := backoff.Exponential{First: time.Second, Most: 5 * time.Minute, Jitter: -0.5}
	refused := func(err error) error {
		if rest.IsUnreachable(rest.FaultOf(err)) {
			return err
		}
		return nil
	}
	if err := a.api.Until(ctx, "the slash commands could not be registered", again.After, refused, a.register); err != nil && ctx.Err() == nil {
		a.Logger.Error("discord: the slash commands could not be registered; going on without", "err", rest.FaultOf(err))
	}
}

// register makes the application's global commands ours, where they are not. There are few such writes a day.
// https://discord.com/developers/docs/interactions/application-commands#registering-a-command
func (a *Adapter) register(ctx context.Context) error {
	at := discordgo.EndpointApplicationGlobalCommands(a.self.Application)
	var there []json.RawMessage
	if err := a.api.Call(ctx, http.MethodGet, at, nil, &there); err != nil {
		return err
	}
	if inbound.SameCommands(there, inbound.Commands()) {
		return nil
	}
	if err := a.api.Call(ctx, http.MethodPut, at, inbound.Commands(), nil); err != nil {
		return err
	}
	a.Logger.Info("discord: the slash commands are registered")
	return nil
}

// Limits are what the engine fits messages to.
func (a *Adapter) Limits() render.Limits { return components.Limits }

// pace keeps a channel with one live message below five edits in five seconds, with room for what is urgent.
const pace = 1200 * time.Millisecond

// Pace is how far apart progress edits of one message are at least.
func (a *Adapter) Pace() time.Duration { return pace }

// me is who the bot is. It waits for Run to find that out.
func (a *Adapter) me(ctx context.Context) (self, error) {
	select {
	case <-a.introduced:
		return a.self, nil
	case <-ctx.Done():
		return self{}, rest.FaultOf(fmt.Errorf("waiting to learn who the bot is: %w", ctx.Err()))
	}
}

// introduce asks who the bot is until Discord answers, or says that it never will.
func (a *Adapter) introduce(ctx context.Context) error {
	again := backoff.Exponential{First: 500 * time.Millisecond, Most: 30 * time.Second, Jitter: -0.5}
	return a.api.Until(ctx, "could not ask who the bot is", again.After, rest.FatalAuth, func(ctx context.Context) error {
		me, err := a.askSelf(ctx)
		if err == nil {
			a.self = me
			a.api.Introduce(me.Application)
			close(a.introduced)
		}
		return err
	})
}

// askSelf asks for both: the bot's user, whom people mention, and its application, which interactions are answered as.
// https://discord.com/developers/docs/resources/user#get-current-user
func (a *Adapter) askSelf(ctx context.Context) (self, error) {
	ctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
	defer cancel()
	var user, app struct {
		ID string `json:"id"`
	}
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointUser("@me"), nil, &user); err != nil {
		return self{}, err
	}
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointApplication("@me"), nil, &app); err != nil {
		return self{}, err
	}
	if !ids.IsSnowflake(user.ID) || !ids.IsSnowflake(app.ID) {
		return self{}, rest.Transient(errors.New("users/@me or applications/@me: the answer holds no ID"))
	}
	return self{User: user.ID, Application: app.ID}, nil
}

// Ready is nil while there is a session of the gateway, or another replica has it. Its error is for whoever asks how the process is.
func (a *Adapter) Ready(context.Context) error { return a.gate.Ready() }
