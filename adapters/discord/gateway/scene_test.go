package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/backoff"
)

// The gateway of these tests has every frame under control. All of it runs in a bubble with a clock of its own
// (testing/synctest) over connections in memory, so nothing waits, and a goroutine that is left fails the test.

const theToken = "MTE1NDk4NzQ1Mzk4NzU2MzU0.GqXyZ1.this-is-not-a-real-token-of-anybody0"

const someInterval = 41250 // ms

// world is what the adapter reaches.
type world struct {
	t       *testing.T
	conns   chan net.Conn // to the server
	mu      sync.Mutex
	script  []func(*peer) // of each connection; those after it behave
	peers   []*peer
	starts  Starts
	asked   int // gateway/bot
	fail    int // HTTP status of gateway/bot; 0: it answers
	noDial  map[string]bool
	hang    map[string]bool                  // a dial does not end by itself
	late    bool                             // and then with a connection
	cut     func(n int, c net.Conn) net.Conn // what a connection becomes, for the client
	dialled []string
	logs    bytes.Buffer
	server  *http.Server
	net     *http.Transport
}

func newWorld(t *testing.T, script ...func(*peer)) *world {
	w := &world{t: t, conns: make(chan net.Conn), script: script, noDial: map[string]bool{}, hang: map[string]bool{}}
	w.starts.URL, w.starts.Shards = "ws://gateway.test", 1
	w.starts.Limit.Total, w.starts.Limit.Remaining, w.starts.Limit.Concurrency = 1000, 1000, 1
	w.net = &http.Transport{DialContext: w.dial, DialTLSContext: w.dial, DisableKeepAlives: true}
	mux := http.NewServeMux()
	mux.HandleFunc("/", w.serve)
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Hour}
	served := make(chan struct{})
	go func() { defer close(served); _ = w.server.Serve(w) }()
	t.Cleanup(func() {
		for _, p := range w.all() {
			p.drop()
		}
		_ = w.server.Close()
		<-served
		synctest.Wait()
	})
	return w
}

func (w *world) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	refused, hangs, n, wrap := w.noDial[addr], w.hang[addr], len(w.peers), w.cut
	w.dialled = append(w.dialled, addr)
	w.mu.Unlock()
	if refused {
		return nil, errors.New("connection refused")
	}
	if hangs {
		<-ctx.Done()
		if !w.late {
			return nil, ctx.Err()
		}
		ctx = context.WithoutCancel(ctx)
	}
	here, there := net.Pipe()
	select {
	case w.conns <- there:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if wrap != nil && strings.Contains(addr, "test") {
		here = wrap(n, here)
	}
	return here, nil
}

// world is a listener.
func (w *world) Accept() (net.Conn, error) {
	c, ok := <-w.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (w *world) Close() error {
	defer func() { _ = recover() }() // twice
	close(w.conns)
	return nil
}
func (w *world) Addr() net.Addr { return &net.TCPAddr{} }

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/gateway/bot") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked++
		if r.Header.Get("Authorization") != "Bot "+theToken {
			w.t.Errorf("gateway/bot with %q", r.Header.Get("Authorization"))
		}
		if w.fail != 0 {
			rw.WriteHeader(w.fail)
			return
		}
		_ = json.NewEncoder(rw).Encode(w.starts)
		return
	}
	if r.Header.Get("Upgrade") == "" {
		w.t.Errorf("asked for %s", r.URL)
		return
	}
	up := websocket.Upgrader{}
	p := &peer{w: w, url: r.Host + r.URL.String(), got: make(chan packet, 100), gone: make(chan struct{}), write: make(chan struct{}, 1)}
	w.mu.Lock()
	p.n = len(w.peers)
	w.peers = append(w.peers, p)
	script := behave
	if p.n < len(w.script) && w.script[p.n] != nil {
		script = w.script[p.n]
	}
	w.mu.Unlock()
	c, err := up.Upgrade(rw, r, nil)
	if err != nil {
		if !w.late { // who dialled may have hung up at once
			w.t.Error(err)
		}
		return
	}
	p.Conn = c
	go p.pump()
	script(p)
	<-p.gone
}

func (w *world) all() []*peer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*peer(nil), w.peers...)
}

// count is how many packets of a kind came over all connections.
func (w *world) count(op int) (n int) {
	for _, p := range w.all() {
		for _, x := range p.packets() {
			if x.Op == op {
				n++
			}
		}
	}
	return n
}

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.Write(b)
}

func (w *world) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.String()
}

// packet is a packet of the gateway.
type packet struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
	At   time.Time       `json:"-"`
}

// peer is one connection, as the gateway has it.
type peer struct {
	*websocket.Conn
	w    *world
	n    int
	url  string
	got  chan packet   // but for heartbeats
	gone chan struct{} // closed when the connection is
	code int           // of the close frame that came

	write chan struct{} // a lock that a bubble's clock does not wait for
	mu    sync.Mutex
	deaf  bool // heartbeats are not acknowledged
	all   []packet
}

