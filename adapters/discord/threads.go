package discord

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// archiveAfter is after how many minutes a thread is archived in which nobody wrote.
// https://discord.com/developers/docs/resources/channel#start-thread-from-message
const archiveAfter = 1440

// begunLife is how long a thread that is about to be made is remembered: between a mention and the first message of its turn there may be a
// queue. What is forgotten is asked of Discord.
const begunLife = time.Hour

// A person is told once in noticeLife what is missing in a place, and whoever waits for the post waits no longer than tellTimeout for it.
const (
	noticeLife  = time.Hour
	tellTimeout = 5 * time.Second
)

// beginning is who began a conversation, and how.
type beginning struct {
	user string
	name string // of the thread to be made; empty: there is none to be made
}

// expect says that a person's message is about to begin a conversation: Post then makes the thread, where the place is one, names it
// after the text, and tells that person where it may not.
func (a *Adapter) expect(p ids.Place, user, text string) {
	b := beginning{user: user}
	if p.Thread != "" {
		b.name = inbound.ThreadName(text, sayThread)
	}
	a.begun.Put(p.Room(), b, a.now())
}

// beginThread makes the thread of a place where this process knows that it is about to begin.
func (a *Adapter) beginThread(ctx context.Context, p ids.Place) error {
	b, _ := a.begun.Get(p.Room(), a.now())
	if b.name == "" {
		return nil
	}
	if err := a.makeThread(ctx, p, b); err != nil {
		return err
	}
	b.name = ""
	a.begun.Put(p.Room(), b, a.now()) // it is there; whom to tell is still of use
	return nil
}

// makeThread makes the thread on a place's first message. One that is there already is as good.
func (a *Adapter) makeThread(ctx context.Context, p ids.Place, b beginning) error {
	c := rest.Spending{Verb: rest.Thread, Channel: p.Channel, Lane: agent.Final}
	in := struct {
		Name    string `json:"name"`
		Archive int    `json:"auto_archive_duration"`
	}{b.name, archiveAfter}
	err := a.api.Paid(ctx, c, http.MethodPost, discordgo.EndpointChannelMessageThread(p.Channel, p.Thread), in, nil, nil)
	switch rest.CodeOf(err) {
	case discordgo.ErrCodeThreadAlreadyCreatedForThisMessage:
		return nil
	case discordgo.ErrCodeInvalidFormBody: // Server Discovery takes no names with certain words. https://github.com/modmail-dev/Modmail/issues/2934
		if b.name != sayThread {
			b.name = sayThread
			return a.makeThread(ctx, p, b)
		}
	case discordgo.ErrCodeMaximumNumberOfActiveThreadsReached, discordgo.ErrCodeMaximumNumberOfActiveAnnouncementThreadsReached:
		a.sorry(ctx, p, b.user, ids.Place{Guild: p.Guild, Channel: p.Channel}.LinkTo(p.Thread), sayThreadsFull)
	case discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions:
		a.lacking(ctx, p, b.user, rest.CodeOf(err), permThread)
	}
	return err
}

// rediscover makes a thread that another replica was about to make: it looks at the message that it hangs on. A message that has, or
// had, a thread says so: then the thread is gone.
func (a *Adapter) rediscover(ctx context.Context, p ids.Place) error {
	var m struct {
		Content string                 `json:"content"`
		Flags   discordgo.MessageFlags `json:"flags"`
		Author  struct {
			ID  string `json:"id"`
			Bot bool   `json:"bot"`
		} `json:"author"`
	}
	c := rest.Spending{Verb: rest.Read, Channel: p.Channel, Lane: agent.Final}
	err := a.api.Paid(ctx, c, http.MethodGet, discordgo.EndpointChannelMessage(p.Channel, p.Thread), nil, nil, &m)
	if err != nil {
		return err
	}
	if m.Flags&discordgo.MessageFlagsHasThread != 0 {
		return rest.Gone("the thread is no more")
	}
	b := beginning{name: inbound.ThreadName(m.Content, sayThread)}
	if !m.Author.Bot {
		b.user = m.Author.ID
	}
	return a.makeThread(ctx, p, b)
}

