package fakediscord

import (
	"maps"
	"slices"
	"time"
)

// Call is one REST request.
type Call struct {
	Method  string // one of the constants in routes.go; "" for a route that is not there
	Path    string
	At      time.Time      // when it was answered
	Channel string         // in the path
	Message string         // in the path
	Bytes   int            // of the request's body
	Body    map[string]any // the JSON that was sent. nil with Options.Lean, or if it was no object
	Files   []string       // names of uploaded files
	Status  int            // of HTTP; 0: the connection was cut
	Code    int            // Discord's error code
	Error   string         // "" is ok
	Done    bool           // the change was made, whatever the caller was told
}

// Refusal is a request that broke a rule.
type Refusal struct {
	Call
	Errors map[string]any // the nested errors of 50035
}

// Called is what the journal asks of a call.
func (c Call) Called() (method string, ok bool) { return c.Method, c.Error == "" && c.Status/100 == 2 }

// Refusals are the requests that were refused for what they said (400 and 500 of Discord's own making, not faults and not 401,
// 403, 404 or 429), in order.
func (s *Server) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Versions counts requests by API version ("v9", "v10"), and gateway connections as "gateway v9".
func (s *Server) Versions() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.versions)
}

// Forget empties the journal and the refusals.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Journal.Forget()
	s.refused = nil
}

// record notes a call. s.mu is held.
func (s *Server) record(c Call, bad *refusal) {
	c.At = s.clock.Now()
	if s.opt.Lean {
		c.Body = nil
	}
	s.Record(c)
	if bad != nil && (bad.status == 400 || bad.status == 500 || bad.status == 413) {
		s.refused = append(s.refused, Refusal{Call: c, Errors: bad.errors})
	}
	s.Fire()
}
