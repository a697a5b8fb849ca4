package slack

import (
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
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The metadata that a message of ours carries, so that it can be found again by its key. Everybody in the workspace can read
// it. https://docs.slack.dev/messaging/message-metadata
const (
	eventTurn = "nod_turn" // a turn's one message
	eventNote = "nod_note" // a message beside it
	eventTold = "nod_told" // a message to one person
)

// Post makes the turn's message in its thread. It is tried once: where it is not known whether the message was made, the
// fault is transient, and Seek finds it.
func (a *Adapter) Post(ctx context.Context, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	p, err := a.locate(ctx, id)
	if err != nil {
		return "", err
	}
	drawn, ts, err := a.post(ctx, p, eventTurn, key, blocks.MessageRenditions(surface.Quietly(m)))
	if err != nil {
		return "", err
	}
	ref := messageAt{p.Channel, ts}
	a.sent.Put(ref.String(), surface.Drawn{Sum: drawn.Sum(), Chars: render.Measure(m).Chars, At: a.now(), Level: drawn.Level})
	a.presence.begin(p)
	a.presence.show(p, m.State)
	return chat.MessageRef(ts), nil
}

// locate finds the thread of a chat, once it is known who we are.
func (a *Adapter) locate(ctx context.Context, id chat.ID) (blocks.Place, error) {
	p, ok := blocks.PlaceOf(id)
	if !ok {
		return blocks.Place{}, &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("the chat is not a thread of Slack's")}
	}
	me, err := a.me(ctx)
	if err == nil && me.Team != p.Team { // the store was shared with, or moved from, another workspace
		err = &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("the chat is of workspace %q, the bot is installed in %s", p.Team, me.Team)}
	}
	return p, err
}

// post sends one message to a thread, or without one to a conversation, in the first shape that Slack takes.
func (a *Adapter) post(ctx context.Context, p blocks.Place, event string, key chat.PostKey, of blocks.Renditions) (drawn blocks.Rendition, ts string, err error) {
	c := call{method: methodPost, team: p.Team, channel: p.Channel, urgency: agent.Final}
	drawn, err = a.try(of, surface.LevelFull, func(s blocks.Rendition) error {
		if err := a.afford(ctx, c); err != nil {
			return err
		}
		var echo slack.Message
		var err error
		_, ts, echo, err = a.api.PostMessageWithResponseContext(ctx, p.Channel,
			inThread(p),
			slack.MsgOptionText(s.Text, false),
			slack.MsgOptionBlocks(s.Blocks...),
			slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(), // a preview fetches an address: zero-click exfiltration
			slack.MsgOptionMetadata(slack.SlackMetadata{EventType: event, EventPayload: map[string]any{"key": string(key)}}),
		)
		if err != nil {
			return a.reportFault(ctx, c, err)
		}
		if p.Thread != "" && echo.Timestamp != "" && echo.ThreadTimestamp == "" {
			return a.takeBack(ctx, p, ts)
		}
		return nil
	})
	if err == nil && ts == "" {
		err = transient(errors.New(methodPost + ": the answer names no message"))
	}
	return drawn, ts, err
}

func inThread(p blocks.Place) slack.MsgOption {
	if p.Thread == "" {
		return slack.MsgOptionCompose()
	}
	return slack.MsgOptionTS(p.Thread)
}

// takeBack takes back a message that Slack put into the channel itself, as it does when the thread's first message is deleted.
func (a *Adapter) takeBack(ctx context.Context, p blocks.Place, ts string) error {
	if err := a.remove(ctx, p, ts); err != nil {
		a.Logger.Warn("slack: could not take back a message that left its thread", "channel", p.Channel, "ts", ts, "err", err)
	}
	return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New(methodPost + ": the thread's first message is no more")}
}

