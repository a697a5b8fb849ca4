// Package rest makes calls of Discord's REST API, and keeps Discord's limits. discordgo has the addresses and the multipart bodies, but makes no
// call: its limiter waits where no context ends it, does not honour a global 429 and never forgets a bucket.
//
// Start at [Client]: [Client.Call] makes one call, once, when what Discord said of limits and the whole bot's budget have room for it
// (limits.go); [Client.Spent] asks first for room in a channel. Every error is an [*agent.PlatformError] that says what it means to a caller,
// and holds no secret (fault.go). A new code of Discord's that something is done about goes there, a new kind of call that is counted by itself
// to limits.go.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
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
	http    *http.Client
	base    string              // what the addresses of the API begin with
	limiter surface.RateLimiter // what may be called
	app     atomic.Pointer[string]
	throttle
}

// New makes a client. It calls nobody by itself.
func New(c Config) (*Client, error) {
	host := "https://discord.com"
	if c.APIURL != "" {
		u, err := url.Parse(c.APIURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("discord: Config.APIURL is not an address like \"http://localhost:8080\"")
		}
		host = u.Scheme + "://" + u.Host
	}
	buckets, _ := lru.New[uint64, time.Time](maxBuckets) // it fails for a size below one only
	return &Client{
		Config: c, http: surface.HTTPClient(c.Client), base: host + "/api/v" + APIVersion + "/", throttle: throttle{buckets: buckets},
		limiter: surface.RateLimiter{Budget: c.Budget, Platform: ids.Platform, Logger: c.Logger, Pause: c.Pause},
	}, nil
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
		if err := c.Pause(ctx, max(pe.RetryAfter, wait(try))); err != nil {
			return err
		}
	}
}

const maxBody = 4 << 20 // bytes of one answer: 100 messages with all their components are far below it

// Call makes one call of Discord's REST API, once. endpoint is as discordgo names it. in is sent as JSON where it is not nil, into takes of the
// answer what it has fields for where it is not nil: discordgo's own structs cannot be read from an answer with a component that it does not
// know. Errors are of type [*agent.PlatformError] and hold no secret.
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

// raw makes one request when the limits have room for it.
func (c *Client) raw(ctx context.Context, method, endpoint, contentType string, body []byte, into any) error {
	at := strings.TrimPrefix(endpoint, discordgo.EndpointAPI)
	path, _, _ := strings.Cut(at, "?")
	to := routeOf(method, path, c.Now())
	ctx, cancel := context.WithTimeout(ctx, c.http.Timeout) // the waiting included
	defer cancel()
	if err := c.wait(ctx, to); err != nil {
		return err
	}
	if err := c.acquireGlobal(ctx, to); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+at, bytes.NewReader(body))
	if err != nil {
		return FaultOf(err)
	}
	req.Header.Set("Authorization", "Bot "+c.Token)
	req.Header.Set("User-Agent", agentHeader)
	if body != nil { // with a type and without a body it is a bad request to Discord
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return FaultOf(err)
	}
	defer func() { _ = resp.Body.Close() }()
	c.heard(ctx, to, resp)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch status := resp.StatusCode; {
	case err != nil:
		return FaultOf(err)
	case status == http.StatusTooManyRequests:
		return c.heardBusy(ctx, to, resp.Header, answer)
	case status != http.StatusOK && status != http.StatusCreated && status != http.StatusNoContent:
		return refusalFault(refusalOf(status, answer))
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return Transient(fmt.Errorf("%w (%d bytes)", ErrUnexpected, len(answer)))
	}
	return nil
}

// APIVersion is the version of the API that is spoken. https://discord.com/developers/docs/reference#api-versioning
const APIVersion = "10"

const agentHeader = "DiscordBot (https://github.com/nodhq/nod, 1)" // https://discord.com/developers/docs/reference#user-agent
