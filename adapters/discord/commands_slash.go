package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// slash is "/nod …". It names the channel or thread that it was given in.
type slash struct {
	in      *interaction
	w       *answer
	by      somebody
	channel channel
	at      place // the chat of that channel or thread
}

func (a *Adapter) slash(ctx context.Context, s slash) {
	verb, text := s.words()
	if verb == verbPermissions && text == "" {
		a.openPanel(ctx, s.w, a.paneOf(ctx, click{in: s.in, w: s.w, by: s.by, at: s.at, channel: s.channel}, "", ""))
		return
	}
	if words, ok := s.settings(verb); ok {
		a.slashSettings(ctx, s, words)
		return
	}
	var err error
	switch verb {
	case verbAsk:
		a.asked(ctx, s, text)
		return
	case verbHelp:
		a.show(ctx, s.w, sayHelp(s.in.Guild == "", a.hears()))
	case verbPending:
		err = a.slashPending(ctx, s)
	case verbStop, verbReset:
		err = a.slashChange(ctx, s, verb)
	default:
		a.show(ctx, s.w, append([]string{sayUnknownVerb}, sayHelp(s.in.Guild == "", a.hears())...))
	}
	if err != nil {
		a.Logger.Warn("discord: a slash command failed", "command", verb, "chat", s.at.id(), "err", err)
		a.tell(ctx, s.w, sayCommandFailed)
	}
}

// words are the subcommand and its text.
func (s *slash) words() (verb, text string) {
	if string(s.in.Data.Name) != commandName || len(s.in.Data.Options) != 1 {
		return "", ""
	}
	sub := s.in.Data.Options[0]
	for _, o := range sub.Options {
		if o.Name == optionText || o.Name == optionDo {
			text = strings.TrimSpace(string(o.Value))
		}
	}
	return string(sub.Name), text
}

// show answers one person with lines of plain text.
func (a *Adapter) show(ctx context.Context, w *answer, say []string) {
	plain := make([]string, len(say))
	for i, line := range say {
		plain[i] = literal(line)
	}
	if err := a.showMarkup(ctx, w, strings.Join(plain, "\n")); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// asked takes a question: the answer to the command shows it to everybody, and is what its chat begins with.
func (a *Adapter) asked(ctx context.Context, s slash, text string) {
	// A command's text brings no names along: only those of roles and channels are known.
	text = readable(text, a.namesIn(&message{}))
	switch {
	case text == "":
		a.tell(ctx, s.w, sayEmptyAsk)
		return
	case len(text) > agent.MaxText || utf8.RuneCountInString(text) > maxAsk:
		a.tell(ctx, s.w, surface.SayTooLong(len(text)))
		return
	}
	shown, err := s.w.say(ctx, askPayload(s.by.Name, text))
	if err != nil {
		// Another replica has it, or nobody saw anything: either way this one must not record a second question.
		a.Logger.Warn("discord: a question asked by command could not be shown", "chat", s.at.id(), "err", err)
		a.tell(ctx, s.w, sayNotAsked)
		return
	}
	begins := s.at.Thread == "" && s.in.Guild != "" && s.channel.hangs() && a.conversation(s.channel.ID) != InChannel
	if begins {
		s.at.Thread = shown
		a.expect(s.at, s.by.User.Key, text)
	}
	// It is answered: the three seconds do not count any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	err = a.Engine.Accept(ctx, chat.Said{
		Envelope: a.envelope(s.at, s.in.delivery(), s.by, s.w.handle()), Message: chat.MessageRef(shown), Text: text,
	})
	if err != nil {
		a.Logger.Error("discord: a question asked by command was not recorded", "chat", s.at.id(), "err", err)
		say := sayNotAsked
		if errors.Is(err, agent.ErrFull) {
			say = render.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)
		}
		a.tell(ctx, s.w, say)
		a.takeDown(ctx, s.channel.ID, shown)
		return
	}
	a.mark(s.channel.ID, shown, true)
	if begins {
		a.mark(shown, shown, true)
	}
}

