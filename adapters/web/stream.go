package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
)

// A stream is one reader's place in the log: everything after it is derived again from the fold, so a reconnect needs
// no memory of ours. The id of an event is the log's sequence number. It stands on the last event of each
// entry, so that a connection that breaks between two of them gets both again, and never loses one.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	buf     bytes.Buffer
	cursor  uint64
	parse   bool // the reader wants Markdown parsed
	timeout time.Duration
}

func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, p person) error {
	id, _, err := s.chat(r, p)
	if err != nil {
		return err
	}
	if err := s.enter(p.user.Key); err != nil {
		return err
	}
	defer s.leave(p.user.Key)
	ctx := r.Context()
	// Both subscriptions stand before the first look, so nothing falls between.
	moved, err := s.Log.Watch(ctx, id)
	if err != nil {
		return err
	}
	live, err := s.Shelf.Live(ctx, id)
	if err != nil {
		return err
	}
	v, err := s.chats.get(ctx, id)
	if err != nil {
		return err
	}

	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that collects would hold an ask back
	w.WriteHeader(http.StatusOK)
	st := &stream{w: w, rc: http.NewResponseController(w), parse: r.URL.Query().Has("nodes"), timeout: s.Patience}
	st.buf.WriteString("retry: 1000\n\n")
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("after")
	}
	st.begin(v, last)
	if st.flush() != nil {
		return nil
	}

	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.stop:
			return nil
		case <-beat.C:
			if _, ok, err := s.who(ctx, bearer(r)); err == nil && !ok {
				return nil // the session was ended meanwhile
			}
			st.buf.WriteString(": still here\n\n")
			// A signal may be lost; a heartbeat that also looks is the backstop.
			if v, err = s.catchUp(r, st, v); err != nil {
				return nil
			}
		case _, ok := <-moved:
			if !ok {
				return nil // the subscription broke: the reader comes back with its place
			}
			if v, err = s.catchUp(r, st, v); err != nil {
				return nil
			}
		case b, ok := <-live:
			if !ok {
				return nil
			}
			var f frame
			if json.Unmarshal(b, &f) != nil {
				continue
			}
			if m, fits := f.over(v); fits {
				st.message(m, 0)
			}
		}
		// A reader that does not take its bytes in time is dropped. It may come back; nobody waits for it.
		if st.flush() != nil {
			return nil
		}
	}
}

func (s *Server) catchUp(r *http.Request, st *stream, old view) (view, error) {
	v, err := s.chats.get(r.Context(), old.session.Chat)
	if err != nil {
		if r.Context().Err() == nil {
			s.Logger.Warn("stream lost its log", "err", err)
		}
		return old, err
	}
	st.after(v)
	return v, nil
}

// begin tells a reader how things stand. last is where it was, or not a number for one that comes fresh.
func (st *stream) begin(v view, last string) {
	at, err := strconv.ParseUint(last, 10, 64)
	known := err == nil && at <= v.head.Seq
	for i := len(v.messages) - 1; i >= 0; i-- {
		if m := v.messages[i]; m.form.Role == "assistant" {
			id := v.head.Seq
			if known {
				id = 0 // its place is not yet here
			}
			st.message(m.form, id)
			break
		}
	}
	if known {
		st.cursor = at
		st.after(v)
		return
	}
	st.cursor = v.head.Seq
	// A program that connects late must hear of what already waits.
	for _, c := range turn.OpenAsks(v.session) {
		if c.Status == turn.Awaiting {
			if b, err := json.Marshal(required(c)); err == nil {
				st.event("approval_required", b, 0)
			}
		}
	}
}

// after tells everything that came after the reader's place, entry by entry: first the messages as they now stand, then what
// happened.
func (st *stream) after(v view) {
	if v.head.Seq < st.cursor { // another history after a failover
		st.begin(v, "")
		return
	}
	type line struct {
		seq  uint64
		form *messageForm
		ev   *event
	}
	var lines []line
	for i := range v.messages {
		if m := &v.messages[i]; m.rev > st.cursor {
			lines = append(lines, line{seq: m.rev, form: &m.form})
		}
	}
	first := sort.Search(len(v.events), func(i int) bool { return v.events[i].seq > st.cursor })
	for i := first; i < len(v.events); i++ {
		lines = append(lines, line{seq: v.events[i].seq, ev: &v.events[i]})
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].seq < lines[j].seq })
	for i, l := range lines {
		id := l.seq
		if i+1 < len(lines) && lines[i+1].seq == l.seq {
			id = 0
		}
		if l.form != nil {
			st.message(*l.form, id)
		} else {
			st.event(l.ev.name, l.ev.data, id)
		}
	}
	st.cursor = v.head.Seq
}

func (st *stream) message(m messageForm, id uint64) {
	if st.parse {
		m = m.parsed()
	}
	if b, err := json.Marshal(m.brief()); err == nil {
		st.event("message", b, id)
	}
}

// event writes one event; data is JSON and so has no line break. An id of 0 writes none.
func (st *stream) event(name string, data []byte, id uint64) {
	if id > 0 {
		fmt.Fprintf(&st.buf, "id: %d\n", id)
	}
	fmt.Fprintf(&st.buf, "event: %s\ndata: %s\n\n", name, data)
}

func (st *stream) flush() error {
	if st.buf.Len() == 0 {
		return nil
	}
	defer st.buf.Reset()
	if err := st.rc.SetWriteDeadline(time.Now().Add(st.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := st.w.Write(st.buf.Bytes()); err != nil {
		return err
	}
	return st.rc.Flush()
}

// enter counts a stream in, unless its person has too many or the server is ending.
func (s *Server) enter(user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return problem{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "This replica is about to stop. Connect again in a moment."}
	case s.open[user] >= s.Streams:
		return problem{Status: http.StatusTooManyRequests, Code: "too_many_streams",
			Message: fmt.Sprintf("You have %d chats open already. Close one of those pages and try again.", s.Streams)}
	}
	s.open[user]++
	s.streams.Add(1)
	return nil
}

func (s *Server) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] == 0 {
		delete(s.open, user)
	}
	s.streams.Done()
}
