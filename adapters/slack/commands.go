package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// runCommand does what was typed in a thread.
func (a *Adapter) runCommand(ctx context.Context, s inbound.MessagePosted, c surface.Command) (receipt, error) {
	switch c.Verb {
	case "help":
		return a.answer(s, a.help(s.Direct)), nil
	case "pending":
		session, err := a.Engine.Session(ctx, s.Thread.Chat())
		if err != nil {
			return receipt{}, err
		}
		return a.answer(s, surface.SayPending(turn.OpenAsks(session), "thread")), nil
	case surface.VerbSettings:
		return a.runThreadSettings(ctx, s, c.Args)
	}
	var by Person
	if c.Verb == "stop" {
		by = a.identifyAuthor(ctx, s.User, s.Home)
	} else {
		var no string
		if by, no = a.identifyDecider(ctx, s.User, ""); no != "" {
			return a.answer(s, no), nil
		}
	}
	reply := privately("", s.Thread.Channel, s.PrivateThread(), s.User)
	if err := a.Engine.Accept(ctx, chat.Commanded{Envelope: a.envelope(s.Thread, s.Delivery(), by, reply), Verb: c.Verb, Args: c.Args}); err != nil {
		return receipt{}, err
	}
	return receipt{after: func(ctx context.Context) { a.confirmCommand(ctx, s, c, reply) }}, nil
}

// confirmCommand says that a command was done where the chat does not show it. The engine itself says why one was not.
func (a *Adapter) confirmCommand(ctx context.Context, s inbound.MessagePosted, c surface.Command, reply chat.ReplyHandle) {
	switch {
	case c.Verb == "reset":
		a.tellOrLog(ctx, reply, surface.SayReset)
	case c.Verb == "mode" && len(c.Args) > 0:
		session, err := a.Engine.Session(ctx, s.Thread.Chat())
		var want permission.Mode
		if err == nil && want.UnmarshalText([]byte(c.Args[0])) == nil && session.Mode == want {
			a.tellOrLog(ctx, reply, surface.SayMode(want))
		}
	}
}

// help says what can be said.
func (a *Adapter) help(direct bool) string {
	if a.Settings == nil {
		return sayHelp(direct)
	}
	return sayHelp(direct) + "\n" + saySettingsHelp(direct)
}

// slashAnswer is what only the person who typed sees.
type slashAnswer struct {
	Type     string `json:"response_type"`
	Text     string `json:"text"`
	Markdown bool   `json:"mrkdwn"`
}

// maxSlashAnswer is in bytes: an acknowledgement over a socket has to be smaller than 20 KB.
const maxSlashAnswer = 12_000

// serveSlash answers, always, and once.
func (a *Adapter) serveSlash(ctx context.Context, c inbound.SlashCommand) (receipt, error) {
	switch {
	case !a.self.Concerned(c.App, c.Team, c.Enterprise):
		a.Logger.Warn("slack: a slash command of another workspace or app is refused", "team", surface.Shortened(string(c.Team), 64), "app", surface.Shortened(string(c.App), 64))
		return receipt{body: slashAnswer{"ephemeral", blocks.Escape(sayElsewhere), true}}, nil
	case a.in.answered.Again(string(c.Trigger)):
		return receipt{}, nil
	}
	if words, ok := c.SettingsWords(); ok && a.Settings != nil {
		return a.runSlashSettings(ctx, c, words), nil
	}
	var say string
	var err error
	switch words := strings.Fields(strings.ToLower(string(c.Text))); {
	case len(words) == 1 && words[0] == "pending":
		say, err = a.slashPending(ctx, c)
	case len(words) == 1 && words[0] == "stop":
		say, err = a.slashStop(ctx, c)
	case len(words) == 0 || words[0] == "help":
		say = blocks.Escape(a.help(c.Direct()))
	case words[0] == "stop", words[0] == "reset", words[0] == "mode":
		say = blocks.Escape(sayInThread(surface.Shortened(strings.Join(words, " "), 40)))
	default:
		say = blocks.Escape(sayUnknownCommand(surface.Shortened(string(c.Text), 40)) + "\n" + a.help(c.Direct()))
	}
	if err != nil {
		a.Logger.Warn("slack: a slash command failed", "command", surface.Shortened(string(c.Text), 40), "err", err)
		say = blocks.Escape(surface.SayCommandFailed("Slack"))
	}
	return receipt{body: slashAnswer{"ephemeral", say, true}}, nil
}

// slashPending lists what waits for a person in the channel.
func (a *Adapter) slashPending(ctx context.Context, c inbound.SlashCommand) (string, error) {
	ids, err := a.findAsking(ctx, string(c.Channel))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, id := range ids {
		s, err := a.Engine.Session(ctx, id)
		if err != nil {
			return "", err
		}
		lines := a.pendingLines(id, s)
		if b.Len()+len(lines) > maxSlashAnswer {
			b.WriteString(blocks.Escape(sayMoreChats(len(ids) - i)))
			break
		}
		b.WriteString(lines)
	}
	if b.Len() == 0 {
		return blocks.Escape(surface.SayNothingPending), nil
	}
	return blocks.Escape(surface.SayPendingHere) + "\n" + strings.TrimRight(b.String(), "\n"), nil
}

// pendingLines is a line of mrkdwn for each open ask of a chat.
func (a *Adapter) pendingLines(id chat.ID, s turn.Session) string {
	p, ok := blocks.PlaceOf(id)
	if !ok || s.Turn == nil {
		return ""
	}
	to := s.Turn.Shown
	if to == "" {
		to = chat.MessageRef(p.Thread)
	}
	var b strings.Builder
	for _, call := range turn.OpenAsks(s) {
		fmt.Fprintf(&b, "• <%s|%s>%s\n", a.permalink(p, to), blocks.Escape(strings.ReplaceAll(surface.CallLine(call), "|", "¦")), blocks.Escape(surface.UntilLine(call)))
	}
	return b.String()
}

// slashStop stops the caller's own turn, where there is just one that it can mean.
func (a *Adapter) slashStop(ctx context.Context, c inbound.SlashCommand) (string, error) {
	by, err := a.lookUp(ctx, string(c.User))
	if err != nil {
		return "", err
	}
	ids, err := a.findAsking(ctx, string(c.Channel))
	if err != nil {
		return "", err
	}
	var mine []turn.Session
	for _, id := range ids {
		s, err := a.Engine.Session(ctx, id)
		if err != nil {
			return "", err
		}
		if s.Turn != nil && s.Turn.Stopped == nil && !by.User.IsZero() && s.Turn.Requester == by.User {
			mine = append(mine, s)
		}
	}
	if len(mine) != 1 {
		return blocks.Escape(sayStopInThread(len(mine))), nil
	}
	at, _ := blocks.PlaceOf(mine[0].Chat)
	_, err = a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(at, chat.Delivery("c:"+string(c.Trigger)), by, privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))),
		Token:    string(mine[0].Turn.ID), Choice: chat.Stop,
	})
	if no := surface.Refusal(err); no != nil {
		return blocks.Escape(no.Say), nil
	}
	if err != nil {
		return "", err
	}
	link := a.permalink(at, chat.MessageRef(at.Thread))
	return fmt.Sprintf("%s <%s|%s>", blocks.Escape(sayStopped), link, blocks.Escape(sayThatThread)), nil
}
