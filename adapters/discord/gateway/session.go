package gateway

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
)

// Opcodes of the gateway. https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

const (
	writeWithin = 10 * time.Second // for one packet to leave: behind a connection that is half open, it never does
	lastWords   = time.Second      // for a code of Discord's to come where nothing can be sent any more, and for it to close after a goodbye
	letGo       = 10 * time.Second // for an event to be handled whose connection has ended. What takes longer never ends
	maxBeat     = time.Hour        // between two heartbeats. Discord says 41.25 s
	maxPacket   = 32 << 20         // bytes: a large server with all its channels and threads has some MB
)

// closeReason is why a connection ended.
type closeReason struct {
	say     string // for the log
	code    int    // of Discord's close frame; 1005 or 1006 where it said nothing, 0: where it closed nothing
	soon    bool   // Discord asks for another connection (op 7)
	invalid bool   // Discord calls the session invalid (op 9)
	fresh   bool   // the session is over: no RESUME
}

// saysNothing is why a connection ended that never began.
const saysNothing = "the gateway did not say READY in time"

// session is one session of the gateway from its IDENTIFY on, over as many connections as it takes. A connection that is to be resumed is
// left without a close frame: 1000 or 1001 would end the session. It is used by one goroutine. What the reader of a connection writes is
// read when that has ended; where it does not end, because an event is handled for ever, the session is left alone.
type session struct {
	g          *Gateway
	sh         *shard
	content    bool   // the intent for it was asked for
	id         string // as READY says; empty: it has not begun
	generic    string // where a session begins
	target     string // where the next connection goes: a session is resumed where READY says
	seq        atomic.Int64
	conn       *connection // the newest; nil: it could not be opened
	stuck      bool        // an event is handled for ever
	invalids   int         // how often in a row Discord called the session invalid, and said that it can be resumed
	unanswered int         // how many RESUMEs in a row ended without RESUMED
}

// begin makes a session that has not begun. There is one IDENTIFY for it.
func (g *Gateway) begin(sh *shard, gateway string) *session {
	return &session{g: g, sh: sh, content: !g.refused.Load(), generic: gateway, target: gateway}
}

// connection is one connection to the gateway. One goroutine writes to it, that of session.run; another reads.
type connection struct {
	*websocket.Conn
	l        *session
	after    string // why the one before it ended
	resuming bool   // a RESUME left

	hello chan time.Duration // HELLO came, with the interval of heartbeats
	asked chan struct{}      // Discord asks for a heartbeat
	acked atomic.Bool        // the last heartbeat was acknowledged
	over  atomic.Bool        // what comes does not count any more
	ready chan struct{}      // closed: READY or RESUMED is handled
	since time.Time          // of that
	ended chan struct{}      // closed: nothing is read or handled any more
	why   closeReason
}

// command is a packet that is sent.
type command struct {
	Op   int `json:"op"`
	Data any `json:"d"`
}

// opening is the first packet of a connection: RESUME where the session has begun, or else IDENTIFY.
func (l *session) opening() command {
	token := "Bot " + l.g.Token
	if l.id != "" {
		return command{opResume, struct {
			Token string `json:"token"`
			ID    string `json:"session_id"`
			Seq   int64  `json:"seq"`
		}{token, l.id, l.seq.Load()}}
	}
	id := discordgo.Identify{Token: token, Intents: intentsNeeded, Properties: discordgo.IdentifyProperties{OS: runtime.GOOS, Browser: "nod", Device: "nod"},
		LargeThreshold: 50} // the least: nobody's members are needed. https://discord.com/developers/docs/events/gateway-events#identify
	if l.content {
		id.Intents |= discordgo.IntentMessageContent
	}
	if l.sh.of > 1 {
		id.Shard = &[2]int{l.sh.id, l.sh.of}
	}
	return command{opIdentify, id}
}

