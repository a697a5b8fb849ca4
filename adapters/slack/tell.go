package slack

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// tellPage is how many of the newest messages of a conversation are looked through for one of an earlier attempt.
const tellPage = 200

// Tell writes to one person alone. Slack has no key for a message, so an earlier attempt with the same one is looked for first; what
// nobody can look for (without im:history) may come twice.
//
// A click on it comes as one in a chat of its own: the message is the root of its thread.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	user, ok := userID(to)
	if !ok {
		return "", &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("this is nobody of Slack's")}
	}
	me, err := a.me(ctx)
	if err != nil {
		return "", err
	}
	p := place{Team: me.Team}
	if p.Channel, err = a.conversation(ctx, me, user); err != nil {
		return "", err
	}
	ts, err := a.told(ctx, p, key)
	if ts != "" || err != nil {
		return chat.MessageRef(ts), err
	}
	_, ts, err = a.post(ctx, p, eventTold, key, turnShapes(render.Fit(m, limits)))
	return chat.MessageRef(ts), err
}

// conversation is that with one person.
func (a *Adapter) conversation(ctx context.Context, me self, user string) (string, error) {
	c := call{method: methodConverse, team: me.Team, lane: agent.Final}
	if err := a.afford(ctx, c); err != nil {
		return "", err
	}
	var said struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	if err := a.form(ctx, methodConverse, url.Values{"users": {user}}, &said); err != nil {
		return "", a.failed(ctx, c, err)
	}
	if said.Channel.ID == "" {
		return "", transient(errors.New(methodConverse + ": the answer names no conversation"))
	}
	return said.Channel.ID, nil
}

// told finds what an earlier attempt with the same key wrote.
func (a *Adapter) told(ctx context.Context, p place, key chat.PostKey) (ts string, err error) {
	c := call{method: methodHistory, team: p.Team, lane: agent.Final}
	if err := a.afford(ctx, c); err != nil {
		return "", err
	}
	var page replies
	err = a.form(ctx, methodHistory, url.Values{"channel": {p.Channel}, "limit": {strconv.Itoa(tellPage)}, "include_all_metadata": {"1"}}, &page)
	var no slack.SlackErrorResponse
	if errors.As(err, &no) && no.Err == "missing_scope" {
		a.Logger.Warn("slack: cannot look for an earlier message; if there is one, it stays beside the new", "needs", no.Needed)
		return "", nil
	}
	if err != nil {
		return "", a.failed(ctx, c, err)
	}
	for _, m := range page.Messages {
		if m.Metadata.EventPayload.Key == string(key) && a.ours(m) {
			return m.TS, nil
		}
	}
	return "", nil
}
