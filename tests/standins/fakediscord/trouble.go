package fakediscord

import (
	"math"
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

// plan is a fault for some calls.
type plan struct {
	left  int
	fault Fault
	when  func(Call) *Fault
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

// Fail makes the next n calls of a method fail; "" is any method.
func (s *Server) Fail(method string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], &plan{left: n, fault: f})
}

// FailWhen asks for each call of a method ("" is any) whether it should fail; nil for f ends that. f must not call the server.
func (s *Server) FailWhen(method string, f func(Call) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = nil
	if f != nil {
		s.faults[method] = []*plan{{left: math.MaxInt, when: f}}
	}
}

func (s *Server) faultOf(call Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{call.Method, ""} {
		for len(s.faults[key]) > 0 {
			p := s.faults[key][0]
			if p.left <= 0 {
				s.faults[key] = s.faults[key][1:]
				continue
			}
			if p.when == nil {
				p.left--
				return &p.fault
			}
			if f := p.when(call); f != nil {
				return f
			}
			break
		}
	}
	return nil
}
