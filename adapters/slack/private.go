package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// privately is the handle for an answer that only one person sees: through the response_url of what they did, or beside the thread.
func (a *Adapter) privately(responseURL, channel, thread, user string) chat.ReplyHandle {
	return chat.ReplyHandle{Platform: Platform, Key: url.Values{
		"team": {a.self.Team}, "url": {responseURL}, "channel": {channel}, "thread": {thread}, "user": {user},
	}.Encode()}
}

type recipient struct{ team, url, channel, thread, user string }

func recipientOf(h chat.ReplyHandle) recipient {
	v, _ := url.ParseQuery(h.Key)
	if h.Platform != Platform {
		return recipient{}
	}
	return recipient{v.Get("team"), v.Get("url"), v.Get("channel"), v.Get("thread"), v.Get("user")}
}

func (a *Adapter) tell(ctx context.Context, h chat.ReplyHandle, text string) error {
	return a.Whisper(ctx, h, render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text)}}}})
}

func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	return a.whisperAs(ctx, h, blocks.NoteRenditions(m, ""))
}

func (a *Adapter) whisperAs(ctx context.Context, h chat.ReplyHandle, of blocks.Renditions) error {
	to := recipientOf(h)
	a, err := a.home(ctx, to.team)
	if err != nil {
		return err
	}
	_, err = a.try(of, surface.LevelFull, func(r blocks.Rendition) error { return a.whisper(ctx, to, r) })
	return err
}

func (a *Adapter) whisperBlocks(ctx context.Context, h chat.ReplyHandle, p blocks.Message) {
	if err := a.whisperAs(ctx, h, blocks.OnlyRendition(p)); err != nil {
		a.Logger.Warn("slack: a private message did not arrive", "err", err)
	}
}

func (a *Adapter) whisper(ctx context.Context, to recipient, r blocks.Rendition) error {
	var failed error = calls.Gone("the handle names nobody of Slack's, or its response_url is used up")
	if to.url != "" && a.urls.use(to.url, a.now()) {
		// Without the thread's timestamp the answer would stand in the channel, away from what it is about.
		failed = a.respond(ctx, to.url, reply{Text: r.Text, Blocks: r.Blocks, ResponseType: "ephemeral", Thread: to.thread})
	}
	if failed == nil || to.channel == "" || to.user == "" {
		return failed
	}
	return a.makeCall(ctx, calls.New(calls.Whisper, a.self.Team, to.channel, agent.Decision), func() error {
		_, err := a.api.PostEphemeralContext(ctx, to.channel, to.user, content(r, to.thread)) // it has no unfurl_*: it makes no previews
		return err
	})
}

// Annotate posts a message beside the turn's. The persons it names are notified.
func (a *Adapter) Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return "", err
	}
	var to string
	if link {
		to = a.permalink(p, beside)
	}
	of := blocks.NoteRenditions(m, to)
	if slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, brief := b.(render.Note); return !brief }) {
		of = blocks.MessageRenditions(m) // the rest of a long answer: it has the room of a turn's message, and names nobody
	}
	_, ts, err := a.post(ctx, p, eventNote, key, of)
	return chat.MessageRef(ts), err
}

// permalink is the address of a message in a thread, as Slack writes it. https://docs.slack.dev/reference/methods/chat.getPermalink
func (a *Adapter) permalink(p blocks.Place, ref chat.MessageRef) string {
	return strings.TrimSuffix(a.self.URL, "/") + "/archives/" + url.PathEscape(p.Channel) + "/p" + strings.ReplaceAll(string(ref), ".", "") +
		"?thread_ts=" + url.QueryEscape(p.Thread) + "&cid=" + url.QueryEscape(p.Channel)
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return err
	}
	return a.remove(ctx, p, string(ref))
}

func (a *Adapter) remove(ctx context.Context, p blocks.Place, ts string) error {
	err := a.makeCall(ctx, calls.New(calls.Delete, p.Team, p.Channel, agent.Final), func() error {
		_, _, err := a.api.DeleteMessageContext(ctx, p.Channel, ts)
		return err
	})
	if pe, ok := errors.AsType[*agent.PlatformError](err); ok && pe.Kind == agent.FaultGone {
		return nil
	}
	return err
}

const tellPage = 200 // how many of the newest messages of a conversation are looked through for one of an earlier attempt

// Tell writes to one person alone. An earlier attempt with the same key is looked for first; what nobody can look for (without im:history)
// may come twice. A click on it comes as one in a chat of its own: the message is the root of its thread.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	user, ok := blocks.UserID(to)
	if !ok {
		return "", calls.Gone("this is nobody of Slack's")
	}
	a, err := a.home(ctx, to.Workspace)
	if err != nil {
		return "", err
	}
	p := blocks.Place{Team: a.self.Team}
	if p.Channel, err = a.openConversation(ctx, p.Team, user); err != nil {
		return "", err
	}
	ts, _, err := a.findOnPage(ctx, calls.History, p.Team, url.Values{"channel": {p.Channel}, "limit": {strconv.Itoa(tellPage)}}, key)
	if no, _ := errors.AsType[slack.SlackErrorResponse](err); no.Err == "missing_scope" {
		a.Logger.Warn("slack: cannot look for an earlier message; if there is one, it stays beside the new", "needs", no.Needed)
		err = nil
	}
	if ts == "" && err == nil {
		_, ts, err = a.post(ctx, p, eventDirect, key, blocks.MessageRenditions(render.Fit(m, blocks.Limits)))
	}
	return chat.MessageRef(ts), err
}