// run opens a connection, and returns why it ended. When ctx ends first the connection stands, for end to close.
func (l *session) run(ctx context.Context, after string) closeReason {
	within, cancel := context.WithTimeout(ctx, l.g.OpenWithin)
	defer cancel()
	ws, err := l.g.dial(within, strings.TrimSuffix(l.target, "/")+"/?v="+rest.APIVersion+"&encoding=json")
	if err != nil {
		l.conn, l.target = nil, l.generic // where a session is resumed may be gone
		return closeReason{say: rest.Scrub(err.Error())}
	}
	c := &connection{Conn: ws, l: l, after: after, hello: make(chan time.Duration, 1), asked: make(chan struct{}, 1), ready: make(chan struct{}), ended: make(chan struct{})}
	l.conn = c
	c.acked.Store(true)
	opening, ready, late := l.opening(), c.ready, within.Done()
	go c.read()
	var each time.Duration
	var beat <-chan time.Time
	for err == nil {
		select {
		case <-ctx.Done():
			return closeReason{}
		case <-c.ended:
			return l.hangUp("")
		case <-late:
			if ctx.Err() == nil {
				return l.hangUp(saysNothing)
			}
		case <-ready:
			ready, late = nil, nil
		case each = <-c.hello:
			beat = time.After(rand.N(each)) //nolint:gosec // no secret
			if c.resuming = opening.Op == opResume; !c.resuming {
				l.sh.paid.Store(false)
			}
			err = c.send(opening)
		case <-c.asked:
			err = c.beat()
		case <-beat:
			// "the client should immediately terminate the connection [...] and attempt to Resume"
			// https://discord.com/developers/docs/events/gateway#heartbeat-interval-example-heartbeat-ack
			if !c.acked.Swap(false) {
				return l.hangUp("a heartbeat was not acknowledged")
			}
			beat = time.After(each)
			err = c.beat()
		}
	}
	c.endsWithin(lastWords)
	return l.hangUp("the connection broke")
}

func (c *connection) send(p command) error {
	_ = c.SetWriteDeadline(time.Now().Add(writeWithin))
	return c.WriteJSON(p)
}

func (c *connection) beat() error {
	p := command{Op: opHeartbeat}
	if seq := c.l.seq.Load(); seq > 0 {
		p.Data = seq
	}
	return c.send(p)
}

func (c *connection) endsWithin(d time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// hangUp closes the newest connection, and returns why it ended: what its reader says of that, or else say.
func (l *session) hangUp(say string) closeReason {
	c := l.conn
	select {
	case <-c.ended:
	default:
		c.over.Store(true)
	}
	_ = c.Close()
	if l.stuck = !c.endsWithin(letGo); l.stuck {
		return closeReason{say: say}
	}
	if c.stood() == 0 {
		l.target = l.generic // where a session is resumed may be gone
	}
	if c.why.say == "" {
		return closeReason{say: say}
	}
	return c.why
}

// end ends the session for good, with the close frame that says so: Discord need not keep it. When it returns no event is being handled,
// and none will be.
func (l *session) end() {
	if l == nil || l.conn == nil || l.stuck {
		return
	}
	_ = l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(lastWords))
	l.conn.endsWithin(lastWords)
	l.hangUp("it is over")
}

// resumes reports whether the session can go on after its newest connection ended so.
func (l *session) resumes(c closeReason) bool {
	if l.stuck {
		return false
	}
	stood := l.conn.stood() > 0
	if stood {
		l.invalids, l.unanswered = 0, 0
	}
	if c.invalid {
		l.invalids++
	} else if l.conn != nil && l.conn.resuming && !stood && !c.soon { // else nothing was asked, or op 7 was the answer
		l.unanswered++
	}
	return l.id != "" && !c.fresh && l.invalids <= maxAgain && l.unanswered < maxUnanswered
}

// stood is for how long it has been ready; 0: it never was.
func (c *connection) stood() time.Duration {
	if c == nil {
		return 0
	}
	select {
	case <-c.ready:
		return max(time.Since(c.since), 1)
	default:
		return 0
	}
}

// read takes what comes until the connection ends.
func (c *connection) read() {
	defer close(c.ended)
	greeted := false
	for c.why.say == "" {
		_ = c.SetReadDeadline(time.Now().Add(c.l.g.SilentWithin))
		kind, raw, err := c.ReadMessage()
		if c.over.Load() {
			return
		}
		if err != nil {
			c.why = c.brokenBy(err)
			return
		}
		c.l.sh.heard.Store(time.Now().UnixNano())
		var e discordgo.Event
		if json.Unmarshal(inflated(kind, raw), &e) != nil {
			continue
		}
		switch e.Operation {
		case opDispatch:
			if e.Type != "" {
				c.event(&e)
			}
		case opHeartbeat:
			offer(c.asked, struct{}{})
		case opReconnect:
			c.why = closeReason{say: "Discord asks for another connection (op 7)", soon: true}
		case opInvalid:
			again := string(e.RawData) == "true"
			c.why = closeReason{say: fmt.Sprintf("Discord calls the session invalid (op 9 %t)", again), invalid: true, fresh: !again}
		case opHello:
			var h struct {
				Interval int64 `json:"heartbeat_interval"` // ms
			}
			if json.Unmarshal(e.RawData, &h) != nil || h.Interval <= 0 || h.Interval > maxBeat.Milliseconds() {
				c.why = closeReason{say: "a HELLO without a heartbeat interval"}
			} else if !greeted {
				offer(c.hello, time.Duration(h.Interval)*time.Millisecond)
				greeted = true
			}
		case opAck:
			c.acked.Store(true)
		}
	}
}

