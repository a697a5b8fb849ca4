package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// transport is under every request: it turns discordgo's addresses into those of the API's version 10, or of a stand-in, and keeps
// Discord's limits, because discordgo's own limiter waits where no context ends it, does not honour a global 429, and never forgets
// a bucket. It hides the headers that limiter would read.
type transport struct {
	c    *Client
	next http.RoundTripper
	to   *url.URL // of a stand-in; nil: Discord's own
	throttle
}

// The answers that count as invalid, and for how long a ban lasts where Cloudflare does not say.
// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
const banned = 10 * time.Minute

// maxRefusal is how much of a 429 is read: it says little.
const maxRefusal = 64 << 10

// RoundTrip sends a request when the limits have room for it. An error of its own is an [*agent.PlatformError].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := routeOf(r.Method, r.URL.Path, t.c.Now())
	if err := t.wait(r.Context(), to); err != nil {
		return nil, closing(r, err)
	}
	if err := t.acquireGlobal(r.Context(), to); err != nil {
		return nil, closing(r, err)
	}
	resp, err := t.next.RoundTrip(t.addressed(r))
	if err != nil {
		return nil, err
	}
	resp.Body = bounded{io.LimitReader(resp.Body, maxBody), resp.Body}
	if err := t.heard(r.Context(), to, resp); err != nil {
		return nil, err
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			delete(resp.Header, name)
		}
	}
	return resp, nil
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] asks for.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// closing keeps a RoundTripper's promise: the request's body is closed whatever happens.
func closing(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// addressed is the request to where it goes. What a request holds is not changed: a RoundTripper must not.
func (t *transport) addressed(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	if rest, ok := strings.CutPrefix(out.URL.Path, apiTheirs); ok {
		out.URL.Path = apiOurs + rest
		if raw, ok := strings.CutPrefix(out.URL.RawPath, apiTheirs); ok {
			out.URL.RawPath = apiOurs + raw
		}
	}
	if t.to != nil {
		out.URL.Scheme, out.URL.Host, out.Host = t.to.Scheme, t.to.Host, ""
	}
	return out
}

// wait returns when nothing that is known forbids the call. Progress does not wait.
func (t *transport) wait(ctx context.Context, to route) error {
	for {
		d, why := t.shut(to, t.c.Now())
		if d <= 0 {
			return nil
		}
		if lane, known := laneOf(ctx); known && lane == agent.Progress {
			return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: d, Cause: why}
		}
		until, _ := ctx.Deadline() // surface.HTTPClient gives every request one
		if time.Until(until) < d || t.c.Pause(ctx, d) != nil {
			return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: d, Cause: why}
		}
	}
}

// acquireGlobal spends one call of what the whole bot has.
func (t *transport) acquireGlobal(ctx context.Context, to route) error {
	app := t.c.application()
	if to.exempt || app == "" {
		return nil
	}
	lane, said := laneOf(ctx)
	if !said {
		lane = agent.Final
	}
	return t.c.limiter.Acquire(ctx, "any call", surface.Spend{Pool: globalPool(app), Limit: globalLimit, Per: time.Second, Lane: lane})
}

// heard takes in what an answer says of limits.
func (t *transport) heard(ctx context.Context, to route, resp *http.Response) error {
	now, h := t.c.Now(), resp.Header
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		t.invalid(ctx)
	case http.StatusTooManyRequests:
		return t.heardBusy(ctx, to, resp)
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		t.exhausted(to, now.Add(seconds(h.Get("X-RateLimit-Reset-After"))))
	}
	return nil
}

// heardBusy takes in a 429: of the bucket, of the whole bot ("global"), of a resource that others use too ("shared"), or Cloudflare's.
// https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit
func (t *transport) heardBusy(ctx context.Context, to route, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	var said struct {
		After  float64 `json:"retry_after"`
		Global bool    `json:"global"`
		Code   int     `json:"code"`
	}
	isJSON := json.Unmarshal(body, &said) == nil
	h, now := resp.Header, t.c.Now()
	after := max(seconds(h.Get("Retry-After")), seconds(h.Get("X-RateLimit-Reset-After")), time.Duration(min(said.After, maxSeconds)*float64(time.Second)))
	if h.Get("X-RateLimit-Scope") != "shared" {
		t.invalid(ctx)
	}
	switch {
	case !isJSON:
		if after <= 0 {
			after = banned
		}
		t.until(&t.shutOut, now.Add(after))
		t.c.Logger.Error("discord: this network is shut out for a while (a 429 that is not of the API: Cloudflare's)", "for", after)
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: after, Cause: ErrShutOut}
	case said.Global, h.Get("X-RateLimit-Global") != "":
		after = max(after, surface.BusyForUnknown)
		t.until(&t.stopped, now.Add(after))
		if app := t.c.application(); app != "" { // the other replicas are told
			busy := &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: after, Cause: errSlow}
			_ = t.c.limiter.Failed(ctx, "any call", globalPool(app), busy)
		}
		t.c.Logger.Warn("discord: the limit of the whole bot is exceeded", "for", after)
	default:
		after = max(after, 20*time.Millisecond)
		t.exhausted(to, now.Add(after))
	}
	body = fmt.Appendf(nil, `{"message":"You are being rate limited.","retry_after":%.3f,"code":%d}`, after.Seconds(), said.Code)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// invalid counts an answer that Discord counts against this network's address, here and with the other replicas.
func (t *transport) invalid(ctx context.Context) {
	now := t.c.Now()
	if t.count(now) >= maxInvalid {
		t.until(&t.paused, now.Add(time.Minute)) // then the oldest minute is forgotten, and one more may be tried
	}
	app := t.c.application()
	if app == "" || t.c.Budget == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	wait, _ := t.c.Budget.Spend(ctx, surface.Spend{Pool: invalidPool(app), Limit: maxInvalid, Per: invalidPer, Lane: agent.Decision})
	t.until(&t.paused, now.Add(wait))
}

// maxSeconds bounds what is believed of a header: nobody waits for a day.
const maxSeconds = 24 * 60 * 60

// seconds reads a header; 0 for what is no number.
func seconds(s string) time.Duration {
	f, _ := strconv.ParseFloat(s, 64)
	if !(f > 0) { // not a number is not above zero either
		return 0
	}
	return time.Duration(min(f, maxSeconds) * float64(time.Second))
}
