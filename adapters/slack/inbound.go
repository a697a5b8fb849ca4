package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
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

// inlet is what an adapter keeps of what comes in: Adapter has the field "in inlet". Its zero value is ready, and closed until listen opens it.
type inlet struct {
	intake   surface.Lanes
	people   people
	groups   userGroups
	answered surface.Once // trigger_ids of clicks and slash commands
}

// delivery is one thing that Slack sent, decoded: an event, an interaction or a slash command.
type delivery interface {
	// lane is what it has to keep its order in.
	lane() string
	// serve records it. An error leaves it unacknowledged, so that Slack sends it again.
	serve(context.Context, *Adapter) (receipt, error)
}

// receipt is how a delivery is acknowledged.
type receipt struct {
	body  any                   // of the acknowledgement; nil: none
	after func(context.Context) // what is done then, which nobody waits for
}

// The kinds of deliveries, as Socket Mode names them. https://docs.slack.dev/apis/events-api/using-socket-mode/#events
const (
	kindEvent       = "events_api"
	kindInteraction = "interactive"
	kindCommand     = "slash_commands"
)

// errUnknownKind: a delivery of a kind that did not exist when this was written.
var errUnknownKind = errors.New("a delivery of an unknown kind")

// decodeDelivery reads a payload of one of the kinds.
func decodeDelivery(kind string, payload json.RawMessage) (delivery, error) {
	switch kind {
	case kindEvent:
		return decodeEvent(payload)
	case kindInteraction:
		return decodeInteraction(payload)
	case kindCommand:
		return decodeCommand(payload)
	}
	return nil, fmt.Errorf("%w: %q", errUnknownKind, surface.Shortened(kind, 64))
}

// receive has d served in its turn, and ack called once when that is done. It does not block. It returns false, and will not
// call ack, where nothing more is taken.
func (a *Adapter) receive(d delivery, ack func(receipt, error)) bool {
	deadline := time.Now().Add(acceptWithin)
	return a.in.intake.Put(d.lane(), func() {
		// Not a child of Run's context: what was taken is finished, also while the program stops.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		r, err := d.serve(ctx, a)
		cancel()
		ack(r, err)
		if r.after != nil {
			ctx, cancel = context.WithTimeout(context.Background(), afterWithin)
			defer cancel()
			r.after(ctx)
		}
	})
}

// lane: messages of a thread, and what happens to them, keep their order.
func (e event) lane() string {
	m := e.Inner.said
	for _, other := range []*said{e.Inner.Message, e.Inner.Previous} {
		if other != nil {
			m = *other
			break
		}
	}
	return "m:" + string(e.Inner.Channel) + "/" + m.root()
}

func (e event) serve(ctx context.Context, a *Adapter) (receipt, error) {
	if err := ctx.Err(); err != nil { // it waited too long for its turn: Slack sends it again, perhaps to a replica with less to do
		return receipt{}, err
	}
	switch m := meaningOf(e, a.self).(type) {
	case spoken:
		return a.heard(ctx, m)
	case reworded:
		return receipt{}, a.corrected(ctx, m)
	case removed:
		return receipt{}, a.takenBack(ctx, m)
	case closed:
		return receipt{}, a.shut(ctx, m)
	case halted:
		return receipt{}, a.halted(ctx, m)
	case greeted:
		return receipt{after: func(ctx context.Context) { a.suggest(ctx, m.channel, m.thread) }}, nil
	case visited:
		return receipt{after: func(ctx context.Context) { a.visited(ctx, m) }}, nil
	}
	return receipt{}, nil
}

// heard takes a message, if it is for the bot.
func (a *Adapter) heard(ctx context.Context, s spoken) (receipt, error) {
	calls := s.mentioned || s.direct
	if !calls && (!s.reply || a.follow(s.at.Channel) != surface.FollowThread) {
		return receipt{}, nil
	}
	known, err := a.Engine.Knows(ctx, s.at.id())
	if err != nil {
		return receipt{}, fmt.Errorf("is the chat known: %w", err)
	}
	if !calls && !known {
		return receipt{}, nil
	}
	var session turn.Session
	if known && !s.direct {
		if session, err = a.Engine.Session(ctx, s.at.id()); err != nil {
			return receipt{}, fmt.Errorf("how the chat stands: %w", err)
		}
	}
	if !calls && !surface.Heeds(session, a.speaker(ctx, s.user, s.home).User, s.others) {
		return receipt{}, nil
	}
	text := a.wording(s)
	c, ok := surface.ParseCommand(text)
	if ok = ok && (c.Verb != surface.VerbSettings || a.Settings != nil); ok && calls {
		if !s.answerable {
			return receipt{}, nil
		}
		return a.commanded(ctx, s, c)
	}
	beside := s.said.beside(a.nameOf)
	switch {
	case text == "" && len(s.said.Files) == 0 && len(beside) == 0:
		return a.answer(s, a.help(s.direct)), nil
	case text == "" && len(beside) > 0:
		text = sayQuotedAlone
	case len(text) > agent.MaxText:
		return a.answer(s, surface.SayTooLong(len(text))), nil
	}
	// Since: what people said to each other meanwhile is what a message to the bot is often about.
	since := surface.LastHeard(session, func(a, b chat.MessageRef) bool { return olderThan(string(b), string(a)) })
	return a.record(ctx, s, surface.WithFiles(text, s.said.files()), beside, known, string(since))
}

