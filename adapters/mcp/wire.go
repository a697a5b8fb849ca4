package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/nodhq/nod/adapters/mcp/oneline"
)

// trace is what one request left behind on its way. Requests carry it in their context.
type trace struct {
	mu      sync.Mutex
	results map[string]json.RawMessage // raw results by method
	refused *mcp.JSONRPCErrorDetails   // the server's JSON-RPC error, if that was its answer
	calls   int                        // how often tools/call was sent: again with each set of answers
	lacks   string                     // why the call could not be continued

	reached atomic.Bool  // HTTP: a connection was handed out for it: bytes may have left
	status  atomic.Int32 // HTTP: of the last response
	stale   atomic.Bool  // HTTP: it said that the server does not know the session
	untaken atomic.Bool  // HTTP: it said that the request was not taken
	big     atomic.Bool  // HTTP: the body was too large
}

type traceKey struct{}

func withTrace(ctx context.Context) (context.Context, *trace) {
	t := &trace{results: map[string]json.RawMessage{}}
	return context.WithValue(ctx, traceKey{}, t), t
}

func traceOf(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

func (t *trace) result(method mcp.MCPMethod) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.results[string(method)]
}

func (t *trace) refusal() *mcp.JSONRPCErrorDetails {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// begin forgets what an earlier request of the same method left: of a call that was continued only the last answer counts.
func (t *trace) begin(req transport.JSONRPCRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.results, req.Method)
	t.refused = nil
	t.status.Store(0)
	t.stale.Store(false)
	t.untaken.Store(false)
	t.big.Store(false)
	if req.Method == string(mcp.MethodToolsCall) {
		t.calls++
	}
}

// unanswered notes what the server asked for and did not get. The first counts. A nil trace takes no notes.
func (t *trace) unanswered(what string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lacks = cmp.Or(t.lacks, what)
}

// rounds is how often the call was sent, and why it could not be continued, if so.
func (t *trace) rounds() (calls int, lacks string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls, t.lacks
}

// calling reports that the request is a tool call, which must not happen twice. A nil trace is none.
func (t *trace) calling() bool {
	if t == nil {
		return false
	}
	calls, _ := t.rounds()
	return calls > 0
}

// note keeps an answer, if it is one to this very request: servers answer stale sessions with id null, and
// mcp-go's SSE takes a server's own request for an answer.
func (t *trace) note(req transport.JSONRPCRequest, r *transport.JSONRPCResponse) {
	if r == nil || r.ID.String() != req.ID.String() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case r.Error != nil:
		t.refused = r.Error
	case len(r.Result) > 0 && string(r.Result) != "null":
		t.results[req.Method], t.refused = r.Result, nil
	}
}

// wire is what our transports share. Each embeds one of mcp-go's, so that the client still finds the methods
// it looks for by type assertion, and sends through send.
type wire struct {
	patience time.Duration // for mcp-go to return once the context ended
	asked    func(context.Context, transport.JSONRPCRequest) *transport.JSONRPCResponse
	offers   func(mcp.MCPMethod) bool // what a call's answer may ask for

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup
}

type sendFunc func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

type answer struct {
	r   *transport.JSONRPCResponse
	err error
}

// enter counts a goroutine that end waits for. It is false once the wire is closed.
func (w *wire) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.busy.Add(1)
	}
	return !w.closed
}

// end lets nothing more in and waits for what is under way.
func (w *wire) end() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.busy.Wait()
}

// send sends in a goroutine of its own, because mcp-go writes to stdin and calls in-process handlers without
// looking at the context. It keeps the answer in the request's trace.
func (w *wire) send(ctx context.Context, req transport.JSONRPCRequest, next sendFunc) (*transport.JSONRPCResponse, error) {
	if !w.enter() {
		return nil, errClosed
	}
	t := traceOf(ctx)
	if t != nil {
		t.begin(req)
	}
	done := make(chan answer, 1)
	go func() {
		defer w.busy.Done()
		done <- guarded(ctx, req, next)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		// Its answer may be here already, and HTTP must be given the time to say whether it got a connection.
		patience := time.NewTimer(w.patience)
		defer patience.Stop()
		select {
		case a = <-done:
		case <-patience.C:
			a.err = ctx.Err()
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	if t != nil {
		t.note(req, a.r)
	}
	if req.Method == string(mcp.MethodToolsCall) && a.r != nil && a.r.Error == nil {
		if err := w.continues(a.r.Result); err != nil {
			t.unanswered(err.Error())
			return nil, err
		}
	}
	if req.Method == string(mcp.MethodToolsList) && a.r != nil && a.r.Error == nil {
		a.r = readable(a.r)
	}
	return a.r, nil
}

// continues refuses an answer after which mcp-go would send the call again without anything new in it: one that asks
// for input and names none, which means "try again", or names what we cannot give. It reads with mcp-go's own eyes, so that
// there is no answer that only one of us takes for a question.
func (w *wire) continues(raw json.RawMessage) error {
	if !bytes.Contains(raw, []byte(mcp.ResultTypeInputRequired)) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil // however it is written: this would be in it
	}
	r, err := mcp.ParseCallToolResult(&raw)
	if err != nil || !r.NeedsInput() {
		return nil
	}
	switch {
	case len(r.InputRequests) == 0:
		return errors.New("nothing that a person could answer")
	case len(r.InputRequests) > maxRound:
		return fmt.Errorf("%d things at once, and %d are the most", len(r.InputRequests), maxRound)
	}
	for _, q := range r.InputRequests {
		if w.offers == nil || !w.offers(q.Method) {
			return fmt.Errorf("something that this bot does not give (%s)", oneline.Brief(string(q.Method), 60))
		}
	}
	return nil
}

// guarded turns a panic of an in-process tool into an error: whether the tool did its work is unknown then.
func guarded(ctx context.Context, req transport.JSONRPCRequest, next sendFunc) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("panic: %v", p)}
		}
	}()
	a.r, a.err = next(ctx, req)
	return a
}

