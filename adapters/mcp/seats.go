package mcp

import (
	"context"
	"time"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// A server may keep something for whoever talks to it: a page that is open, a transaction, what was thought so far. It keeps that by session,
// and one person must not see another's, so each chat has a session of its own there. The chat that came first has the conn on which the
// tools are read; every other one has a seat.

// maxSeats is how many chats beside the first have a session with one server. A program over stdio runs once for each.
const maxSeats = 16

// seat is one chat's session with a server. What turn does not guard, the server's lock does.
type seat struct {
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

// seat gives the conn on which a chat's calls run, with the tool as it stands there. It takes over the hold on first, which find gave. leave
// must be called after the call. Every error is ErrNotRun.
func (s *server) seat(ctx context.Context, id chat.ID, first *conn, t *tool, want permission.Tool) (_ *conn, _ *tool, leave func(), err error) {
	if !s.keeps(first) {
		return first, t, func() {}, nil
	}
	s.mu.Lock()
	if !first.taken {
		first.taken, first.owner = true, id
	}
	if first.owner == id {
		s.mu.Unlock()
		return first, t, func() {}, nil
	}
	st, busy := s.seatOf(id)
	if st != nil && !s.stopped {
		st.busy++
		s.opening.Add(1)
		defer s.opening.Done()
	}
	stopped := s.stopped
	s.mu.Unlock()
	first.calls.Done()
	switch {
	case stopped:
		return nil, nil, nil, notRun("%s was not run. The %s server is disconnected.", oneline.Brief(want.Name, 60), s.name)
	case st == nil:
		return nil, nil, nil, notRun("%s was not run: the %s server is at work for %d chats already. Try again when one of them is done.", oneline.Brief(want.Name, 60), s.name, busy)
	}
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.busy--
		st.used = time.Now()
	}
	c, t, err := s.sit(ctx, st, want)
	if err != nil {
		leave()
		return nil, nil, nil, err
	}
	return c, t, leave, nil
}

// seatOf is the seat of a chat, which it gets if there is room, or if another chat's is not used just now. s.mu is held.
func (s *server) seatOf(id chat.ID) (st *seat, busy int) {
	if st := s.seats[id]; st != nil {
		return st, 0
	}
	if len(s.seats) >= maxSeats {
		var idlest chat.ID
		found := false
		for other, st := range s.seats {
			if st.busy == 0 && (!found || st.used.Before(s.seats[idlest].used)) {
				idlest, found = other, true
			}
		}
		if !found {
			return nil, len(s.seats) + 1
		}
		s.vacate(idlest)
	}
	if s.seats == nil {
		s.seats = map[chat.ID]*seat{}
	}
	st = &seat{turn: make(chan struct{}, 1), used: time.Now()}
	s.seats[id] = st
	return st, 0
}

// vacate takes a seat that nobody uses away. s.mu is held.
func (s *server) vacate(id chat.ID) {
	if c := s.seats[id].conn; c != nil {
		s.retired.Go(func() { s.retire(s.life, c) })
	}
	delete(s.seats, id)
}

// sit opens a seat's conn where there is none, and looks that the tool there is the wanted one.
func (s *server) sit(ctx context.Context, st *seat, want permission.Tool) (*conn, *tool, error) {
	cancelled := notRun("%s was not run: it was cancelled before it was sent to the %s server.", oneline.Brief(want.Name, 60), s.name)
	select {
	case st.turn <- struct{}{}:
		defer func() { <-st.turn }()
	case <-ctx.Done():
		return nil, nil, cancelled
	}
	octx, stop := context.WithTimeout(ctx, s.connectTimeout)
	defer stop()
	defer context.AfterFunc(s.life, stop)()

	s.mu.Lock()
	c := st.conn
	if c != nil && lost(c) {
		s.retired.Go(func() { s.retire(s.life, c) })
		st.conn, c = nil, nil
	}
	s.mu.Unlock()
	fresh := c == nil
	var err error
	if fresh {
		c, err = s.dial(octx)
	}
	if err == nil && (fresh || c.read.Load() != c.announce.Load()) {
		var l *listed
		if l, err = s.readTools(octx, c); err == nil {
			st.tools = l.tools
			c.read.Store(l.announced)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = cancelled
	default:
		reason := err
		if c != nil {
			reason = c.exitError(err)
		}
		err = notRun("%s was not run: no session of its own could be had for this chat with the %s server%s.", oneline.Brief(want.Name, 60), s.name, inBrackets(why(reason, s.cfg)))
	}
	t := st.tools[want.Name]
	if err == nil {
		err = s.same(t, want)
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

// tidy takes away the seats that nobody used for a while, until ctx ends.
func (s *server) tidy(ctx context.Context) {
	tick := time.NewTicker(max(s.pace.idle/10, time.Millisecond))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		s.mu.Lock()
		for id, st := range s.seats {
			if st.busy == 0 && (st.conn == nil || lost(st.conn) || time.Since(st.used) > s.pace.idle) {
				s.vacate(id)
			}
		}
		s.mu.Unlock()
	}
}

// clear closes all seats' conns: what runs on them has an unknown outcome. Nothing is opened any more.
func (s *server) clear() {
	s.opening.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.seats {
		if c := st.conn; c != nil {
			s.retired.Go(c.close)
		}
	}
	s.seats = nil
}
