package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/core/backoff"
)

// tripper sends the HTTP requests of one conn: with the server's headers, within limits, and with notes of how far each came.
type tripper struct {
	next    *http.Transport
	headers map[string]string
	mark    func(context.Context, http.Header) // or nil
	// lost hears that the stream of notifications, once open, cannot be opened again: the server was restarted
	// or is gone. (A stale session is answered with 404, or with 400 by servers that do it wrong.)
	lost func(error)
	// missed hears that the stream is open, for the first time or again: of what changed before nobody told.
	missed    func()
	listening atomic.Bool
	quick     int       // how often that stream ended soon after it was opened
	opened    time.Time // when it was last asked for
	moved     sync.Map  // where the server sent other requests than calls: from address to *url.URL
}

func newHTTPClient(cfg Server, lost func(error), missed func()) (*http.Client, *http.Transport) {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxIdleConnsPerHost = 16
	t := &tripper{next: next, headers: cfg.Headers, mark: cfg.Mark, lost: lost, missed: missed}
	return &http.Client{Transport: t, CheckRedirect: t.follow}, next
}

var errRedirect = errors.New("the server redirects elsewhere; configure the address it names")

// follow follows redirects only within the same origin and with the same method: our headers are for this server alone, and a POST that
// becomes a GET is another request. A tool call is never sent a second time: it goes at once to where the requests before it were sent.
func (t *tripper) follow(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case traceOf(req.Context()).read().calls > 0:
		return http.ErrUseLastResponse
	case len(via) > 3 || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.Method != first.Method:
		return errRedirect
	}
	t.moved.Store(first.URL.String(), req.URL)
	return nil
}

func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	tr := traceOf(req.Context())
	before := tr.read() // reached: something of it left before, as when the stream of its answer is opened again
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		tr.write(func(n *notes) { n.reached = true })
	}})
	req = req.Clone(ctx)
	if t.mark != nil {
		t.mark(ctx, req.Header)
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	calling := before.calls > 0
	if calling {
		if to, ok := t.moved.Load(req.URL.String()); ok {
			req.URL = to.(*url.URL) // what follow stored
		}
		if len(req.Header.Values("Idempotency-Key"))+len(req.Header.Values("X-Idempotency-Key")) > 0 {
			req.GetBody = nil // with these net/http takes even a POST for one that may be sent twice
		}
	}
	listen := req.Method == http.MethodGet
	if listen && req.Header.Get("Last-Event-ID") == "" {
		t.calm(ctx)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && !before.reached {
			tr.write(func(n *notes) { n.reached = false }) // net/http found an old connection closed before it wrote anything
		}
		if listen && t.listening.Load() && ctx.Err() == nil {
			t.lost(err)
		}
		return nil, err
	}
	tr.write(func(n *notes) { n.status = resp.StatusCode })
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 400:
		resp.Body = readCloser{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
		if calling && !listen {
			stale, untaken := judge(req, resp)
			tr.write(func(n *notes) { n.stale, n.untaken = stale, untaken })
		}
		if listen && t.listening.Load() && resp.StatusCode != http.StatusConflict { // with that it knows us: it has not noticed that the old stream ended
			t.lost(errStatus(resp.StatusCode))
		}
	case kind == "text/event-stream":
		if listen {
			t.listening.Store(true)
			t.missed()
		}
		resp.Body = readCloser{newLines(resp.Body, true), resp.Body}
	default:
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, nil
}

// calm waits before a stream of notifications is opened again that never lasts: mcp-go would open it every second for ever, and each time the
// tools are read again. One goroutine at a time opens it.
func (t *tripper) calm(ctx context.Context) {
	if time.Since(t.opened) > lasting {
		t.quick = 0
	}
	if t.quick++; t.quick > 1 {
		_ = backoff.Wait(ctx, listenAgain.After(t.quick-2)) // once it is over nothing is sent
	}
	t.opened = time.Now()
}

type readCloser struct {
	io.Reader
	io.Closer
}

type errStatus int

func (e errStatus) Error() string { return "HTTP " + http.StatusText(int(e)) }

// judge notes what a status says of a tool call. Most say nothing: a server, or what stands before it, may answer so after the work. What
// HTTP or MCP define as "not taken" is believed.
func judge(req *http.Request, resp *http.Response) (stale, untaken bool) {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return false, true
	case http.StatusForbidden: // without the challenge it may be a filter that disliked the answer
		return false, resp.Header.Get("WWW-Authenticate") != ""
	case http.StatusNotFound:
		body, _ := io.ReadAll(resp.Body) // what is cut says nothing
		resp.Body = readCloser{bytes.NewReader(body), resp.Body}
		if req.Header.Get(transport.HeaderKeySessionID) != "" && sessionUnknown(body) {
			return true, false
		}
		resp.StatusCode = http.StatusBadRequest // mcp-go takes every 404 for the end of the session, and reads no answer in it
	}
	return false, false
}

// sessionUnknown reads the answer to an unknown session: a JSON-RPC error to no request, or the plain words of mcp-go, go-sdk and rmcp. The
// SDKs of Python and C# write a text where no request stands ("server-error", ""); the ids of our requests are numbers.
func sessionUnknown(body []byte) bool {
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &m) == nil {
		return m.Version == mcp.JSONRPC_VERSION && (absent(m.ID) || m.ID[0] == '"') && !absent(m.Error)
	}
	switch strings.ToLower(strings.TrimSpace(string(body))) {
	case "invalid session id", "session terminated", "session not found", "not found: session not found":
		return true
	}
	return false
}

// maybeStale tells the statuses with which servers, rightly or wrongly, answer a session they do not know.
func maybeStale(status int) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest
}