func (p *peer) pump() {
	defer close(p.gone)
	defer p.Close()
	for {
		_, raw, err := p.ReadMessage()
		if err != nil {
			closed := new(websocket.CloseError)
			if errors.As(err, &closed) {
				p.mu.Lock()
				p.code = closed.Code
				p.mu.Unlock()
			}
			return
		}
		var x packet
		if err := json.Unmarshal(raw, &x); err != nil {
			p.w.t.Errorf("not JSON: %s", raw)
		}
		x.At = time.Now()
		p.mu.Lock()
		p.all = append(p.all, x)
		deaf := p.deaf
		p.mu.Unlock()
		switch {
		case x.Op != opHeartbeat:
			p.got <- x
		case !deaf:
			go p.send(`{"op":11}`) // who writes waits until the other end reads
		}
	}
}

func (p *peer) packets() []packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]packet(nil), p.all...)
}

func (p *peer) closeCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

func (p *peer) setDeaf() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
}

func (p *peer) send(raw string) { p.sendAs(websocket.TextMessage, []byte(raw)) }

func (p *peer) sendAs(kind int, raw []byte) {
	p.write <- struct{}{}
	defer func() { <-p.write }()
	_ = p.WriteMessage(kind, raw)
}

func (p *peer) hello() { p.send(fmt.Sprintf(`{"op":10,"d":{"heartbeat_interval":%d}}`, someInterval)) }

// next is the next packet that is no heartbeat; ok is false when the connection ends first.
func (p *peer) next() (x packet, ok bool) {
	select {
	case x = <-p.got:
		return x, true
	case <-p.gone:
		return packet{}, false
	}
}

func (p *peer) dispatch(seq int64, kind, data string) {
	p.send(fmt.Sprintf(`{"t":%q,"s":%d,"op":0,"d":%s}`, kind, seq, data))
}

func (p *peer) ready() {
	p.dispatch(1, "READY", fmt.Sprintf(`{"v":10,"session_id":"session-%d","resume_gateway_url":"ws://resume-%d.test","user":{"id":"1"},"guilds":[]}`, p.n, p.n))
}

// closeWith closes with a code, as Discord does.
func (p *peer) closeWith(code int) {
	p.write <- struct{}{}
	defer func() { <-p.write }()
	_ = p.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, "because"))
}

func (p *peer) drop() {
	if p.Conn != nil {
		_ = p.NetConn().Close()
	}
}

// open goes up to READY or RESUMED.
func (p *peer) open() {
	p.hello()
	switch x, _ := p.next(); x.Op {
	case opIdentify:
		p.ready()
	case opResume:
		p.dispatch(100, "RESUMED", `{}`)
	}
}

// behave is a connection without trouble.
func behave(p *peer) { p.open() }

// ledger is what the gateway's listener was told.
type ledger struct {
	mu     sync.Mutex
	events []string // kind and, unless it is the gateway's own, data
	up     []bool   // resumed
	on     func(kind string)
	fresh  chan struct{} // full: something new
}

func (l *ledger) event(kind string, raw json.RawMessage) {
	l.mu.Lock()
	said := kind
	if kind != "READY" && kind != "RESUMED" {
		said += " " + string(raw)
	}
	l.events = append(l.events, said)
	on := l.on
	l.mu.Unlock()
	defer l.news()
	if on != nil {
		on(kind)
	}
}

func (l *ledger) connected(_ int, resumed bool) {
	l.mu.Lock()
	l.up = append(l.up, resumed)
	l.mu.Unlock()
	l.news()
}

func (l *ledger) news() {
	select {
	case l.fresh <- struct{}{}:
	default:
	}
}

func (l *ledger) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.events...)
}

// began and resumed are how often.
func (l *ledger) times() (began, resumed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.up {
		if r {
			resumed++
		} else {
			began++
		}
	}
	return began, resumed
}

// bot is an adapter whose connections run.
type bot struct {
	*Gateway
	*ledger
	w    *world
	stop context.CancelFunc
	done chan struct{}
	err  error
}

func (w *world) bot(change ...func(*Config)) *bot {
	w.t.Helper()
	b := &bot{ledger: &ledger{}, w: w, done: make(chan struct{})}
	c := Config{
		Token: theToken, Client: &http.Client{Transport: w.net}, Shards: 1, Owner: "this one", Lease: 15 * time.Second, OpenWithin: 30 * time.Second, SilentWithin: 90 * time.Second,
		Logger: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now, Pause: backoff.Wait,
		Event: b.event, Connected: b.connected,
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if c.Rest, err = rest.New(rest.Config{Token: c.Token, Client: c.Client, Budget: c.Budget, Logger: c.Logger, Now: c.Now, Pause: c.Pause}); err != nil {
		w.t.Fatal(err)
	}
	c.Rest.Introduce("77")
	b.Gateway = New(c)
	return b
}

// start runs it until the test ends.
func (b *bot) start() *bot {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	go func() {
		defer close(b.done)
		b.err = b.Run(ctx, "77")
	}()
	b.w.t.Cleanup(func() {
		cancel()
		<-b.done
		synctest.Wait()
		if strings.Contains(b.w.log(), theToken) || strings.Contains(b.w.log(), "session-") {
			b.w.t.Errorf("a secret in the log:\n%s", b.w.log())
		}
	})
	return b
}

// for lets so much time go by.
func (b *bot) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble runs a test in a bubble, whose end is after everything that the test cleans up.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

var _ io.Writer = (*world)(nil)
