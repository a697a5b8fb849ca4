package discord

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// privately is the handle for an answer to what a person wrote. Discord shows a message to one person only as the answer to an
// interaction, so this one goes to their direct messages.
func privately(p place, user string) chat.ReplyHandle {
	return chat.ReplyHandle{Platform: Platform, Key: url.Values{
		"guild": {p.Guild}, "channel": {p.Channel}, "thread": {p.Thread}, "user": {user},
	}.Encode()}
}

// handleOf is the handle for an answer to an interaction: all that answering takes is in it.
func handleOf(in incoming) chat.ReplyHandle {
	return chat.ReplyHandle{Platform: Platform, Key: url.Values{
		"id": {in.ID}, "token": {in.Token}, "app": {in.Application}, "channel": {in.Channel}, "user": {in.User},
		"at": {strconv.FormatInt(in.At.UnixMilli(), 10)},
	}.Encode()}
}

// ear is who a private answer goes to: through the interaction, where there was one.
type ear struct {
	in incoming // without an ID: there was none
	at place
}

func earOf(h chat.ReplyHandle) (e ear, ok bool) {
	v, err := url.ParseQuery(h.Key)
	if err != nil || h.Platform != Platform {
		return ear{}, false
	}
	e.in = incoming{ID: v.Get("id"), Token: v.Get("token"), Application: v.Get("app"), Channel: v.Get("channel"), User: v.Get("user")}
	if e.in.ID == "" {
		e.at = place{v.Get("guild"), v.Get("channel"), v.Get("thread")}
		_, ok = placeOf(e.at.id())
		return e, ok && isSnowflake(e.in.User)
	}
	ms, err := strconv.ParseInt(v.Get("at"), 10, 64)
	e.in.At = time.UnixMilli(ms)
	return e, err == nil && isSnowflake(e.in.ID) && isSnowflake(e.in.Application) && e.in.Token != ""
}

// Whisper shows a message to the one person that the handle names.
func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	e, ok := earOf(h)
	if !ok {
		return gone("the handle names nobody of Discord's")
	}
	if e.in.ID == "" {
		return a.aside(ctx, e.at, e.in.User, m)
	}
	w, known := a.answers.byID.get(e.in.ID, a.now())
	if !known {
		w = a.newAnswer(e.in) // it fell out of the table: what it may still take is found out by trying
	}
	return w.whisper(ctx, noteShapes(m, ""))
}

// aside answers what a person wrote, in their direct messages. Where those are closed it is a short reply in the place, which
// names that person only, and only words of ours: what a message shows of a call is for nobody else.
func (a *Adapter) aside(ctx context.Context, p place, user string, m render.Message) error {
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	if p.Guild == "" { // it is their direct messages already
		return a.quick(ctx, me, p.room(), noteShapes(m, ""), nil)
	}
	err = a.direct(ctx, user, noteShapes(m, linkTo(p)))
	if codeOf(err) != codeClosedDM {
		return err
	}
	a.Logger.Info("discord: a person's direct messages are closed; answering in the place", "guild", p.Guild, "channel", p.room())
	if !isBrief(m) || hasChoices(m) {
		m = inWords(sayElsewhere)
	}
	return a.openly(ctx, me, p, user, m)
}

// openly answers somebody where everybody reads it.
func (a *Adapter) openly(ctx context.Context, me self, p place, user string, m render.Message) error {
	note := m.Blocks[0].(render.Note)
	note.Line = append(render.Line{render.Person{User: person(p.Guild, user)}, render.Plain(" ")}, note.Line...)
	m.Blocks = append([]render.Block{note}, m.Blocks[1:]...)
	return a.inRoom(ctx, me, p, func() error { return a.quick(ctx, me, p.room(), noteShapes(m, ""), []string{user}) })
}

func hasChoices(m render.Message) bool {
	if len(m.Blocks) == 0 || len(m.Choices) > 0 {
		return true
	}
	for _, b := range m.Blocks {
		if n, ok := b.(render.Note); ok && len(n.Choices) > 0 {
			return true
		}
	}
	return false
}
