// Package rest makes calls of Discord's REST API through discordgo, and keeps Discord's limits in its place: discordgo's own limiter waits
// where no context ends it, does not honour a global 429 and never forgets a bucket.
//
// Start at [Client]: [Client.Call] makes one call, once. Beneath every call stands the transport (transport.go), which waits for what
// Discord said of limits (limits.go) and of the whole bot's budget; [Client.Spent] asks first for room in a channel (limits.go, too). Every
// error is an [*agent.PlatformError] that says what it means to a caller, and holds no secret (fault.go). A new code of Discord's that
// something is done about goes there, a new kind of call that is counted by itself to limits.go.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// Config is what a client is made of.
type Config struct {
	Token  string         // of the bot, without "Bot "
	APIURL string         // of a stand-in: scheme and host; empty: Discord's own
	Client *http.Client   // nil: one with timeouts
	Budget surface.Budget // nil: no limits are kept but Discord's own
	Logger *slog.Logger
	Now    func() time.Time
	Pause  func(context.Context, time.Duration) error // waits; an error is the context's
}

// Client makes calls of Discord's REST API, when the limits have room for them. It may be used concurrently.
type Client struct {
	Config
	api     *discordgo.Session  // never opened
	http    *http.Client        // api's, with our own limiter in it (transport.go)
	limiter surface.RateLimiter // what may be called
	app     atomic.Pointer[string]
}

// New makes a client. It calls nobody by itself.
func New(c Config) (*Client, error) {
	var to *url.URL
	if c.APIURL != "" {
		u, err := url.Parse(c.APIURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("discord: Config.APIURL is not an address like \"http://localhost:8080\"")
		}
		to = u
	}
	r := &Client{Config: c, limiter: surface.RateLimiter{Budget: c.Budget, Platform: ids.Platform, Logger: c.Logger, Pause: c.Pause}}
	r.http = surface.HTTPClient(c.Client)
	buckets, _ := lru.New[uint64, time.Time](maxBuckets) // it fails for a size below one only
	r.http.Transport = &transport{c: r, next: r.http.Transport, to: to, throttle: throttle{buckets: buckets}}
	r.api = newSession(c.Token, r.http)
	return r, nil
}

// Introduce says which application it is whose calls are made: limits are kept by it.
func (c *Client) Introduce(application string) { c.app.Store(&application) }

// application is what [Client.Introduce] said; empty before that.
func (c *Client) application() string {
	if p := c.app.Load(); p != nil {
		return *p
	}
	return ""
}

// CloseIdle closes connections that nobody uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Until tries something until it succeeds, ctx ends, or fails with what no waiting mends. Its error is ctx's, or what fatal says of that.
func (c *Client) Until(ctx context.Context, say string, wait func(try int) time.Duration, fatal func(error) error, do func(context.Context) error) error {
	for try := 0; ; try++ {
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if no := fatal(err); no != nil {
			return no
		}
		pe := new(agent.PlatformError)
		errors.As(FaultOf(err), &pe)
		c.Logger.Warn("discord: "+say+"; trying again", "err", pe)
		_ = c.Pause(ctx, max(pe.RetryAfter, wait(try))) // its error is ctx's, which is looked at above
	}
}

const maxBody = 4 << 20 // bytes of one answer: 100 messages with all their components are far below it

// Call makes one call of Discord's REST API, once. in is sent as JSON where it is not nil, into takes of the answer what it has fields
// for where it is not nil: discordgo's own structs cannot be read from an answer with a component that it does not know. Errors
// are of type [*agent.PlatformError] and hold no secret.
func (c *Client) Call(ctx context.Context, method, endpoint string, in, into any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return Forbidden(errors.New("what is to be sent cannot be written as JSON"))
		}
	}
	return c.raw(ctx, method, endpoint, "application/json", body, into)
}

// CallFiles is [Client.Call] with files beside the JSON. https://discord.com/developers/docs/reference#uploading-files
func (c *Client) CallFiles(ctx context.Context, method, endpoint string, in any, files []*discordgo.File, into any) error {
	if len(files) == 0 {
		return c.Call(ctx, method, endpoint, in, into)
	}
	contentType, body, err := discordgo.MultipartBodyWithJSON(in, files)
	if err != nil {
		return Forbidden(errors.New("what is to be sent cannot be written as JSON with files"))
	}
	return c.raw(ctx, method, endpoint, contentType, body, into)
}

// raw sends one request through discordgo. Each has a bucket of its own there, which is forgotten with it: discordgo keeps one for
// ever per interaction, and holds the others locked while a call of the same channel is under way, which no context ends. The limits
// are ours to keep (transport.go).
func (c *Client) raw(ctx context.Context, method, endpoint, contentType string, body []byte, into any) error {
	own := &discordgo.Bucket{}
	own.Lock() // RequestWithLockedBucket unlocks it
	answer, err := c.api.RequestWithLockedBucket(method, endpoint, contentType, body, own, 0,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
	if err != nil {
		return FaultOf(err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return Transient(fmt.Errorf("%w (%d bytes)", ErrUnexpected, len(answer)))
	}
	return nil
}

// bounded is an answer's body, read no further than a limit.
type bounded struct {
	io.Reader
	io.Closer
}

// The version of the API that is spoken, and the one that discordgo writes into its addresses.
// https://discord.com/developers/docs/reference#api-versioning
const (
	APIVersion = "10"
	apiTheirs  = "/api/v9/"
	apiOurs    = "/api/v" + APIVersion + "/"
)

const agentHeader = "DiscordBot (https://github.com/nodhq/nod, 1)" // https://discord.com/developers/docs/reference#user-agent

// newSession makes a discordgo.Session that does nothing by itself: no log, no retries. It is never opened.
func newSession(token string, client *http.Client) *discordgo.Session {
	s, _ := discordgo.New("Bot " + token) // its error is always nil
	s.LogLevel = -1                       // below LogError: it logs whole requests, and the token among them
	s.ShouldRetryOnRateLimit, s.MaxRestRetries = false, 0
	s.UserAgent = agentHeader
	s.Client = client
	return s
}
