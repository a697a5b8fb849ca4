package discord

import (
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Tell writes to one person's direct messages. The same key tells once: an earlier message with it is looked for, up to six hours back,
// and Discord enforces its nonce. Somebody who takes no direct messages is [agent.FaultForbidden].
//
// In direct messages nobody is in any server, so the buttons carry the server that the person was named in. Whoever clicks is looked
// up there before it counts.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	if to.Platform != Platform || to.IsGroup() || !isSnowflake(to.Key) || to.Workspace != "" && !isSnowflake(to.Workspace) {
		return "", gone("nobody of Discord's to write to")
	}
	me, err := a.me(ctx)
	if err != nil {
		return "", err
	}
	room, err := a.directRoom(withLane(ctx, agent.Final), to.Key)
	if err != nil {
		return "", err
	}
	p := place{"", room, ""}
	if ref, found, err := a.Seek(ctx, p.id(), key); err != nil || found {
		return ref, err
	}
	of := shapesOf(surface.Quietly(m), func(m render.Message) payload { return encodeIn(to.Workspace, m, a.alive) })
	_, ref, err := a.post(ctx, me, p, key, of, agent.Final)
	return ref, err
}

// directRoom is the channel of a person's direct messages with the bot.
// https://discord.com/developers/docs/resources/user#create-dm
func (a *Adapter) directRoom(ctx context.Context, user string) (string, error) {
	var dm struct {
		ID string `json:"id"`
	}
	if err := a.rest(ctx, http.MethodPost, discordgo.EndpointUserChannels("@me"), map[string]string{"recipient_id": user}, &dm); err != nil {
		return "", err
	}
	if !isSnowflake(dm.ID) {
		return "", transient(errors.New("the answer names no channel"))
	}
	return dm.ID, nil
}

// memberOfGuild is whoever clicked in direct messages, as a member of a server. Discord is asked whether they are one, and which roles
// they have: what a button says of that is not believed. Where they are none they are told, and ok is false.
func (a *Adapter) memberOfGuild(ctx context.Context, c click, guild string) (by somebody, ok bool) {
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
	return somebody{User: person(guild, c.by.User.Key), Name: c.by.Name, Groups: append([]chat.User{role(guild, guild)}, roles...)}, true
}
