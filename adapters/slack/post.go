package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The metadata that a message of ours is found again by. The whole workspace can read it. https://docs.slack.dev/messaging/message-metadata
const (
	eventTurn   = "nod_turn" // a turn's one message
	eventNote   = "nod_note" // a message beside it
	eventDirect = "nod_told" // a message to one person
)

// Post makes the turn's message in its thread. It is tried once: where nobody knows whether it was made, the fault is transient, and Seek
// finds it.
func (a *Adapter) Post(ctx context.Context, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return "", err
	}
	drawn, ts, err := a.post(ctx, p, eventTurn, key, a.renditions(surface.Quietly(m)))
	if err != nil {
		return "", err
	}
	a.noteSent(messageAt{p.Channel, ts}, drawn, m)
	a.presence.begin(p)
	a.presence.show(p, m.State)
	return chat.MessageRef(ts), nil
}

func (a *Adapter) renditions(m render.Message) blocks.Renditions {
	if a.Feedback {
		return blocks.TurnRenditions(m)
	}
	return blocks.MessageRenditions(m)
}

func (a *Adapter) noteSent(at messageAt, r blocks.Rendition, m render.Message) {
	a.sent.Put(at.String(), surface.Drawn{Sum: r.Sum(), Chars: render.Measure(m).Chars, At: a.now(), Level: r.Level})
}

// locate finds the thread of a chat, and the adapter of its workspace, once that knows who it is.
func (a *Adapter) locate(ctx context.Context, id chat.ID) (*Adapter, blocks.Place, error) {
	p, ok := blocks.PlaceOf(id)
	if !ok {
		return a, p, calls.Gone("the chat is not a thread of Slack's")
	}
	a, err := a.home(ctx, p.Team)
	if err == nil && a.self.Team != p.Team { // the store was shared with, or moved from, another workspace
		err = &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("the chat is of workspace %q, the bot is installed in %s", p.Team, a.self.Team)}
	}
	return a, p, err
}

// post sends one message to a thread, or without one to a conversation, in the first shape that Slack takes.
func (a *Adapter) post(ctx context.Context, p blocks.Place, event string, key chat.PostKey, of blocks.Renditions) (drawn blocks.Rendition, ts string, err error) {
	drawn, err = a.try(of, surface.LevelFull, func(r blocks.Rendition) error {
		var echo slack.Message
		err := a.makeCall(ctx, calls.New(calls.Post, p.Team, p.Channel, agent.Final), func() (err error) {
			_, ts, echo, err = a.api.PostMessageWithResponseContext(ctx, p.Channel, content(r, p.Thread),
				slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(), // a preview fetches an address: zero-click exfiltration
				slack.MsgOptionMetadata(slack.SlackMetadata{EventType: event, EventPayload: map[string]any{"key": string(key)}}))
			return err
		})
		if p.Thread != "" && echo.Timestamp != "" && echo.ThreadTimestamp == "" {
			return a.takeBack(ctx, p, ts)
		}
		return err
	})
	if err == nil && ts == "" {
		err = calls.Transient(errors.New(calls.Post + ": the answer names no message"))
	}
	return drawn, ts, err
}

// content is what a message says, and in which thread. Text and blocks go together: an edit by text alone would remove the blocks.
func content(r blocks.Rendition, thread string) slack.MsgOption {
	options := []slack.MsgOption{slack.MsgOptionText(r.Text, false), slack.MsgOptionBlocks(r.Blocks...)}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
	}
	return slack.MsgOptionCompose(options...)
}

// takeBack takes back a message that Slack put into the channel itself, as it does when the thread's first message is deleted.
func (a *Adapter) takeBack(ctx context.Context, p blocks.Place, ts string) error {
	if err := a.remove(ctx, p, ts); err != nil {
		a.Logger.Warn("slack: could not take back a message that left its thread", "channel", p.Channel, "ts", ts, "err", err)
	}
	return calls.Gone(calls.Post + ": the thread's first message is no more")
}

// Edit replaces the turn's message. Progress that the workspace's budget has no room for comes back at once as [agent.FaultLater]. A
// decision or a final goes out through the response_url of an earlier click where there is one, which no limit counts.
func (a *Adapter) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, u agent.Urgency) error {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return err
	}
	at, chars := messageAt{p.Channel, string(ref)}, render.Measure(m).Chars
	of, start := a.renditions(m).Kept(), a.sent.Level(at.String())
	c := calls.New(calls.Update, p.Team, p.Channel, u)
	c.Message, c.Rate, c.Ends = at.String(), a.sent.Growth(at.String(), chars, a.now()), surface.Ends(m)
	r, ok := of(start)
	if ok && a.sent.Same(at.String(), r.Sum(), a.now()) {
		return nil
	}
	if ok && u > agent.Progress && a.viaClick(ctx, at, r) {
		a.limiter.Refund(ctx, c.Spend)
	} else {
		r, err = a.try(of, start, func(r blocks.Rendition) error {
			return a.makeCall(ctx, c, func() error {
				// What stands there is not known until the answer. parse: chat.update would link names by itself.
				a.sent.Put(at.String(), surface.Drawn{Level: r.Level, Chars: chars, At: a.now()})
				_, _, _, err := a.api.UpdateMessageContext(ctx, p.Channel, string(ref), content(r, ""), slack.MsgOptionParse(false))
				return err
			})
		})
	}
	if err == nil {
		a.noteSent(at, r, m)
		a.presence.show(p, m.State)
	} else if pe, _ := errors.AsType[*agent.PlatformError](err); pe.Refuses() {
		a.presence.show(p, render.Stopped) // nobody draws it any more
	}
	return err
}

