package fakeslack

import (
	"net/url"
	"slices"
	"time"
)

// Call is one call of the Web API, or a post to a response_url (Method "response_url") or an upload address ("upload").
type Call struct {
	Method string
	At     time.Time  // when it was answered
	Bytes  int        // of the request's body
	Values url.Values // what was sent, without the token; a JSON body's members as they stand. nil with Options.Lean
	Status int        // of HTTP; 0: the connection was cut
	Error  string     // "" is ok
	Done   bool       // the change was made, whatever the caller was told
}

// Calls are the calls so far in the order they were answered: all of them, or those of some methods.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(methods) == 0 {
		return slices.Clone(s.journal)
	}
	var out []Call
	for _, c := range s.journal {
		if slices.Contains(methods, c.Method) {
			out = append(out, c)
		}
	}
	return out
}

// Count is how many calls of a method were answered with ok.
func (s *Server) Count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// Forget empties the journal.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal, s.counts = nil, map[string]int{}
}

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.At = s.clock.Now()
	if s.opt.Lean {
		c.Values = nil
	}
	s.journal = append(s.journal, c)
	if c.Error == "" && c.Status == 200 {
		s.counts[c.Method]++
	}
	s.signal()
}
