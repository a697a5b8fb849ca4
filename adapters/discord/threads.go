package discord

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// A thread's name has 1 to 100 characters, and it is archived when nobody wrote in it for a day.
// https://discord.com/developers/docs/resources/channel#start-thread-from-message
const (
	maxThreadName = 100
	archiveAfter  = 1440 // minutes
)

// How much is remembered of threads that are about to be made: between a mention and the first message of its turn there may be a
// queue. What is forgotten is asked of Discord.
const (
	maxBegun  = 4096
	begunLife = time.Hour
)

// A person is told once in toldLife what is missing in a place, and whoever waits for the post waits no longer than tellTimeout for it.
const (
	maxLacking  = 4096
	toldLife    = time.Hour
	tellTimeout = 5 * time.Second
)

// begun are conversations that a person began here a moment ago.
type begun struct {
	byRoom kept[beginning]
	told   kept[struct{}]
}

// beginning is who began a conversation, and how.
type beginning struct {
	user string
	name string // of the thread to be made; empty: there is none to be made
}

func newBegun() begun {
	return begun{kept[beginning]{most: maxBegun, life: begunLife}, kept[struct{}]{most: maxLacking, life: toldLife}}
}

// expect says that a person's message is about to begin a conversation: Post then makes the thread, where the place is one, names it
// after the text, and tells that person where it may not.
func (a *Adapter) expect(p place, user, text string) {
	b := beginning{user: user}
	if p.Thread != "" {
		b.name = threadName(text)
	}
	a.begun.byRoom.put(p.room(), b, a.now())
}

// threadName is the first line of what somebody wrote that says something: mentions of people and roles say nothing there, because
// Discord shows names of threads as they are.
func threadName(text string) string {
	for line := range strings.Lines(text) {
		if name := surface.Shortened(withoutMentions(line), maxThreadName); strings.Trim(name, " .…") != "" {
			return name
		}
	}
	return sayThread
}

// mention is what Discord writes for a person, a role, a channel, a command, an emoji, a time or a place of a guild.
// https://discord.com/developers/docs/reference#message-formatting
var mention = regexp.MustCompile(`<(?:@[!&]?|#|/[^<>]*:|a?:\w+:|t:|id:)[^<>\s]*>`)

// withoutMentions takes mentions out, and disarms those of everybody.
func withoutMentions(s string) string {
	return strings.NewReplacer("@everyone", "everyone", "@here", "here").Replace(mention.ReplaceAllString(s, ""))
}

// beginThread makes the thread of a place where this process knows that it is about to begin.
func (a *Adapter) beginThread(ctx context.Context, me self, p place) error {
	if p.Thread == "" {
		return nil
	}
	b, ok := a.begun.byRoom.get(p.room(), a.now())
	if !ok || b.name == "" {
		return nil
	}
	if err := a.makeThread(ctx, me, p, b); err != nil {
		return err
	}
	b.name = ""
	a.begun.byRoom.put(p.room(), b, a.now()) // it is there; whom to tell is still of use
	return nil
}

// makeThread makes the thread on a place's first message. One that is there already is as good.
func (a *Adapter) makeThread(ctx context.Context, me self, p place, b beginning) error {
	c := spending{verb: verbThread, app: me.Application, channel: p.Channel, lane: agent.Final}
	in := struct {
		Name    string `json:"name"`
		Archive int    `json:"auto_archive_duration"`
	}{b.name, archiveAfter}
	err := a.spent(ctx, c, func(ctx context.Context) error {
		return a.rest(ctx, http.MethodPost, discordgo.EndpointChannelMessageThread(p.Channel, p.Thread), in, nil)
	})
	switch codeOf(err) {
	case codeHasThread:
		return nil
	case codeNoAccess, codeNoPermission:
		a.lacking(ctx, p, b.user, codeOf(err), permThread)
	}
	return err
}

