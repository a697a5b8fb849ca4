package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// commanded does what was typed in a thread.
func (a *Adapter) commanded(ctx context.Context, s spoken, c surface.Command) (receipt, error) {
	switch c.Verb {
	case "help":
		return a.answer(s, a.help(s.direct)), nil
	case "pending":
		session, err := a.Engine.Session(ctx, s.at.id())
		if err != nil {
			return receipt{}, err
		}
		return a.answer(s, surface.SayPending(turn.OpenAsks(session), "thread")), nil
	case surface.VerbSettings:
		return a.arranged(ctx, s, c.Args)
	}
	var by somebody
	if c.Verb == "stop" {
		by = a.speaker(ctx, s.user, s.home)
	} else {
		var no string
		if by, no = a.decider(ctx, s.user, ""); no != "" {
			return a.answer(s, no), nil
		}
	}
	reply := privately("", s.at.Channel, s.private(), s.user)
	if err := a.Engine.Accept(ctx, chat.Commanded{Envelope: a.envelope(s.at, s.delivery(), by, reply), Verb: c.Verb, Args: c.Args}); err != nil {
		return receipt{}, err
	}
	return receipt{after: func(ctx context.Context) { a.confirm(ctx, s, c, reply) }}, nil
}

// confirm says that a command was done where the chat does not show it. The engine itself says why one was not.
func (a *Adapter) confirm(ctx context.Context, s spoken, c surface.Command, reply chat.ReplyHandle) {
	switch {
	case c.Verb == "reset":
		a.let(ctx, reply, surface.SayReset)
	case c.Verb == "mode" && len(c.Args) > 0:
		session, err := a.Engine.Session(ctx, s.at.id())
		var want permission.Mode
		if err == nil && want.UnmarshalText([]byte(c.Args[0])) == nil && session.Mode == want {
			a.let(ctx, reply, surface.SayMode(want))
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

// slash is a slash command. It names a channel, never a thread.
// https://docs.slack.dev/interactivity/implementing-slash-commands/#app_command_handling
type slash struct {
	App         loose `json:"api_app_id"`
	Team        loose `json:"team_id"`
	Enterprise  loose `json:"enterprise_id"`
	Channel     loose `json:"channel_id"`
	User        loose `json:"user_id"`
	Command     loose `json:"command"`
	Text        loose `json:"text"`
	ResponseURL loose `json:"response_url"`
	Trigger     loose `json:"trigger_id"`
}

func decodeCommand(payload []byte) (slash, error) {
	var c slash
	if err := decode(payload, &c); err != nil {
		return slash{}, err
	}
	return c, nil
}

// slashFrom is a slash command as HTTP brings it: a form.
func slashFrom(form func(string) string) slash {
	return slash{
		App: loose(form("api_app_id")), Team: loose(form("team_id")), Enterprise: loose(form("enterprise_id")),
		Channel: loose(form("channel_id")), User: loose(form("user_id")), Command: loose(form("command")), Text: loose(form("text")),
		ResponseURL: loose(form("response_url")), Trigger: loose(form("trigger_id")),
	}
}

func (c slash) lane() string { return "c:" + string(c.Channel) + "/" + string(c.User) }

// slashAnswer is what only the person who typed sees.
type slashAnswer struct {
	Type     string `json:"response_type"`
	Text     string `json:"text"`
	Markdown bool   `json:"mrkdwn"`
}

// maxSlashAnswer is in bytes: an acknowledgement over a socket has to be smaller than 20 KB.
const maxSlashAnswer = 12_000

// serve answers, always, and once.
func (c slash) serve(ctx context.Context, a *Adapter) (receipt, error) {
	switch {
	case !a.self.concerned(c.App, c.Team, c.Enterprise):
		a.Logger.Warn("slack: a slash command of another workspace or app is refused", "team", surface.Shortened(string(c.Team), 64), "app", surface.Shortened(string(c.App), 64))
		return receipt{body: slashAnswer{"ephemeral", escaped(sayElsewhere), true}}, nil
	case a.in.answered.Again(string(c.Trigger)):
		return receipt{}, nil
	}
	if words, ok := c.settingsOf(); ok && a.Settings != nil {
		return a.settled(ctx, c, words), nil
	}
	var say string
	var err error
	switch words := strings.Fields(strings.ToLower(string(c.Text))); {
	case len(words) == 1 && words[0] == "pending":
		say, err = a.slashPending(ctx, c)
	case len(words) == 1 && words[0] == "stop":
		say, err = a.slashStop(ctx, c)
	case len(words) == 0 || words[0] == "help":
		say = escaped(a.help(c.direct()))
	case words[0] == "stop", words[0] == "reset", words[0] == "mode":
		say = escaped(sayInThread(surface.Shortened(strings.Join(words, " "), 40)))
	default:
		say = escaped(sayUnknownCommand(surface.Shortened(string(c.Text), 40)) + "\n" + a.help(c.direct()))
	}
	if err != nil {
		a.Logger.Warn("slack: a slash command failed", "command", surface.Shortened(string(c.Text), 40), "err", err)
		say = escaped(sayCommandFailed)
	}
	return receipt{body: slashAnswer{"ephemeral", say, true}}, nil
}

func (c slash) direct() bool { return strings.HasPrefix(string(c.Channel), "D") }

// slashPending lists what waits for a person in the channel.
func (a *Adapter) slashPending(ctx context.Context, c slash) (string, error) {
	ids, err := a.asking(ctx, string(c.Channel))
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
			b.WriteString(escaped(sayMoreChats(len(ids) - i)))
			break
		}
		b.WriteString(lines)
	}
	if b.Len() == 0 {
		return escaped(surface.SayNothingPending), nil
	}
	return escaped(surface.SayPendingHere) + "\n" + strings.TrimRight(b.String(), "\n"), nil
}

// pendingLines is a line of mrkdwn for each open ask of a chat.
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
		fmt.Fprintf(&b, "• <%s|%s>%s\n", a.permalink(p, to), escaped(strings.ReplaceAll(surface.CallLine(call), "|", "¦")), escaped(surface.UntilLine(call)))
	}
	return b.String()
}

// slashStop stops the caller's own turn, where there is just one that it can mean.
func (a *Adapter) slashStop(ctx context.Context, c slash) (string, error) {
	by, err := a.who(ctx, string(c.User))
	if err != nil {
		return "", err
	}
	ids, err := a.asking(ctx, string(c.Channel))
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
		return escaped(sayStopInThread(len(mine))), nil
	}
	at, _ := placeOf(mine[0].Chat)
	_, err = a.Engine.Decide(ctx, chat.Clicked{
		Envelope: a.envelope(at, chat.Delivery("c:"+string(c.Trigger)), by, privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))),
		Token:    string(mine[0].Turn.ID), Choice: chat.Stop,
	})
	if no := surface.Refusal(err); no != nil {
		return escaped(no.Say), nil
	}
	if err != nil {
		return "", err
	}
	link := a.permalink(at, chat.MessageRef(at.Thread))
	return fmt.Sprintf("%s <%s|%s>", escaped(sayStopped), link, escaped(sayThatThread)), nil
}

// escaped is text as mrkdwn that shows just that. https://docs.slack.dev/messaging/formatting-message-text/#escaping
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
