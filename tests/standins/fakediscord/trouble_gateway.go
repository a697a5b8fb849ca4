package fakediscord

// Moment is a point of a connection's beginning.
type Moment int

// The moments at which a [Greeting] can take the place of what Discord would say.
const (
	OnConnect  Moment = iota // instead of HELLO
	OnIdentify               // instead of READY
	OnResume                 // instead of the replay
)

// Greeting is what a client gets at a [Moment]. The zero value is nothing at all: the connection stays silent.
type Greeting struct {
	Reconnect bool // op 7
	Invalid   bool // op 9
	Resumable bool // with Invalid: its d
	Close     int  // a close code
	Reset     bool // a TCP reset
}

// Greet makes the next n clients that come to a moment get something else than they expect.
func (s *Server) Greet(when Moment, n int, g Greeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.greetings[when] = append(s.greetings[when], g)
	}
}

// greeting takes the next one of a moment. s.mu is held.
func (s *Server) greeting(when Moment) (Greeting, bool) {
	list := s.greetings[when]
	if len(list) == 0 {
		return Greeting{}, false
	}
	s.greetings[when] = list[1:]
	return list[0], true
}

// greet gives a connection its greeting. s.mu is held.
func (c *socket) greet(g Greeting) {
	switch {
	case g.Reconnect:
		c.op(opReconnect, nil)
	case g.Invalid:
		c.op(opInvalid, g.Resumable)
	case g.Close != 0:
		c.close(g.Close)
	case g.Reset:
		c.drop()
	default:
		c.mute = true
	}
}

// Silence is from when on connections are silent, as half-open ones are: what is sent is lost on its way, heartbeats get no ACK.
type Silence int

// The silences.
const (
	Talking     Silence = iota
	FromConnect         // new connections get not even a HELLO
	FromHello           // new connections get a HELLO and nothing else
	AtOnce              // open connections are silent from now on too
)

// Silence makes the gateway silent, or with Talking lets connections opened from now on speak again.
func (s *Server) Silence(from Silence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silence = from
	if from == AtOnce {
		s.silence = FromHello
		for _, c := range s.sockets {
			c.mute = true
		}
	}
}

// Drop resets every connection of the gateway, as a lost network does. Sessions can be resumed.
func (s *Server) Drop() {
	s.each(func(c *socket) { c.drop() })
}

// CloseGateway closes every connection with a code. 4004, 4007 and 4009 to 4014 end their sessions.
func (s *Server) CloseGateway(code int) {
	s.each(func(c *socket) {
		if code == 4004 || code == 4007 || code >= 4009 && code <= 4014 {
			s.end(c.session)
		}
		c.close(code)
	})
}

// Reconnect asks every connection to reconnect and resume (op 7).
func (s *Server) Reconnect() {
	s.each(func(c *socket) { c.op(opReconnect, nil) })
}

// Invalidate tells every connection that its session is not valid (op 9); one that is not resumable ends.
func (s *Server) Invalidate(resumable bool) {
	s.each(func(c *socket) {
		if !resumable {
			s.end(c.session)
			c.session, c.told = nil, false
		}
		c.op(opInvalid, resumable)
	})
}

// AskHeartbeat asks every connection for a heartbeat at once (op 1).
func (s *Server) AskHeartbeat() {
	s.each(func(c *socket) { c.op(opHeartbeat, nil) })
}

// EndSessions forgets every session that has no connection, so that no RESUME succeeds.
func (s *Server) EndSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.inSessions() {
		if e.socket == nil {
			s.end(e)
		}
	}
}

func (s *Server) each(f func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets {
		f(c)
	}
	s.Fire()
}

// Duplicate sends the next n events twice, each time with a sequence number of its own.
func (s *Server) Duplicate(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twice = n
}

// Send dispatches an event of the test's own making to the shard of a guild ("" is the first shard), whatever its intents: an
// unknown one, or one that nothing here makes.
func (s *Server) Send(guild, name string, data map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(event{name: name, guild: guild, data: data})
	s.Fire()
}