// rediscover makes a thread that another replica was about to make: it looks at the message that it hangs on. A message that has, or
// had, a thread says so: then the thread is gone.
func (a *Adapter) rediscover(ctx context.Context, me self, p place) error {
	var m struct {
		Content string                 `json:"content"`
		Flags   discordgo.MessageFlags `json:"flags"`
		Author  struct {
			ID  string `json:"id"`
			Bot bool   `json:"bot"`
		} `json:"author"`
	}
	c := spending{verb: verbRead, app: me.Application, channel: p.Channel, lane: agent.Final}
	err := a.spent(ctx, c, func(ctx context.Context) error {
		return a.rest(ctx, http.MethodGet, discordgo.EndpointChannelMessage(p.Channel, p.Thread), nil, &m)
	})
	if err != nil {
		return err
	}
	if m.Flags&discordgo.MessageFlagsHasThread != 0 {
		return gone("the thread is no more")
	}
	b := beginning{name: threadName(m.Content)}
	if !m.Author.Bot {
		b.user = m.Author.ID
	}
	return a.makeThread(ctx, me, p, b)
}

// inRoom does something in a place, and once more after an archived thread was opened again. Whoever began the conversation is told
// which permission is missing.
func (a *Adapter) inRoom(ctx context.Context, me self, p place, do func() error) error {
	err := do()
	switch codeOf(err) {
	case codeArchived:
		if p.Thread == "" {
			return err
		}
		c := spending{verb: verbThread, app: me.Application, channel: p.Thread, lane: agent.Final}
		again := a.spent(ctx, c, func(ctx context.Context) error {
			return a.rest(ctx, http.MethodPatch, discordgo.EndpointChannel(p.Thread), map[string]bool{"archived": false}, nil)
		})
		if again != nil {
			return locked(again)
		}
		err = do()
		if codeOf(err) == codeArchived {
			return locked(err)
		}
	case codeThreadLocked:
		return locked(err)
	case codeNoAccess, codeNoPermission:
		b, _ := a.begun.byRoom.get(p.room(), a.now())
		perm := permSend
		if p.Thread != "" {
			perm = permSendInThread
		}
		a.lacking(ctx, p, b.user, codeOf(err), perm)
	}
	return err
}

// locked says what an archived thread that does not open means. A refusal stays forbidden, a disturbance may be tried again.
func locked(err error) error {
	pe := new(agent.PlatformError)
	if errors.As(err, &pe) && pe.Kind != agent.FaultForbidden {
		return err
	}
	return forbidden(errors.Join(errors.New("the thread is archived and locked, or the bot may not open it: somebody who may manage threads must unlock it"), pe.Cause))
}

// Permissions, as Discord's settings name them. https://discord.com/developers/docs/topics/permissions
const (
	permView         = "View Channel"
	permSend         = "Send Messages"
	permSendInThread = "Send Messages in Threads"
	permThread       = "Create Public Threads"
)

// lacking tells a person what the bot may not do where they wrote to it, once an hour and place. Nothing depends on that.
func (a *Adapter) lacking(ctx context.Context, p place, user string, code int, perm string) {
	if code == codeNoAccess {
		perm = permView
	}
	a.Logger.Warn("discord: a permission is missing", "guild", p.Guild, "channel", p.Channel, "thread", p.Thread, "permission", perm)
	if user == "" || p.Guild == "" {
		return
	}
	if _, isNew := a.begun.told.add(p.Channel+"/"+user, struct{}{}, a.now()); !isNew {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	to := linkTo(p)
	if perm == permThread { // there is no thread to go to, but the message that it would hang on
		to = a.refer(place{Guild: p.Guild, Channel: p.Channel}, chat.MessageRef(p.Thread))
	}
	if err := a.direct(ctx, user, noteShapes(inWords(sayLacking(perm)), to)); err != nil {
		a.Logger.Info("discord: could not tell a person what is missing", "err", err)
	}
}

// direct sends a message to a person's direct messages.
func (a *Adapter) direct(ctx context.Context, user string, of shapes) error {
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	if !isSnowflake(user) {
		return gone("nobody to write to")
	}
	room, err := a.directRoom(ctx, user)
	if err != nil {
		return err
	}
	return a.quick(ctx, me, room, of, nil)
}

// quick posts a message that nobody looks for again; the persons in notify may be notified.
func (a *Adapter) quick(ctx context.Context, me self, channel string, of shapes, notify []string) error {
	c := spending{verb: verbPost, app: me.Application, channel: channel, lane: agent.Decision}
	_, err := a.try(of, levelFull, func(s sketch) error {
		return a.spent(ctx, c, func(ctx context.Context) error {
			body := s.out(flagsShown)
			body.Mentions.Users = notify
			return a.restFiles(ctx, http.MethodPost, discordgo.EndpointChannelMessages(channel), body, s.Files, nil)
		})
	})
	return err
}
