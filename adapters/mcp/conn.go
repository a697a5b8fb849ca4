package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// conn is one connection to a server, initialized. It is never mended: what is lost is closed, and a new one is made.
type conn struct {
	client *client.Client
	kind   string
	wire   *wire
	child  *child.Child    // stdio
	http   *http.Transport // http, sse
	said   mcp.InitializeResult

	session func() string // of streamable HTTP; empty: the server gave none
	owner   *chat.ID      // whose calls run on it, where the server keeps things by session; guarded by the server's lock

	life  context.Context // of the connection, not of the handshake: mcp-go ends what is under it
	end   context.CancelFunc
	tasks sync.WaitGroup // goroutines of ours that live as long as it
	calls sync.WaitGroup // tool calls under way
	grace time.Duration

	gone context.Context // ends when it is lost, with the first cause
	lose context.CancelCauseFunc

	changed  chan struct{} // the server says its tools changed; holds one
	announce atomic.Uint64 // how often it said so
	read     atomic.Uint64 // announce, as it was before the list in force was read

	log     *slog.Logger
	clean   func(string) string
	elicits bool        // what the server asks for can reach us
	modern  atomic.Bool // it speaks a version in which servers ask in their answers only

	mu        sync.Mutex
	tokens    int                           // progress tokens given so far
	runs      map[string]*run               // the calls under way, by progress token
	abandoned time.Time                     // when a call was last given up that may still run
	withdraw  map[string]context.CancelFunc // ends the wait for a request of the server's, by its id
}

// errLegacyServer says that the server must be asked again with an older version of the protocol.
var errLegacyServer = errors.New("the server speaks an older protocol")

// dial connects. ctx bounds the attempt, not the connection.
func (s *server) dial(ctx context.Context) (*conn, error) {
	kind := s.cfg.kind()
	legacy := s.legacy.Load() || kind == kindSSE
	c, err := s.open(ctx, kind, legacy)
	// Many programs from before server/discover end at it, which looks like any start that failed.
	if errors.Is(err, errLegacyServer) || err != nil && kind == kindStdio && !legacy && ctx.Err() == nil { // a program that fails is not started twice at once
		s.legacy.Store(true)
		c, err = s.open(ctx, kind, true)
	}
	if err == nil {
		return c, nil
	}
	s.legacy.Store(false) // the next attempt probes afresh: the server may be another by then
	if s.cfg.Transport == "" && errors.Is(err, transport.ErrLegacySSEServer) {
		if c, sseErr := s.open(ctx, kindSSE, true); sseErr == nil {
			return c, nil
		}
	}
	return nil, err
}

// open makes one conn. legacy pins the last version of the protocol that has an initialize handshake. mcp-go's own negotiation settles on
// 2026-07-28 with servers that know server/discover but do not list that version; then every request fails. And over HTTP an older server's
// notifications arrive only on a stream that must be asked for beforehand, which rules out the newer version. Either way: again.
func (s *server) open(ctx context.Context, kind string, legacy bool) (_ *conn, err error) {
	c := &conn{
		kind: kind, changed: make(chan struct{}, 1), grace: s.pace.grace, runs: map[string]*run{}, withdraw: map[string]context.CancelFunc{},
		log: s.log, clean: s.clean, elicits: kind != kindSSE, // there, mcp-go hears no requests
	}
	c.gone, c.lose = context.WithCancelCause(context.Background())
	c.life, c.end = context.WithCancel(context.Background())
	t, err := s.transport(c, legacy)
	if err != nil {
		c.end()
		return nil, err
	}
	opts := append(c.offered(),
		client.WithDiscoverTimeout(s.pace.discover),
		client.WithMaxInputRoundTrips(maxElicitations+1)) // the last of them brings no answers that count
	if legacy {
		opts = append(opts, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	c.client = client.NewClient(t, opts...)
	c.client.OnNotification(c.notified)
	c.client.OnConnectionLost(c.lose)
	defer func() {
		if err != nil {
			if err = c.exitError(err); ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", ctx.Err(), err) // what the end of the attempt broke looks like anything
			}
			c.close()
		}
	}()

	// The life of the conn starts here, so the attempt's end must be able to end it until we are through.
	stop := context.AfterFunc(ctx, c.end)
	if err := c.client.Start(c.life); err != nil {
		return nil, err
	}
	ictx, tr := withTrace(ctx)
	said, err := c.client.Initialize(ictx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: s.hello}})
	if err != nil {
		return nil, withStatus(tr, err)
	}
	if !stop() {
		return nil, context.DeadlineExceeded
	}
	modern := mcp.IsModernProtocol(c.client.ProtocolVersion())
	if !legacy && (modern && !agreed(tr.read().results[string(mcp.MethodServerDiscover)]) || !modern && kind == kindHTTP) {
		return nil, errLegacyServer
	}
	c.modern.Store(modern)
	c.said = *said
	if tools := said.Capabilities.Tools; modern && tools != nil && tools.ListChanged {
		c.tasks.Add(1)
		go c.listen()
	}
	return c, nil
}

