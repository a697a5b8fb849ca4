package slack

import (
	"cmp"
	"context"
	"strings"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

func (a *Adapter) runCommand(ctx context.Context, s inbound.MessagePosted, c surface.Command) (receipt, error) {
	var by Person
	var no string
	switch c.Verb {
	case "help":
		return a.answer(s, a.help(s.Direct)), nil
	case "pending":
		session, err := a.Engine.Session(ctx, s.Thread.Chat())
		return a.answer(s, surface.SayPending(turn.OpenAsks(session), "thread")), err
	case "stop":
		by = a.identifyAuthor(ctx, s.User, s.Home)
	default:
		by, no = a.identifyDecider(ctx, s.User, "")
	}
	if no != "" {
		return a.answer(s, no), nil
	}
	env := a.envelope(s.Thread, s.Delivery(), by, a.replyTo(s))
	if c.Verb == surface.VerbSettings { // "here" is this thread, and the panel needs a click: what is typed has no trigger
		var open *blocks.PanelForm
		if len(c.Args) == 0 {
			open = &blocks.PanelForm{Place: s.Thread}
		}
		return a.runSettings(ctx, env, c.Args, open)
	}
	err := a.Engine.Accept(ctx, chat.Commanded{Envelope: env, Verb: c.Verb, Args: c.Args})
	return a.later(env.Reply, func(ctx context.Context) string { return surface.SayDone(ctx, a.Engine, s.Thread.Chat(), c) }), err
}

func (a *Adapter) help(direct bool) string {
	if a.Settings == nil {
		return sayHelp(direct)
	}
	return sayHelp(direct) + "\n" + saySettingsHelp(direct)
}

type slashAnswer struct {
	Type     string `json:"response_type"`
	Text     string `json:"text"`
	Markdown bool   `json:"mrkdwn"`
}

const maxSlashAnswer = 12_000 // in bytes: an acknowledgement over a socket has to be smaller than 20 KB

// serveSlash answers, always, and once.
func (a *Adapter) serveSlash(ctx context.Context, c inbound.SlashCommand) (receipt, error) {
	switch {
	case !a.self.Concerned(c.App, c.Team, c.Enterprise):
		return a.refuseSlash(c), nil
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

func (a *Adapter) refuseSlash(c inbound.SlashCommand) receipt {
	a.Logger.Warn("slack: a slash command of another workspace or app is refused", "team", surface.Shortened(string(c.Team), 64), "app", surface.Shortened(string(c.App), 64))
	return receipt{body: slashAnswer{"ephemeral", blocks.Escape(sayElsewhere), true}}
}

// slashPending lists what waits for a person in the channel: a line of mrkdwn for each open ask.
func (a *Adapter) slashPending(ctx context.Context, c inbound.SlashCommand) (string, error) {
	ids, err := a.findAsking(ctx, string(c.Channel))
	if err != nil {
		return "", err
	}
	sessions, err := surface.Asking(ctx, a.Engine, ids)
	if err != nil {
		return "", err
	}
	all := ""
	for i, s := range sessions {
		lines := ""
		p, _ := blocks.PlaceOf(s.Chat)
		for _, call := range turn.OpenAsks(s) {
			link := a.permalink(p, cmp.Or(s.Turn.Shown, chat.MessageRef(p.Thread)))
			label := strings.ReplaceAll(surface.AskLine(call), "|", "¦")
			lines += "• <" + link + "|" + blocks.Escape(label) + ">"
			if !call.Deadline.IsZero() {
				lines += text.ExpiresAt + blocks.LocalTime(call.Deadline)
			}
			lines += "\n"
		}
		if len(all)+len(lines) > maxSlashAnswer {
			all += blocks.Escape(sayMoreChats(len(sessions) - i))
			break
		}
		all += lines
	}
	if all == "" {
		return blocks.Escape(surface.SayNothingPending), nil
	}
	return blocks.Escape(surface.SayPendingHere) + "\n" + strings.TrimRight(all, "\n"), nil
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
		Envelope: a.envelope(at, chat.Delivery("c:"+string(c.Trigger)), by, a.privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))),
		Token:    string(mine[0].Turn.ID), Choice: chat.Stop,
	})
	if no := surface.Refusal(err); no != nil {
		return blocks.Escape(no.Say), nil
	}
	link := a.permalink(at, chat.MessageRef(at.Thread))
	return blocks.Escape(sayStopped) + " <" + link + "|" + blocks.Escape(sayThatThread) + ">", err
}

// runSlashSettings does a slash command about settings. "permissions" alone opens the panel. "Here" is nothing: a slash command names no
// thread.
func (a *Adapter) runSlashSettings(ctx context.Context, c inbound.SlashCommand, words []string) receipt {
	reply := a.privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))
	by, no := a.identifyDecider(ctx, string(c.User), "")
	if no != "" {
		return a.answerPrivately(reply, no)
	}
	env := chat.Envelope{Delivery: chat.Delivery("c:" + string(c.Trigger)), User: by.User, Name: by.Name, Reply: reply}
	if len(words) == 0 {
		return a.later(reply, func(ctx context.Context) string {
			return a.openPanel(ctx, inbound.Interaction{Trigger: c.Trigger}, blocks.PanelForm{}, env)
		})
	}
	r, err := a.runSettings(ctx, env, words, nil)
	if err != nil {
		a.Logger.Warn("slack: a slash command failed", "by", by.User, "err", err)
		return a.answerLines(reply, []string{surface.SayCommandFailed("Slack")}, nil)
	}
	return r
}

// runSettings does a command about settings. open is what a button below its answer opens.
func (a *Adapter) runSettings(ctx context.Context, env chat.Envelope, words []string, open *blocks.PanelForm) (receipt, error) {
	lines, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		lines, err = []string{no.Say}, nil
	}
	return a.answerLines(env.Reply, lines, open), err
}

func (a *Adapter) answerLines(h chat.ReplyHandle, lines []string, open *blocks.PanelForm) receipt {
	return receipt{after: func(ctx context.Context) { a.whisperBlocks(ctx, h, blocks.EncodeLines(lines, open)) }}
}
