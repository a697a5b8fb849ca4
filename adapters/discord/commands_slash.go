package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// slash is "/nod …". It names the channel or thread that it was given in.
type slash struct {
	in      *inbound.Interaction
	w       *answer
	by      inbound.Person
	channel inbound.Channel
	at      ids.Place // the chat of that channel or thread
}

func (a *Adapter) slash(ctx context.Context, s slash) {
	verb, text := inbound.CommandOf(s.in)
	if verb == inbound.VerbPermissions && text == "" {
		a.openPanel(ctx, s.w, a.viewFor(ctx, click{in: s.in, w: s.w, by: s.by, at: s.at, channel: s.channel}, "", ""))
		return
	}
	if words, ok := inbound.SettingsWords(s.in, verb); ok {
		a.slashSettings(ctx, s, words)
		return
	}
	var err error
	switch verb {
	case inbound.VerbAsk:
		a.asked(ctx, s, text)
		return
	case inbound.VerbHelp:
		a.show(ctx, s.w, sayHelp(s.in.Guild == "", a.hears()))
	case inbound.VerbPending:
		err = a.slashPending(ctx, s)
	case inbound.VerbStop, inbound.VerbReset:
		err = a.slashChange(ctx, s, verb)
	default:
		a.show(ctx, s.w, append([]string{sayUnknownVerb}, sayHelp(s.in.Guild == "", a.hears())...))
	}
	if err != nil {
		a.Logger.Warn("discord: a slash command failed", "command", verb, "chat", s.at.Chat(), "err", err)
		a.tell(ctx, s.w, surface.SayCommandFailed("Discord"))
	}
}

// show answers one person with lines of plain text.
func (a *Adapter) show(ctx context.Context, w *answer, say []string) {
	if err := a.showPayload(ctx, w, components.Lines(say...)); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// asked takes a question: the answer to the command shows it to everybody, and is what its chat begins with.
func (a *Adapter) asked(ctx context.Context, s slash, said string) {
	// A command's text brings no names along: only those of roles and channels are known.
	said = inbound.PlainText(said, a.namesIn(&inbound.Message{}))
	switch {
	case said == "":
		a.tell(ctx, s.w, sayEmptyAsk)
		return
	case len(said) > agent.MaxText || utf8.RuneCountInString(said) > inbound.MaxAsk:
		a.tell(ctx, s.w, surface.SayTooLong(len(said)))
		return
	}
	shown, err := s.w.say(ctx, components.Question(s.by.Name, said))
	if err != nil {
		// Another replica has it, or nobody saw anything: either way this one must not record a second question.
		a.Logger.Warn("discord: a question asked by command could not be shown", "chat", s.at.Chat(), "err", err)
		a.tell(ctx, s.w, sayNotAsked)
		return
	}
	begins := s.at.Thread == "" && s.in.Guild != "" && s.channel.HasThreads() && a.conversation(s.channel.ID) != InChannel
	if begins {
		s.at.Thread = shown
		a.expect(s.at, s.by.User.Key, said)
	}
	// It is answered: the three seconds do not count any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	err = a.Engine.Accept(ctx, chat.Said{
		Envelope: a.envelope(s.at, s.in.Delivery(), s.by, s.w.handle()), Message: chat.MessageRef(shown), Text: said,
	})
	if err != nil {
		a.Logger.Error("discord: a question asked by command was not recorded", "chat", s.at.Chat(), "err", err)
		say := sayNotAsked
		if errors.Is(err, agent.ErrFull) {
			say = text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)
		}
		a.tell(ctx, s.w, say)
		a.takeDown(ctx, s.channel.ID, shown)
		return
	}
	a.missed.Mark(s.channel.ID, shown, true)
	if begins {
		a.missed.Mark(shown, shown, true)
	}
}

// takeDown removes a question that nobody will answer.
func (a *Adapter) takeDown(ctx context.Context, room, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := a.api.Call(ctx, http.MethodDelete, discordgo.EndpointChannelMessage(room, message), nil, nil); err != nil {
		a.Logger.Warn("discord: a question that was not recorded still stands there", "room", room, "message", message, "err", err)
	}
}

// slashPending lists what waits for a person in the channel and its threads, or in the thread.
func (a *Adapter) slashPending(ctx context.Context, s slash) error {
	waiting, err := a.asking(ctx, func(p ids.Place) bool {
		return p.Guild == s.at.Guild && p.Channel == s.at.Channel && (s.at.Thread == "" || p.Thread == s.at.Thread)
	})
	if err != nil {
		return err
	}
	var list components.PendingList
	for i, id := range waiting {
		session, err := a.Engine.Session(ctx, id)
		if err != nil {
			return err
		}
		p, ok := ids.PlaceOf(id)
		if ok && !list.Add(p, session) {
			list.LeaveOut(len(waiting) - i)
			break
		}
	}
	if p, ok := list.Payload(); ok {
		return a.showPayload(ctx, s.w, p)
	}
	a.tell(ctx, s.w, surface.SayNothingPending)
	return nil
}

func (a *Adapter) showPayload(ctx context.Context, w *answer, p components.Payload) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	return w.show(ctx, p)
}

// hasChat reports whether a command can mean the place's own chat. In a channel whose chats are threads it says so.
func (a *Adapter) hasChat(ctx context.Context, s slash, verb string) (bool, error) {
	if s.at.Thread != "" || s.in.Guild == "" || !s.channel.HasThreads() || a.conversation(s.channel.ID) == InChannel {
		return true, nil
	}
	known, err := a.Engine.Knows(ctx, s.at.Chat()) // it may have been otherwise before
	if err == nil && !known {
		a.tell(ctx, s.w, sayNoChat(verb))
	}
	return known, err
}

// slashChange stops a turn, or lets the chat start over.
func (a *Adapter) slashChange(ctx context.Context, s slash, verb string) error {
	if ok, err := a.hasChat(ctx, s, verb); !ok || err != nil {
		return err
	}
	env := a.envelope(s.at, s.in.Delivery(), s.by, s.w.handle())
	if verb == inbound.VerbReset {
		if err := a.Engine.Accept(ctx, chat.Commanded{Envelope: env, Verb: inbound.VerbReset}); err != nil {
			return err
		}
		a.tell(ctx, s.w, surface.SayReset)
		return nil
	}
	_, err := a.Engine.Decide(ctx, chat.Clicked{Envelope: env, Choice: chat.Stop})
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, s.w, no.Say)
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	a.tell(ctx, s.w, sayStopping)
	return nil
}
