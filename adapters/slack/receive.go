package slack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// How long things may take. Slack wants an acknowledgement within three seconds, of events and of interactions alike, and
// sends an event again when there is none: an interaction never.
// https://docs.slack.dev/apis/events-api/#responding
// https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response
const (
	ackWithin    = 3 * time.Second
	acceptWithin = 2500 * time.Millisecond // of that, for recording what came; the rest is for the way back
	afterWithin  = 5 * time.Second         // for what is done once it is acknowledged
)

// intake is what an adapter keeps of what comes in: the field in of Adapter. Its zero value is ready, and closed until listen opens it.
type intake struct {
	intake   surface.Lanes
	people   people
	groups   userGroups
	answered surface.Once // trigger_ids of clicks and slash commands
}

// receipt is how a delivery is acknowledged.
type receipt struct {
	body  any                   // of the acknowledgement; nil: none
	after func(context.Context) // what is done then, which nobody waits for
}

// receive has d served in its turn, and ack called once when that is done. It does not block. It returns false, and will not
// call ack, where nothing more is taken.
func (a *Adapter) receive(d inbound.Delivery, ack func(receipt, error)) bool {
	deadline := time.Now().Add(acceptWithin)
	return a.in.intake.Put(d.Lane(), func() {
		// Not a child of Run's context: what was taken is finished, also while the program stops.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		r, err := a.serve(ctx, d)
		cancel()
		ack(r, err)
		if r.after != nil {
			ctx, cancel = context.WithTimeout(context.Background(), afterWithin)
			defer cancel()
			r.after(ctx)
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
	case inbound.MessageEdited:
		return receipt{}, a.takeEdit(ctx, m)
	case inbound.MessageDeleted:
		return receipt{}, a.takeDeletion(ctx, m)
	case inbound.ChannelClosed:
		return receipt{}, a.endAsksIn(ctx, m)
	case inbound.StopPressed:
		return receipt{}, a.takeStop(ctx, m)
	case inbound.ConversationOpened:
		return receipt{after: func(ctx context.Context) { a.suggest(ctx, m.Channel, m.Thread) }}, nil
	case inbound.HomeOpened:
		return receipt{after: func(ctx context.Context) { a.drawHome(ctx, m) }}, nil
	}
	return receipt{}, nil
}

// takeMessage takes a message, if it is for the bot.
func (a *Adapter) takeMessage(ctx context.Context, s inbound.MessagePosted) (receipt, error) {
	calls := s.Mentioned || s.Direct
	if !calls && (!s.Reply || a.follow(s.Thread.Channel) != surface.FollowThread) {
		return receipt{}, nil
	}
	known, err := a.Engine.Knows(ctx, s.Thread.Chat())
	if err != nil {
		return receipt{}, fmt.Errorf("is the chat known: %w", err)
	}
	if !calls && !known {
		return receipt{}, nil
	}
	var session turn.Session
	if known && !s.Direct {
		if session, err = a.Engine.Session(ctx, s.Thread.Chat()); err != nil {
			return receipt{}, fmt.Errorf("how the chat stands: %w", err)
		}
	}
	if !calls && !surface.Heeds(session, a.identifyAuthor(ctx, s.User, s.Home).User, s.Others) {
		return receipt{}, nil
	}
	text := a.readText(s)
	c, ok := surface.ParseCommand(text)
	if ok = ok && (c.Verb != surface.VerbSettings || a.Settings != nil); ok && calls {
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
		text = sayQuotedAlone
	case len(text) > agent.MaxText:
		return a.answer(s, surface.SayTooLong(len(text))), nil
	}
	// Since: what people said to each other meanwhile is what a message to the bot is often about.
	since := surface.LastHeard(session, func(a, b chat.MessageRef) bool { return inbound.OlderThan(string(b), string(a)) })
	return a.record(ctx, s, surface.WithFiles(text, s.Message.FileNames()), beside, known, string(since))
}

func (a *Adapter) record(ctx context.Context, s inbound.MessagePosted, said string, beside []chat.Quote, known bool, since string) (receipt, error) {
	var by Person
	var before []chat.Quote
	var left int
	var looking sync.WaitGroup
	looking.Go(func() { by = a.identifyAuthor(ctx, s.User, s.Home) })
	if s.Reply && (!known || inbound.OlderThan(since, s.TS) && since != "") {
		looking.Go(func() { before, left = a.readHistory(ctx, s, since) })
	}
	looking.Wait()
	if by.Bot {
		return receipt{}, nil
	}
	err := a.Engine.Accept(ctx, chat.Said{
		Envelope: a.envelope(s.Thread, s.Delivery(), by, privately("", s.Thread.Channel, s.PrivateThread(), s.User)),
		Message:  chat.MessageRef(s.TS), Text: said, Context: surface.FitQuotes(append(before, beside...), left), Standing: a.standing(by),
	})
	switch {
	case errors.Is(err, agent.ErrTooLong):
		return a.answer(s, surface.SayTooLong(len(said))), nil
	case errors.Is(err, agent.ErrFull):
		return a.answer(s, text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)), nil
	case surface.Hopeless(err):
		a.Logger.Info("slack: a message was not taken", "chat", s.Thread.Chat(), "err", err)
		return receipt{}, nil
	case err != nil:
		return receipt{}, err
	case s.Direct && !s.Reply && !known:
		return receipt{after: func(ctx context.Context) { a.setTitle(ctx, s.Thread, said) }}, nil
	}
	return receipt{}, nil
}

// follow is how the bot listens in a channel. An unknown setting listens to less.
func (a *Adapter) follow(channel string) surface.Follow {
	f, ok := a.Channels[channel]
	if !ok || f == "" {
		f = a.Follow
	}
	if f == "" {
		f = surface.FollowThread
	}
	return f
}

// readText makes what a person wrote readable, as they see it, without the mention it begins with.
func (a *Adapter) readText(s inbound.MessagePosted) string {
	return inbound.PlainText(inbound.WithoutMention(s.Text, a.self.User), a.nameOf)
}

// answer tells the author alone.
func (a *Adapter) answer(s inbound.MessagePosted, say string) receipt {
	if !s.Answerable {
		return receipt{}
	}
	return a.answerPrivately(privately("", s.Thread.Channel, s.PrivateThread(), s.User), say)
}

func (a *Adapter) answerPrivately(h chat.ReplyHandle, say string) receipt {
	return receipt{after: func(ctx context.Context) { a.tellOrLog(ctx, h, say) }}
}

// tellOrLog tells one person something, as well as that can be done.
func (a *Adapter) tellOrLog(ctx context.Context, h chat.ReplyHandle, say string) {
	if err := a.tell(ctx, h, say); err != nil {
		a.Logger.Warn("slack: a private answer did not arrive", "err", err)
	}
}

func (a *Adapter) envelope(p blocks.Place, d chat.Delivery, by Person, reply chat.ReplyHandle) chat.Envelope {
	return chat.Envelope{Delivery: d, Chat: p.Chat(), User: by.User, Name: by.Name, Reply: reply}
}

// takeEdit passes an edit on. The engine honours it while the message waits, and says in the chat that it came too late.
func (a *Adapter) takeEdit(ctx context.Context, m inbound.MessageEdited) error {
	known, err := a.Engine.Knows(ctx, m.Thread.Chat())
	if err != nil || !known {
		return err
	}
	err = a.Engine.Accept(ctx, chat.Edited{
		Envelope: a.envelope(m.Thread, chat.Delivery("e:"+m.Thread.Channel+":"+m.TS+":"+m.Stamp), a.identifyAuthor(ctx, m.User, m.Home), chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.TS), Text: inbound.PlainText(inbound.WithoutMention(m.Text, a.self.User), a.nameOf),
	})
	if surface.Hopeless(err) {
		a.Logger.Info("slack: an edit was not taken", "chat", m.Thread.Chat(), "err", err)
		return nil
	}
	return err
}

// takeDeletion passes a deletion on. Slack does not say who deleted.
func (a *Adapter) takeDeletion(ctx context.Context, m inbound.MessageDeleted) error {
	known, err := a.Engine.Knows(ctx, m.Thread.Chat())
	if err != nil || !known {
		return err
	}
	return a.Engine.Accept(ctx, chat.Deleted{
		Envelope: a.envelope(m.Thread, chat.Delivery("d:"+m.Thread.Channel+":"+m.TS), Person{}, chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.TS),
	})
}

// endAsksIn ends every open ask of a channel that nobody can answer in any more: else their turns would wait for their deadlines, or
// for ever.
func (a *Adapter) endAsksIn(ctx context.Context, m inbound.ChannelClosed) error {
	asking, err := a.findAsking(ctx, m.Channel)
	if err != nil {
		return err
	}
	var all []error
	for _, id := range asking {
		a.Logger.Info("slack: a channel is gone while something waits there", "chat", id)
		all = append(all, a.Engine.Accept(ctx, chat.Deleted{Envelope: chat.Envelope{Delivery: chat.Delivery("g:" + m.Event), Chat: id}, All: true}))
	}
	return errors.Join(all...)
}

// findAsking finds the chats of a channel in which something waits for a person.
func (a *Adapter) findAsking(ctx context.Context, channel string) ([]chat.ID, error) {
	ids, err := a.Asks.Asking(ctx, func(id chat.ID) bool {
		p, ok := blocks.PlaceOf(id)
		return ok && p.Team == a.self.Team && p.Channel == channel
	})
	if err != nil {
		return nil, fmt.Errorf("what waits in the channel: %w", err)
	}
	return ids, nil
}

// takeStop passes on the agent view's own Stop.
func (a *Adapter) takeStop(ctx context.Context, m inbound.StopPressed) error {
	by := a.identifyAuthor(ctx, m.User, "")
	return a.Engine.Accept(ctx, chat.Stopped{Envelope: a.envelope(m.Thread, chat.Delivery("s:"+m.Thread.Channel+":"+m.Thread.Thread+":"+m.Stamp), by,
		privately("", m.Thread.Channel, m.Thread.Thread, m.User))})
}
