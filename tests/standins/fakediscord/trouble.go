package fakediscord

import (
	"net"
	"net/http"
	"time"
)

// Fault is what goes wrong with one call. The zero value is nothing.
type Fault struct {
	Status     int             // an HTTP status of the 500s with Discord's body for it, or any with Code
	Code       int             // with Status: an error code of the caller's choice
	RetryAfter time.Duration   // 429 with that header
	Global     bool            // with RetryAfter: X-RateLimit-Global and no bucket
	Shared     bool            // with RetryAfter: X-RateLimit-Scope shared
	HTML       bool            // with Status: a page and not JSON
	Cut        bool            // the connection is closed without an answer, and nothing was done
	CutAfter   bool            // the connection is closed without an answer, after it was done
	Reset      bool            // with Cut or CutAfter: by a TCP reset
	Hold       <-chan struct{} // it waits for this before anything else; with no other field the call then works
}

// answers reports whether the fault takes the place of the call.
func (f *Fault) answers() bool { return f.Status > 0 || f.RetryAfter > 0 || f.Cut }

func (f *Fault) answer(s *Server, w http.ResponseWriter, call Call) {
	bad := &refusal{status: f.Status, code: f.Code, html: f.HTML, message: http.StatusText(f.Status)}
	switch {
	case f.RetryAfter > 0:
		bad.status, bad.wait, bad.message, bad.global = http.StatusTooManyRequests, f.RetryAfter, "You are being rate limited.", f.Global
		bad.headers = map[string]string{"X-RateLimit-Scope": "user"}
		if f.Shared {
			bad.message, bad.headers["X-RateLimit-Scope"] = "The resource is being rate limited.", "shared"
		}
		if f.Global {
			bad.headers = map[string]string{"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
		}
	case f.Status >= 500 && f.Code == 0:
		bad.message = http.StatusText(f.Status)
	}
	call.Status, call.Code, call.Error = bad.status, bad.code, bad.message
	if f.Cut {
		call.Status = 0
	}
	s.mu.Lock()
	s.record(call, nil)
	if !f.Cut {
		s.invalid(bad)
	}
	s.mu.Unlock()
	if f.Cut {
		cut(w, f.Reset)
	}
	h := http.Header{}
	bad.fill(h)
	if f.HTML {
		page(w, bad.status, h)
		return
	}
	respond(w, bad.status, bad.body(), h)
}

// cut ends the connection without an answer. It does not return.
func cut(w http.ResponseWriter, reset bool) {
	if h, ok := w.(http.Hijacker); ok && reset {
		if conn, _, err := h.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
	}
	panic(http.ErrAbortHandler)
}