func (a *Adapter) record(ctx context.Context, s spoken, text string, beside []chat.Quote, known bool, since string) (receipt, error) {
	var by somebody
	var before []chat.Quote
	var left int
	var looking sync.WaitGroup
	looking.Go(func() { by = a.speaker(ctx, s.user, s.home) })
	if s.reply && (!known || olderThan(since, s.ts) && since != "") {
		looking.Go(func() { before, left = a.before(ctx, s, since) })
	}
	looking.Wait()
	if by.Bot {
		return receipt{}, nil
	}
	err := a.Engine.Accept(ctx, chat.Said{
		Envelope: a.envelope(s.at, s.delivery(), by, privately("", s.at.Channel, s.private(), s.user)),
		Message:  chat.MessageRef(s.ts), Text: text, Context: surface.FitQuotes(append(before, beside...), left), Standing: a.standing(by),
	})
	switch {
	case errors.Is(err, agent.ErrTooLong):
		return a.answer(s, surface.SayTooLong(len(text))), nil
	case errors.Is(err, agent.ErrFull):
		return a.answer(s, render.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)), nil
	case surface.Hopeless(err):
		a.Logger.Info("slack: a message was not taken", "chat", s.at.id(), "err", err)
		return receipt{}, nil
	case err != nil:
		return receipt{}, err
	case s.direct && !s.reply && !known:
		return receipt{after: func(ctx context.Context) { a.title(ctx, s.at, text) }}, nil
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

// wording is what a person wrote, as they see it, without the mention it begins with.
func (a *Adapter) wording(s spoken) string {
	return readable(addressed(s.text, a.self.User), a.nameOf)
}

// delivery is the same for a message's redeliveries and for its mention: of (team, channel, ts), the team being the chat's.
func (s spoken) delivery() chat.Delivery {
	return chat.Delivery("m:" + s.at.Channel + ":" + s.ts)
}

// private is the thread that an answer to one person appears in. In a channel a first message has no thread yet: an answer in
// it would be seen by nobody who does not open it.
func (s spoken) private() string {
	if s.reply || s.direct {
		return s.at.Thread
	}
	return ""
}

// answer tells the author alone.
func (a *Adapter) answer(s spoken, say string) receipt {
	if !s.answerable {
		return receipt{}
	}
	return a.answering(privately("", s.at.Channel, s.private(), s.user), say)
}

func (a *Adapter) answering(h chat.ReplyHandle, say string) receipt {
	return receipt{after: func(ctx context.Context) { a.let(ctx, h, say) }}
}

// let tells one person something, as well as that can be done.
func (a *Adapter) let(ctx context.Context, h chat.ReplyHandle, say string) {
	if err := a.tell(ctx, h, say); err != nil {
		a.Logger.Warn("slack: a private answer did not arrive", "err", err)
	}
}

func (a *Adapter) envelope(p place, d chat.Delivery, by somebody, reply chat.ReplyHandle) chat.Envelope {
	return chat.Envelope{Delivery: d, Chat: p.id(), User: by.User, Name: by.Name, Reply: reply}
}

// corrected passes an edit on. The engine honours it while the message waits, and says in the chat that it came too late.
func (a *Adapter) corrected(ctx context.Context, m reworded) error {
	known, err := a.Engine.Knows(ctx, m.at.id())
	if err != nil || !known {
		return err
	}
	err = a.Engine.Accept(ctx, chat.Edited{
		Envelope: a.envelope(m.at, chat.Delivery("e:"+m.at.Channel+":"+m.ts+":"+m.stamp), a.speaker(ctx, m.user, m.home), chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.ts), Text: readable(addressed(m.text, a.self.User), a.nameOf),
	})
	if surface.Hopeless(err) {
		a.Logger.Info("slack: an edit was not taken", "chat", m.at.id(), "err", err)
		return nil
	}
	return err
}

// takenBack passes a deletion on. Slack does not say who deleted.
func (a *Adapter) takenBack(ctx context.Context, m removed) error {
	known, err := a.Engine.Knows(ctx, m.at.id())
	if err != nil || !known {
		return err
	}
	return a.Engine.Accept(ctx, chat.Deleted{
		Envelope: a.envelope(m.at, chat.Delivery("d:"+m.at.Channel+":"+m.ts), somebody{}, chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.ts),
	})
}

// shut ends every open ask of a channel that nobody can answer in any more: else their turns would wait for their deadlines, or
// for ever.
func (a *Adapter) shut(ctx context.Context, m closed) error {
	asking, err := a.asking(ctx, m.channel)
	if err != nil {
		return err
	}
	var all []error
	for _, id := range asking {
		a.Logger.Info("slack: a channel is gone while something waits there", "chat", id)
		all = append(all, a.Engine.Accept(ctx, chat.Deleted{Envelope: chat.Envelope{Delivery: chat.Delivery("g:" + m.event), Chat: id}, All: true}))
	}
	return errors.Join(all...)
}

// asking are the chats of a channel in which something waits for a person.
func (a *Adapter) asking(ctx context.Context, channel string) ([]chat.ID, error) {
	ids, err := a.Asks.Asking(ctx, func(id chat.ID) bool {
		p, ok := placeOf(id)
		return ok && p.Team == a.self.Team && p.Channel == channel
	})
	if err != nil {
		return nil, fmt.Errorf("what waits in the channel: %w", err)
	}
	return ids, nil
}

// halted is the agent view's own Stop.
func (a *Adapter) halted(ctx context.Context, m halted) error {
	by := a.speaker(ctx, m.user, "")
	return a.Engine.Accept(ctx, chat.Stopped{Envelope: a.envelope(m.at, chat.Delivery("s:"+m.at.Channel+":"+m.at.Thread+":"+m.stamp), by,
		privately("", m.at.Channel, m.at.Thread, m.user))})
}
