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

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// How far Seek looks. A page may hold up to 1,000 messages. https://docs.slack.dev/reference/methods/conversations.replies
const (
	seekRecent  = time.Hour
	seekPage    = 200
	seekNewest  = 3 // pages of what is recent: an attempt whose answer was lost is seconds old
	seekFurther = 5 // pages of the rest, from the thread's beginning: after a long outage
)

// Seek looks for a message of ours that an earlier attempt with the same key made.
func (a *Adapter) Seek(ctx context.Context, id chat.ID, key chat.PostKey) (chat.MessageRef, bool, error) {
	p, err := a.where(ctx, id)
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
func (a *Adapter) seek(ctx context.Context, p place, key chat.PostKey, bound, at string, pages int) (ts string, complete bool, err error) {
	v := url.Values{"channel": {p.Channel}, "ts": {p.Thread}, "limit": {strconv.Itoa(seekPage)}, "include_all_metadata": {"1"}, bound: {at}, "inclusive": {"1"}}
	c := call{method: methodReplies, team: p.Team, lane: agent.Final}
	for range pages {
		if err := a.afford(ctx, c); err != nil {
			return "", false, err
		}
		var page replies
		if err := a.form(ctx, methodReplies, v, &page); err != nil {
			return "", false, a.failed(ctx, c, err)
		}
		for _, m := range page.Messages {
			if m.Metadata.EventPayload.Key == string(key) && a.ours(m) {
				return m.TS, true, nil
			}
		}
		if !page.HasMore || page.Next.Cursor == "" {
			return "", true, nil
		}
		v.Set("cursor", page.Next.Cursor)
	}
	return "", false, nil
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
