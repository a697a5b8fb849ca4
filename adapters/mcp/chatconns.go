package mcp

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// A server may keep something by session: a page that is open, a transaction, what was thought so far. One person must not see another's,
// so each chat has a session of its own. The chat that came first has the conn on which the tools are read; every other one has a conn of
// its own.

// maxChatConns is how many chats beside the first have a session with one server. A program over stdio runs once for each.
const maxChatConns = 16

// chatConn is one chat's session with a server. What turn does not guard, the server's lock does.
type chatConn struct {
	turn  chan struct{} // full: somebody opens or reads
	tools map[string]*tool

	conn *conn
	busy int       // calls that have it
	used time.Time // when the last one left
}

// keeps reports whether a server may keep something by session.
func (s *server) keeps(c *conn) bool {
	switch {
	case s.cfg.Shared || c.kind == kindInProcess:
		return false
	case c.kind == kindHTTP:
		return c.session() != "" // without one it cannot tell its callers apart
	}
	return true
}

// connFor gives the conn on which a chat's calls run, with the tool as it stands there. It takes over the hold on first, which find gave.
// leave must be called after the call. Every error is ErrNotRun.
func (s *server) connFor(ctx context.Context, id chat.ID, first *conn, t *tool, want permission.Tool) (_ *conn, _ *tool, leave func(), err error) {
	if !s.keeps(first) {
		return first, t, func() {}, nil
	}
	s.mu.Lock()
	if first.owner == nil && s.chatConns[id] == nil { // a chat that has one of its own keeps it, with all that stands there
		first.owner = &id
	}
	if first.owner != nil && *first.owner == id {
		s.mu.Unlock()
		return first, t, func() {}, nil
	}
	var st *chatConn
	stopped := s.stopped
	if !stopped {
		st = s.chatConnOf(id)
	}
	if st != nil {
		st.busy++
		s.opening.Add(1)
		defer s.opening.Done()
	}
	s.mu.Unlock()
	first.calls.Done()
	switch {
	case stopped:
		return nil, nil, nil, notRun(want.Name, ". The %s server is disconnected.", s.name)
	case st == nil:
		return nil, nil, nil, notRun(want.Name, ": the %s server is at work for %d chats already. Try again when one of them is done.",
			s.name, maxChatConns+1)
	}
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.busy--
		st.used = time.Now()
	}
	c, t, err := s.openChatConn(ctx, st, want)
	if err != nil {
		leave()
		return nil, nil, nil, err
	}
	return c, t, leave, nil
}

// chatConnOf is the session of a chat, which it gets if there is room, or if another chat's is not used just now; else nil. s.mu is held.
func (s *server) chatConnOf(id chat.ID) *chatConn {
	if s.chatConns[id] == nil && len(s.chatConns) >= maxChatConns {
		idle := slices.DeleteFunc(slices.Collect(maps.Keys(s.chatConns)), func(other chat.ID) bool { return s.chatConns[other].busy > 0 })
		if len(idle) == 0 {
			return nil
		}
		s.closeChatConn(slices.MinFunc(idle, func(a, b chat.ID) int { return s.chatConns[a].used.Compare(s.chatConns[b].used) }))
	}
	if s.chatConns[id] == nil {
		s.chatConns[id] = &chatConn{turn: make(chan struct{}, 1), used: time.Now()}
	}
	return s.chatConns[id]
}

// closeChatConn takes a session that nobody uses away. s.mu is held.
func (s *server) closeChatConn(id chat.ID) {
	if c := s.chatConns[id].conn; c != nil {
		s.retired.Go(func() { s.retire(s.life, c) })
	}
	delete(s.chatConns, id)
}

// openChatConn opens the conn where there is none, and looks that the tool there is the wanted one.
func (s *server) openChatConn(ctx context.Context, st *chatConn, want permission.Tool) (*conn, *tool, error) {
	cancelled := s.cancelled(want)
	select {
	case st.turn <- struct{}{}:
		defer func() { <-st.turn }()
	case <-ctx.Done():
		return nil, nil, cancelled
	}
	octx, stop := context.WithTimeout(ctx, s.connectTimeout)
	defer stop()
	defer context.AfterFunc(s.life, stop)()

	read := func(c *conn) error {
		l, err := s.readTools(octx, c)
		if err != nil {
			return c.exitError(err)
		}
		st.tools = l.tools
		c.read.Store(l.announced)
		return nil
	}
	s.mu.Lock()
	c := st.conn
	s.mu.Unlock()
	// The tools are also read where another definition is wanted: not every server says that they changed, and here nothing reads them by the clock.
	var err error
	if c != nil && (c.read.Load() != c.announce.Load() || s.same(st.tools[want.Name], want) != nil) {
		if err = read(c); err != nil && octx.Err() == nil {
			c.lose(err)
		}
	}
	if c != nil && lost(c) {
		old := c
		s.mu.Lock()
		s.retired.Go(func() { s.retire(s.life, old) })
		st.conn, c = nil, nil
		s.mu.Unlock()
	}
	fresh := c == nil
	if fresh {
		if c, err = s.dial(octx); err == nil {
			err = read(c)
		}
	}
	t := st.tools[want.Name]
	switch {
	case err == nil:
		err = s.same(t, want)
	case ctx.Err() != nil:
		err = cancelled
	default:
		err = notRun(want.Name, ": no session of its own could be had for this chat with the %s server (%s).", s.name,
			cmp.Or(why(err, s.cfg), "it did not answer as an MCP server does"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.stopped {
		err = cancelled
	}
	if err != nil {
		if c != nil && fresh {
			s.retired.Go(c.close)
		}
		return nil, nil, err
	}
	st.conn = c
	c.calls.Add(1)
	return c, t, nil
}

// closeIdle takes away the sessions that nobody used for a while, until ctx ends.
func (s *server) closeIdle(ctx context.Context) {
	tick := time.NewTicker(max(s.pace.idle/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		for id, st := range s.chatConns {
			if st.busy == 0 && (st.conn == nil || lost(st.conn) || time.Since(st.used) > s.pace.idle) {
				s.closeChatConn(id)
			}
		}
		s.mu.Unlock()
	}
}

// closeChatConns closes all of them: what runs on them has an unknown outcome. Nothing is opened any more.
func (s *server) closeChatConns() {
	s.opening.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.chatConns {
		if c := st.conn; c != nil {
			s.retired.Go(c.close)
		}
	}
	s.chatConns = nil
}
