package discord_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/markup"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// The conformance suite, through the real client and real sockets, with interactions over the gateway and as signed requests.
// Messages always come over the gateway.

func TestConformanceGateway(t *testing.T) {
	conformance.PlatformAtOnce(t, func(t *testing.T, in *conformance.Inbox, log *slog.Logger) conformance.Surface {
		return openConformance(t, in, log, false)
	})
}

func TestConformanceHTTP(t *testing.T) {
	conformance.PlatformAtOnce(t, func(t *testing.T, in *conformance.Inbox, log *slog.Logger) conformance.Surface {
		return openConformance(t, in, log, true)
	})
}

// Distinctive, so that it is found wherever it turns up.
const conformToken = "MTk4NjIyNDgz.s3cret.B0TT0KEN-of-the-conformance-suite"

const (
	unsaid   = time.Second      // after a click was recorded, for an edit to be its answer
	retrying = time.Minute      // by the clock, until what was not recorded is tried again
	waiting  = 90 * time.Second // of the levers' own waits: only a broken adapter sees its end
)

// guild is the stand-in behind one surface.
type guild struct {
	*fakediscord.Server
	ctx     context.Context
	t       *testing.T
	clock   *fakediscord.Manual
	adapter *discord.Adapter
	marks   shelf
	handler *httptest.Server // of signed interactions; nil over the gateway
	limbo   *httptest.Server // takes interactions that nobody is to get
	client  *http.Client

	people         [2]string
	other, passer  string // another bot, and somebody whose doings nobody looks at
	room, passages string // channels

	mu       sync.Mutex
	changed  chan struct{}
	known    map[chat.ID]bool // that the adapter asked the engine for
	buttons  []fakediscord.Button
	texts    map[string]markup.Seen
	sessions int
}

func openConformance(t *testing.T, in *conformance.Inbox, log *slog.Logger, overHTTP bool) conformance.Surface {
	w := &guild{t: t, clock: fakediscord.NewManual(), changed: make(chan struct{}), known: map[chat.ID]bool{}, texts: map[string]markup.Seen{}, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(t.Context(), waiting)
	t.Cleanup(cancel)
	w.Server = fakediscord.New(fakediscord.Options{Clock: w.clock, Token: conformToken, Permissions: fakediscord.DefaultPermissions | fakediscord.MentionEveryone,
		Undescribed: t.Error})
	w.people = [2]string{conformance.Ana: w.AddUser(fakediscord.User{Name: "ana"}), conformance.Ben: w.AddUser(fakediscord.User{Name: "ben"})}
	w.other, w.passer = w.AddUser(fakediscord.User{Name: "other", Bot: true}), w.AddUser(fakediscord.User{Name: "passer"})
	w.room, w.passages = w.AddChannel(fakediscord.Channel{Name: "room"}), w.AddChannel(fakediscord.Channel{Name: "passages"})
	w.marks.guild = w
	c := discord.Config{Token: conformToken, APIURL: w.URL(), Engine: desk{in, w}, Asks: in, Marks: &w.marks, Budget: plenty{}, Logger: log, Client: w.client}
	if overHTTP {
		c.PublicKey = w.PublicKey()
	}
	a, err := discord.New(c)
	if err != nil {
		t.Fatal(err)
	}
	a.Keep(w.clock.Now, w.clock.Advance, retrying)
	w.adapter = a
	if overHTTP {
		w.handler = httptest.NewServer(a.Handler())
	}
	w.limbo = httptest.NewServer(http.HandlerFunc(nowhere))
	s := conformance.Surface{
		Platform: a, Run: a.Run, Ready: w.ready, Closing: a.Closing, Close: w.close, Budget: fakediscord.AnswerWithin, Unhurried: true, Once: true, Fetches: true, Secrets: w.secrets, Without: map[string]string{},
		Say: w.say, SayDirect: w.sayDirect, SayBot: w.sayBot, Edit: w.edit, Delete: w.takeBack, Press: w.press, Submit: w.submit, Details: w.details, SayAs: w.sayAs, PressAs: w.pressAs,
		Pass: w.pass, Retry: w.retry, Messages: w.messages, Look: w.look, Seen: w.seen, Wait: w.until, LinkTo: w.linkTo, Refusals: w.refusals, Trouble: w.trouble,
		Havoc: w.havoc, Lockout: w.lockout,
	}
	for i, id := range w.people {
		s.People[i] = chat.User{Platform: "discord", Workspace: w.Guild(), Key: id}
	}
	if overHTTP {
		s.Forgeries = w.forgeries
	} else {
		s.Without["Forgeries"] = "the adapter opened the connection itself, over TLS and with its token: nobody else can write to it"
	}
	return s
}

// desk is the suite's engine, which tells what the adapter asks it. Nobody draws a turn here, so that no click is answered by what
// came of it: what waits for that waits no longer once the click is recorded.
type desk struct {
	*conformance.Inbox
	w *guild
}

func (d desk) Accept(ctx context.Context, in chat.Inbound) error {
	err := d.Inbox.Accept(ctx, in)
	if _, ok := in.(chat.Clicked); ok && err == nil {
		d.w.clock.Advance(unsaid)
	}
	d.w.signal()
	return err
}

func (d desk) Decide(ctx context.Context, in chat.Clicked) ([]decision.Outcome, error) {
	out, err := d.Inbox.Decide(ctx, in)
	if err == nil {
		d.w.clock.Advance(unsaid)
	}
	d.w.signal()
	return out, err
}

func (d desk) Knows(ctx context.Context, id chat.ID) (bool, error) {
	d.w.mu.Lock()
	d.w.known[id] = true
	d.w.mu.Unlock()
	d.w.signal()
	return d.Inbox.Knows(ctx, id)
}

// plenty is a budget without limits.
type plenty struct{}

func (plenty) Spend(context.Context, surface.Spend) (time.Duration, error) { return 0, nil }
func (plenty) CoolOff(context.Context, string, time.Duration) error        { return nil }

// shelf are marks in memory: the acknowledgement of messages.
type shelf struct {
	*guild
	mu sync.Mutex
	at map[string]string
}

func (s *shelf) Mark(_ context.Context, place, message string) error {
	s.mu.Lock()
	if s.at == nil {
		s.at = map[string]string{}
	}
	if !reached(s.at[place], message) {
		s.at[place] = message
	}
	s.mu.Unlock()
	s.signal()
	return nil
}

func (s *shelf) Marks(context.Context, time.Duration) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.at), nil
}

