package discord

import (
	"context"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// staleAfter is how old a message may be to be answered without being recorded.
const staleAfter = 5 * time.Minute

// commanded does what was typed instead of a message.
func (a *Adapter) commanded(ctx context.Context, s spoken, c surface.Command) error {
	switch c.Verb {
	case "help":
		a.answer(s, sayHelp(s.direct, a.hears())...)
		return nil
	case "pending":
		session, err := a.Engine.Session(ctx, s.at.Chat())
		if err != nil {
			return err
		}
		a.answer(s, lines(surface.SayPending(turn.OpenAsks(session), "chat"))...)
		return nil
	}
	by := s.m.Sender(s.guild)
	if s.guild != "" && by.Groups == nil { // fetched: it does not say which roles its author has
		by.Groups = a.rolesOf(ctx, s.at, by.User)
	}
	if c.Verb == surface.VerbSettings {
		return a.typedSettings(ctx, s, by, c.Args)
	}
	err := a.Engine.Accept(ctx, chat.Commanded{Envelope: a.envelope(s.at, s.delivery(), by, s.reply()), Verb: c.Verb, Args: c.Args})
	if err != nil {
		return err
	}
	a.later(func(ctx context.Context) { a.confirm(ctx, s, c) })
	return nil
}

// rolesOf are a person's roles now. Without them they may do what everybody may.
func (a *Adapter) rolesOf(ctx context.Context, p ids.Place, u chat.User) []chat.User {
	roles, err := a.Groups(ctx, p.Chat(), u)
	if err != nil {
		a.Logger.Info("discord: the roles of somebody are not known", "chat", p.Chat(), "err", err)
	}
	return roles
}

// confirm says that a command was done where the chat does not show it. The engine itself says why one was not.
func (a *Adapter) confirm(ctx context.Context, s spoken, c surface.Command) {
	switch {
	case c.Verb == "reset":
		a.whisper(ctx, s.reply(), surface.SayReset)
	case c.Verb == "mode" && len(c.Args) > 0:
		session, err := a.Engine.Session(ctx, s.at.Chat())
		var want permission.Mode
		if err == nil && want.UnmarshalText([]byte(c.Args[0])) == nil && session.Mode == want {
			a.whisper(ctx, s.reply(), surface.SayMode(want))
		}
	}
}

// reply is where an answer to the author goes. A thread that the message begins is not there yet.
func (s *spoken) reply() chat.ReplyHandle {
	at := s.at
	if s.begins && !s.known {
		at.Thread = ""
	}
	return privately(at, string(s.m.Author.ID))
}

// answer tells the author of a message something, in their direct messages. A message that was fetched long after it was written
// is not answered so: whoever asked for help then has it.
func (a *Adapter) answer(s spoken, say ...string) {
	if a.now().Sub(ids.Time(string(s.m.ID))) > staleAfter {
		return
	}
	a.later(func(ctx context.Context) { a.whisper(ctx, s.reply(), say...) })
}

func (a *Adapter) whisper(ctx context.Context, to chat.ReplyHandle, say ...string) {
	if err := a.Whisper(ctx, to, inLines(say)); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// maxLines is how many a private answer to a message has, which is drawn in one note each.
const maxLines = 8

// inLines is a message of plain text.
func inLines(say []string) (m render.Message) {
	if n := len(say) - maxLines; n > 0 {
		say = append(say[:maxLines:maxLines], sayAndMore(n))
	}
	for _, line := range say {
		m.Blocks = append(m.Blocks, inWords(line).Blocks...)
	}
	return m
}

// Commands about settings: "/nod permissions …", "/nod halt" and the like, and the same after a mention. What they say is for the one
// person who gave them.

// slashSettings does a command, and answers it.
func (a *Adapter) slashSettings(ctx context.Context, s slash, words []string) {
	if a.Settings == nil {
		a.tell(ctx, s.w, sayNoSettings)
		return
	}
	env := a.envelope(s.at, s.in.Delivery(), s.by, s.w.handle())
	env.Chat = a.here(ctx, s.at, s.channel)
	said, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		said, err = []string{no.Say}, nil
	}
	if err != nil {
		a.Logger.Warn("discord: a command about settings failed", "chat", s.at.Chat(), "err", err)
		a.tell(ctx, s.w, surface.SayCommandFailed("Discord"))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := s.w.show(ctx, components.SettingsLines(words, said)); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// typedSettings does a command that somebody typed after a mention, and answers in their direct messages, whoever was watching.
func (a *Adapter) typedSettings(ctx context.Context, s spoken, by inbound.Person, words []string) error {
	if a.Settings == nil {
		a.answer(s, sayNoSettings)
		return nil
	}
	env := a.envelope(s.at, s.delivery(), by, s.reply())
	if s.begins && !s.known { // nothing was said there yet: the thread would begin with this
		env.Chat = chat.ID{}
	}
	said, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		said, err = []string{no.Say}, nil
	}
	if err != nil {
		return err
	}
	if a.now().Sub(ids.Time(string(s.m.ID))) <= staleAfter {
		a.later(func(ctx context.Context) { a.tellSettings(ctx, s, components.SettingsLines(words, said)) })
	}
	return nil
}

// tellSettings shows settings to the author of a message alone. Where their direct messages are closed nothing of it is said: only that
// there is an answer.
func (a *Adapter) tellSettings(ctx context.Context, s spoken, p components.Payload) {
	me, err := a.me(ctx)
	if err == nil {
		if s.direct {
			err = a.quick(ctx, me, s.at.Room(), components.Only(p), nil)
		} else {
			err = a.direct(ctx, string(s.m.Author.ID), components.Only(p))
		}
	}
	if rest.CodeOf(err) == rest.CodeClosedDM && !s.direct {
		at := s.at
		if s.begins && !s.known { // its thread is not there
			at.Thread = ""
		}
		err = a.openly(ctx, me, at, string(s.m.Author.ID), inWords(sayElsewhere))
	}
	if err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}
