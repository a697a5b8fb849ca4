package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
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

// recipient is who a private answer goes to.
type recipient struct{ url, channel, thread, user string }

func recipientOf(h chat.ReplyHandle) (e recipient, ok bool) {
	v, err := url.ParseQuery(h.Key)
	if err != nil || h.Platform != Platform {
		return recipient{}, false
	}
	e = recipient{v.Get("url"), v.Get("channel"), v.Get("thread"), v.Get("user")}
	return e, e.url != "" || e.channel != "" && e.user != ""
}

// tell answers one person in words of ours.
func (a *Adapter) tell(ctx context.Context, h chat.ReplyHandle, text string) error {
	return a.Whisper(ctx, h, render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text)}}}})
}

// Whisper shows a message to the one person that the handle names.
func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	return a.whisperAs(ctx, h, blocks.NoteRenditions(m, ""))
}

func (a *Adapter) whisperAs(ctx context.Context, h chat.ReplyHandle, of blocks.Renditions) error {
	e, ok := recipientOf(h)
	if !ok {
		return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("the handle names nobody of Slack's")}
	}
	_, err := a.try(of, surface.LevelFull, func(s blocks.Rendition) error { return a.whisper(ctx, e, s) })
	return err
}

// whisperBlocks shows one person something of our own making, as well as that can be done.
func (a *Adapter) whisperBlocks(ctx context.Context, h chat.ReplyHandle, p blocks.Message) {
	err := a.whisperAs(ctx, h, blocks.OnlyRendition(p))
	if err != nil {
		a.Logger.Warn("slack: a private message did not arrive", "err", err)
	}
}

func (a *Adapter) whisper(ctx context.Context, e recipient, s blocks.Rendition) error {
	var err error
	if e.url != "" && a.urls.use(e.url, a.now()) {
		// Without the thread's timestamp the answer would stand in the channel, away from what it is about.
		err = a.respond(ctx, e.url, reply{Text: s.Text, Blocks: s.Blocks, ResponseType: "ephemeral", Thread: e.thread})
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
	c := call{method: methodWhisper, team: me.Team, channel: e.channel, urgency: agent.Decision}
	if err := a.afford(ctx, c); err != nil {
		return err
	}
	options := []slack.MsgOption{slack.MsgOptionText(s.Text, false), slack.MsgOptionBlocks(s.Blocks...)} // it has no unfurl_*: it makes no previews
	if e.thread != "" {
		options = append(options, slack.MsgOptionTS(e.thread))
	}
	if _, err := a.api.PostEphemeralContext(ctx, e.channel, e.user, options...); err != nil {
		return a.reportFault(ctx, c, err)
	}
	return nil
}

// Annotate posts a message beside the turn's. The persons it names are notified.
func (a *Adapter) Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	p, err := a.locate(ctx, id)
	if err != nil {
		return "", err
	}
	var to string
	if link {
		to = a.permalink(p, beside)
	}
	of := blocks.NoteRenditions(m, to)
	if !isBrief(m) {
		of = blocks.MessageRenditions(m) // the rest of a long answer: it has the room of a turn's message, and names nobody
	}
	_, ts, err := a.post(ctx, p, eventNote, key, of)
	return chat.MessageRef(ts), err
}

// isBrief reports whether a message is but a line or two.
func isBrief(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

// permalink is the address of a message in a thread, as Slack writes it. https://docs.slack.dev/reference/methods/chat.getPermalink
func (a *Adapter) permalink(p blocks.Place, ref chat.MessageRef) string {
	return strings.TrimSuffix(a.self.URL, "/") + "/archives/" + url.PathEscape(p.Channel) + "/p" + strings.ReplaceAll(string(ref), ".", "") +
		"?thread_ts=" + url.QueryEscape(p.Thread) + "&cid=" + url.QueryEscape(p.Channel)
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	p, err := a.locate(ctx, id)
	if err != nil {
		return err
	}
	return a.remove(ctx, p, string(ref))
}

func (a *Adapter) remove(ctx context.Context, p blocks.Place, ts string) error {
	c := call{method: methodDelete, team: p.Team, channel: p.Channel, urgency: agent.Final}
	if err := a.afford(ctx, c); err != nil {
		return err
	}
	_, _, err := a.api.DeleteMessageContext(ctx, p.Channel, ts)
	if err == nil {
		return nil
	}
	err = a.reportFault(ctx, c, err)
	if pe := new(agent.PlatformError); errors.As(err, &pe) && pe.Kind == agent.FaultGone {
		return nil
	}
	return err
}

// tellPage is how many of the newest messages of a conversation are looked through for one of an earlier attempt.
const tellPage = 200

// Tell writes to one person alone. Slack has no key for a message, so an earlier attempt with the same one is looked for first; what
// nobody can look for (without im:history) may come twice.
//
// A click on it comes as one in a chat of its own: the message is the root of its thread.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	user, ok := blocks.UserID(to)
	if !ok {
		return "", &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("this is nobody of Slack's")}
	}
	me, err := a.me(ctx)
	if err != nil {
		return "", err
	}
	p := blocks.Place{Team: me.Team}
	if p.Channel, err = a.openConversation(ctx, me, user); err != nil {
		return "", err
	}
	ts, err := a.findTold(ctx, p, key)
	if ts != "" || err != nil {
		return chat.MessageRef(ts), err
	}
	_, ts, err = a.post(ctx, p, eventTold, key, blocks.MessageRenditions(render.Fit(m, blocks.Limits)))
	return chat.MessageRef(ts), err
}

// openConversation opens the conversation with one person, or finds the one there is.
func (a *Adapter) openConversation(ctx context.Context, me inbound.Self, user string) (string, error) {
	c := call{method: methodConverse, team: me.Team, urgency: agent.Final}
	if err := a.afford(ctx, c); err != nil {
		return "", err
	}
	var said struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	if err := a.form(ctx, methodConverse, url.Values{"users": {user}}, &said); err != nil {
		return "", a.reportFault(ctx, c, err)
	}
	if said.Channel.ID == "" {
		return "", transient(errors.New(methodConverse + ": the answer names no conversation"))
	}
	return said.Channel.ID, nil
}

// findTold finds what an earlier attempt with the same key wrote.
func (a *Adapter) findTold(ctx context.Context, p blocks.Place, key chat.PostKey) (string, error) {
	c := call{method: methodHistory, team: p.Team, urgency: agent.Final}
	ts, _, err := a.findOnPage(ctx, c, url.Values{"channel": {p.Channel}, "limit": {strconv.Itoa(tellPage)}}, key)
	var no slack.SlackErrorResponse
	if errors.As(err, &no) && no.Err == "missing_scope" {
		a.Logger.Warn("slack: cannot look for an earlier message; if there is one, it stays beside the new", "needs", no.Needed)
		return "", nil
	}
	return ts, err
}
