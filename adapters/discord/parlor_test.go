package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/harness/machine"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// TestMain looks for goroutines that were left behind, and lets more tests run at once than there are processors: what they wait for is
// discordgo, which sleeps.
func TestMain(m *testing.M) {
	machine.AtOnce(16)
	machine.SpendMemory()
	goleak.VerifyTestMain(m)
}

// daybook is an engine as far as what comes in can tell: it takes each delivery of a person once, like the real log.
type daybook struct {
	mu       sync.Mutex
	changed  chan struct{}
	calls    []chat.Inbound // of Accept, the repeated and the refused too
	taken    []chat.Inbound
	ops      map[string]bool
	decided  []chat.Clicked // calls of Decide
	sessions map[chat.ID]turn.Session
	fail     func(chat.Inbound) error // of Accept, called without the lock
	refuse   func(chat.Clicked) error // of Decide
	refuses  func(chat.Clicked) *decision.Refusal
	hold     chan struct{} // Accept waits until it is closed
	down     error         // of Knows, Session and Asking
	unread   error         // of Session alone
	clicked  func()        // called when a click was taken
}

func newDaybook() *daybook {
	return &daybook{changed: make(chan struct{}), ops: map[string]bool{}, sessions: map[chat.ID]turn.Session{}}
}

func (l *daybook) signal() { close(l.changed); l.changed = make(chan struct{}) }

func (l *daybook) Accept(ctx context.Context, in chat.Inbound) error {
	l.mu.Lock()
	l.calls = append(l.calls, in)
	l.signal()
	hold, fail := l.hold, l.fail
	l.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if fail != nil {
		if err := fail(in); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := in.From()
	if op := e.User.String() + "/" + string(e.Delivery) + "/" + e.Chat.String(); e.Delivery == "" || !l.ops[op] {
		l.ops[op] = true
		l.taken = append(l.taken, in)
	}
	if _, ok := in.(chat.Clicked); ok && l.clicked != nil {
		l.clicked()
	}
	l.signal()
	return nil
}

func (l *daybook) Decide(ctx context.Context, in chat.Clicked) ([]decision.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decided = append(l.decided, in)
	defer l.signal()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.refuse != nil {
		if err := l.refuse(in); err != nil {
			return nil, err
		}
	}
	if l.clicked != nil {
		l.clicked()
	}
	return []decision.Outcome{{Chat: in.Chat, Choice: in.Choice, By: in.User}}, nil
}

func (l *daybook) Refuses(_ context.Context, in chat.Clicked) *decision.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses == nil {
		return nil
	}
	return l.refuses(in)
}

func (l *daybook) Session(_ context.Context, id chat.ID) (turn.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	for _, in := range l.taken {
		if m, ok := in.(chat.Said); ok && m.Chat == id {
			if s.Began.IsZero() {
				s.Began = m.User
			}
			s.Waiting = append(s.Waiting[:len(s.Waiting):len(s.Waiting)], turn.Said{Message: m.Message})
		}
	}
	return s, cmp.Or(l.unread, l.down)
}

func (l *daybook) Knows(_ context.Context, id chat.ID) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.sessions[id]
	return ok || slices.ContainsFunc(l.taken, func(in chat.Inbound) bool { return in.From().Chat == id }), l.down
}

func (l *daybook) Asking(_ context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []chat.ID
	for id, s := range l.sessions {
		if len(turn.OpenAsks(s)) > 0 && match(id) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b chat.ID) int { return strings.Compare(a.Key, b.Key) })
	return out, l.down
}

func (l *daybook) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.signal()
}

// got is a copy of what was taken; asked, of every call.
func (l *daybook) got() []chat.Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

func (l *daybook) asked() []chat.Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func (l *daybook) decisions() []chat.Clicked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.decided)
}

// texts are the messages that were taken, in order.
func (l *daybook) texts() (all []string) {
	for _, in := range l.got() {
		if s, ok := in.(chat.Said); ok {
			all = append(all, s.Text)
		}
	}
	return all
}

// shelf are marks in memory.
type shelf struct {
	mu    sync.Mutex
	at    map[string]string
	fail  error // of Marks
	reads int
}

func (s *shelf) Mark(_ context.Context, place, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[string]string{}
	}
	if ids.Older(s.at[place], message) {
		s.at[place] = message
	}
	return nil
}

func (s *shelf) Marks(context.Context, time.Duration) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return maps.Clone(s.at), s.fail
}

func (s *shelf) Unmark(_ context.Context, place string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, place)
	return nil
}

func (s *shelf) of(place string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[place]
}

func (s *shelf) break_(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// diary is a log that a test reads.
type diary struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.Write(p)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.String()
}

// parlor is a server with people, an adapter that runs in it, and a ledger behind that.
type parlor struct {
	*fakediscord.Server
	t        *testing.T
	clock    *fakediscord.Manual
	ledger   *daybook
	marks    *shelf
	a        *Adapter
	log      *diary
	ctx      context.Context
	stop     func()     // lets Run end
	ended    chan error // what Run returned
	web      *httptest.Server
	ana, ben string
	general  string
}