// takeDown removes a question that nobody will answer.
func (a *Adapter) takeDown(ctx context.Context, room, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := a.rest(ctx, http.MethodDelete, discordgo.EndpointChannelMessage(room, message), nil, nil); err != nil {
		a.Logger.Warn("discord: a question that was not recorded still stands there", "room", room, "message", message, "err", err)
	}
}

// maxShown is how much of a question its command's answer repeats, in characters with what escapes them.
const maxShown = 2000

// askPayload is a question as everybody sees it: quoted, with nothing in it that does anything.
func askPayload(name, text string) payload {
	head := lineStart(literalWords(oneLine(surface.Shortened(sayAsker(name), 100)))+sayAsks) + "\n"
	r := []rune(text)
	for cut := len(r); ; cut = cut * 3 / 4 {
		part := string(r[:cut])
		if cut < len(r) {
			part += " …"
		}
		var b strings.Builder
		b.WriteString(head)
		for line := range strings.Lines(part) {
			b.WriteString("> " + literal(strings.TrimRight(line, "\n")) + "\n")
		}
		if b.Len() <= maxShown || cut == 0 {
			return textPayload(strings.TrimRight(b.String(), "\n"))
		}
	}
}

// textPayload is a message of one text, which is written as markup.
func textPayload(markup string) payload {
	return payload{Components: []discordgo.MessageComponent{discordgo.TextDisplay{Content: markup}}}
}

// slashPending lists what waits for a person in the channel and its threads, or in the thread.
func (a *Adapter) slashPending(ctx context.Context, s slash) error {
	ids, err := a.asking(ctx, func(p place) bool {
		return p.Guild == s.at.Guild && p.Channel == s.at.Channel && (s.at.Thread == "" || p.Thread == s.at.Thread)
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, id := range ids {
		session, err := a.Engine.Session(ctx, id)
		if err != nil {
			return err
		}
		lines := a.pendingLines(id, session)
		if b.Len()+len(lines) > maxList {
			b.WriteString(literal(sayMoreChats(len(ids)-i)) + "\n")
			break
		}
		b.WriteString(lines)
	}
	if b.Len() == 0 {
		a.tell(ctx, s.w, surface.SayNothingPending)
		return nil
	}
	return a.showMarkup(ctx, s.w, literal(surface.SayPendingHere)+"\n"+strings.TrimRight(b.String(), "\n"))
}

// maxList is how long a list is, in bytes: far below what one text may have.
const maxList = 3000

func (a *Adapter) showMarkup(ctx context.Context, w *answer, markup string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	return w.show(ctx, textPayload(markup))
}

// pendingLines is a line of markup for each open ask of a chat.
func (a *Adapter) pendingLines(id chat.ID, s turn.Session) string {
	p, ok := placeOf(id)
	if !ok || s.Turn == nil {
		return ""
	}
	to := s.Turn.Shown
	if to == "" {
		to = chat.MessageRef(p.Thread)
	}
	var b strings.Builder
	for _, call := range turn.OpenAsks(s) {
		what := literalWords(oneLine(surface.CallLine(call)))
		if to != "" {
			what = "[" + what + "](" + a.refer(p, to) + ")"
		}
		line := "- " + what + literalWords(surface.UntilLine(call)) + "\n"
		if b.Len()+len(line) > maxList/2 {
			b.WriteString("- …\n")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// hasChat reports whether a command can mean the place's own chat. In a channel whose chats are threads it says so.
func (a *Adapter) hasChat(ctx context.Context, s slash, verb string) (bool, error) {
	if s.at.Thread != "" || s.in.Guild == "" || !s.channel.hangs() || a.conversation(s.channel.ID) == InChannel {
		return true, nil
	}
	known, err := a.Engine.Knows(ctx, s.at.id()) // it may have been otherwise before
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
	env := a.envelope(s.at, s.in.delivery(), s.by, s.w.handle())
	if verb == verbReset {
		if err := a.Engine.Accept(ctx, chat.Commanded{Envelope: env, Verb: verbReset}); err != nil {
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
