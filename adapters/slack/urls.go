package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// A response_url edits the message that was clicked, or answers the person who clicked, up to five times within 30 minutes.
// It counts towards no method's limit. https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
const (
	urlUses = 5
	urlLife = 30*time.Minute - 30*time.Second // less than Slack's: clocks differ, and a request takes its time
	maxURLs = 4096
)

// messageAt is where a message stands.
type messageAt struct{ channel, ts string }

func (m messageAt) String() string { return m.channel + "/" + m.ts }

// urls remembers the response_urls that came with clicks. They are kept in memory only and never logged: whoever has one can
// change the message. The zero value is ready.
type urls struct {
	mu  sync.Mutex
	all []*responseURL // oldest first: they all live equally long
}

type responseURL struct {
	ref   messageAt
	url   string
	left  int
	until time.Time
}

// remember keeps the response_url of a click on one of our messages, for edits of that message.
func (a *Adapter) remember(ref messageAt, responseURL string) {
	if u, err := url.Parse(responseURL); err != nil || u.Host == "" || u.Scheme != "https" && a.APIURL == "" {
		return
	}
	a.urls.add(ref, responseURL, a.now())
}

func (u *urls) add(ref messageAt, raw string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire(now)
	if u.find(raw) != nil {
		return // the same click, delivered again
	}
	if len(u.all) >= maxURLs {
		u.all = slices.Delete(u.all, 0, 1)
	}
	u.all = append(u.all, &responseURL{ref, raw, urlUses, now.Add(urlLife)})
}

// take spends one use of the newest response_url of a message.
func (u *urls) take(ref messageAt, now time.Time) (raw string, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire(now)
	for _, r := range slices.Backward(u.all) {
		if r.ref == ref && r.left > 0 {
			r.left--
			return r.url, true
		}
	}
	return "", false
}

// use spends one use of a response_url that somebody holds. ok is false where it is known to be used up; one that was never
// remembered (of a slash command) may be tried.
func (u *urls) use(raw string, now time.Time) (ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire(now)
	r := u.find(raw)
	if r != nil && r.left > 0 {
		r.left--
		return true
	}
	return r == nil
}

// spoil says that Slack does not take a response_url any more.
func (u *urls) spoil(raw string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.find(raw); r != nil {
		r.left = 0
	}
}

// find returns nil for one that is not remembered. u.mu is held.
func (u *urls) find(raw string) *responseURL {
	i := slices.IndexFunc(u.all, func(r *responseURL) bool { return r.url == raw })
	if i < 0 {
		return nil
	}
	return u.all[i]
}

// expire drops what Slack takes no more. u.mu is held.
func (u *urls) expire(now time.Time) {
	u.all = slices.DeleteFunc(u.all, func(r *responseURL) bool { return !now.Before(r.until) })
}

// reply is what a response_url takes.
type reply struct {
	Text            string        `json:"text"`
	Blocks          []slack.Block `json:"blocks,omitempty"`
	ResponseType    string        `json:"response_type,omitempty"`
	ReplaceOriginal bool          `json:"replace_original"`
	DeleteOriginal  bool          `json:"delete_original,omitempty"`
	Thread          string        `json:"thread_ts,omitempty"`
	UnfurlLinks     bool          `json:"unfurl_links"`
	UnfurlMedia     bool          `json:"unfurl_media"`
}

// replyTimeout leaves time for chat.update within the engine's edit.
const replyTimeout = 2 * time.Second

// viaClick draws a message through the response_url of a click on it. False where there is none, or where that failed: then the
// same goes out by chat.update, and it does no harm if both arrive.
func (a *Adapter) viaClick(ctx context.Context, ref messageAt, s blocks.Rendition) bool {
	raw, ok := a.urls.take(ref, a.now())
	if !ok {
		return false
	}
	err := a.respond(ctx, raw, reply{Text: s.Text, Blocks: s.Blocks, ReplaceOriginal: true})
	if err != nil {
		a.Logger.Warn("slack: a response_url does not take an edit; using chat.update", "channel", ref.channel, "ts", ref.ts, "err", err)
	}
	return err == nil
}

// respond posts to a response_url. slack-go's own function needs a Content-Type that not every answer has, and its webhook
// function does not read the answer.
func (a *Adapter) respond(ctx context.Context, raw string, r reply) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	body, err := json.Marshal(r)
	if err != nil {
		return transient(errors.New("a reply cannot be written as JSON"))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, raw, bytes.NewReader(body))
	if err != nil {
		return transient(errors.New("a response_url is not an address"))
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := a.http.Do(req)
	if err != nil {
		return faultOf(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err := replyFault(resp, answer); err != nil {
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone || urlIsOver[codeIn(answer)] {
			a.urls.spoil(raw)
		}
		return err
	}
	return nil
}

// urlIsOver are the answers to a response_url that will not work again.
var urlIsOver = map[string]bool{"used_url": true, "expired_url": true, "invalid_url": true}

// replyFault reads the answer of a response_url: "ok", {"ok":true}, nothing at all, or a refusal in either form.
func replyFault(resp *http.Response, answer []byte) error {
	code := codeIn(answer)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: surface.BusyForUnknown, Cause: errors.New("response_url: 429")}
	case resp.StatusCode == http.StatusOK && code == "":
		return nil
	case code != "":
		return codeFault(slack.SlackErrorResponse{Err: "response_url: " + code})
	default:
		return transient(fmt.Errorf("response_url: HTTP status %d", resp.StatusCode))
	}
}

// codeIn is the error code in an answer; empty where it is a yes.
func codeIn(answer []byte) string {
	var said struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	text := strings.TrimSpace(string(answer))
	switch {
	case text == "" || text == "ok":
		return ""
	case json.Unmarshal(answer, &said) == nil && said.OK != nil:
		if *said.OK {
			return ""
		}
		return cmp.Or(said.Error, "refused")
	case len(text) < 64 && !strings.ContainsAny(text, " <"):
		return text
	}
	return "an answer that is no code"
}