// offer puts v where nothing waits yet.
func offer[T any](to chan T, v T) {
	select {
	case to <- v:
	default:
	}
}

// inflated is what a message carries, also where it is compressed although nobody asked for that.
func inflated(kind int, raw []byte) []byte {
	if kind != websocket.BinaryMessage {
		return raw
	}
	z, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, maxPacket))
	return out
}

// brokenBy is why nothing comes any more.
func (c *connection) brokenBy(err error) closeReason {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	late, isNet := errors.AsType[net.Error](err)
	switch {
	case ok:
		return closeReason{say: fmt.Sprintf("Discord closed the connection with %d", closed.Code), code: closed.Code,
			fresh: closed.Code == closeBadSequence || closed.Code == closeTimedOut}
	case isNet && late.Timeout():
		return closeReason{say: "nothing came for " + c.l.g.SilentWithin.String()}
	}
	return closeReason{say: "the connection broke"}
}

// event hands on one event.
func (c *connection) event(e *discordgo.Event) {
	l := c.l
	if e.Sequence > 0 {
		l.seq.Store(e.Sequence)
	}
	resumed := e.Type == "RESUMED"
	connected := resumed || e.Type == "READY"
	first := connected && c.stood() == 0
	if connected {
		c.connected(e.RawData, resumed, first)
	}
	l.guard(e.Type, func() { l.g.Event(e.Type, e.RawData) })
	if connected && !c.over.Load() {
		l.guard(e.Type, func() { l.g.Connected(l.sh.id, resumed) })
	}
	if first {
		close(c.ready)
	}
}

// connected notes READY or RESUMED.
func (c *connection) connected(raw json.RawMessage, resumed, first bool) {
	l := c.l
	l.sh.down.Store(0)
	if !resumed {
		var r struct {
			ID  string `json:"session_id"`
			URL string `json:"resume_gateway_url"`
		}
		_ = json.Unmarshal(raw, &r)
		l.id, l.target = r.ID, resumeAt(r.URL, l.generic)
	}
	if first {
		c.since = time.Now()
		l.g.Logger.Info("discord: connected to the gateway", "shard", l.sh.id, "of", l.sh.of, "resumed", resumed, "after", c.after)
	}
}

// guard keeps a panic from ending the process.
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

// resumeAt is the address that READY gives, where it is one of the same kind.
func resumeAt(address, generic string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !strings.HasPrefix(generic, u.Scheme+"://") || u.User != nil {
		return generic
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// dial opens a connection as the client does that the gateway was given, so that a proxy or roots of one's own are used here as well.
func (g *Gateway) dial(ctx context.Context, address string) (ws *websocket.Conn, err error) {
	via := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if g.Client != nil {
		if t, ok := g.Client.Transport.(*http.Transport); ok {
			via = t
		}
	}
	connect := via.DialContext
	if connect == nil {
		connect = (&net.Dialer{Timeout: surface.DialTimeout, KeepAlive: surface.DialTimeout}).DialContext
	}
	keep := func() bool { return true }
	d := websocket.Dialer{TLSClientConfig: via.TLSClientConfig.Clone(), NetDialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
		c, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		keep = context.AfterFunc(ctx, func() { _ = c.Close() }) // gorilla asks ctx for its deadline only
		return c, nil
	}}
	if d.TLSClientConfig != nil {
		d.TLSClientConfig.NextProtos = nil // websockets are HTTP/1.1
	}
	if via.Proxy != nil {
		d.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := via.Proxy(r)
			if err != nil {
				err = errors.New("the address of the proxy (HTTPS_PROXY, HTTP_PROXY) is none") // not which: a password may be in it
			}
			return u, err
		}
	}
	defer func() {
		if r := recover(); r != nil { // gorilla's, of a proxy that answers with a bare number
			err = errors.New("the gateway could not be dialled: " + harmlessPanic(r))
		}
	}()
	ws, answer, err := d.DialContext(ctx, address, nil) //nolint:bodyclose // gorilla leaves nothing to close
	switch {
	case answer != nil && err != nil:
		return nil, fmt.Errorf("the gateway answers %q instead of a websocket", answer.Status)
	case err != nil:
		return nil, err
	case !keep():
		_ = ws.Close()
		return nil, ctx.Err()
	}
	ws.SetReadLimit(maxPacket)
	ws.SetCloseHandler(func(int, string) error { return nil }) // no answer: 1000 would end what can be resumed
	return ws, nil
}
