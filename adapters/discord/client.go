package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
)

// Adapter is the bot of one application. Its methods are safe for concurrent use, and may be called before Run: they wait until
// Discord has said who the bot is.
type Adapter struct {
	Config
	api  *discordgo.Session // for REST only: it is never opened
	http *http.Client       // api's, with our own limiter in it (transport.go)

	// self is who the bot is. It is written once, before known is closed: read it through me, or in what Run starts.
	self  self
	known chan struct{}

	gate     gateways      // its connections
	in       inlet         // what comes in
	sent     surface.Sent  // what stands there
	stamps   kept[int]     // by which Seek finds a message that was posted here, by its name in sent: an edit must not take it off
	purse    surface.Purse // what may be called
	answers  answers       // interactions that wait for their first answer
	begun    begun         // threads that are about to be made, and whom to tell where that fails
	memberOf members       // roles of people, for a minute
	typed    typed         // forms that were not taken
	views    kept[string]  // views of panels that are too long for a button

	now   func() time.Time
	pause func(context.Context, time.Duration) error // waits; an error is the context's
}

// self is who the bot is.
type self struct {
	User        string // the bot's user ID, as others mention it
	Application string // its application's ID: the same for applications made since 2016, and another for older ones
	Name        string
}

var (
	_ agent.Platform   = (*Adapter)(nil)
	_ agent.Whisperer  = (*Adapter)(nil)
	_ agent.Annotator  = (*Adapter)(nil)
	_ agent.Attacher   = (*Adapter)(nil)
	_ agent.Seeker     = (*Adapter)(nil)
	_ agent.Pacer      = (*Adapter)(nil)
	_ agent.Groups     = (*Adapter)(nil)
	_ agent.GroupNames = (*Adapter)(nil)
	_ agent.Teller     = (*Adapter)(nil)
)

// New makes the adapter. It speaks to nobody before Run.
func New(c Config) (*Adapter, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var to *url.URL
	if c.APIURL != "" {
		u, err := url.Parse(c.APIURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("discord: Config.APIURL is not an address like \"http://localhost:8080\"")
		}
		to = u
	}
	a := &Adapter{
		Config: c, known: make(chan struct{}), now: time.Now, pause: surface.Pause,
		answers: newAnswers(), begun: newBegun(), stamps: kept[int]{most: maxStamps, life: seekWithin}, memberOf: members{most: maxMembers, life: memberLife},
		typed: typed{most: maxTyped, life: typedLife}, views: kept[string]{most: maxViews, life: viewsLife},
	}
	a.purse = surface.Purse{
		Budget: c.Budget, Platform: Platform, Logger: c.Logger,
		Pause: func(ctx context.Context, d time.Duration) error { return a.pause(ctx, d) },
	}
	a.http = surface.HTTPClient(c.Client)
	a.http.Transport = &transport{a: a, next: a.http.Transport, to: to}
	a.api = newSession(c.Token, a.http)
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
	err := a.connect(ctx)
	ended := ctx.Err() != nil
	cancel()
	workers.Wait()
	a.closeInbox()
	a.http.CloseIdleConnections()
	if ended {
		return nil
	}
	return err
}

// registering registers the slash commands. Nothing waits for that: without them the bot still hears whoever mentions it.
func (a *Adapter) registering(ctx context.Context) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		err := a.register(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		pe := new(agent.PlatformError)
		errors.As(faultOf(err), &pe)
		if pe.Kind == agent.FaultForbidden || pe.Kind == agent.FaultGone {
			a.Logger.Error("discord: the slash commands could not be registered; going on without", "err", pe)
			return
		}
		a.Logger.Warn("discord: the slash commands could not be registered; trying again", "err", pe)
		if a.pause(ctx, max(pe.RetryAfter, wait/2+rand.N(wait/2))) != nil {
			return
		}
	}
}

// Limits are what the engine fits messages to.
func (a *Adapter) Limits() render.Limits { return limits }

// pace keeps a channel with one live message below five edits in five seconds, with room for what is urgent.
const pace = 1200 * time.Millisecond

// Pace is how far apart progress edits of one message are at least.
func (a *Adapter) Pace() time.Duration { return pace }

// me is who the bot is. It waits for Run to find that out.
func (a *Adapter) me(ctx context.Context) (self, error) {
	select {
	case <-a.known:
		return a.self, nil
	case <-ctx.Done():
		return self{}, faultOf(fmt.Errorf("waiting to learn who the bot is: %w", ctx.Err()))
	}
}

// introduce asks who the bot is until Discord answers, or says that it never will.
// https://discord.com/developers/docs/resources/user#get-current-user
func (a *Adapter) introduce(ctx context.Context) error {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		me, err := a.ask(ctx)
		if err == nil {
			a.self = me
			close(a.known)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fatal := fatalAuth(err); fatal != nil {
			return fatal
		}
		pe := new(agent.PlatformError)
		errors.As(err, &pe)
		a.Logger.Warn("discord: could not ask who the bot is; trying again", "err", pe)
		if err := a.pause(ctx, max(pe.RetryAfter, wait/2+rand.N(wait/2))); err != nil {
			return err
		}
	}
}

// ask asks both: the bot's user, whom people mention, and its application, which interactions are answered as.
func (a *Adapter) ask(ctx context.Context) (self, error) {
	ctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
	defer cancel()
	var user struct {
		ID   string `json:"id"`
		Name string `json:"username"`
	}
	if err := a.rest(ctx, http.MethodGet, discordgo.EndpointUser("@me"), nil, &user); err != nil {
		return self{}, err
	}
	var app struct {
		ID string `json:"id"`
	}
	if err := a.rest(ctx, http.MethodGet, discordgo.EndpointApplication("@me"), nil, &app); err != nil {
		return self{}, err
	}
	if !isSnowflake(user.ID) || !isSnowflake(app.ID) {
		return self{}, transient(errors.New("users/@me or applications/@me: the answer holds no ID"))
	}
	return self{User: user.ID, Application: app.ID, Name: user.Name}, nil
}

// fatalAuth is a sentence for an error that no waiting mends, or nil. It never holds a token.
func fatalAuth(err error) error {
	switch statusOf(err) {
	case http.StatusUnauthorized:
		return errors.New("the token is refused (401): copy the token from the application's \"Bot\" page to DISCORD_TOKEN, without \"Bot \" before it; " +
			"\"Reset Token\" there makes a new one. Discord resets a token by itself when it was published, and when a bot connects too often")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return errors.New("there is no Discord API at the address of DISCORD_API_URL (HTTP 404 from users/@me); leave it empty for Discord's own")
	}
	return nil
}
