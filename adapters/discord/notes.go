package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Annotate posts a message beside the turn's. The persons that a short one names are notified; the rest of a long answer names nobody.
func (a *Adapter) Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	p, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	of := components.Turn(surface.Quietly(m), a.alive)
	if isBrief(m) {
		var to string
		if link {
			to = p.LinkTo(string(beside))
		}
		of = components.Note(m, to)
	}
	_, ref, err := a.post(ctx, p, key, of)
	return ref, err
}

// isBrief reports whether a message is but a line or two.
func isBrief(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	p, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	if !ids.IsSnowflake(string(ref)) {
		return rest.Gone("the message is none of Discord's")
	}
	c := rest.Spending{Verb: rest.Delete, Channel: p.Room(), Lane: agent.Final}
	err = a.inRoom(ctx, p, func() error {
		return a.api.Paid(ctx, c, http.MethodDelete, discordgo.EndpointChannelMessage(p.Room(), string(ref)), nil, nil, nil)
	})
	switch rest.CodeOf(err) {
	case discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeUnknownChannel:
		return nil
	}
	return err
}

// Attach posts a file beside the turn's message, with a note above it that names nobody: for an answer so long that it would be many
// messages. What a file does not hold (10 MiB) is left out at its end. The same key posts at most once for some minutes.
// https://discord.com/developers/docs/components/reference#file
func (a *Adapter) Attach(ctx context.Context, id chat.ID, _ chat.MessageRef, key chat.PostKey, note render.Message, f agent.File) (chat.MessageRef, error) {
	p, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	out := components.Attachment(surface.Quietly(note), components.File{Name: f.Name, Type: f.Type, Data: f.Data})
	_, ref, err := a.post(ctx, p, key, components.Only(out))
	return ref, err
}

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

// recipientOf is who a private answer goes to: through the interaction, or where there was none (in has no ID) from a place.
func recipientOf(h chat.ReplyHandle) (in incoming, at ids.Place, ok bool) {
	if h.Platform != Platform {
		return in, at, false
	}
	v, _ := url.ParseQuery(h.Key) // what of it cannot be read is looked at below
	in = incoming{ID: v.Get("id"), Token: v.Get("token"), Application: v.Get("app"), Channel: v.Get("channel"), User: v.Get("user")}
	if in.ID == "" {
		at = ids.Place{Guild: v.Get("guild"), Channel: v.Get("channel"), Thread: v.Get("thread")}
		_, ok = ids.PlaceOf(at.Chat())
		return in, at, ok && ids.IsSnowflake(in.User)
	}
	ms, err := strconv.ParseInt(v.Get("at"), 10, 64)
	in.At = time.UnixMilli(ms)
	return in, at, err == nil && ids.IsSnowflake(in.ID) && ids.IsSnowflake(in.Application) && in.Token != ""
}

// Whisper shows a message to the one person that the handle names.
func (a *Adapter) Whisper(ctx context.Context, h chat.ReplyHandle, m render.Message) error {
	in, at, ok := recipientOf(h)
	if !ok {
		return rest.Gone("the handle names nobody of Discord's")
	}
	if in.ID == "" {
		return a.whisperDirectly(ctx, at, in.User, m)
	}
	w, known := a.answers.byID.Get(in.ID, a.now())
	if !known {
		w = a.newAnswer(in) // it fell out of the table: what it may still take is found out by trying
	}
	return w.whisper(ctx, components.Note(m, ""))
}

// whisperDirectly answers what a person wrote, in their direct messages. Where those are closed it is a short reply in the place, which
// names that person only, and only words of ours: what a message shows of a call is for nobody else.
func (a *Adapter) whisperDirectly(ctx context.Context, p ids.Place, user string, m render.Message) error {
	if p.Guild == "" { // it is their direct messages already
		return a.quick(ctx, p.Room(), components.Note(m, ""), nil)
	}
	err := a.direct(ctx, user, components.Note(m, p.Link()))
	if rest.CodeOf(err) != discordgo.ErrCodeCannotSendMessagesToThisUser {
		return err
	}
	a.Logger.Info("discord: a person's direct messages are closed; answering in the place", "guild", p.Guild, "channel", p.Room())
	if !isBrief(m) || len(m.Blocks) == 0 || hasChoices(m) {
		m = inWords(sayElsewhere)
	}
	return a.answerOpenly(ctx, p, user, m)
}

// answerOpenly answers somebody where everybody reads it.
func (a *Adapter) answerOpenly(ctx context.Context, p ids.Place, user string, m render.Message) error {
	note := m.Blocks[0].(render.Note)
	note.Line = append(render.Line{render.Person{User: ids.Person(p.Guild, user)}, render.Plain(" ")}, note.Line...)
	m.Blocks = append([]render.Block{note}, m.Blocks[1:]...)
	return a.inRoom(ctx, p, func() error { return a.quick(ctx, p.Room(), components.Note(m, ""), []string{user}) })
}

// hasChoices reports whether a brief message has buttons.
func hasChoices(m render.Message) bool {
	return len(m.Choices) > 0 || slices.ContainsFunc(m.Blocks, func(b render.Block) bool { return len(b.(render.Note).Choices) > 0 })
}

// Tell writes to one person's direct messages. The same key tells once: an earlier message with it is looked for, up to six hours back,
// and Discord enforces its nonce. Somebody who takes no direct messages is [agent.FaultForbidden].
//
// In direct messages nobody is in any server, so the buttons carry the server that the person was named in. Whoever clicks is looked
// up there before it counts.
func (a *Adapter) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	if to.Platform != Platform || !ids.IsSnowflake(to.Key) || to.Workspace != "" && !ids.IsSnowflake(to.Workspace) {
		return "", rest.Gone("nobody of Discord's to write to")
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
	_, ref, err := a.post(ctx, p, key, of)
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

// asMember makes whoever clicked in direct messages the member of a server that they mean; of none (empty): nothing is done. Discord is
// asked whether they are one, and which roles they have: what a button says of that is not believed. A reply refuses them.
func (a *Adapter) asMember(ctx context.Context, c *interaction, guild string) *reply {
	if guild == "" {
		return nil
	}
	if c.in.Guild != "" {
		return say(sayOtherVersion)
	}
	roles, is, err := a.rolesIn(ctx, guild, c.by.User.Key)
	switch {
	case err != nil:
		a.Logger.Warn("discord: whether somebody is in a server is not known", "guild", guild, "err", err)
		return say(surface.SayNotRead)
	case !is:
		return say(sayNotThere)
	}
	c.by.User, c.by.Groups = ids.Person(guild, c.by.User.Key), append([]chat.User{ids.Role(guild, guild)}, roles...)
	return nil
}
