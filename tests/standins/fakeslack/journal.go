package fakeslack

import (
	"net/url"
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

// Called is what the journal asks of a call.
func (c Call) Called() (method string, ok bool) { return c.Method, c.Error == "" && c.Status == 200 }

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.At = s.clock.Now()
	if s.opt.Lean {
		c.Values = nil
	}
	s.Record(c)
	s.Fire()
}
