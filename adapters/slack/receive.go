package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Slack wants an acknowledgement within three seconds, and sends an event again when there is none: an interaction never.
// https://docs.slack.dev/apis/events-api/#responding
// https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response
const (
	ackWithin    = 3 * time.Second
	acceptWithin = 2500 * time.Millisecond // of that, for recording what came; the rest is for the way back
	afterWithin  = 5 * time.Second         // for what is done once it is acknowledged
)

// intake is what an adapter keeps of what comes in: the field in of Adapter. Its zero value is ready, and closed until listen opens it.
type intake struct {
	lanes    surface.Lanes
	afters   surface.Lanes // what is done once it is acknowledged: no acknowledgement waits for that
	people   people
	groups   userGroups
	answered surface.Once // trigger_ids of clicks and slash commands
	programs surface.Programs
	met      surface.Once // people who wrote to the bot directly
}

type receipt struct {
	body  any                   // of the acknowledgement; nil: none
	after func(context.Context) // what is done then, which nobody waits for
}

// later is a receipt for what is done after the acknowledgement. What do says is told to the person whom h names.
func (a *Adapter) later(h chat.ReplyHandle, do func(context.Context) (say string)) receipt {
	return receipt{after: func(ctx context.Context) {
		if say := do(ctx); say != "" {
			a.tellLate(h, say)
		}
	}}
}

// tellLate tells somebody what came of it in a time of its own: else nobody would hear of what took too long.
func (a *Adapter) tellLate(h chat.ReplyHandle, say string) {
	ctx, cancel := context.WithTimeout(context.Background(), afterWithin)
	defer cancel()
	if err := a.tell(ctx, h, say); err != nil {
		a.Logger.Warn("slack: a private answer did not arrive", "err", err)
	}
}

func (a *Adapter) answerPrivately(h chat.ReplyHandle, say string) receipt {
	return a.later(h, func(context.Context) string { return say })
}

// receive has d served in its turn, and then ack called. It does not block. It returns false where nothing more is taken.
func (a *Adapter) receive(d inbound.Delivery, ack func(receipt, error)) bool {
	deadline := time.Now().Add(acceptWithin)
	return a.in.lanes.Put(d.Lane(), func() {
		// Not a child of Run's context: what was taken is finished, also while the program stops.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		r, err := a.served(ctx, d)
		cancel()
		ack(r, err)
		if err != nil || r.after == nil {
			return
		}
		after := func() {
			ctx, cancel := context.WithTimeout(context.Background(), afterWithin)
			defer cancel()
			r.after(ctx)
		}
		if !a.in.afters.Put(d.Lane(), after) {
			after()
		}
	})
}

// serve records a delivery. An error leaves it unacknowledged, so that Slack sends it again.
func (a *Adapter) serve(ctx context.Context, d inbound.Delivery) (receipt, error) {
	switch d := d.(type) {
	case inbound.Event:
		return a.serveEvent(ctx, d)
	case inbound.Interaction:
		return a.serveInteraction(ctx, d)
	case inbound.SlashCommand:
		return a.serveSlash(ctx, d)
	}
	return receipt{}, nil // unreadable: it only wants to be acknowledged
}

func (a *Adapter) serveEvent(ctx context.Context, e inbound.Event) (receipt, error) {
	if err := ctx.Err(); err != nil { // it waited too long for its turn: Slack sends it again, perhaps to a replica with less to do
		return receipt{}, err
	}
	switch m := inbound.MeaningOf(e, a.self).(type) {
	case inbound.MessagePosted:
		return a.takeMessage(ctx, m)
	case inbound.MessageEdited: // the engine honours it while the message waits, and says in the chat that it came too late
		return receipt{}, a.takeChange(ctx, m.Thread, func() chat.Inbound {
			by := a.identifyAuthor(ctx, m.User, m.Home)
			return chat.Edited{
				Envelope: a.envelope(m.Thread, chat.Delivery("e:"+m.Thread.Channel+":"+m.TS+":"+m.Stamp), by, chat.ReplyHandle{}),
				Message:  chat.MessageRef(m.TS), Text: a.readText(m.Text),
			}
		})
	case inbound.MessageDeleted: // Slack does not say who deleted
		return receipt{}, a.takeChange(ctx, m.Thread, func() chat.Inbound {
			return chat.Deleted{
				Envelope: a.envelope(m.Thread, chat.Delivery("d:"+m.Thread.Channel+":"+m.TS), Person{}, chat.ReplyHandle{}),
				Message:  chat.MessageRef(m.TS),
			}
		})
	case inbound.ChannelClosed:
		return receipt{}, a.endAsksIn(ctx, m)
	case inbound.StopPressed:
		by, p := a.identifyAuthor(ctx, m.User, ""), m.Thread
		return receipt{}, a.Engine.Accept(ctx, chat.Commanded{
			Envelope: a.envelope(p, chat.Delivery("s:"+p.Channel+":"+p.Thread+":"+m.Stamp), by, a.privately("", p.Channel, p.Thread, m.User)), Verb: "stop",
		})
	case inbound.ConversationOpened:
		return receipt{after: func(ctx context.Context) { a.suggest(ctx, m.Channel) }}, nil
	case inbound.HomeOpened:
		return receipt{after: func(ctx context.Context) { a.drawHome(ctx, m) }}, nil
	}
	return receipt{}, nil
}