// agreed reports whether a server that answered server/discover also lists a version without a handshake.
func agreed(raw json.RawMessage) bool {
	var d mcp.DiscoverResult
	return json.Unmarshal(raw, &d) == nil && mcp.IsModernProtocol(mcp.NegotiateMutuallySupportedVersion(d.SupportedVersions))
}

// transport builds the wire of c.
func (s *server) transport(c *conn, legacy bool) (transport.Interface, error) {
	log := slog.New(quiet{s.log.Handler(), s.clean})
	w := &wire{patience: s.pace.cancelled, asked: c.asked, offers: c.answers}
	c.wire = w
	switch c.kind {
	case kindInProcess:
		t := s.cfg.InProcess()
		if t == nil {
			return nil, &oneline.Error{Say: "it is not there"}
		}
		return &plainWire{t, w}, nil
	case kindStdio:
		program, err := child.Start(s.cfg.program(), s.log, s.clean)
		if err != nil {
			return nil, err
		}
		c.child = program
		io := transport.NewIO(&watched{newLines(program.Out, false), c.lose}, program.Writer(s.pace.stdin, c.lose), nil)
		transport.WithCommandLogger(log)(io)
		c.tasks.Add(1)
		go func() {
			defer c.tasks.Done()
			<-program.Done
			c.lose(errors.New("the process ended"))
		}()
		return &stdioWire{io, w}, nil
	}
	hc, t := newHTTPClient(s.cfg, c.lose, c.toolsChanged)
	c.http = t
	if c.kind == kindSSE {
		sse, err := transport.NewSSE(s.cfg.URL, transport.WithHTTPClient(hc), transport.WithSSELogger(log),
			transport.WithEndpointTimeout(s.connectTimeout), transport.WithResponseTimeout(24*time.Hour)) // ours is the context's
		return &sseWire{sse, w}, err
	}
	opts := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(hc), transport.WithHTTPLogger(log)}
	if legacy {
		opts = append(opts, transport.WithContinuousListening())
	}
	streamable, err := transport.NewStreamableHTTP(s.cfg.URL, opts...)
	c.session = streamable.GetSessionId
	failed := func(err error) {
		s.log.Warn("an answer did not reach the server", "cause", oneline.Brief(s.clean(err.Error()), 300))
	}
	return &httpWire{StreamableHTTP: streamable, wire: w, client: hc, url: s.cfg.URL, life: c.life, failed: failed}, err
}

// watched reports the first error of a reader: mcp-go keeps the death of a child to itself.
type watched struct {
	io.Reader
	lost func(error)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		w.lost(err)
	}
	return n, err
}

// lost reports whether the conn cannot be used any more.
func lost(c *conn) bool { return c.gone.Err() != nil }

// exitStatus is how a lost conn to a child was lost: whether the process ended, and words of ours or the operating system's.
func (c *conn) exitStatus() (ended bool, say string) {
	switch cause := context.Cause(c.gone); {
	case errors.Is(cause, errTooBig):
		return false, errTooBig.Error()
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return false, "it does not read its input"
	case errors.Is(cause, errClosed):
		return false, "it was disconnected"
	}
	return true, c.child.HowEnded()
}

// exitError is err, or how the child ended if it did.
func (c *conn) exitError(err error) error {
	if c.child == nil || !lost(c) {
		return err
	}
	ended, say := c.exitStatus()
	if ended {
		say = "its process stopped (" + say + ")"
	}
	return &exited{&oneline.Error{Say: say}, c.child.LastLine()}
}

// exited says how a conn to a child was lost, and what the child had said last, which is why.
type exited struct {
	error
	last string
}

func (e *exited) Unwrap() error { return e.error }

