package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// privately is the handle for an answer to what a person wrote. Discord shows a message to one person only as the answer to an
// interaction, so this one goes to their direct messages.
func privately(p ids.Place, user string) chat.ReplyHandle {
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
	at ids.Place
}

func earOf(h chat.ReplyHandle) (e ear, ok bool) {
	v, err := url.ParseQuery(h.Key)
	if err != nil || h.Platform != Platform {
		return ear{}, false
	}
	e.in = incoming{ID: v.Get("id"), Token: v.Get("token"), Application: v.Get("app"), Channel: v.Get("channel"), User: v.Get("user")}
	if e.in.ID == "" {
		e.at = ids.Place{Guild: v.Get("guild"), Channel: v.Get("channel"), Thread: v.Get("thread")}
		_, ok = ids.PlaceOf(e.at.Chat())
		return e, ok && ids.IsSnowflake(e.in.User)
	}
	ms, err := strconv.ParseInt(v.Get("at"), 10, 64)
	e.in.At = time.UnixMilli(ms)
	return e, err == nil && ids.IsSnowflake(e.in.ID) && ids.IsSnowflake(e.in.Application) && e.in.Token != ""
}

// Whisper shows a message to the one person that the handle names.
func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	e, ok := earOf(h)
	if !ok {
		return rest.Gone("the handle names nobody of Discord's")
	}
	if e.in.ID == "" {
		return a.aside(ctx, e.at, e.in.User, m)
	}
	w, known := a.answers.byID.Get(e.in.ID, a.now())
	if !known {
		w = a.newAnswer(e.in) // it fell out of the table: what it may still take is found out by trying
	}
	return w.whisper(ctx, components.Note(m, ""))
}

// aside answers what a person wrote, in their direct messages. Where those are closed it is a short reply in the place, which
// names that person only, and only words of ours: what a message shows of a call is for nobody else.
func (a *Adapter) aside(ctx context.Context, p ids.Place, user string, m render.Message) error {
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	if p.Guild == "" { // it is their direct messages already
		return a.quick(ctx, me, p.Room(), components.Note(m, ""), nil)
	}
	err = a.direct(ctx, user, components.Note(m, p.Link()))
	if rest.CodeOf(err) != rest.CodeClosedDM {
		return err
	}
	a.Logger.Info("discord: a person's direct messages are closed; answering in the place", "guild", p.Guild, "channel", p.Room())
	if !isBrief(m) || hasChoices(m) {
		m = inWords(sayElsewhere)
	}
	return a.openly(ctx, me, p, user, m)
}

// openly answers somebody where everybody reads it.
func (a *Adapter) openly(ctx context.Context, me self, p ids.Place, user string, m render.Message) error {
	note := m.Blocks[0].(render.Note)
	note.Line = append(render.Line{render.Person{User: ids.Person(p.Guild, user)}, render.Plain(" ")}, note.Line...)
	m.Blocks = append([]render.Block{note}, m.Blocks[1:]...)
	return a.inRoom(ctx, me, p, func() error { return a.quick(ctx, me, p.Room(), components.Note(m, ""), []string{user}) })
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

// Tell writes to one person's direct messages. The same key tells once: an earlier message with it is looked for, up to six hours back,
// and Discord enforces its nonce. Somebody who takes no direct messages is [agent.FaultForbidden].
//
// In direct messages nobody is in any server, so the buttons carry the server that the person was named in. Whoever clicks is looked
// up there before it counts.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	if to.Platform != Platform || to.IsGroup() || !ids.IsSnowflake(to.Key) || to.Workspace != "" && !ids.IsSnowflake(to.Workspace) {
		return "", rest.Gone("nobody of Discord's to write to")
	}
	me, err := a.me(ctx)
	if err != nil {
		return "", err
	}
	room, err := a.directRoom(rest.WithLane(ctx, agent.Final), to.Key)
	if err != nil {
		return "", err
	}
	p := ids.Place{Guild: "", Channel: room, Thread: ""}
	if ref, found, err := a.Seek(ctx, p.Chat(), key); err != nil || found {
		return ref, err
	}
	of := components.DirectTurn(to.Workspace, surface.Quietly(m), a.alive)
	_, ref, err := a.post(ctx, me, p, key, of, agent.Final)
	return ref, err
}

// directRoom is the channel of a person's direct messages with the bot.
// https://discord.com/developers/docs/resources/user#create-dm
func (a *Adapter) directRoom(ctx context.Context, user string) (string, error) {
	var dm struct {
		ID string `json:"id"`
	}
	if err := a.api.Call(ctx, http.MethodPost, discordgo.EndpointUserChannels("@me"), map[string]string{"recipient_id": user}, &dm); err != nil {
		return "", err
	}
	if !ids.IsSnowflake(dm.ID) {
		return "", rest.Transient(errors.New("the answer names no channel"))
	}
	return dm.ID, nil
}

// memberOfGuild is whoever clicked in direct messages, as a member of a server. Discord is asked whether they are one, and which roles
// they have: what a button says of that is not believed. Where they are none they are told, and ok is false.
func (a *Adapter) memberOfGuild(ctx context.Context, c click, guild string) (by inbound.Person, ok bool) {
	if c.in.Guild != "" {
		a.tell(ctx, c.w, sayOtherVersion)
		return by, false
	}
	roles, is, err := a.rolesIn(ctx, guild, c.by.User.Key)
	switch {
	case err != nil:
		a.Logger.Warn("discord: whether somebody is in a server is not known", "guild", guild, "err", err)
		a.tell(ctx, c.w, surface.SayNotRead)
		return by, false
	case !is:
		a.tell(ctx, c.w, sayNotThere)
		return by, false
	}
	return inbound.Person{User: ids.Person(guild, c.by.User.Key), Name: c.by.Name, Groups: append([]chat.User{ids.Role(guild, guild)}, roles...)}, true
}
