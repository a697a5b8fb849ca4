package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/nodhq/nod/adapters/mcp/oneline"
)

// notes are what one request left behind on its way.
type notes struct {
	results map[string]json.RawMessage // raw results by method; copied to be changed
	refused *mcp.JSONRPCErrorDetails   // the server's JSON-RPC error, if that was its answer
	calls   int                        // how often tools/call was sent: again with each set of answers. A call must not happen twice
	lacks   string                     // why the call could not be continued

	reached bool // HTTP: a connection was handed out for it: bytes may have left
	status  int  // HTTP: of the last response
	stale   bool // HTTP: it said that the server does not know the session
	untaken bool // HTTP: it said that the request was not taken
}

// trace is where a request, which carries it in its context, leaves its notes.
type trace struct {
	mu sync.Mutex
	n  notes
}

type traceKey struct{}

func withTrace(ctx context.Context) (context.Context, *trace) {
	t := &trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

// traceOf is the trace that a context carries, or one that nobody reads.
func traceOf(ctx context.Context) *trace {
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		return t
	}
	return &trace{}
}

func (t *trace) read() notes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *trace) write(change func(*notes)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.n)
}

// begin forgets what an earlier request of the same method left: of a call that was continued only the last answer counts.
func (n *notes) begin(req transport.JSONRPCRequest) {
	n.results = maps.Clone(n.results)
	delete(n.results, req.Method)
	n.refused, n.status, n.stale, n.untaken = nil, 0, false, false
	if req.Method == string(mcp.MethodToolsCall) {
		n.calls++
	}
}

// unanswered notes what the server asked for and did not get. The first counts.
func (t *trace) unanswered(what string) {
	t.write(func(n *notes) { n.lacks = cmp.Or(n.lacks, what) })
}

// keep keeps an answer to this very request: stale sessions are answered with id null, and SSE takes a server's request for an answer.
func (n *notes) keep(req transport.JSONRPCRequest, r *transport.JSONRPCResponse) {
	switch {
	case r.ID.String() != req.ID.String():
	case r.Error != nil:
		n.refused = r.Error
	default:
		n.results, n.refused = maps.Collect(maps.All(n.results)), nil
		n.results[req.Method] = r.Result
	}
}

// wire is what our transports share. Each embeds one of mcp-go's, for the client looks for its methods by type assertion.
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

// send sends in a goroutine of its own, because mcp-go writes to stdin and calls in-process handlers without looking at the context.
func (w *wire) send(ctx context.Context, req transport.JSONRPCRequest, next sendFunc) (*transport.JSONRPCResponse, error) {
	if !w.enter() {
		return nil, errClosed
	}
	t := traceOf(ctx)
	t.write(func(n *notes) { n.begin(req) })
	done := make(chan answer, 1)
	go func() {
		defer w.busy.Done()
		var a answer
		defer func() {
			if p := recover(); p != nil { // of an in-process tool: whether it did its work is unknown then
				a = answer{err: fmt.Errorf("panic: %v", p)}
			}
			done <- a
		}()
		a.r, a.err = next(ctx, req)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		// Its answer may be here already, and HTTP must be given the time to say whether it got a connection.
		select {
		case a = <-done:
		case <-time.After(w.patience):
			a.err = ctx.Err()
		}
	}
	if a.r == nil {
		return nil, a.err
	}
	t.write(func(n *notes) { n.keep(req, a.r) })
	switch {
	case req.Method == string(mcp.MethodToolsCall):
		if err := w.continues(a.r.Result); err != nil {
			t.unanswered(err.Error())
			return nil, err
		}
	case req.Method == string(mcp.MethodToolsList):
		return readable(a.r), nil
	}
	return a.r, nil
}

// continues refuses an answer after which mcp-go would send the call again without anything new in it: one that asks for input and names
// none, or names what we cannot give. It reads with mcp-go's own eyes, so that there is no answer that only one of us takes for a question.
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
		if !w.offers(q.Method) {
			return fmt.Errorf("something that this bot does not give (%s)", oneline.Brief(string(q.Method), 60))
		}
	}
	return nil
}

// readable is a tools/list answer without the tools that mcp-go's types cannot hold: one of them would fail the whole list. We read the
// tools from the raw bytes; mcp-go wants them for the headers of its requests.
func readable(r *transport.JSONRPCResponse) *transport.JSONRPCResponse {
	var page object
	var tools []json.RawMessage
	if json.Unmarshal(r.Result, &page) != nil || json.Unmarshal(page["tools"], &tools) != nil {
		return r
	}
	copied := *r
	tools = slices.DeleteFunc(tools, func(raw json.RawMessage) bool { return json.Unmarshal(raw, new(mcp.Tool)) != nil })
	page["tools"], _ = json.Marshal(tools) // it was JSON before
	copied.Result, _ = json.Marshal(page)
	return &copied
}

// cancel tells an HTTP server that nobody waits any more, if so. mcp-go does that for stdio only.
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
	client  *http.Client
	url     string
	life    context.Context // of the conn
	failed  func(error)     // hears of an answer that did not reach the server
	version atomic.Value    // string
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
	if !mcp.IsModernProtocol(t.spoken()) {
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
				if err := t.post(t.asked(ctx, req)); err != nil {
					t.failed(err)
				}
			}()
		}
		return nil, nil
	})
}

// post answers a request of the server's. mcp-go gives whoever answers 30 seconds; people take longer.
func (t *httpWire) post(resp *transport.JSONRPCResponse) error {
	body, err := json.Marshal(resp)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(t.life, maxReply)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id := t.GetSessionId(); id != "" {
		req.Header.Set(transport.HeaderKeySessionID, id)
	}
	if v := t.spoken(); v != "" {
		req.Header.Set(transport.HeaderKeyProtocolVersion, v)
	}
	got, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(got.Body, maxErrorBody)) // nothing that it says changes anything
	if got.StatusCode >= 300 {
		return errStatus(got.StatusCode)
	}
	return nil
}

// sseWire speaks HTTP with a separate event stream.
type sseWire struct {
	*transport.SSE
	*wire
}

func (t *sseWire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	// mcp-go takes a server's own request (a ping) for the answer to ours of the same id. Our strings never meet a server's numbers.
	req.ID = mcp.NewRequestId("nod-" + strings.TrimPrefix(req.ID.String(), "int64:"))
	// Given a deadline, mcp-go's SSE ends a moment before it with an error of its own, as if the server had failed.
	r, err := t.send(undated{ctx}, req, t.SSE.SendRequest)
	t.cancel(ctx, req, t.SendNotification)
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
