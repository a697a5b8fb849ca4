package slack

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// ledger is an engine as far as what comes in can tell: it takes each delivery of a person once, like the real log.
type ledger struct {
	mu       sync.Mutex
	changed  chan struct{}
	calls    []chat.Inbound // of Accept, the repeated and the refused too
	taken    []chat.Inbound
	ops      map[string]bool
	decided  []chat.Clicked // calls of Decide
	sessions map[chat.ID]turn.Session
	fail     func(chat.Inbound) error // of Accept
	refuse   func(chat.Clicked) error // of Decide
	hidden   *render.Details          // what Decide shows
	refuses  func(chat.Clicked) *decision.Refusal
	unread   error                       // of Session
	unasked  error                       // of Asking
	hold     chan struct{}               // Accept waits until it is closed
	knows    func(chat.ID) (bool, error) // nil: what was taken, or has a session
	deadline time.Time                   // of the last Accept; zero: none
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}), ops: map[string]bool{}, sessions: map[chat.ID]turn.Session{}}
}

func (l *ledger) signal() { close(l.changed); l.changed = make(chan struct{}) }

func (l *ledger) Accept(ctx context.Context, in chat.Inbound) error {
	l.mu.Lock()
	l.calls = append(l.calls, in)
	l.deadline, _ = ctx.Deadline()
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
	if op := e.User.String() + "/" + string(e.Delivery) + "/" + e.Chat.String(); !l.ops[op] {
		l.ops[op] = true
		l.taken = append(l.taken, in)
		l.signal()
	}
	return nil
}

func (l *ledger) Decide(ctx context.Context, in chat.Clicked) ([]decision.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decided = append(l.decided, in)
	l.signal()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.refuse != nil {
		return nil, l.refuse(in)
	}
	return []decision.Outcome{{Chat: in.Chat, Choice: in.Choice, By: in.User, Hidden: l.hidden}}, nil
}

func (l *ledger) Refuses(_ context.Context, in chat.Clicked) *decision.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses == nil {
		return nil
	}
	return l.refuses(in)
}

func (l *ledger) Session(_ context.Context, id chat.ID) (turn.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions[id]; ok || l.unread != nil {
		return s, l.unread
	}
	s := turn.Session{Chat: id}
	for i, in := range l.taken {
		if said, ok := in.(chat.Said); ok && said.Chat == id {
			s = turn.Apply(s, turn.Entry{Seq: uint64(i + 1), Event: turn.Said{Delivery: said.Delivery, Message: said.Message, By: said.User, Name: said.Name, Text: said.Text}}) //nolint:gosec // it counts
		}
	}
	return s, nil
}

func (l *ledger) Knows(_ context.Context, id chat.ID) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.knows != nil {
		return l.knows(id)
	}
	_, ok := l.sessions[id]
	return ok || slices.ContainsFunc(l.taken, func(in chat.Inbound) bool { return in.From().Chat == id }), nil
}

func (l *ledger) Asking(_ context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unasked != nil {
		return nil, l.unasked
	}
	var out []chat.ID
	for id, s := range l.sessions {
		if len(turn.OpenAsks(s)) > 0 && match(id) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b chat.ID) int { return inbound.CompareTimestamps(a.Key, b.Key) })
	return out, nil
}

func (l *ledger) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.signal()
}

// got is a copy of what was taken; asked, of every call.
func (l *ledger) got() []chat.Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

func (l *ledger) asked() []chat.Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// scene is a workspace, an adapter that runs in it, and a ledger behind that.
type scene struct {
	t      *testing.T
	slack  *fakeslack.Server
	clock  *fakeslack.Manual
	ledger *ledger
	a      *Adapter
	log    *lines
	ctx    context.Context
	stop   func()     // lets Run end
	ended  chan error // what Run returned
	web    *httptest.Server
	tune   func(*Adapter) // called before Run
}

const (
	overSocket = false
	overHTTP   = true
)

// Hurry has Run end without the half second in which the last acknowledgements leave, once what it returns was called.
func Hurry(a *Adapter) (over func()) {
	var is atomic.Bool
	pause := a.pause
	a.pause = func(ctx context.Context, d time.Duration) error {
		if is.Load() {
			return ctx.Err()
		}
		return pause(ctx, d)
	}
	return func() { is.Store(true) }
}

var scenes atomic.Int32 // that are there

