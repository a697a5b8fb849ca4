package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// privately is the handle for an answer that only one person sees: through the response_url of what they did, or else beside
// the thread. Any part may be empty.
func privately(responseURL, channel, thread, user string) chat.ReplyHandle {
	return chat.ReplyHandle{Platform: Platform, Key: url.Values{
		"url": {responseURL}, "channel": {channel}, "thread": {thread}, "user": {user},
	}.Encode()}
}

// ear is who a private answer goes to.
type ear struct{ url, channel, thread, user string }

func earOf(h chat.ReplyHandle) (e ear, ok bool) {
	v, err := url.ParseQuery(h.Key)
	if err != nil || h.Platform != Platform {
		return ear{}, false
	}
	e = ear{v.Get("url"), v.Get("channel"), v.Get("thread"), v.Get("user")}
	return e, e.url != "" || e.channel != "" && e.user != ""
}

// tell answers one person in words of ours.
func (a *Adapter) tell(ctx context.Context, h chat.ReplyHandle, text string) error {
	return a.Whisper(ctx, h, render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text)}}}})
}

// Whisper shows a message to the one person that the handle names.
func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	return a.whisperAs(ctx, h, noteShapes(m, ""))
}

func (a *Adapter) whisperAs(ctx context.Context, h chat.ReplyHandle, of shapes) error {
	e, ok := earOf(h)
	if !ok {
		return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("the handle names nobody of Slack's")}
	}
	_, err := a.try(of, levelFull, func(s sketch) error { return a.whisper(ctx, e, s) })
	return err
}

// show shows one person something of our own making, as well as that can be done.
func (a *Adapter) show(ctx context.Context, h chat.ReplyHandle, p payload) {
	err := a.whisperAs(ctx, h, func(level int) (sketch, bool) { return sketchOf(level, p), level == levelFull })
	if err != nil {
		a.Logger.Warn("slack: a private message did not arrive", "err", err)
	}
}

func (a *Adapter) whisper(ctx context.Context, e ear, s sketch) error {
	var err error
	if e.url != "" && a.urls.use(e.url, a.now()) {
		// Without the thread's timestamp the answer would stand in the channel, away from what it is about.
		err = a.respond(ctx, e.url, reply{Text: s.text, Blocks: s.blocks, ResponseType: "ephemeral", Thread: e.thread})
		if err == nil {
			return nil
		}
	}
	if e.channel == "" || e.user == "" {
		if err == nil {
			err = &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("the response_url is used up")}
		}
		return err
	}
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	c := call{method: methodWhisper, team: me.Team, channel: e.channel, lane: agent.Decision}
	if err := a.afford(ctx, c); err != nil {
		return err
	}
	options := []slack.MsgOption{slack.MsgOptionText(s.text, false), slack.MsgOptionBlocks(s.blocks...)} // it has no unfurl_*: it makes no previews
	if e.thread != "" {
		options = append(options, slack.MsgOptionTS(e.thread))
	}
	if _, err := a.api.PostEphemeralContext(ctx, e.channel, e.user, options...); err != nil {
		return a.failed(ctx, c, err)
	}
	return nil
}

// Annotate posts a message beside the turn's. The persons it names are notified.
func (a *Adapter) Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	p, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	var to string
	if link {
		to = a.permalink(p, beside)
	}
	of := noteShapes(m, to)
	if !brief(m) {
		of = turnShapes(m) // the rest of a long answer: it has the room of a turn's message, and names nobody
	}
	_, ts, err := a.post(ctx, p, eventNote, key, of)
	return chat.MessageRef(ts), err
}

// brief reports whether a message is but a line or two.
func brief(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

// permalink is the address of a message in a thread, as Slack writes it. https://docs.slack.dev/reference/methods/chat.getPermalink
func (a *Adapter) permalink(p place, ref chat.MessageRef) string {
	return strings.TrimSuffix(a.self.URL, "/") + "/archives/" + url.PathEscape(p.Channel) + "/p" + strings.ReplaceAll(string(ref), ".", "") +
		"?thread_ts=" + url.QueryEscape(p.Thread) + "&cid=" + url.QueryEscape(p.Channel)
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	p, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	return a.remove(ctx, p, string(ref))
}

func (a *Adapter) remove(ctx context.Context, p place, ts string) error {
	c := call{method: methodDelete, team: p.Team, channel: p.Channel, lane: agent.Final}
	if err := a.afford(ctx, c); err != nil {
		return err
	}
	_, _, err := a.api.DeleteMessageContext(ctx, p.Channel, ts)
	if err == nil {
		return nil
	}
	err = a.failed(ctx, c, err)
	if pe := new(agent.PlatformError); errors.As(err, &pe) && pe.Kind == agent.FaultGone {
		return nil
	}
	return err
}
