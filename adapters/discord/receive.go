package discord

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// How long things may take. Discord wants the first answer to an interaction within three seconds, and sends nothing twice: a message
// that was not recorded is fetched (package backfill), a person whose click was not is told.
// https://discord.com/developers/docs/interactions/receiving-and-responding#responding-to-an-interaction
const (
	answerWithin = 2500 * time.Millisecond // of the three seconds, for recording a click; the rest is for the way back
	recordWithin = 5 * time.Second         // a message waits for nobody's patience but its room's
	afterWithin  = 10 * time.Second        // for what is said once something was recorded
)

// inbox is what an adapter keeps of what comes in: It is closed until openInbox opens it.
type inbox struct {
	messages surface.Lanes // of one room in their order
	clicks   surface.Lanes // on one message in their order; they wait for no message
	settling surface.Lanes // what is said after something was recorded, and clicks that wait for what they change to be drawn
	channels *channels
	deaf     surface.Once // threads in which it was said that their messages cannot be read

	programs surface.Programs

	mu      sync.Mutex
	opened  bool
	stop    context.CancelFunc
	workers sync.WaitGroup // catching up
}

// openInbox lets things in, and has what was missed fetched until closeInbox.
func (a *Adapter) openInbox(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	a.in.mu.Lock()
	a.in.stop, a.in.opened = stop, true
	a.in.mu.Unlock()
	a.in.messages.Open()
	a.in.clicks.Open()
	a.in.settling.Open()
	a.in.workers.Go(func() { a.missed.Run(ctx) })
}

// closeInbox lets nothing in any more, and returns when all that was taken is done. Rooms that are behind are left so: their marks
// say from where on.
func (a *Adapter) closeInbox() {
	a.in.mu.Lock()
	stop := a.in.stop
	a.in.opened = false
	a.in.mu.Unlock()
	if stop == nil {
		return
	}
	a.in.clicks.Close()
	a.in.messages.Close()
	stop()
	a.in.workers.Wait()
	a.in.settling.Close()
}

// event takes what the gateway brings, of one shard in its order. It does not block.
func (a *Adapter) event(typ string, raw json.RawMessage) {
	var err error
	switch typ {
	case "MESSAGE_CREATE":
		err = with(raw, a.arrived)
	case "MESSAGE_UPDATE":
		err = with(raw, a.changed)
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		err = with(raw, a.deleted)
	case "INTERACTION_CREATE":
		err = with(raw, func(in *inbound.Interaction) { a.interacted(in, func() {}) })
	case "GUILD_CREATE", "THREAD_LIST_SYNC":
		err = with(raw, a.joined)
	case "GUILD_DELETE":
		err = with(raw, a.left)
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		err = with(raw, a.roleChanged)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		err = with(raw, a.channelChanged)
	case "CHANNEL_DELETE", "THREAD_DELETE":
		err = with(raw, a.channelDeleted)
	}
	if err != nil {
		a.Logger.Warn("discord: an event could not be read and is dropped", "event", typ, "err", err)
	}
}

// with decodes an event for whoever takes it.
func with[T any](raw json.RawMessage, take func(*T)) error {
	e := new(T)
	if err := inbound.Decode(raw, e); err != nil {
		return err
	}
	take(e)
	return nil
}

// connected says that a shard's connection is there. Where it is a new session, whatever was sent since the last one is missed.
func (a *Adapter) connected(_ int, resumed bool) {
	if !resumed {
		a.missed.SessionBegan()
	}
}

// roomLane: messages of a room, and what happens to them, keep their order.
func roomLane(room string) string { return "m:" + room }

// arrived takes a message that somebody wrote just now.
func (a *Adapter) arrived(m *inbound.Message) {
	room, id := string(m.Channel), string(m.ID)
	if !ids.IsSnowflake(room) || !ids.IsSnowflake(id) {
		return
	}
	if !a.mayBeForBot(m) {
		if a.missed.Marked(room) {
			a.in.messages.Put(roomLane(room), func() { a.missed.Mark(room, id, false) })
		}
		return
	}
	if !a.in.messages.Put(roomLane(room), func() { a.take(m) }) && a.isOpen() {
		a.Logger.Warn("discord: a message is fetched later: too much waits here", "room", room)
		a.missed.Add(room, id)
	}
}

// mayBeForBot reports whether a message may be for the bot, as far as can be told without asking anybody.
func (a *Adapter) mayBeForBot(m *inbound.Message) bool {
	if m.Guild == "" || a.addressed(m, string(m.Guild)) {
		return true
	}
	k, ok := a.in.channels.get(string(m.Channel), a.now())
	return !ok || k.IsThread()
}

// listed reports whether a program wrote it that may begin a chat, and names the bot.
func (a *Adapter) listed(m *inbound.Message) bool {
	if !m.ByProgram(a.self.User) {
		return false
	}
	if id := string(m.Author.ID); !slices.Contains(a.Bots, id) {
		a.Logger.Info("discord: a program mentions the bot that discord.bots does not list", "id", id)
		return false
	}
	return true
}