// newScene starts everything. change may alter the configuration before.
func newScene(t *testing.T, web bool, change ...func(*scene, *Config)) *scene {
	t.Helper()
	if scenes.Add(1) == 1 { // others of the same test end before it, and one may still open its sockets while the next begins
		leaks := goleak.IgnoreCurrent()
		t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	}
	t.Cleanup(func() { scenes.Add(-1) })
	sc := &scene{t: t, clock: fakeslack.NewManual(), ledger: newLedger(), log: &lines{}, ended: make(chan error, 1)}
	sc.slack = fakeslack.New(fakeslack.Options{Team: "T1", BotUser: "UBOT", BotID: "BBOT", Clock: sc.clock, Undescribed: t.Error})
	t.Cleanup(sc.slack.Close)
	for _, u := range []fakeslack.User{{ID: "UANA", Name: "Ana"}, {ID: "UBEN", Name: "Ben"}, {ID: "UGUEST", Name: "Gus", Guest: true},
		{ID: "UEXT", Name: "Eve", Team: "T9"}, {ID: "UGONE", Name: "Old", Deleted: true}, {ID: "UOTHER", Name: "robot", Bot: true}} {
		sc.slack.AddUser(u)
	}
	for _, c := range []string{"C1", "C2"} {
		sc.slack.AddChannel(fakeslack.Channel{ID: c, Members: []string{"UBOT", "UANA", "UBEN", "UGUEST", "UEXT", "UGONE", "UOTHER"}})
	}
	c := Config{BotToken: sc.slack.BotToken(), APIURL: sc.slack.URL(), Engine: sc.ledger, Asks: sc.ledger, Logger: sc.log.logger(),
		Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}} // an idle connection looks like a leak
	if web {
		c.SigningSecret = sc.slack.SigningSecret()
	} else {
		c.AppToken = sc.slack.AppToken()
	}
	for _, f := range change {
		f(sc, &c)
	}
	var err error
	if sc.a, err = New(c); err != nil {
		t.Fatal(err)
	}
	if sc.tune != nil {
		sc.tune(sc.a)
	}
	over := Hurry(sc.a)
	var cancel context.CancelFunc
	sc.ctx, cancel = context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	run, stop := context.WithCancel(sc.ctx)
	sc.stop = stop
	go func() { sc.ended <- sc.a.Run(run) }()
	t.Cleanup(func() {
		over()
		stop()
		<-sc.ended
		sc.ended <- nil
	})
	if web {
		sc.overHTTP()
	}
	return sc
}

// overHTTP serves the adapter's handler and has Slack deliver there.
func (sc *scene) overHTTP() {
	sc.t.Helper()
	sc.web = httptest.NewServer(sc.a.Handler())
	sc.t.Cleanup(sc.web.Close)
	for probe := unreadable("probe"); !sc.a.receive(probe, func(receipt, error) {}); { // until Run is that far
		if sc.ctx.Err() != nil {
			sc.t.Fatal("Run does not take anything")
		}
	}
	if err := sc.slack.Deliver(fakeslack.Endpoints{Events: sc.web.URL + PathEvents, Interactivity: sc.web.URL + PathInteractivity, Commands: sc.web.URL + PathCommands}); err != nil {
		sc.t.Fatal(err)
	}
}

// connected waits for both sockets.
func (sc *scene) connected() *scene {
	sc.t.Helper()
	sc.until("both sockets are open", func() bool { return sc.slack.Connections() == 2 })
	return sc
}

// until waits for something in Slack or in the ledger.
func (sc *scene) until(what string, is func() bool) {
	sc.t.Helper()
	for {
		there := sc.slack.Changed()
		sc.ledger.mu.Lock()
		here := sc.ledger.changed
		sc.ledger.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-there:
		case <-here:
		case <-time.After(10 * time.Millisecond): // the log signals nothing
		case <-sc.ctx.Done():
			sc.t.Fatalf("waited in vain until %s; the log:\n%s", what, sc.log)
		}
	}
}

// reconnected waits until each socket was replaced: the old ones are gone here and there.
func (sc *scene) reconnected() {
	sc.t.Helper()
	sc.until("new sockets are open", func() bool {
		return strings.Count(sc.log.String(), "a socket is open") == 4 && sc.slack.Opened() == 4 && sc.slack.Connections() == 2
	})
}

// quiet waits until Slack has everything acknowledged.
func (sc *scene) quiet() {
	sc.t.Helper()
	for _, d := range sc.slack.Deliveries() {
		if _, err := d.Wait(sc.ctx); err != nil {
			sc.t.Fatalf("%v; the log:\n%s", err, sc.log)
		}
	}
}

func (sc *scene) dm(text string) (channel, ts string) {
	channel = sc.slack.DM("UANA")
	return channel, sc.slack.Say("UANA", channel, "", text)
}

func (sc *scene) told(user string) (all []string) {
	for _, e := range sc.slack.Ephemerals(user) {
		all = append(all, e.Text)
	}
	return all
}

// only is the one thing that was taken.
func only[T chat.Inbound](sc *scene) T {
	sc.t.Helper()
	got := sc.ledger.got()
	one, ok := got[0].(T)
	if len(got) != 1 || !ok {
		sc.t.Fatalf("taken: %#v", got)
	}
	return one
}

var (
	errDown = errors.New("redis is down")
	ana     = chat.User{Platform: Platform, Workspace: "T1", Key: "UANA"}
)

// asks is a session of a chat with calls that wait for an answer.
func (sc *scene) asks(p blocks.Place, requester chat.User, tokens ...string) chat.ID {
	id := p.Chat()
	s := turn.Session{Chat: id, Turn: &turn.Turn{ID: turn.TurnID("turn-" + p.Thread), Requester: requester, Shown: chat.MessageRef(p.Thread)}}
	for _, tok := range tokens {
		c := turn.ToolCall{ID: turn.CallID("call-" + tok), Asking: turn.Asking{Ask: turn.AskID(tok), Asks: []turn.AskID{turn.AskID(tok)}}, Status: turn.Awaiting, Args: []byte(`{"path":"notes.txt"}`)}
		c.Tool.Server, c.Tool.Name = "files", "write_file"
		s.Turn.Calls = append(s.Turn.Calls, c)
	}
	sc.ledger.set(func() { sc.ledger.sessions[id] = s })
	return id
}