// notified takes a notification. It runs on mcp-go's read loop, where any call to the client would wait for itself: it only puts things
// down.
func (c *conn) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case mcp.MethodNotificationToolsListChanged,
		mcp.MethodNotificationSubscriptionsAcknowledged: // from now on we are told; what changed since the tools were read, nobody told us
		c.toolsChanged()
	case string(mcp.MethodNotificationCancelled):
		c.withdrawn(n.Params)
	case string(mcp.MethodNotificationProgress):
		f := n.Params.AdditionalFields
		token, _ := f["progressToken"].(string)
		words, _ := f["message"].(string)
		p := turn.Progress{Done: number(f["progress"]), Total: number(f["total"]), Message: oneline.Brief(words, 200)}
		c.mu.Lock()
		defer c.mu.Unlock()
		if r := c.runs[token]; r != nil && p.Done >= r.done { // two streams may overtake each other
			if p.Done > r.done {
				r.clock.progress()
			}
			r.done = p.Done
			select {
			case <-r.latest:
			default:
			}
			r.latest <- p // there is room: only we send, under the lock
		}
	}
}

// toolsChanged notes that the tools may be others now: calls wait until they are read again.
func (c *conn) toolsChanged() {
	c.announce.Add(1)
	signal(c.changed)
}

// number reads a number that came as JSON or, from a server in this process, as it was given.
func number(v any) float64 {
	switch n := reflect.ValueOf(v); {
	case n.CanFloat():
		return n.Float()
	case n.CanInt():
		return float64(n.Int())
	}
	return 0
}

// listenAgain is the wait before a stream of list_changed is opened again.
var listenAgain = backoff.Exponential{First: 100 * time.Millisecond, Factor: 4, Most: 30 * time.Second}

// lasting is how long a stream is open that ended for a reason of its own.
const lasting = 10 * time.Second

// listen keeps a stream of list_changed open, as 2026-07-28 wants it. Each time that it ended the tools are listed anew: where the server is gone
// that shows it.
func (c *conn) listen() {
	defer c.tasks.Done()
	for quick := 0; ; quick++ {
		ctx, tr := withTrace(c.life)
		began := time.Now()
		err := c.client.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true})
		if tr.read().refused != nil || c.life.Err() != nil {
			return
		}
		if time.Since(began) > lasting {
			quick = 0
		}
		c.log.Debug("the stream of notifications ended; it is opened again", "cause", oneline.Brief(c.clean(cmp.Or(err, io.EOF).Error()), 300))
		_ = backoff.Wait(c.life, listenAgain.After(quick)) // its end is looked at above
		c.toolsChanged()
	}
}

// list reads all tools as raw JSON, and says which are too large to be kept.
func (c *conn) list(ctx context.Context) (all []json.RawMessage, large []badTool, err error) {
	seen, cursor, bytes := map[string]bool{}, "", 0
	for range maxPages {
		pctx, tr := withTrace(ctx)
		var req mcp.ListToolsRequest
		req.Params.Cursor = mcp.Cursor(cursor)
		_, err := c.client.ListToolsByPage(pctx, req)
		n := tr.read()
		raw := n.results[string(mcp.MethodToolsList)]
		if raw == nil {
			if n.refused != nil && n.refused.Code == mcp.METHOD_NOT_FOUND && cursor == "" {
				return nil, nil, nil // a server without tools
			}
			return nil, nil, withStatus(tr, cmp.Or(err, errors.New("no list of tools")))
		}
		tools, next, err := readPage(raw)
		if err != nil {
			return nil, nil, &oneline.Error{Say: err.Error()}
		}
		for _, raw := range tools {
			if bytes += len(raw); len(raw) > maxDefinition {
				large = append(large, badTool{nameIn(raw), "its definition has " + text.Number(len(raw)) + " bytes"})
				continue
			}
			all = append(all, raw)
		}
		switch {
		case bytes > maxDefinitions:
			return nil, nil, &oneline.Error{Say: "its tools have more than " + text.Number(maxDefinitions) + " bytes of definitions"}
		case len(all)+len(large) > maxTools:
			return nil, nil, &oneline.Error{Say: "it offers more than " + text.Number(maxTools) + " tools"}
		}
		seen[cursor] = true
		if cursor = next; seen[cursor] { // the first page has none
			return all, large, nil
		}
	}
	return nil, nil, &oneline.Error{Say: "its list of tools does not end"}
}

// close ends the conn and everything it started. It returns when all of that is gone.
func (c *conn) close() {
	c.lose(errClosed)
	c.end()
	c.calls.Wait() // they end now, and over HTTP tell the server so
	if c.child == nil {
		c.wire.end() // what is still being said is said before we hang up; a child may never read it
	}
	_ = c.client.Close() // its errors say that what we close is closed
	if c.child != nil {
		c.child.Stop(c.grace)
	}
	c.wire.end()
	c.tasks.Wait()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}