// addressed reports whether a message in a guild calls the bot.
func (a *Adapter) addressed(m *inbound.Message, guild string) bool {
	if m.MentionsUser(a.self.User) || m.RepliesTo(a.self.User) {
		return true
	}
	own := a.in.channels.ownRole(guild)
	return own != "" && slices.Contains(m.MentionRoles, inbound.LooseString(own))
}

func (a *Adapter) isOpen() bool {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	return a.in.opened
}

// take is a message's turn in its lane.
func (a *Adapter) take(m *inbound.Message) {
	room, id := string(m.Channel), string(m.ID)
	if a.missed.Defer(room, id) {
		return
	}
	// Not a child of Run's context: what was taken is finished, also while the program stops.
	ctx, cancel := context.WithTimeout(context.Background(), recordWithin)
	taken, err := a.hear(ctx, m)
	cancel()
	if err != nil {
		a.Logger.Error("discord: a message was not recorded; it is fetched until it is", "room", room, "err", err)
		a.missed.Add(room, id)
		a.missed.KeepPlace(room, id)
		return
	}
	a.missed.Mark(room, id, taken)
}

// errOdd: this one message makes the code here fail, and would again.
var errOdd = errors.New("a message made the code that reads it fail")

// hear takes a message, if it is for the bot: live or fetched, they all come this way. taken: it was for us. An error means that nothing is
// known to be recorded.
func (a *Adapter) hear(ctx context.Context, m *inbound.Message) (taken bool, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			a.Logger.Error("discord: a message is left out", "room", string(m.Channel), "message", string(m.ID), "err", errOdd, "panic", fmt.Sprintf("%T", broken))
			taken, err = false, nil
		}
	}()
	guild, program := string(m.Guild), a.listed(m)
	if !m.ByPerson(a.self.User) && (!program || guild == "") {
		return false, nil
	}
	s := userMessage{m: m, program: program, called: guild == "" || a.addressed(m, guild)}
	if ok, err := a.locate(ctx, &s); !ok {
		return false, err
	}
	known, err := a.Engine.Knows(ctx, s.at.Chat())
	if err != nil {
		return false, fmt.Errorf("is the chat known: %w", err)
	}
	if !s.called && !known {
		return false, nil
	}
	if s.at.Thread != "" && !s.begins {
		s.earlier = &chat.Earlier{}
	}
	if program {
		return a.hearProgram(ctx, s, known)
	}
	if m.IsEmpty() && !s.called {
		a.cannotRead(s)
		return false, nil
	}
	s.hasLog = known
	if known && s.at.Thread != "" { // else there is nothing to read: a thread that begins costs one look less
		session, err := a.Engine.Session(ctx, s.at.Chat())
		if err != nil {
			return false, fmt.Errorf("how the chat stands: %w", err)
		}
		if !s.called && !surface.ForBot(a.follow(s.at), session, m.Sender(guild).User, m.NamesOthers(a.self.User)) {
			return false, nil
		}
		s.earlier = surface.Earlier(session, func(a, b chat.MessageRef) bool { return ids.Older(string(b), string(a)) })
	}
	return true, a.listen(ctx, s)
}

// hearProgram takes a message of a program on the list. It can only begin a chat, and is never answered privately: two programs that go on
// answering each other would never end.
func (a *Adapter) hearProgram(ctx context.Context, s userMessage, known bool) (taken bool, err error) {
	_, command := surface.ParseCommand(a.wording(s.m))
	switch {
	case known || command:
		return false, nil
	case !a.in.programs.MayBegin(string(s.m.Author.ID), a.now()):
		a.Logger.Warn("discord: a program begins too many chats; this one is left out", "id", string(s.m.Author.ID))
		return false, nil
	}
	return true, a.listen(ctx, s)
}

// userMessage is a message for the bot, or for the thread that it follows.
type userMessage struct {
	m       *inbound.Message
	at      ids.Place     // see locate
	program bool          // another program wrote it
	called  bool          // by mention, by reply, or because nobody else is there
	begins  bool          // a thread has to be made on it
	hasLog  bool          // something was recorded in its chat before
	earlier *chat.Earlier // what its thread holds that its chat has not taken
}

// locate finds the chat of a message. ok is false where it is not for the bot.
func (a *Adapter) locate(ctx context.Context, s *userMessage) (ok bool, err error) {
	guild, room := string(s.m.Guild), string(s.m.Channel)
	if guild == "" {
		s.at = ids.Place{Channel: room}
		return true, nil
	}
	c, err := a.channelOf(ctx, room)
	if rest.IsUnreachable(err) {
		return false, nil // nothing could be said there either
	}
	if err != nil {
		return false, fmt.Errorf("where the message stands: %w", err)
	}
	s.at = a.placeIn(c, guild, string(s.m.ID))
	s.begins = s.at.Thread == string(s.m.ID) && !c.IsThread()
	if c.IsThread() {
		return s.called || a.follow(s.at).Unmentioned(), nil
	}
	return s.called, nil
}