// Edit replaces the turn's message.
//
// Progress that the workspace's budget has no room for comes back at once as [agent.FaultLater]. A decision or a final goes out
// through the response_url of an earlier click where there is one, which no limit counts.
func (a *Adapter) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, u agent.Urgency) error {
	p, err := a.locate(ctx, id)
	if err != nil {
		return err
	}
	at, chars := messageAt{p.Channel, string(ref)}, render.Measure(m).Chars
	done := func(s blocks.Rendition) {
		a.sent.Put(at.String(), surface.Drawn{Sum: s.Sum(), Chars: chars, At: a.now(), Level: s.Level})
		a.presence.show(p, m.State)
	}
	of, start := blocks.MessageRenditions(m), a.sent.Level(at.String())
	c := call{method: methodUpdate, team: p.Team, channel: p.Channel, ts: string(ref), urgency: u, rate: a.sent.Growth(at.String(), chars, a.now()), ends: surface.Ends(m)}
	if first, ok := of(start); ok {
		if a.sent.Same(at.String(), first.Sum(), a.now()) {
			return nil
		}
		if u > agent.Progress && a.viaClick(ctx, at, first) {
			a.purse.Spared(ctx, c.spend())
			done(first)
			return nil
		}
	}
	s, err := a.try(of, start, func(s blocks.Rendition) error {
		if err := a.afford(ctx, c); err != nil {
			return err
		}
		a.sent.Put(at.String(), surface.Drawn{Level: s.Level, Chars: chars, At: a.now()}) // what stands there is not known until the answer
		// An edit by text alone would remove the blocks, so both always go. parse: chat.update would link names by itself.
		_, _, _, err := a.api.UpdateMessageContext(ctx, p.Channel, string(ref),
			slack.MsgOptionText(s.Text, false), slack.MsgOptionBlocks(s.Blocks...), slack.MsgOptionParse(false))
		if err != nil {
			return a.reportFault(ctx, c, err)
		}
		return nil
	})
	if err == nil {
		done(s)
		return nil
	}
	if pe := new(agent.PlatformError); errors.As(err, &pe) && (pe.Kind == agent.FaultGone || pe.Kind == agent.FaultForbidden) {
		a.presence.show(p, render.Stopped) // nobody draws it any more
	}
	return err
}

// try sends a message in the first rendition that Slack takes, from a level on.
func (a *Adapter) try(of blocks.Renditions, level int, do func(blocks.Rendition) error) (blocks.Rendition, error) {
	return of.Send(level, do, func(r blocks.Rendition, err error) bool {
		code, where, shape := refusedShape(err)
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
	p, err := a.locate(ctx, id)
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
	var no slack.SlackErrorResponse
	switch {
	case errors.As(err, &no) && no.Err == "missing_scope":
		a.Logger.Warn("slack: cannot look for an earlier post; if there is one, it stays beside the new", "needs", no.Needed)
		return "", false, nil
	case err != nil:
		return "", false, err
	case ts == "" && !complete:
		a.Logger.Warn("slack: an earlier post was not found in the part of the thread that was searched", "channel", p.Channel, "thread", p.Thread)
	}
	return chat.MessageRef(ts), ts != "", nil
}

// seek searches a part of a thread. complete says that no page was left out.
func (a *Adapter) seek(ctx context.Context, p blocks.Place, key chat.PostKey, bound, at string, pages int) (ts string, complete bool, err error) {
	v := url.Values{"channel": {p.Channel}, "ts": {p.Thread}, "limit": {strconv.Itoa(seekPage)}, bound: {at}, "inclusive": {"1"}}
	for range pages {
		ts, next, err := a.findOnPage(ctx, call{method: methodReplies, team: p.Team, urgency: agent.Final}, v, key)
		if ts != "" || err != nil || next == "" {
			return ts, err == nil, err
		}
		v.Set("cursor", next)
	}
	return "", false, nil
}

// findOnPage reads a page of messages, and finds the one of ours that an attempt with the same key made. next is the page after it; empty: there
// is none.
func (a *Adapter) findOnPage(ctx context.Context, c call, v url.Values, key chat.PostKey) (ts, next string, err error) {
	if err := a.afford(ctx, c); err != nil {
		return "", "", err
	}
	v.Set("include_all_metadata", "1")
	var page replies
	if err := a.form(ctx, c.method, v, &page); err != nil {
		return "", "", a.reportFault(ctx, c, err)
	}
	for _, m := range page.Messages {
		if m.Metadata.EventPayload.Key == string(key) && a.ours(m) {
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
	Messages []replyMessage `json:"messages"`
	HasMore  bool           `json:"has_more"`
	Next     struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

type replyMessage struct {
	TS       string `json:"ts"`
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	Metadata struct {
		EventPayload struct {
			Key string `json:"key"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

// ours: anybody's app may write any metadata.
func (a *Adapter) ours(m replyMessage) bool {
	return m.Bot != "" && m.Bot == a.self.Bot || m.User != "" && m.User == a.self.User
}

// form calls a method of the Web API by hand: where slack-go has no function, or reads more of the answer than is safe.
func (a *Adapter) form(ctx context.Context, method string, v url.Values, into any) error {
	base := slack.APIURL
	if a.APIURL != "" {
		base = strings.TrimSuffix(a.APIURL, "/") + "/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+method, strings.NewReader(v.Encode()))
	if err != nil {
		return fmt.Errorf("%s: the API's address is not one", method)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+a.BotToken)
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusTooManyRequests {
		s, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &slack.RateLimitedError{RetryAfter: time.Duration(s) * time.Second}
	}
	if resp.StatusCode != http.StatusOK {
		return slack.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	var said slack.SlackResponse
	if err := json.Unmarshal(body, &said); err != nil {
		return err
	}
	if err := said.Err(); err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