// inRoom does something in a place, and once more after an archived thread was opened again. Whoever began the conversation is told
// which permission is missing.
func (a *Adapter) inRoom(ctx context.Context, p ids.Place, do func() error) error {
	err := do()
	switch rest.CodeOf(err) {
	case discordgo.ErrCodePerformedOperationOnArchivedThread:
		c := rest.Spending{Verb: rest.Thread, Channel: p.Thread, Lane: agent.Final}
		if again := a.api.Paid(ctx, c, http.MethodPatch, discordgo.EndpointChannel(p.Thread), map[string]bool{"archived": false}, nil, nil); again != nil {
			return locked(again)
		}
		err = do()
	case discordgo.ErrCodeThreadIsLocked:
		return locked(err)
	case discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions:
		b, _ := a.begun.Get(p.Room(), a.now())
		perm := permSend
		if p.Thread != "" {
			perm = permSendInThread
		}
		a.lacking(ctx, p, b.user, rest.CodeOf(err), perm)
	}
	return err
}

// locked says what an archived thread that does not open means. A refusal stays forbidden, a disturbance may be tried again.
func locked(err error) error {
	pe := new(agent.PlatformError)
	if errors.As(err, &pe) && pe.Kind != agent.FaultForbidden {
		return err
	}
	return rest.Forbidden(errors.Join(errors.New("the thread is archived and locked, or the bot may not open it: somebody who may manage threads must unlock it"), pe.Cause))
}

// Permissions, as Discord's settings name them. https://discord.com/developers/docs/topics/permissions
const (
	permView         = "View Channel"
	permSend         = "Send Messages"
	permSendInThread = "Send Messages in Threads"
	permThread       = "Create Public Threads"
)

// lacking tells a person what the bot may not do where they wrote to it.
func (a *Adapter) lacking(ctx context.Context, p ids.Place, user string, code int, perm string) {
	if code == discordgo.ErrCodeMissingAccess {
		perm = permView
	}
	a.Logger.Warn("discord: a permission is missing", "guild", p.Guild, "channel", p.Channel, "thread", p.Thread, "permission", perm)
	to := p.Link()
	if perm == permThread { // there is no thread to go to, but the message that it would hang on
		to = ids.Place{Guild: p.Guild, Channel: p.Channel}.LinkTo(p.Thread)
	}
	a.sorry(ctx, p, user, to, sayLacking(perm))
}

// sorry tells a person why they are not answered where they wrote to the bot, once an hour and place. Nothing depends on that.
func (a *Adapter) sorry(ctx context.Context, p ids.Place, user, to, say string) {
	if user == "" {
		return
	}
	if _, isNew := a.notified.Add(p.Channel+"/"+user, struct{}{}, a.now()); !isNew {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	if err := a.direct(ctx, user, components.Note(inWords(say), to)); err != nil {
		a.Logger.Info("discord: could not tell a person what is missing", "err", err)
	}
}

// direct sends a message to a person's direct messages.
func (a *Adapter) direct(ctx context.Context, user string, of components.Renditions) error {
	room, err := a.directRoom(ctx, user)
	if err != nil {
		return err
	}
	return a.quick(ctx, room, of, nil)
}

// quick posts a message that nobody looks for again; the persons in notify may be notified.
func (a *Adapter) quick(ctx context.Context, channel string, of components.Renditions, notify []string) error {
	if _, err := a.me(ctx); err != nil {
		return err
	}
	c := rest.Spending{Verb: rest.Post, Channel: channel, Lane: agent.Decision}
	_, err := a.try(of, surface.LevelFull, func(s components.Rendition) error {
		body := s.Out(components.FlagsShown)
		body.Mentions.Users = notify
		return a.api.Paid(ctx, c, http.MethodPost, discordgo.EndpointChannelMessages(channel), body, s.Uploads(), nil)
	})
	return err
}
