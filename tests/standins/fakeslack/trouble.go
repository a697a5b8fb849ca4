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

// Revoke makes every method refuse the bot token with one of the codes of https://docs.slack.dev/reference/methods/auth.test, such as
// token_revoked; "" makes it good again.
func (s *Server) Revoke(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revocation = code
}

func (s *Server) revoked(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == s.token {
		return s.revocation
	}
	return s.dead[token]
}
