// Package openai asks any OpenAI-compatible service for replies: Chat Completions, streamed, with several tool calls at once.
//
// Its words. A [Client] is one service with one model. An alias ([Alias]) is the name a model knows a tool by. A request's shape is which
// optional parts it has; a service that refuses one is asked once more without it. A fault is a failed attempt.
//
// Start reading at [Client.Reply]. openai-go carries the exchange (exchange.go). Bodies are written by request.go and read by events.go and
// answer.go, because services differ more than its types and its reader allow (testdata holds the bytes of each difference). fault.go says
// what a failure means. It may import core; what a service does differently is a file in testdata first, then a line where it is read.
//
// Invariants. Every call in a request is followed by exactly its one result. Nothing is tried again after the first piece of text was
// streamed: what came stands as a cut reply, without calls. No error and no log line holds the key. The environment is not read.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/text"
)

// DefaultBaseURL is used when none is configured.
const DefaultBaseURL = "https://api.openai.com/v1/"

const (
	defaultRetries = 4
	longestAfter   = 2 * time.Minute // that the service may ask for; beyond it the person is told instead
	defaultIdle    = 5 * time.Minute
	maxAnswer      = 64 << 20 // bytes of one answer on the wire
	maxRefusal     = 64 << 10 // bytes read of an error's body
)

// again is the wait between attempts when the service names no time.
var again = backoff.Exponential{First: time.Second, Most: 30 * time.Second, Jitter: -0.25}

// Config is what a client needs.
type Config struct {
	// BaseURL is the service's address, usually ending in /v1; empty is [DefaultBaseURL]. A query (api-version) is sent with every request.
	BaseURL string
	// APIKey is sent as the bearer token. Empty sends none: local services need none.
	APIKey string
	// Model is the model's name as the service knows it. Required.
	Model string
	// HTTPClient makes the requests; nil is one of our own with the standard transport.
	HTTPClient *http.Client
	// Mark adds to a request's headers what says which work it is for; nil: nothing does.
	Mark func(context.Context, http.Header)
	// Log gets one line for each failed attempt; nil is silence.
	Log *slog.Logger
	// MaxRetries is how often a request is repeated before its first text; 0 is 4, negative is never.
	MaxRetries int
	// Idle is how long a service may send nothing before the attempt is given up; 0 is five minutes. Slow local models need it long.
	Idle time.Duration
}

// Client is a model behind an OpenAI-compatible service. It is safe for concurrent use and starts no goroutine that outlives a Reply.
type Client struct {
	service openai.ChatCompletionService
	model   string
	secrets []string
	log     *slog.Logger
	retries int
	idle    time.Duration
	noUsage atomic.Bool // the service refuses stream_options
	simple  atomic.Bool // it took the tools only once they were cut down
	takes   limits      // what it takes of the tools

	now  func() time.Time
	wait func(context.Context, time.Duration) error // tests wait without waiting
}

var _ agent.Model = (*Client)(nil)

// transport is the usual one with more connections kept: of many chats at once all but two would shake hands anew with each request.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// New makes a client. It sends nothing.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cmp.Or(cfg.BaseURL, DefaultBaseURL))
	if err != nil || base.Host == "" || cfg.Model == "" {
		return nil, errors.New("openai: Config needs Model, and in BaseURL a whole address or nothing") // not quoted: it may hold a secret
	}
	c := &Client{model: cfg.Model, secrets: []string{cfg.APIKey}, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		retries: cmp.Or(cfg.MaxRetries, defaultRetries), idle: cmp.Or(cfg.Idle, defaultIdle), now: time.Now, wait: backoff.Wait}
	query := base.Query()
	base.RawQuery, base.Fragment = "", ""
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(cmp.Or(cfg.HTTPClient, &http.Client{Transport: transport()})),
		option.WithMaxRetries(0), // ours say so in the message
		option.WithHeader("User-Agent", "nod"),
		option.WithMiddleware(c.refusals),
	}
	for name, values := range query { // openai-go drops a base address's own query
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
			if len(v) >= 8 { // some services take the key here
				c.secrets = append(c.secrets, v, url.QueryEscape(v))
			}
		}
	}
	if cfg.Mark != nil {
		opts = append(opts, option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			cfg.Mark(r.Context(), r.Header)
			return next(r)
		}))
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// Not openai.NewClient: that reads OPENAI_* from the environment.
	c.service = openai.NewChatCompletionService(opts...)
	return c, nil
}

