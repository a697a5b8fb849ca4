package discord

import (
	"context"
	"time"

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
		session, err := a.Engine.Session(ctx, s.at.id())
		if err != nil {
			return err
		}
		a.answer(s, lines(surface.SayPending(turn.OpenAsks(session), "chat"))...)
		return nil
	}
	by := s.m.author(s.guild)
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
func (a *Adapter) rolesOf(ctx context.Context, p place, u chat.User) []chat.User {
	roles, err := a.Groups(ctx, p.id(), u)
	if err != nil {
		a.Logger.Info("discord: the roles of somebody are not known", "chat", p.id(), "err", err)
	}
	return roles
}

// confirm says that a command was done where the chat does not show it. The engine itself says why one was not.
func (a *Adapter) confirm(ctx context.Context, s spoken, c surface.Command) {
	switch {
	case c.Verb == "reset":
		a.whisper(ctx, s.reply(), surface.SayReset)
	case c.Verb == "mode" && len(c.Args) > 0:
		session, err := a.Engine.Session(ctx, s.at.id())
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
	if a.now().Sub(writtenAt(string(s.m.ID))) > staleAfter {
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