// placeIn is the chat that a message in a channel belongs to.
func (a *Adapter) placeIn(c inbound.Channel, guild, message string) ids.Place {
	switch {
	case c.IsThread():
		return ids.Place{Guild: guild, Channel: c.Parent, Thread: c.ID}
	case a.beginsThread(c):
		return ids.Place{Guild: guild, Channel: c.ID, Thread: message} // the thread on a message has its ID
	}
	return ids.Place{Guild: guild, Channel: c.ID}
}

// conversation is how a conversation goes on that begins in a channel. An unknown word is a thread: it disturbs fewer.
func (a *Adapter) conversation(channel string) Conversation {
	return cmp.Or(a.Channels[channel].Conversation, a.Conversation)
}

// follow is how the bot listens in a place. An unknown setting listens to less.
func (a *Adapter) follow(p ids.Place) surface.Follow {
	return cmp.Or(a.Channels[p.Thread].Follow, a.Channels[p.Channel].Follow, a.Follow, surface.FollowRequester)
}

var errUntold = errors.New("discord did not say who wrote, and only members may")

// listen records a message that is for the bot, or does what it commands.
func (a *Adapter) listen(ctx context.Context, s userMessage) error {
	wording := a.wording(s.m)
	if c, ok := surface.ParseCommand(wording); ok {
		return a.commanded(ctx, s, c)
	}
	wording, files := text.Attach(wording, s.m.Attached())
	wording = surface.WithFiles(wording, s.m.Extras())
	if wording == "" && len(s.m.Snapshots)+len(s.m.Embeds)+len(s.m.Components) > 0 {
		wording = surface.SayQuotedAlone
	}
	switch {
	case wording == "":
		a.answer(s, sayHelp(s.at.Guild == "", a.hears())...)
		return nil
	case len(wording) > agent.MaxText:
		a.answer(s, surface.SayTooLong(len(wording)))
		return nil
	}
	by, reply, standing := s.m.Sender(s.at.Guild), s.reply(), chat.Visitor
	if s.program { // nobody decides for it, so it is nobody but its name
		by, reply = inbound.Person{Name: by.Name}, chat.ReplyHandle{}
	} else if standing = a.standing(ctx, by); a.MembersOnly && standing == chat.Untold {
		return errUntold // it is fetched again, when Discord may tell
	} else if a.MembersOnly && standing == chat.Visitor {
		a.answer(s, sayMembersOnly)
		return nil
	}
	if s.begins {
		a.expect(s.at, string(s.m.Author.ID), wording)
	}
	err := a.Engine.Accept(ctx, chat.Said{
		Envelope: envelopeOf(s.at, s.delivery(), by, reply),
		Message:  chat.MessageRef(s.m.ID), Text: wording, Context: a.beside(s), Earlier: s.earlier, Standing: standing, Channel: s.at.Shared(),
		Files: files,
	})
	if errors.Is(err, agent.ErrFull) {
		a.answer(s, text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes))
		return nil
	}
	if surface.Hopeless(err) {
		a.Logger.Info("discord: a message was not taken", "chat", s.at.Chat(), "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	if s.at.Guild == "" && !s.hasLog { // a conversation with one person is one chat
		a.answer(s, surface.SayWelcome)
	}
	if s.begins {
		a.missed.Mark(s.at.Thread, s.at.Thread, true) // what is said in the thread comes after the message that it hangs on
	}
	return nil
}

// delivery is the same wherever and however often a message comes from.
func (s *userMessage) delivery() chat.Delivery {
	return chat.Delivery("m:" + string(s.m.Channel) + ":" + string(s.m.ID))
}

func envelopeOf(p ids.Place, d chat.Delivery, by inbound.Person, reply chat.ReplyHandle) chat.Envelope {
	return chat.Envelope{Delivery: d, Chat: p.Chat(), User: by.User, Name: by.Name, Groups: by.Groups, Reply: reply}
}

// cannotRead says once per thread, and once in the log, why the bot does not listen there.
func (a *Adapter) cannotRead(s userMessage) {
	if a.hears() || a.in.deaf.Again(s.at.Room()) {
		return
	}
	a.Logger.Warn("discord: messages without a mention cannot be read: the Message Content intent is off in the application's settings (Bot page)", "chat", s.at.Chat())
	a.later(func(ctx context.Context) {
		err := a.quick(ctx, s.at.Room(), components.Note(inWords(sayDeaf), ""), nil)
		if err != nil {
			a.Logger.Info("discord: could not say that messages cannot be read", "chat", s.at.Chat(), "err", err)
		}
	})
}

// hears reports whether messages can be read that do not call the bot.
func (a *Adapter) hears() bool { return a.gate.HearsContent() }

// later has something said that nobody's record waits for.
func (a *Adapter) later(say func(context.Context)) {
	taken := a.in.settling.Put("s:"+rand.Text(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), afterWithin)
		defer cancel()
		say(ctx)
	})
	if !taken {
		a.Logger.Info("discord: something is left unsaid: too much waits here, or this process stops")
	}
}