// readable is a tools/list answer without the tools that mcp-go's types cannot hold: one of them would fail
// the whole list. We read the tools from the raw bytes; mcp-go wants them for the headers of its requests.
func readable(r *transport.JSONRPCResponse) *transport.JSONRPCResponse {
	var page map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(r.Result, &page) != nil || json.Unmarshal(page["tools"], &tools) != nil {
		return r
	}
	good := make([]json.RawMessage, 0, len(tools))
	for _, raw := range tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) == nil {
			good = append(good, raw)
		}
	}
	var err error
	if page["tools"], err = json.Marshal(good); err != nil {
		return r
	}
	copied := *r
	if copied.Result, err = json.Marshal(page); err != nil {
		return r
	}
	return &copied
}

// cancel tells an HTTP server that nobody waits any more. mcp-go does that for stdio only.
func (w *wire) cancel(ctx context.Context, req transport.JSONRPCRequest, notify func(context.Context, mcp.JSONRPCNotification) error) {
	if ctx.Err() == nil || req.Method != string(mcp.MethodToolsCall) || !w.enter() {
		return
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: string(mcp.MethodNotificationCancelled),
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": req.ID, "reason": "cancelled"}},
	}}
	go func() {
		defer w.busy.Done()
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		_ = notify(ctx, n) // best effort: the outcome is unknown either way
	}()
}

// stdioWire speaks over pipes to a child.
type stdioWire struct {
	*transport.Stdio
	*wire
}

func (t *stdioWire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.send(ctx, req, t.Stdio.SendRequest)
}

// SetRequestHandler sets ours: mcp-go's own knows no calls.
func (t *stdioWire) SetRequestHandler(transport.RequestHandler) {
	t.Stdio.SetRequestHandler(func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if !t.enter() {
			return nil, errClosed
		}
		defer t.busy.Done()
		return t.asked(ctx, req), nil
	})
}

// httpWire speaks streamable HTTP.
type httpWire struct {
	*transport.StreamableHTTP
	*wire
	reply   *replier
	version atomic.Value // string
}

func (t *httpWire) SetProtocolVersion(v string) {
	t.version.Store(v)
	t.StreamableHTTP.SetProtocolVersion(v)
}

// spoken is the version that both sides speak; empty before they agreed.
func (t *httpWire) spoken() string {
	v, _ := t.version.Load().(string)
	return v
}

func (t *httpWire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	r, err := t.send(ctx, req, t.StreamableHTTP.SendRequest)
	// Since 2026-07-28 the end of the request's stream is the cancellation.
	if err != nil && !mcp.IsModernProtocol(t.spoken()) {
		t.cancel(ctx, req, t.SendNotification)
	}
	return r, err
}

// SetRequestHandler sets ours, which posts its answer itself, whenever a person gave it.
func (t *httpWire) SetRequestHandler(transport.RequestHandler) {
	t.StreamableHTTP.SetRequestHandler(func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if t.enter() {
			go func() {
				defer t.busy.Done()
				t.reply.post(t.asked(ctx, req))
			}()
		}
		return nil, nil
	})
}

// sseWire speaks HTTP with a separate event stream.
type sseWire struct {
	*transport.SSE
	*wire
}

func (t *sseWire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	// mcp-go takes a server's own request (a ping) for the answer to ours of the same id. Strings of ours
	// never meet a server's numbers.
	req.ID = mcp.NewRequestId("nod-" + strings.TrimPrefix(req.ID.String(), "int64:"))
	// Given a deadline, mcp-go's SSE ends a moment before it with an error of its own, as if the server had failed.
	r, err := t.send(undated{ctx}, req, t.SSE.SendRequest)
	if err != nil {
		t.cancel(ctx, req, t.SendNotification)
	}
	return r, err
}

// undated is a context that ends when it ends, but does not say when that will be.
type undated struct{ context.Context }

func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// plainWire speaks to a server in this process.
type plainWire struct {
	transport.Interface
	*wire
}

func (t *plainWire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.send(ctx, req, t.Interface.SendRequest)
}
