package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// staleAfter is how old a message may be to be answered without being recorded.
const staleAfter = 5 * time.Minute

// commanded does what was typed instead of a message.
func (a *Adapter) commanded(ctx context.Context, s userMessage, c surface.Command) error {
	switch c.Verb {
	case "help":
		a.answer(s, sayHelp(s.at.Guild == "", a.hears())...)
		return nil
	case "pending":
		session, err := a.Engine.Session(ctx, s.at.Chat())
		if err != nil {
			return err
		}
		a.answer(s, strings.Split(surface.SayPending(turn.OpenAsks(session), "chat"), "\n")...)
		return nil
	}
	by := s.m.Sender(s.at.Guild)
	if by.Groups == nil { // fetched: it does not say which roles its author has
		by.Groups = a.rolesOf(ctx, s.at, by.User)
	}
	if c.Verb != "stop" && a.standing(ctx, by) != chat.Member {
		a.answer(s, sayNotMember)
		return nil
	}
	if c.Verb == surface.VerbSettings {
		return a.typedSettings(ctx, s, by, c.Args)
	}
	err := a.Engine.Accept(ctx, chat.Commanded{Envelope: envelopeOf(s.at, s.delivery(), by, s.reply()), Verb: c.Verb, Args: c.Args})
	if err != nil {
		return err
	}
	a.later(func(ctx context.Context) {
		if say := surface.SayDone(ctx, a.Engine, s.at.Chat(), c); say != "" {
			a.whisper(ctx, s.reply(), say)
		}
	})
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

// replyPlace is where an answer to the author goes. A thread that the message begins is not there yet.
func (s *userMessage) replyPlace() ids.Place {
	at := s.at
	if s.begins {
		at.Thread = ""
	}
	return at
}

func (s *userMessage) reply() chat.ReplyHandle {
	return privately(s.replyPlace(), string(s.m.Author.ID))
}

// answer tells the author of a message something, in their direct messages. A message that was fetched long after it was written
// is not answered so: whoever asked for help then has it.
func (a *Adapter) answer(s userMessage, say ...string) {
	if s.program || a.now().Sub(ids.Time(string(s.m.ID))) > staleAfter {
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

// settingsCommand does a command about settings: "/nod permissions …", "/nod halt" and the like, and the same after a mention. The lines
// are for the one person who gave it.
func (a *Adapter) settingsCommand(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	lines, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		return []string{no.Say}, nil
	}
	return lines, err
}

// typedSettings does a command that somebody typed after a mention, and answers in their direct messages, whoever was watching.
func (a *Adapter) typedSettings(ctx context.Context, s userMessage, by inbound.Person, words []string) error {
	if a.Settings == nil {
		a.answer(s, sayNoSettings)
		return nil
	}
	env := envelopeOf(s.at, s.delivery(), by, s.reply())
	if s.begins { // nothing was said there yet: the thread would begin with this
		env.Chat = chat.ID{}
	}
	lines, err := a.settingsCommand(ctx, env, words)
	if err != nil {
		return err
	}
	if a.now().Sub(ids.Time(string(s.m.ID))) <= staleAfter {
		a.later(func(ctx context.Context) { a.tellSettings(ctx, s, components.SettingsLines(words, lines)) })
	}
	return nil
}

// tellSettings shows settings to the author of a message alone. Where their direct messages are closed nothing of it is said: only that
// there is an answer.
func (a *Adapter) tellSettings(ctx context.Context, s userMessage, p components.Payload) {
	var err error
	if s.at.Guild == "" {
		err = a.quick(ctx, s.at.Room(), components.Only(p), nil)
	} else if err = a.direct(ctx, string(s.m.Author.ID), components.Only(p)); rest.CodeOf(err) == discordgo.ErrCodeCannotSendMessagesToThisUser {
		err = a.answerOpenly(ctx, s.replyPlace(), string(s.m.Author.ID), inWords(sayElsewhere))
	}
	if err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// slash does "/nod …". It names the channel or thread that it was given in.
func (a *Adapter) slash(ctx context.Context, c interaction) *reply {
	verb, text := inbound.CommandOf(c.in)
	if verb == inbound.VerbPermissions && text == "" {
		return a.panel(ctx, a.viewFor(ctx, c, "", ""))
	}
	if words, ok := inbound.SettingsWords(c.in, verb); ok {
		return a.slashSettings(ctx, c, words)
	}
	var r *reply
	var err error
	switch verb {
	case inbound.VerbAsk:
		return a.ask(ctx, c, text)
	case inbound.VerbHelp:
		return sayLines(sayHelp(c.in.Guild == "", a.hears())...)
	case inbound.VerbPending:
		r, err = a.pending(ctx, c)
	case inbound.VerbStop, inbound.VerbReset:
		r, err = a.change(ctx, c, verb)
	default:
		return sayLines(append([]string{sayUnknownVerb}, sayHelp(c.in.Guild == "", a.hears())...)...)
	}
	if err != nil {
		a.Logger.Warn("discord: a slash command failed", "command", verb, "chat", c.at.Chat(), "err", err)
		return say(surface.SayCommandFailed("Discord"))
	}
	return r
}

// slashSettings does a command about settings.
func (a *Adapter) slashSettings(ctx context.Context, c interaction, words []string) *reply {
	if a.Settings == nil {
		return say(sayNoSettings)
	}
	env := c.envelope()
	env.Chat = a.here(ctx, c.at, c.channel)
	lines, err := a.settingsCommand(ctx, env, words)
	if err != nil {
		a.Logger.Warn("discord: a command about settings failed", "chat", c.at.Chat(), "err", err)
		return say(surface.SayCommandFailed("Discord"))
	}
	return show(components.SettingsLines(words, lines))
}

// ask takes a question: the answer to the command shows it to everybody, and is what its chat begins with.
func (a *Adapter) ask(ctx context.Context, c interaction, question string) *reply {
	// A command's text brings no names along: only those of roles and channels are known.
	question = inbound.PlainText(question, a.namesIn(&inbound.Message{}))
	switch {
	case question == "":
		return say(sayEmptyAsk)
	case len(question) > agent.MaxText: // with the names that stand for what it mentions
		return say(surface.SayTooLong(len(question)))
	}
	standing := a.standing(ctx, c.by)
	if a.MembersOnly && standing != chat.Member {
		return say(sayMembersOnly)
	}
	shown, err := c.w.say(ctx, components.Question(c.by.Name, question))
	if err != nil {
		// Another replica has it, or nobody saw anything: either way this one must not record a second question.
		a.Logger.Warn("discord: a question asked by command could not be shown", "chat", c.at.Chat(), "err", err)
		return say(sayNotAsked)
	}
	begins := a.beginsThread(c.channel)
	if begins {
		c.at.Thread = shown
		a.expect(c.at, c.by.User.Key, question)
	}
	// It is answered: the three seconds do not count any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	err = a.Engine.Accept(ctx, chat.Said{Envelope: c.envelope(), Message: chat.MessageRef(shown), Text: question, Standing: standing, Channel: c.at.Shared()})
	if err != nil {
		a.Logger.Error("discord: a question asked by command was not recorded", "chat", c.at.Chat(), "err", err)
		why := sayNotAsked
		if errors.Is(err, agent.ErrFull) {
			why = text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)
		}
		a.send(ctx, c.w, say(why))
		a.takeDown(ctx, c.channel.ID, shown)
		return nil
	}
	a.missed.Mark(c.channel.ID, shown, true)
	if begins {
		a.missed.Mark(shown, shown, true)
	}
	return nil
}

// takeDown removes a question that nobody will answer.
func (a *Adapter) takeDown(ctx context.Context, room, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := a.api.Call(ctx, http.MethodDelete, discordgo.EndpointChannelMessage(room, message), nil, nil); err != nil {
		a.Logger.Warn("discord: a question that was not recorded still stands there", "room", room, "message", message, "err", err)
	}
}

// pending lists what waits for a person in the channel and its threads, or in the thread.
func (a *Adapter) pending(ctx context.Context, c interaction) (*reply, error) {
	waiting, err := a.asking(ctx, func(p ids.Place) bool {
		return p.Guild == c.at.Guild && p.Channel == c.at.Channel && (c.at.Thread == "" || p.Thread == c.at.Thread)
	})
	if err != nil {
		return nil, err
	}
	sessions, err := surface.Asking(ctx, a.Engine, waiting)
	if err != nil {
		return nil, err
	}
	var list components.PendingList
	for i, s := range sessions {
		if p, _ := ids.PlaceOf(s.Chat); !list.Add(p, s) {
			list.LeaveOut(len(sessions) - i)
			break
		}
	}
	if p, ok := list.Payload(); ok {
		return show(p).orSay(surface.SayCommandFailed("Discord"), "discord: a slash command failed",
			"command", inbound.VerbPending, "chat", c.at.Chat()), nil
	}
	return say(surface.SayNothingPending), nil
}

// beginsThread reports whether what is said in a channel begins a thread: it is no chat itself.
func (a *Adapter) beginsThread(c inbound.Channel) bool {
	return c.HasThreads() && a.conversation(c.ID) != InChannel
}

// change stops a turn, or lets the chat start over. In a channel whose chats are threads it says so.
func (a *Adapter) change(ctx context.Context, c interaction, verb string) (*reply, error) {
	if a.beginsThread(c.channel) {
		if known, err := a.Engine.Knows(ctx, c.at.Chat()); !known { // it may have been otherwise before
			return say(sayNoChat(verb)), err
		}
	}
	if verb == inbound.VerbReset {
		err := a.Engine.Accept(ctx, chat.Commanded{Envelope: c.envelope(), Verb: verb})
		return say(surface.SayReset), err
	}
	_, err := a.Engine.Decide(ctx, chat.Clicked{Envelope: c.envelope(), Choice: chat.Stop})
	if no := surface.Refusal(err); no != nil {
		return say(no.Say), nil
	}
	if err != nil {
		return nil, fmt.Errorf("stop: %w", err)
	}
	return say(sayStopping), nil
}
