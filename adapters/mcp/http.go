package mcp

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// tripper sends the HTTP requests of one conn: with the server's headers, within limits, and with notes of how
// far each request came.
type tripper struct {
	next    *http.Transport
	headers map[string]string
	// lost hears that the stream of notifications, once open, cannot be opened again: the server was restarted
	// or is gone. (A stale session is answered with 404, or with 400 by servers that do it wrong.)
	lost func(error)
	// missed hears that the stream was opened again: notifications may have been lost.
	missed    func()
	listening atomic.Bool
}

func newHTTPClient(headers map[string]string, lost func(error), missed func()) (*http.Client, *tripper) {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxIdleConnsPerHost = 16
	t := &tripper{next: next, headers: headers, lost: lost, missed: missed}
	return &http.Client{Transport: t, CheckRedirect: stay}, t
}

var errRedirect = errors.New("the server redirects elsewhere; configure the address it names")

// stay follows redirects only within the same origin and with the same method: our headers are for this
// server alone, and a POST that becomes a GET is another request.
func stay(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.Method != first.Method {
		return errRedirect
	}
	return nil
}

func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tr := traceOf(ctx)
	if tr != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tr.reached.Store(true) }})
	}
	req = req.Clone(ctx)
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := t.next.RoundTrip(req)
	listen := req.Method == http.MethodGet
	if err != nil {
		if listen && t.listening.Load() && ctx.Err() == nil {
			t.lost(err)
		}
		return nil, err
	}
	if tr != nil {
		tr.status.Store(int32(resp.StatusCode))
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 400:
		resp.Body = readCloser{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
		if listen && t.listening.Load() {
			t.lost(errStatus(resp.StatusCode))
		}
	case kind == "text/event-stream":
		if listen && t.listening.Swap(true) {
			t.missed()
		}
		resp.Body = readCloser{newLines(resp.Body, true), resp.Body}
	default:
		c := &capped{ReadCloser: resp.Body, left: maxAnswer}
		if tr != nil {
			c.big = &tr.big
		}
		resp.Body = c
	}
	return resp, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

type errStatus int

func (e errStatus) Error() string { return "HTTP " + http.StatusText(int(e)) }

// refusedStatus tells the statuses that mean the request was not taken: with these a call certainly did not
// run. 408, 409 and everything from 500 leave it open.
func refusedStatus(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusProxyAuthRequired, http.StatusGone,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return true
	}
	return false
}

// staleStatus tells the statuses with which servers answer a session they do not know.
func staleStatus(status int) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest
}

// unsent reports whether an HTTP request certainly never left: no connection was had for it, or (after net/http
// found an old one closed before it wrote anything) the last attempt failed to dial.
func unsent(tr *trace, err error) bool {
	var op *net.OpError
	return !tr.reached.Load() || errors.As(err, &op) && op.Op == "dial"
}