// Name is the model's name.
func (c *Client) Name() string { return c.model }

// Reply asks the model. See [agent.Model]. When the context ends first, its error comes with what was streamed so far as a cut reply.
func (c *Client) Reply(ctx context.Context, talk []turn.Utterance, offered []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	if stream == nil {
		stream = func(agent.Delta) {}
	}
	names, offered := byAlias(offered)
	s := &shape{usage: !c.noUsage.Load(), extras: true, stream: true, simple: c.simple.Load()}
	for tries := 0; ; {
		sent, faults := c.takes.fit(offered, talk)
		a, f := c.attempt(ctx, talk, sent, s, stream)
		if f != nil && ctx.Err() != nil {
			return agent.Reply{Text: clean(a.text.String()), Cut: true, Usage: a.usage}, context.Cause(ctx)
		}
		if s.noPictures {
			faults = append(slices.Clip(faults), text.NoPictures)
		}
		if f == nil {
			if s.simple && !s.fewer { // else every request would be refused first
				c.simple.Store(true)
			}
			return a.reply(names, faults), nil
		}
		f.said = redact(f.said, c.secrets...)
		c.log.WarnContext(ctx, "model attempt failed", "model", c.model, "attempt", tries+1, "fault", f.Error())
		if strings.TrimSpace(a.text.String()) != "" {
			return a.reply(names, faults), nil // people have read it: it stands, cut
		}
		if c.adapt(f, s, sent, talk) {
			continue
		}
		if !f.again(tries) || tries >= c.retries || f.after > longestAfter {
			return agent.Reply{Usage: a.usage}, &agent.ModelError{Say: f.sentence(c.model), Cause: f, TooLong: f.tooLong()}
		}
		if f.kind == silent {
			s.stream = !s.stream // a service that cannot stream may answer in one piece
		}
		pause := f.after
		if !f.wait {
			pause = again.After(tries)
		}
		tries++
		stream(agent.Delta{Note: fmt.Sprintf("%s Trying again in %d s.", f.plainly(), int((pause+time.Second-1)/time.Second))})
		if c.wait(ctx, pause) != nil {
			return agent.Reply{Cut: true}, context.Cause(ctx)
		}
	}
}

// adapt changes the shape of the next request when a refusal names an optional part of this one. Each change happens once.
func (c *Client) adapt(f *fault, s *shape, sent []agent.ToolSpec, talk []turn.Utterance) bool {
	if f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return false
	}
	names := func(words ...string) bool { return holdsAny(strings.ToLower(f.said), words...) }
	switch {
	case s.usage && names("stream_options", "include_usage"):
		s.usage = false
		c.noUsage.Store(true)
	case s.extras && len(s.carried) > 0 && names(append(s.carried, "extra input", "extra field", "additional propert", "unknown field", "unrecognized")...):
		s.extras = false
	case s.stream && names("streaming is not supported", "stream is not supported", "does not support stream"):
		s.stream = false
	case !s.noPictures && pictured(talk) && names("image", "picture", "vision", "multimodal", "content must be a string", "content.str", "expected a string", "after role"):
		s.noPictures = true
	case !s.shortIDs && names("tool call id", "tool_call_id") && names("length of 9"):
		s.shortIDs = true // Mistral: a-z, A-Z, 0-9, with a length of 9
	case len(sent) == 0:
		return false
	case names("not support tools", "not support tool", "tool use is not supported", "tools are not supported", "not support function"):
		c.takes.without.Store(true)
	case names("tools") && names("too long", "too many", "maximum", "at most", "limit") && c.takes.fewer(f.said, len(sent)):
	case !s.simple && names("schema", "parameters", "description", "tools"):
		s.simple = true
	default:
		s.fewer = c.takes.refuse(f.said, sent)
		return s.fewer
	}
	return true
}
