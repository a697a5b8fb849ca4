package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/adapters/discord/rest"
)

// letGo is how long discordgo gets to do what takes it a second (its Close) or nothing at all. What takes longer never ends.
const letGo = 10 * time.Second

var (
	// errElsewhere: discordgo dialled the address that it remembers, and was to ask for another.
	errElsewhere = errors.New("discord: the gateway is elsewhere now")
	errPanicked  = errors.New("discord: discordgo panicked")
)

// saysNothing is why a connection ended that never began.
const saysNothing = "the gateway did not say READY in time"

// session is one session of the gateway from its IDENTIFY on, over as many connections as it takes: one discordgo.Session, which keeps
// what a RESUME needs to itself. It begins with a ticket for one IDENTIFY. It is used by one goroutine, and by discordgo's reader.
//
// discordgo is asked for nothing but Open, again after every connection, and Close at the very end: a Session whose Open or Close
// does not return holds a lock for ever, and is left alone with its network connection closed.
type session struct {
	g       *Gateway
	sh      *shard
	s       *discordgo.Session
	content bool // the intent for it was asked for
	after   string

	ticket     atomic.Bool   // one IDENTIFY may leave
	ended      atomic.Bool   // no event counts any more
	stuck      bool          // discordgo hangs in it
	invalids   int           // how often in a row Discord called the session invalid, and said that it can be resumed
	unanswered int           // how many RESUMEs in a row ended without RESUMED
	down       chan struct{} // discordgo has closed a connection
	handling   chan struct{} // full: an event is being handled
	seq        atomic.Int64

	mu      sync.Mutex
	attempt context.Context // of this connection: it ends a dial
	giveUp  context.CancelFunc
	conn    *wire         // the newest
	ready   chan struct{} // closed with READY or RESUMED of this connection
	since   time.Time     // of that; zero: it has not come
	begun   bool          // READY has come
	generic string        // where a session begins
	target  string        // where the next connection goes: a session is resumed where READY says
	given   string        // where discordgo was told to go
}

// begin makes a session that has not begun.
func (g *Gateway) begin(sh *shard, gateway string) *session {
	l := &session{g: g, sh: sh, content: !g.refused.Load(),
		down: make(chan struct{}, 1), handling: make(chan struct{}, 1), generic: gateway, target: gateway,
	}
	l.ticket.Store(true)
	l.s = rest.NewSession(g.Token, &http.Client{Transport: l})
	l.s.Identify.Intents = intentsNeeded
	if l.content {
		l.s.Identify.Intents |= discordgo.IntentMessageContent
	}
	l.s.ShardID, l.s.ShardCount = sh.id, sh.of
	l.s.Dialer = &websocket.Dialer{
		HandshakeTimeout:  g.OpenWithin,
		NetDialContext:    func(ctx context.Context, _, addr string) (net.Conn, error) { return l.dial(ctx, addr, false) },
		NetDialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return l.dial(ctx, addr, true) },
	}
	l.s.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { l.event(e) })
	l.s.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) {
		select {
		case l.down <- struct{}{}:
		default:
		}
	})
	return l
}

// run opens a connection, and returns why it ended. When ctx ends first the connection stands, for end to close.
func (l *session) run(ctx context.Context, after string) closeReason {
	l.after = after
	attempt, giveUp := context.WithCancel(context.WithoutCancel(ctx)) // not ctx's: end closes in good order
	defer giveUp()
	ready := make(chan struct{})
	l.mu.Lock()
	l.attempt, l.giveUp, l.conn, l.ready, l.since = attempt, giveUp, nil, ready, time.Time{}
	l.mu.Unlock()
	late := time.NewTimer(l.g.OpenWithin)
	defer late.Stop()
	err := l.try(ctx, late.C)
	if errors.Is(err, errElsewhere) { // now discordgo asks where
		err = l.try(ctx, late.C)
	}
	if err != nil {
		l.hangUp(closedByLibrary) // it is, unless it panicked
		return l.reasonAfter(err)
	}
	conn := l.newest()
	select {
	case <-ready:
	case <-conn.done:
	case <-ctx.Done():
		return closeReason{}
	case <-late.C:
		conn.hangUp(saysNothing)
	}
	select {
	case <-ctx.Done():
		return closeReason{}
	case <-conn.done:
	}
	// The connection has ended; discordgo says when it is done with it.
	stuck := time.NewTimer(letGo)
	defer stuck.Stop()
	select {
	case <-l.down:
	case <-stuck.C:
		conn.hangUp("")
		l.stuck = true
	}
	return l.reasonAfter(nil)
}

// try calls Open once, and hangs up where it takes too long.
func (l *session) try(ctx context.Context, late <-chan time.Time) error {
	opened := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				opened <- fmt.Errorf("%w: %s", errPanicked, harmlessPanic(r))
			}
		}()
		opened <- l.s.Open()
	}()
	select {
	case err := <-opened:
		l.stuck = errors.Is(err, errPanicked) || errors.Is(err, discordgo.ErrWSAlreadyOpen)
		return err
	case <-late:
		l.hangUp(saysNothing)
	case <-ctx.Done():
		if l.stood() == 0 { // else Open is about to return, and end says goodbye to Discord
			l.hangUp("stopped")
		}
	}
	stuck := time.NewTimer(letGo)
	defer stuck.Stop()
	select {
	case err := <-opened:
		return err
	case <-stuck.C:
		l.stuck = true
		return errors.New("discordgo does not return from Open; leaving it alone")
	}
}