func (a *Adapter) takeMessage(ctx context.Context, s inbound.MessagePosted) (receipt, error) {
	if s.Program != nil {
		return a.takeProgram(ctx, s)
	}
	called, follow := s.Mentioned || s.Direct, a.follow(s.Thread.Channel)
	if !called && !follow.Unmentioned() {
		return receipt{}, nil
	}
	var recorded bool
	var err error
	if s.Reply { // else the chat begins with it, and what may be known of it is this very message
		if recorded, err = a.Engine.Knows(ctx, s.Thread.Chat()); err != nil {
			return receipt{}, fmt.Errorf("is the chat known: %w", err)
		}
	}
	if !called && !recorded {
		return receipt{}, nil
	}
	var session turn.Session
	if recorded && !s.Direct {
		if session, err = a.Engine.Session(ctx, s.Thread.Chat()); err != nil {
			return receipt{}, fmt.Errorf("how the chat stands: %w", err)
		}
	}
	if !called && !surface.ForBot(follow, session, a.identifyAuthor(ctx, s.User, s.Home).User, s.Others) {
		return receipt{}, nil
	}
	text := a.readText(s.Text)
	c, ok := surface.ParseCommand(text)
	if ok = ok && (c.Verb != surface.VerbSettings || a.Settings != nil); ok && called {
		if !s.Answerable {
			return receipt{}, nil
		}
		return a.runCommand(ctx, s, c)
	}
	beside := s.Message.Quotes(a.nameOf)
	switch {
	case text == "" && len(s.Message.Files) == 0 && len(beside) == 0:
		return a.answer(s, a.help(s.Direct)), nil
	case text == "" && len(beside) > 0:
		text = surface.SayQuotedAlone
	}
	// What people said to each other since is what a message to the bot is often about.
	earlier := unheard(s)
	if recorded {
		earlier = surface.Earlier(session, func(a, b chat.MessageRef) bool { return inbound.OlderThan(string(b), string(a)) })
	}
	if earlier != nil && !inbound.OlderThan(string(earlier.Since), s.TS) {
		earlier = nil
	}
	return a.record(ctx, s, text, beside, earlier)
}

// takeProgram takes a message of a program on the list that names the bot. It can only begin a chat, and is never answered privately: two
// programs that go on answering each other would never end.
func (a *Adapter) takeProgram(ctx context.Context, s inbound.MessagePosted) (receipt, error) {
	if !slices.ContainsFunc(s.Program, func(id string) bool { return slices.Contains(a.Bots, id) }) {
		a.Logger.Info("slack: a program mentions the bot that slack.bots does not list", "ids", s.Program)
		return receipt{}, nil
	}
	recorded, err := a.Engine.Knows(ctx, s.Thread.Chat())
	if err != nil {
		return receipt{}, fmt.Errorf("is the chat known: %w", err)
	}
	text, beside := a.readText(s.Text), s.Message.Quotes(a.nameOf)
	_, command := surface.ParseCommand(text)
	switch {
	case recorded || s.Direct || command || text == "" && len(beside) == 0:
		return receipt{}, nil
	case !a.in.programs.MayBegin(s.Program[0], a.now()):
		a.Logger.Warn("slack: a program begins too many chats; this one is left out", "ids", s.Program)
		return receipt{}, nil
	}
	s.Answerable = false
	return a.record(ctx, s, cmp.Or(text, surface.SayQuotedAlone), beside, unheard(s))
}

// unheard is what a thread holds before a message of which no chat was taken yet.
func unheard(s inbound.MessagePosted) *chat.Earlier {
	if !s.Reply {
		return nil
	}
	return &chat.Earlier{}
}

// follow is how the bot listens in a channel. An unknown setting listens to less.
func (a *Adapter) follow(channel string) surface.Follow {
	return cmp.Or(a.Channels[channel], a.Follow, surface.FollowRequester)
}

var errUntold = errors.New("Slack did not say who wrote, and only members may")