func (s *shelf) Unmark(_ context.Context, place string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, place)
	return nil
}

func (s *shelf) passed(place, message string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reached(s.at[place], message)
}

// reached: the longer number is the larger one.
func reached(mark, message string) bool {
	return len(mark) > len(message) || len(mark) == len(message) && mark >= message
}

func (w *guild) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// until is [fakediscord.Server.Wait] for what happens at the engine and to marks as well.
func (w *guild) until(ctx context.Context, is func() bool) error {
	for {
		there := w.Changed()
		w.mu.Lock()
		here := w.changed
		w.mu.Unlock()
		if is() {
			return nil
		}
		select {
		case <-there:
		case <-here:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *guild) ready(ctx context.Context) error {
	if w.handler != nil {
		if err := w.until(ctx, func() bool { return w.Connected() > 0 }); err != nil { // a PING is answered before too, a click is not
			return err
		}
		if err := w.Deliver(w.handler.URL + discord.PathInteractions); err != nil {
			return err
		}
	}
	w.sessions = 1
	if err := w.adapter.Caught(ctx, w.sessions); err != nil {
		return err
	}
	return w.dispatched(ctx)
}

func (w *guild) close() {
	for _, s := range []*httptest.Server{w.handler, w.limbo} {
		if s != nil {
			s.CloseClientConnections()
			s.Close()
		}
	}
	w.Server.Close()
}

// secrets: tokens, of the bot and of interactions, and the addresses that hold one.
func (w *guild) secrets() []string {
	return []string{conformToken, "s3cret", "B0TT0KEN", "aW50ZXJhY3Rpb24", "/callback", "/webhooks/"}
}

// where is what a chat's ID stands for; it reads the ID itself, so that a wrong one leads nowhere. message is where one that was
// written in the chat stands: the first one stands above its thread.
func (w *guild) where(in chat.ID) (channel, thread string) {
	if in.IsZero() {
		return w.room, ""
	}
	channel, thread, _ = strings.Cut(in.Key, "/")
	if in.Platform != "discord" || in.Workspace != w.Guild() && in.Workspace != "" {
		w.t.Errorf("%v is no place of this server", in)
	}
	return channel, thread
}

// spot is the channel, in Discord's sense, that a chat's messages stand in.
func (w *guild) spot(in chat.ID) string {
	channel, thread := w.where(in)
	if thread != "" {
		return thread
	}
	return channel
}

// holding is the channel that a message of a chat stands in: the one that begins a thread stands above it.
func (w *guild) holding(in chat.ID, ref chat.MessageRef) string {
	if channel, thread := w.where(in); thread == string(ref) {
		return channel
	}
	return w.spot(in)
}

// bot mentions it.
func (w *guild) bot() string { return "<@" + w.BotUser() + "> " }

// sayIn writes in a chat, or begins one. Where the bot has not answered yet there is no thread: then whoever goes on begins it.
func (w *guild) sayIn(user string, in chat.ID, text string) (room, id string) {
	channel, thread := w.where(in)
	if in.IsZero() {
		return channel, w.Say(user, channel, w.bot()+text)
	}
	if _, there := w.Channel(thread); thread != "" && !there {
		w.CreateThread(user, channel, thread, "a thread")
	}
	return w.spot(in), w.Say(user, w.spot(in), w.bot()+text)
}

func (w *guild) say(by conformance.Who, in chat.ID, text string) *conformance.Delivered {
	return w.said(w.sayIn(w.people[by], in, text))
}

func (w *guild) sayDirect(by conformance.Who, in chat.ID, text string) *conformance.Delivered {
	room := w.OpenDM(w.people[by])
	if !in.IsZero() && w.spot(in) != room {
		w.t.Errorf("%v is not where %s and the bot talk", in, w.people[by])
	}
	return w.said(room, w.Say(w.people[by], room, text))
}

// said follows a message: Discord gets no acknowledgement, and what stands for it is that its room's mark has reached it.
func (w *guild) said(room, id string) *conformance.Delivered {
	marked := func() bool { return w.marks.passed(room, id) }
	return &conformance.Delivered{
		Message: chat.MessageRef(id), Acked: marked, Taken: func(ctx context.Context) error { return w.until(ctx, marked) },
		Again: func() { w.again("MESSAGE_CREATE", room, id) },
	}
}

// sayBot: what nobody mayBeForBot moves no mark. It is over when the room's turn has come.
func (w *guild) sayBot(in chat.ID, text string) *conformance.Delivered {
	room, id := w.sayIn(w.other, in, text)
	return w.noted("MESSAGE_CREATE", room, id)
}

// noted follows what leaves no mark.
func (w *guild) noted(name, room, id string) *conformance.Delivered {
	var over sync.Once
	done := make(chan struct{})
	return &conformance.Delivered{
		Message: chat.MessageRef(id),
		Acked: func() bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		},
		Taken: func(ctx context.Context) error {
			err := w.passedIn(ctx, room)
			over.Do(func() { close(done) })
			return err
		},
		Again: func() { w.again(name, room, id) },
	}
}

func (w *guild) edit(in chat.ID, ref chat.MessageRef, text string) *conformance.Delivered {
	room := w.holding(in, ref)
	if room == w.room { // whoever corrects a mention leaves it there
		text = w.bot() + text
	}
	w.clock.Advance(time.Second) // nobody types in no time: Discord tells edits apart by when they were made
	w.EditMessage(room, string(ref), text)
	return w.noted("MESSAGE_UPDATE", room, string(ref))
}

func (w *guild) takeBack(in chat.ID, ref chat.MessageRef) *conformance.Delivered {
	room := w.holding(in, ref)
	w.DeleteMessage(room, string(ref))
	return w.noted("MESSAGE_DELETE", room, string(ref))
}

// again dispatches an event of a message once more, as a second connection of the same shard gets it.
func (w *guild) again(name, room, id string) {
	data := map[string]any{"id": id, "channel_id": room}
	if name != "MESSAGE_DELETE" {
		data = w.wire(room, id)
	}
	if c, _ := w.Channel(room); c.Guild != "" {
		data["guild_id"] = c.Guild
	}
	w.Send(w.Guild(), name, data)
	if err := w.passedIn(w.ctx, room); err != nil {
		w.t.Error(err)
	}
}

// dispatched waits until the adapter has all events that were sent so far, by a deletion of what nobody knows in a channel of its own.
func (w *guild) dispatched(ctx context.Context) error {
	id := w.Say(w.passer, w.passages, "passing by")
	w.DeleteMessage(w.passages, id)
	asked := chat.ID{Platform: "discord", Workspace: w.Guild(), Key: w.passages + "/" + id}
	return w.until(ctx, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.known[asked]
	})
}

// passedIn waits until the adapter has done what was sent so far in a room.
func (w *guild) passedIn(ctx context.Context, room string) error {
	if err := w.dispatched(ctx); err != nil {
		return fmt.Errorf("something that passes by does not pass: %w", err)
	}
	return w.adapter.Settled(ctx, room)
}

func (w *guild) pass(ctx context.Context, in chat.ID) error {
	if in.IsZero() {
		return w.dispatched(ctx)
	}
	return w.passedIn(ctx, w.spot(in))
}

// retry: the session of the gateway is lost, and what was missed is fetched once it is time for that.
func (w *guild) retry() {
	w.Invalidate(false)
	w.sessions++
	if err := w.adapter.Caught(w.ctx, w.sessions); err != nil {
		w.t.Error(err)
	}
	if err := w.adapter.CaughtUp(w.ctx, func() { w.clock.Advance(retrying) }); err != nil {
		w.t.Error(err)
	}
}
