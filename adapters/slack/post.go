package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

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
	p, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	drawn, ts, err := a.post(ctx, p, eventTurn, key, turnShapes(surface.Quietly(m)))
	if err != nil {
		return "", err
	}
	ref := messageAt{p.Channel, ts}
	a.sent.Put(ref.String(), surface.Drawn{Sum: drawn.sum(), Chars: render.Measure(m).Chars, At: a.now(), Level: drawn.level})
	a.presence.begins(p)
	a.presence.shows(p, m.State)
	return chat.MessageRef(ts), nil
}

// where is the thread of a chat, once it is known who we are.
func (a *Adapter) where(ctx context.Context, id chat.ID) (place, error) {
	p, ok := placeOf(id)
	if !ok {
		return place{}, &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("the chat is not a thread of Slack's")}
	}
	me, err := a.me(ctx)
	if err == nil && me.Team != p.Team { // the store was shared with, or moved from, another workspace
		err = &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("the chat is of workspace %q, the bot is installed in %s", p.Team, me.Team)}
	}
	return p, err
}

// post sends one message to a thread, or without one to a conversation, in the first shape that Slack takes.
func (a *Adapter) post(ctx context.Context, p place, event string, key chat.PostKey, of shapes) (drawn sketch, ts string, err error) {
	c := call{method: methodPost, team: p.Team, channel: p.Channel, lane: agent.Final}
	drawn, err = a.try(of, levelFull, func(s sketch) error {
		if err := a.afford(ctx, c); err != nil {
			return err
		}
		var echo slack.Message
		var err error
		_, ts, echo, err = a.api.PostMessageWithResponseContext(ctx, p.Channel,
			inThread(p),
			slack.MsgOptionText(s.text, false),
			slack.MsgOptionBlocks(s.blocks...),
			slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(), // a preview fetches an address: zero-click exfiltration
			slack.MsgOptionMetadata(slack.SlackMetadata{EventType: event, EventPayload: map[string]any{"key": string(key)}}),
		)
		if err != nil {
			return a.failed(ctx, c, err)
		}
		if p.Thread != "" && echo.Timestamp != "" && echo.ThreadTimestamp == "" {
			return a.astray(ctx, p, ts)
		}
		return nil
	})
	if err == nil && ts == "" {
		err = transient(errors.New(methodPost + ": the answer names no message"))
	}
	return drawn, ts, err
}

func inThread(p place) slack.MsgOption {
	if p.Thread == "" {
		return slack.MsgOptionCompose()
	}
	return slack.MsgOptionTS(p.Thread)
}

// astray takes back a message that Slack put into the channel itself, as it does when the thread's first message is deleted.
func (a *Adapter) astray(ctx context.Context, p place, ts string) error {
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
	p, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	at, chars := messageAt{p.Channel, string(ref)}, render.Measure(m).Chars
	done := func(s sketch) {
		a.sent.Put(at.String(), surface.Drawn{Sum: s.sum(), Chars: chars, At: a.now(), Level: s.level})
		a.presence.shows(p, m.State)
	}
	of, start := turnShapes(m), a.sent.Level(at.String())
	c := call{method: methodUpdate, team: p.Team, channel: p.Channel, ts: string(ref), lane: u, rate: a.sent.Growth(at.String(), chars, a.now()), ends: surface.Ends(m)}
	if first, ok := of(start); ok {
		if a.sent.Same(at.String(), first.sum(), a.now()) {
			return nil
		}
		if u > agent.Progress && a.viaClick(ctx, at, first) {
			a.purse.Spared(ctx, c.spend())
			done(first)
			return nil
		}
	}
	s, err := a.try(of, start, func(s sketch) error {
		if err := a.afford(ctx, c); err != nil {
			return err
		}
		a.sent.Put(at.String(), surface.Drawn{Level: s.level, Chars: chars, At: a.now()}) // what stands there is not known until the answer
		// An edit by text alone would remove the blocks, so both always go. parse: chat.update would link names by itself.
		_, _, _, err := a.api.UpdateMessageContext(ctx, p.Channel, string(ref),
			slack.MsgOptionText(s.text, false), slack.MsgOptionBlocks(s.blocks...), slack.MsgOptionParse(false))
		if err != nil {
			return a.failed(ctx, c, err)
		}
		return nil
	})
	if err == nil {
		done(s)
		return nil
	}
	if pe := new(agent.PlatformError); errors.As(err, &pe) && (pe.Kind == agent.FaultGone || pe.Kind == agent.FaultForbidden) {
		a.presence.shows(p, render.Stopped) // nobody draws it any more
	}
	return err
}

// try sends a message in its first shape that Slack takes, from a level on.
func (a *Adapter) try(of shapes, level int, do func(sketch) error) (sketch, error) {
	var last error
	for ; ; level++ {
		s, ok := of(level)
		if !ok {
			break
		}
		if err := check(s.payload()); err != nil && len(s.blocks) > 0 { // words alone break no rule of blocks
			a.Logger.Error("slack: a message breaks a rule of Slack's; sending a simpler one", "level", level, "err", err)
			last = err
			continue
		}
		err := do(s)
		code, where, shape := refusedShape(err)
		if !shape {
			return s, err
		}
		a.Logger.Error("slack: a message was refused; sending a simpler one", "level", level, "code", code, "at", strings.Join(where, "; "))
		last = err
	}
	return sketch{}, &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("no shape of the message is taken: %w", last)}
}