func (l *session) newest() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// hangUp closes the network connection, and keeps discordgo from making another.
func (l *session) hangUp(say string) {
	l.mu.Lock()
	giveUp, conn := l.giveUp, l.conn
	l.mu.Unlock()
	if giveUp != nil {
		giveUp()
	}
	if conn != nil {
		conn.hangUp(say)
	}
}

// end ends the session for good, with the close frame that says so: Discord need not keep it. When it returns no event is being handled,
// and none will be.
func (l *session) end() {
	if l == nil {
		return
	}
	stuck := time.NewTimer(letGo)
	defer stuck.Stop()
	if conn := l.newest(); conn != nil && !l.stuck && conn.reason.Load() == nil {
		conn.ending.Store(true)
		closed := make(chan struct{})
		go func() { defer close(closed); _ = l.s.Close() }()
		select {
		case <-closed:
		case <-stuck.C:
		}
	}
	l.hangUp("it is over")
	l.ended.Store(true)
	select {
	case l.handling <- struct{}{}:
		<-l.handling
	case <-stuck.C:
	}
}

// reasonAfter is why the newest connection ended, or err where there is nothing better to say.
func (l *session) reasonAfter(err error) closeReason {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.target = l.generic // where a session is resumed may be gone
	}
	var c closeReason
	if l.conn != nil {
		c = *l.conn.reason.Load()
	}
	if c.say == "" || c.say == closedByLibrary && err != nil {
		c.say = "no connection could be opened"
		if err != nil {
			c.say = rest.Scrub(err.Error())
		}
	}
	return c
}

// resumes reports whether the session can go on after a connection ended so.
func (l *session) resumes(c closeReason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.invalid {
		l.invalids++
	} else if l.begun && l.since.IsZero() && l.conn != nil && l.conn.resumed.Load() && !c.soon { // else nothing was asked, or op 7 was the answer
		l.unanswered++
	}
	return l.begun && !c.fresh && !l.stuck && l.invalids <= maxAgain && l.unanswered < maxUnanswered
}

// stood is for how long the newest connection was ready; 0: it never was.
func (l *session) stood() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return max(time.Since(l.since), 1)
}

// RoundTrip answers discordgo's question for the gateway's address: with what gateway/bot said or, where a session is to be resumed, with
// what READY said, which v0.29.0 does not look at. https://discord.com/developers/docs/events/gateway#initiating-a-resume
func (l *session) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if !strings.HasSuffix(r.URL.Path, "/gateway") {
		return nil, errors.New("discord: the session of the gateway makes no other request")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given = l.target
	body, err := json.Marshal(map[string]string{"url": l.given})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// dial opens the network connection.
func (l *session) dial(ctx context.Context, addr string, secure bool) (net.Conn, error) {
	l.mu.Lock()
	attempt, moved := l.attempt, l.given != l.target
	l.mu.Unlock()
	if moved {
		return nil, errElsewhere // discordgo forgets the address with that
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(attempt, cancel)()
	c, err := dialerOf(l.g.Client).connect(ctx, addr, secure)
	if err != nil {
		return nil, err
	}
	w := newWire(c, l.g.SilentWithin)
	w.seq = l.seq.Load
	w.heard = func() { l.sh.heard.Store(time.Now().UnixNano()) }
	w.ticket = func() bool {
		l.sh.paid.Store(false)
		return l.ticket.Swap(false)
	}
	l.mu.Lock()
	l.conn = w
	l.mu.Unlock()
	if err := attempt.Err(); err != nil {
		w.hangUp(saysNothing)
		return nil, err
	}
	return w, nil
}

// event hands on one event. It runs in discordgo's reader, which waits for it.
func (l *session) event(e *discordgo.Event) {
	l.handling <- struct{}{}
	defer func() { <-l.handling }()
	if l.ended.Load() {
		return
	}
	l.seq.Store(e.Sequence)
	fresh, resumed := e.Type == "READY", e.Type == "RESUMED"
	if fresh || resumed {
		l.connected(e.RawData, resumed)
	}
	l.guard(e.Type, func() { l.g.Event(e.Type, e.RawData) })
	if fresh || resumed {
		l.guard(e.Type, func() { l.g.Connected(l.sh.id, resumed) })
	}
}

// guard keeps a panic from ending the process: discordgo recovers none.
func (l *session) guard(event string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			l.g.Logger.Error("discord: an event was not handled: a panic", "shard", l.sh.id, "event", event, "panic", harmlessPanic(r), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// harmlessPanic is what may be said of a panic: its value may hold anything.
func harmlessPanic(r any) string {
	if err, ok := r.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", r)
}

// connected notes READY or RESUMED.
func (l *session) connected(raw json.RawMessage, resumed bool) {
	var r struct {
		URL string `json:"resume_gateway_url"`
	}
	_ = json.Unmarshal(raw, &r)
	l.mu.Lock()
	first := l.since.IsZero()
	if first {
		l.since = time.Now()
		close(l.ready)
	}
	l.sh.down.Store(0)
	if l.begun, l.invalids, l.unanswered = true, 0, 0; !resumed {
		l.target = resumeAt(r.URL, l.generic)
	}
	l.mu.Unlock()
	if first {
		l.g.Logger.Info("discord: connected to the gateway", "shard", l.sh.id, "of", l.sh.of, "resumed", resumed, "after", l.after)
	}
}

// resumeAt is the address that READY gives, where it is one of the same kind.
func resumeAt(address, generic string) string {
	u, err := url.Parse(address)
	g, err2 := url.Parse(generic)
	if err != nil || err2 != nil || u.Host == "" || u.Scheme != g.Scheme || u.User != nil {
		return generic
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