// newParlor starts everything. change may alter the configuration before, and what is in the server. It runs beside other tests: each ends
// with the second that discordgo's Close takes.
func newParlor(t *testing.T, change ...func(*parlor, *Config)) *parlor {
	t.Helper()
	t.Parallel()
	p := &parlor{t: t, clock: fakediscord.NewManual(), ledger: newDaybook(), marks: &shelf{}, log: &diary{}, ended: make(chan error, 1)}
	p.Server = fakediscord.New(fakediscord.Options{Clock: p.clock, Undescribed: t.Error})
	t.Cleanup(p.Server.Close)
	p.ana, p.ben = p.AddUser(fakediscord.User{Name: "Ana"}), p.AddUser(fakediscord.User{Name: "Ben"})
	p.general = p.AddChannel(fakediscord.Channel{Name: "general"})
	c := Config{Token: p.Token(), APIURL: p.URL(), PublicKey: p.PublicKey(), Engine: p.ledger, Asks: p.ledger, Marks: p.marks,
		Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}} // an idle connection looks like a leak
	for _, f := range change {
		f(p, &c)
	}
	c.Logger = slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if p.a, err = New(c); err != nil {
		t.Fatal(err)
	}
	p.a.now = p.clock.Now
	p.a.wait = func(int) time.Duration { return 0 }
	p.ledger.clicked = func() { p.clock.Advance(settleAfter) } // nobody draws here: what waits for that waits no longer
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	run, stop := context.WithCancel(p.ctx)
	p.stop = stop
	go func() { p.ended <- p.a.Run(run) }()
	t.Cleanup(p.close)
	p.until("the gateway is connected and the commands are there", func() bool {
		_, there := p.a.in.channels.get(p.general, p.clock.Now())
		return there && len(p.Commands("")) == 1 && !p.frozen()
	})
	return p
}

// frozen reports whether messages wait for the marks to be read.
func (p *parlor) frozen() bool { s := p.a.missed.Status(); return s.Sessions == 0 || s.Waiting }

// close lets Run end and waits for it.
func (p *parlor) close() {
	p.stop()
	<-p.ended
	p.ended <- nil
	for _, r := range p.Refusals() {
		p.t.Errorf("Discord refuses what was sent: %+v", r)
	}
}

// until waits for something in Discord or in the ledger.
func (p *parlor) until(what string, is func() bool) {
	p.t.Helper()
	for {
		there := p.Changed()
		p.ledger.mu.Lock()
		here := p.ledger.changed
		p.ledger.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-there:
		case <-here:
		case <-time.After(5 * time.Millisecond): // memory of the adapter signals nothing
		case <-p.ctx.Done():
			p.t.Fatalf("waited in vain until %s; taken: %+v; the log:\n%s", what, p.ledger.got(), p.log)
		}
	}
}

// settled waits until everything that was said in a room, and happened to it, has been looked at: a mention there comes after all that.
// The mention itself is forgotten.
func (p *parlor) settled(room string) {
	p.t.Helper()
	id := p.Say(p.ben, room, p.bot()+" are you done?")
	p.until("what was said before is looked at", func() bool { return p.tookMessage(id) })
	p.ledger.set(func() {
		mine := func(in chat.Inbound) bool { s, ok := in.(chat.Said); return ok && string(s.Message) == id }
		p.ledger.taken = slices.DeleteFunc(p.ledger.taken, mine)
		p.ledger.calls = slices.DeleteFunc(p.ledger.calls, mine)
	})
}

func (p *parlor) tookMessage(id string) bool {
	return slices.ContainsFunc(p.ledger.got(), func(in chat.Inbound) bool { s, ok := in.(chat.Said); return ok && string(s.Message) == id })
}

// bot mentions it.
func (p *parlor) bot() string { return "<@" + p.BotUser() + ">" }

// ask is a mention in the channel, which is taken.
func (p *parlor) ask(text string) (id string) {
	p.t.Helper()
	id = p.Say(p.ana, p.general, p.bot()+" "+text)
	p.until("the mention is taken", func() bool { return p.tookMessage(id) })
	return id
}

func (p *parlor) user(id string) chat.User { return ids.Person(p.Guild(), id) }

// in is the chat of a thread in #general.
func (p *parlor) in(thread string) chat.ID {
	return ids.Place{Guild: p.Guild(), Channel: p.general, Thread: thread}.Chat()
}

// only is the one thing that was taken.
func onlyOne[T chat.Inbound](p *parlor) (one T) {
	p.t.Helper()
	got := p.ledger.got()
	if len(got) == 1 {
		if one, ok := got[0].(T); ok {
			return one
		}
	}
	p.t.Fatalf("taken: %#v; the log:\n%s", got, p.log)
	return one
}

var errDown = errors.New("redis is down")

// asking is a session of a chat with calls that wait for an answer.
func (p *parlor) asking(at ids.Place, shown string, tokens ...string) chat.ID {
	id := at.Chat()
	s := turn.Session{Chat: id, Began: p.user(p.ana), Turn: &turn.Turn{ID: "turn-1", Requester: p.user(p.ana), Shown: chat.MessageRef(shown)}}
	for _, tok := range tokens {
		c := turn.ToolCall{ID: turn.CallID("call-" + tok), Asking: turn.Asking{Ask: turn.AskID(tok), Asks: []turn.AskID{turn.AskID(tok)}}, Status: turn.Awaiting, Args: []byte(`{"path":"notes.txt"}`)}
		c.Tool = permission.Tool{Server: "files", Name: "write_file"}
		s.Turn.Calls = append(s.Turn.Calls, c)
	}
	p.ledger.set(func() { p.ledger.sessions[id] = s })
	return id
}

// event gives the adapter an event as the gateway would.
func (p *parlor) event(typ string, fields map[string]any) {
	p.t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	p.a.event(typ, raw)
}

// privately are the texts that only a person sees: answers to interactions, and direct messages.
func (p *parlor) told(user, channel string) string {
	var b strings.Builder
	for _, m := range p.Seen(user, channel) {
		b.WriteString(m.Text() + "\n")
	}
	for _, m := range p.Mine(p.OpenDM(user)) {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

func (p *parlor) wait(d *fakediscord.Delivery, err error) fakediscord.Answer {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := d.Wait(p.ctx)
	if err != nil {
		p.t.Fatalf("%v; the log:\n%s", err, p.log)
	}
	return got
}
