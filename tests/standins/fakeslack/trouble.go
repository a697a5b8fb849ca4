package fakeslack

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Fault is what goes wrong with one call. The zero value is nothing.
type Fault struct {
	Error      string          // the answer {"ok":false,"error":…}
	RetryAfter time.Duration   // 429 with that header, in whole seconds
	Status     int             // an HTTP status with an empty body
	Cut        bool            // the connection is closed without an answer, and nothing was done
	CutAfter   bool            // the connection is closed without an answer, after it was done
	Hold       <-chan struct{} // it waits for this before anything else; with no other field the call then works
}

// plan is a fault for some calls.
type plan struct {
	left  int
	fault Fault
	when  func(Call) *Fault
}

// answers reports whether the fault takes the place of the call.
func (f *Fault) answers() bool { return f.Error != "" || f.RetryAfter > 0 || f.Status > 0 || f.Cut }

func (f *Fault) answer(s *Server, w http.ResponseWriter, call Call) {
	switch {
	case f.Cut:
		s.record(call)
		panic(http.ErrAbortHandler)
	case f.RetryAfter > 0:
		call.Status, call.Error = http.StatusTooManyRequests, "ratelimited"
		s.record(call)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		respond(w, call.Status, map[string]any{"ok": false, "error": call.Error})
	case f.Status > 0:
		call.Status, call.Error = f.Status, http.StatusText(f.Status)
		s.record(call)
		w.WriteHeader(f.Status)
	default:
		call.Status, call.Error = http.StatusOK, f.Error
		s.record(call)
		respond(w, call.Status, map[string]any{"ok": false, "error": f.Error})
	}
}

// Fail makes the next n calls of a method fail; "" is any method, "response_url" the posts to those.
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

// Revoke makes every method refuse the bot token with one of the codes of https://docs.slack.dev/reference/methods/auth.test, such as
// token_revoked; "" makes it good again.
func (s *Server) Revoke(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revocation = code
}

func (s *Server) revoked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revocation
}
