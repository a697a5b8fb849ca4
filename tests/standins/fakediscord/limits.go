package fakediscord

import (
	"net/http"
	"strconv"
	"time"
)

// Rate is so many in each window of time. The zero Rate is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Limits are the rates the server keeps. The zero value limits nothing; start from [Documented] for the real ones.
type Limits struct {
	Create   Rate // messages, for each channel
	Edit     Rate // edits, for each channel
	OldEdit  Rate // edits of messages older than an hour, for each channel (30046)
	Webhook  Rate // answers by one interaction's token, the callback not counted
	Other    Rate // any other method, for each of its channels or guilds
	Global   Rate // all that takes the bot's token
	Invalid  Rate // answers of 401, 403 and 429: then everything is answered by Cloudflare
	Identify Rate // IDENTIFYs of each concurrency slot
	Sends    Rate // what one gateway connection may send
}

// Documented are Discord's limits. The rates of create, edit and webhook are not published but seen; the rest is in
// https://docs.discord.com/developers/topics/rate-limits and https://docs.discord.com/developers/events/gateway#rate-limiting
func Documented() Limits {
	return Limits{
		Create: Rate{5, 5 * time.Second}, Edit: Rate{5, 5 * time.Second}, OldEdit: Rate{3, 6 * time.Second}, Webhook: Rate{5, 2 * time.Second},
		Global: Rate{50, time.Second}, Invalid: Rate{10_000, 10 * time.Minute}, Identify: Rate{1, 5 * time.Second}, Sends: Rate{120, time.Minute},
	}
}

// OldAfter is the age from which an edit counts against [Limits.OldEdit].
const OldAfter = time.Hour

// window counts what happened since it began; it begins with the first thing.
type window struct {
	began time.Time
	n     int
}

// take counts one more and reports whether that was still within the rate; reset is when the window ends.
func (w *window) take(now time.Time, r Rate) (ok bool, left int, reset time.Duration) {
	if end := w.began.Add(r.Per); w.n == 0 || !now.Before(end) {
		w.began, w.n = now, 0
	}
	reset = w.began.Add(r.Per).Sub(now)
	if w.n >= r.N {
		return false, 0, reset
	}
	w.n++
	return true, r.N - w.n, reset
}

func (s *Server) window(key string) *window {
	if s.windows[key] == nil {
		s.windows[key] = &window{}
	}
	return s.windows[key]
}

// limited counts a request against its limits and writes the headers of its bucket. s.mu is held.
func (s *Server) limited(q *request, rt route, h http.Header) *refusal {
	l, now := s.opt.Limits, s.clock.Now()
	if l.Global.N > 0 && !rt.open {
		if ok, _, reset := s.window("global").take(now, l.Global); !ok {
			// with no X-RateLimit-Reset-After: the real answer has none
			return &refusal{status: 429, message: "You are being rate limited.", wait: reset, global: true,
				headers: map[string]string{"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}}
		}
	}
	rate, bucket, key := s.bucket(q)
	if rate.N == 0 {
		return nil
	}
	ok, left, reset := s.window(key).take(now, rate)
	h.Set("X-RateLimit-Limit", strconv.Itoa(rate.N))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(now.Add(reset).UnixMilli())/1000, 'f', 3, 64))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(seconds(reset), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", bucket)
	if !ok {
		return &refusal{status: 429, message: "You are being rate limited.", wait: reset, headers: map[string]string{"X-RateLimit-Scope": "user"}}
	}
	return nil
}

// bucket is the limit of a request: creating and editing report the same bucket but count apart
// (https://github.com/discord/discord-api-docs/issues/1442).
func (s *Server) bucket(q *request) (r Rate, bucket, key string) {
	l := s.opt.Limits
	switch method := q.call.Method; method {
	case CreateMessage:
		return l.Create, "80c17d2f203122d936070c88c8d10f33", "create " + q.path("channel")
	case EditMessage:
		return l.Edit, "80c17d2f203122d936070c88c8d10f33", "edit " + q.path("channel")
	case CreateFollowup, EditOriginal, EditFollowup, GetOriginal, GetFollowup, DeleteOriginal, DeleteFollowup:
		return l.Webhook, "d15dcc8b1d1a7e1b1e0b8b8f4d5cf9d1", "webhook " + q.path("token")
	case "", Callback, GetGateway:
		return Rate{}, "", ""
	default:
		return l.Other, "b1f1" + strconv.Itoa(len(method)) + method[:1], method + " " + q.path("channel") + q.path("guild")
	}
}

// old counts an edit of a message that is older than an hour. s.mu is held.
func (s *Server) old(m *Message) *refusal {
	l, now := s.opt.Limits.OldEdit, s.clock.Now()
	if l.N == 0 || now.Sub(Time(m.ID)) <= OldAfter {
		return nil
	}
	if ok, _, reset := s.window("old "+m.Channel).take(now, l); !ok {
		return &refusal{status: 429, code: 30046, message: "Maximum number of edits to messages older than 1 hour reached. Try again later", wait: reset,
			headers: map[string]string{"X-RateLimit-Scope": "user"}}
	}
	return nil
}

// invalid counts an answer that Discord holds against the caller. s.mu is held.
func (s *Server) invalid(r *refusal) {
	counts := r.status == 401 || r.status == 403 || r.status == 429 && r.headers["X-RateLimit-Scope"] != "shared"
	if l := s.opt.Limits.Invalid; l.N > 0 && counts && !r.html {
		s.window("invalid").take(s.clock.Now(), l)
	}
}

// banned is how long Cloudflare still answers in Discord's place. s.mu is held.
func (s *Server) banned() time.Duration {
	l, w := s.opt.Limits.Invalid, s.windows["invalid"]
	if l.N == 0 || w == nil || w.n < l.N {
		return 0
	}
	return max(0, w.began.Add(l.Per).Sub(s.clock.Now()))
}

// Invalid is how many invalid requests (401, 403, 429) the present window holds, with [Limits.Invalid].
func (s *Server) Invalid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window("invalid").n
}

// SetLimits changes the limits from now on.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Limits = l
}