func (a *Adapter) record(ctx context.Context, s inbound.MessagePosted, words string, beside []chat.Quote, earlier *chat.Earlier) (receipt, error) {
	words, files := text.Attach(words, s.Message.Attached())
	by := a.author(ctx, s)
	standing := a.standing(by)
	switch {
	case by.Bot:
		return receipt{}, nil
	case a.MembersOnly && standing == chat.Untold:
		return receipt{}, errUntold // it comes again, when Slack may tell
	case a.MembersOnly && standing == chat.Visitor && s.Program == nil:
		return a.answer(s, sayMembersOnly), nil
	}
	said := chat.Said{
		Envelope: a.envelope(s.Thread, s.Delivery(), by, a.replyTo(s)),
		Message:  chat.MessageRef(s.TS), Text: words, Context: surface.FitQuotes(beside, 0), Earlier: earlier,
		Standing: standing, Files: files,
	}
	if !s.Direct {
		said.Channel = s.Thread.Shared()
	}
	err := a.Engine.Accept(ctx, said)
	switch {
	case errors.Is(err, agent.ErrTooLong):
		return a.answer(s, surface.SayTooLong(len(words))), nil
	case errors.Is(err, agent.ErrFull):
		return a.answer(s, text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)), nil
	case surface.Hopeless(err):
		a.Logger.Info("slack: a message was not taken", "chat", s.Thread.Chat(), "err", err)
	case err != nil:
		return receipt{}, err
	case s.Direct && !s.Reply:
		return receipt{after: func(ctx context.Context) {
			a.setTitle(s.Thread, words)
			a.welcome(ctx, s)
		}}, nil
	}
	return receipt{}, nil
}

// welcome tells somebody what this is, beside the answer to the first message that they write to the bot. Whether it is the first, Slack
// knows: their conversation holds nothing else. Who was looked at here is not looked at again.
func (a *Adapter) welcome(ctx context.Context, s inbound.MessagePosted) {
	if a.in.met.Again(s.User) {
		return
	}
	var page replies
	v := url.Values{"channel": {s.Thread.Channel}, "latest": {s.TS}, "limit": {"1"}}
	err := a.makeCall(ctx, calls.New(calls.History, s.Thread.Team, "", agent.Progress), func() error { return a.form(ctx, calls.History, v, &page) })
	if err != nil {
		a.Logger.Info("slack: whether somebody is new here is not known", "err", err)
		return
	}
	if len(page.Messages) > 0 {
		return
	}
	if err = a.tell(ctx, a.replyTo(s), surface.SayWelcome); err != nil {
		a.Logger.Warn("slack: a private answer did not arrive", "err", err)
	}
}

func (a *Adapter) author(ctx context.Context, s inbound.MessagePosted) Person {
	if s.Program == nil {
		return a.identifyAuthor(ctx, s.User, s.Home)
	}
	by, _ := a.lookUp(ctx, s.User) // nobody decides for a program, so it is nobody but its name
	return Person{Name: cmp.Or(string(s.Message.Name), by.Name, "a bot")}
}

func (a *Adapter) readText(s string) string {
	return inbound.PlainText(inbound.WithoutMention(s, a.self.User), a.nameOf)
}

// replyTo is the handle for an answer that only a message's author sees.
func (a *Adapter) replyTo(s inbound.MessagePosted) chat.ReplyHandle {
	return a.privately("", s.Thread.Channel, s.PrivateThread(), s.User)
}

func (a *Adapter) answer(s inbound.MessagePosted, say string) receipt {
	if !s.Answerable {
		return receipt{}
	}
	return a.answerPrivately(a.replyTo(s), say)
}

func (a *Adapter) envelope(p blocks.Place, d chat.Delivery, by Person, reply chat.ReplyHandle) chat.Envelope {
	return chat.Envelope{Delivery: d, Chat: p.Chat(), User: by.User, Name: by.Name, Reply: reply}
}

func (a *Adapter) takeChange(ctx context.Context, p blocks.Place, change func() chat.Inbound) error {
	recorded, err := a.Engine.Knows(ctx, p.Chat())
	if !recorded {
		return err
	}
	if err = a.Engine.Accept(ctx, change()); surface.Hopeless(err) {
		a.Logger.Info("slack: an edit was not taken", "chat", p.Chat(), "err", err)
		return nil
	}
	return err
}

// endAsksIn ends every open ask of a channel that nobody can answer in any more: else their turns might wait for ever.
func (a *Adapter) endAsksIn(ctx context.Context, m inbound.ChannelClosed) error {
	asking, err := a.findAsking(ctx, m.Channel)
	if err != nil {
		return err
	}
	return surface.EndAsks(ctx, a.Engine, asking, chat.Delivery("g:"+m.Event), a.Logger)
}

func (a *Adapter) findAsking(ctx context.Context, channel string) ([]chat.ID, error) {
	ids, err := a.Asks.Asking(ctx, func(id chat.ID) bool {
		p, _ := blocks.PlaceOf(id)
		return p.Team == a.self.Team && p.Channel == channel
	})
	if err != nil {
		return nil, fmt.Errorf("what waits in the channel: %w", err)
	}
	return ids, nil
}