func (a *Adapter) openConversation(ctx context.Context, team, user string) (string, error) {
	var answer struct{ Channel struct{ ID string } }
	err := a.makeCall(ctx, calls.New(calls.Converse, team, "", agent.Final), func() error {
		return a.form(ctx, calls.Converse, url.Values{"users": {user}}, &answer)
	})
	if err == nil && answer.Channel.ID == "" {
		err = calls.Transient(errors.New(calls.Converse + ": the answer names no conversation"))
	}
	return answer.Channel.ID, err
}

// A response_url edits the message that was clicked, or answers the person who clicked, up to five times within 30 minutes.
// It counts towards no method's limit. https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
const (
	urlUses = 5
	urlLife = 30*time.Minute - 30*time.Second // less than Slack's: clocks differ, and a request takes its time
	maxURLs = 4096
)

type messageAt struct{ channel, ts string }

func (m messageAt) String() string { return m.channel + "/" + m.ts }

// urls remembers the response_urls that came with clicks, in memory only: whoever has one can change the message. The zero value is ready.
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
	if u, err := url.Parse(responseURL); err != nil || u.Host == "" || u.Scheme != "https" && a.APIURL == slack.APIURL {
		return
	}
	a.urls.add(ref, responseURL, a.now())
}

func (u *urls) add(ref messageAt, raw string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.find(raw, now) != nil {
		return // the same click, delivered again
	}
	if len(u.all) >= maxURLs {
		u.all = slices.Delete(u.all, 0, 1)
	}
	u.all = append(u.all, &responseURL{ref, raw, urlUses, now.Add(urlLife)})
}

func (u *urls) take(ref messageAt, now time.Time) (raw string, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.newest(now, func(r *responseURL) bool { return r.ref == ref && r.left > 0 })
	if r == nil {
		return "", false
	}
	r.left--
	return r.url, true
}

// use spends one use of a response_url, unless it is known to be used up: one that was never remembered (of a slash command) may be tried.
func (u *urls) use(raw string, now time.Time) (ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.find(raw, now)
	if r == nil {
		return true
	}
	r.left--
	return r.left >= 0
}

func (u *urls) spoil(raw string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.find(raw, time.Time{}); r != nil {
		r.left = 0
	}
}

func (u *urls) find(raw string, now time.Time) *responseURL {
	return u.newest(now, func(r *responseURL) bool { return r.url == raw })
}

// newest is the newest that Slack still takes and that matches, or nil. u.mu is held.
func (u *urls) newest(now time.Time, match func(*responseURL) bool) *responseURL {
	u.all = slices.DeleteFunc(u.all, func(r *responseURL) bool { return !now.Before(r.until) })
	for _, r := range slices.Backward(u.all) {
		if match(r) {
			return r
		}
	}
	return nil
}

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

const replyTimeout = 2 * time.Second // leaves time for chat.update within the engine's edit

// viaClick draws a message through the response_url of a click on it. False: the same goes out by chat.update; it does no harm if both
// arrive.
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

// respond posts to a response_url. slack-go's own function needs a Content-Type that not every answer has, and its webhook does not read
// the answer.
func (a *Adapter) respond(ctx context.Context, raw string, r reply) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	body, _ := json.Marshal(r) // strings and blocks can always be written
	status, _, answer, err := a.send(ctx, raw, "application/json; charset=utf-8", string(body), "")
	if status == 0 {
		return calls.FaultOf(err)
	}
	code := codeIn(answer)
	if status == http.StatusNotFound || status == http.StatusGone || slices.Contains(urlIsOver, code) {
		a.urls.spoil(raw)
	}
	return replyFault(status, code)
}

var urlIsOver = []string{"used_url", "expired_url", "invalid_url"} // the answers to a response_url that will not work again

// replyFault reads the answer of a response_url: "ok", {"ok":true}, nothing at all, or a refusal in either form.
func replyFault(status int, code string) error {
	switch {
	case code != "":
		return calls.CodeFault(slack.SlackErrorResponse{Err: "response_url: " + code})
	case status != http.StatusOK:
		return calls.Transient(fmt.Errorf("response_url: HTTP status %d", status))
	}
	return nil
}

// codeIn is the error code in an answer; empty where it is a yes.
func codeIn(answer []byte) string {
	var reply struct {
		OK    *bool
		Error string
	}
	text := strings.TrimSpace(string(answer))
	switch {
	case text == "ok", json.Unmarshal(answer, &reply) == nil && reply.OK != nil && *reply.OK:
		return ""
	case reply.OK != nil:
		return cmp.Or(reply.Error, "refused")
	}
	return surface.Shortened(text, 64)
}