func (a *Adapter) try(of blocks.Renditions, level int, do func(blocks.Rendition) error) (blocks.Rendition, error) {
	return of.Send(level, do, func(r blocks.Rendition, err error) bool {
		code, where, shape := calls.RefusedShape(err)
		if shape {
			a.Logger.Error("slack: a message was refused; sending a simpler one", "level", r.Level, "code", code, "at", strings.Join(where, "; "))
		}
		return shape
	})
}

// How far Seek looks. A page may hold up to 1,000 messages. https://docs.slack.dev/reference/methods/conversations.replies
const (
	seekRecent  = time.Hour
	seekPage    = 200
	seekNewest  = 3 // pages of what is recent: an attempt whose answer was lost is seconds old
	seekFurther = 5 // pages of the rest, from the thread's beginning: after a long outage
)

// Seek looks for a message of ours that an earlier attempt with the same key made.
func (a *Adapter) Seek(ctx context.Context, id chat.ID, key chat.PostKey) (chat.MessageRef, bool, error) {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return "", false, err
	}
	recent := strconv.FormatInt(a.now().Add(-seekRecent).Unix(), 10) + ".000000"
	ts, complete, err := a.seek(ctx, p, key, "oldest", recent, seekNewest)
	if err == nil && ts == "" && p.Thread < recent {
		var all bool
		ts, all, err = a.seek(ctx, p, key, "latest", recent, seekFurther)
		complete = complete && all
	}
	switch no, _ := errors.AsType[slack.SlackErrorResponse](err); {
	case no.Err == "missing_scope":
		a.Logger.Warn("slack: cannot look for an earlier post; if there is one, it stays beside the new", "needs", no.Needed)
		err = nil
	case err == nil && ts == "" && !complete:
		a.Logger.Warn("slack: an earlier post was not found in the part of the thread that was searched", "channel", p.Channel, "thread", p.Thread)
	}
	return chat.MessageRef(ts), ts != "", err
}

// seek searches a part of a thread. complete says that no page was left out.
func (a *Adapter) seek(ctx context.Context, p blocks.Place, key chat.PostKey, bound, at string, pages int) (ts string, complete bool, err error) {
	v := url.Values{"channel": {p.Channel}, "ts": {p.Thread}, "limit": {strconv.Itoa(seekPage)}, bound: {at}, "inclusive": {"1"}}
	for range pages {
		ts, next, err := a.findOnPage(ctx, calls.Replies, p.Team, v, key)
		if next == "" {
			return ts, err == nil, err
		}
		v.Set("cursor", next)
	}
	return "", false, nil
}

// findOnPage reads a page of messages, and finds the one of ours with a key. next is the page after it; empty: there is none.
func (a *Adapter) findOnPage(ctx context.Context, method, team string, v url.Values, key chat.PostKey) (ts, next string, err error) {
	v.Set("include_all_metadata", "1")
	var page replies
	err = a.makeCall(ctx, calls.New(method, team, "", agent.Final), func() error { return a.form(ctx, method, v, &page) })
	if err != nil {
		return "", "", err
	}
	for _, m := range page.Messages {
		ours := m.Bot != "" && m.Bot == a.self.Bot || m.User != "" && m.User == a.self.User // anybody's app may write any metadata
		if m.Metadata.EventPayload.Key == string(key) && ours {
			return m.TS, "", nil
		}
	}
	if page.HasMore {
		next = page.Next.Cursor
	}
	return "", next, nil
}

// replies is what Seek reads of a page: little, so that no block of anybody's can keep it from being read.
type replies struct {
	Messages []struct {
		TS       string `json:"ts"`
		User     string `json:"user"`
		Bot      string `json:"bot_id"`
		Metadata struct {
			EventPayload struct {
				Key string `json:"key"`
			} `json:"event_payload"`
		} `json:"metadata"`
	} `json:"messages"`
	HasMore bool `json:"has_more"`
	Next    struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// form calls a method of the Web API by hand: where slack-go has no function, or reads more of the answer than is safe.
func (a *Adapter) form(ctx context.Context, method string, v url.Values, into any) error {
	status, header, body, err := a.send(ctx, a.APIURL+method, "application/x-www-form-urlencoded", v.Encode(), "Bearer "+a.BotToken)
	switch {
	case err != nil:
		return err
	case status == http.StatusTooManyRequests:
		s, _ := strconv.Atoi(header.Get("Retry-After"))
		return &slack.RateLimitedError{RetryAfter: time.Duration(s) * time.Second}
	case status != http.StatusOK:
		return slack.StatusCodeError{Code: status, Status: strconv.Itoa(status) + " " + http.StatusText(status)}
	}
	var answer slack.SlackResponse
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	return cmp.Or(answer.Err(), json.Unmarshal(body, into))
}

// send posts by hand. Only the Web API may have the token.
func (a *Adapter) send(ctx context.Context, address, contentType, body, auth string) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, errors.New("this is not an address")
	}
	req.Header.Set("Content-Type", contentType)
	most := int64(4096) // of an answer that but says yes or no
	if auth != "" {
		most = maxAnswer
		req.Header.Set("Authorization", auth)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, most))
	return resp.StatusCode, resp.Header, answer, err
}
