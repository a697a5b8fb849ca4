package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sse is one server-sent event.
type sse struct {
	ID, Name string
	Data     json.RawMessage
}

// stream is one open connection of a chat's events.
type stream struct {
	t      testing.TB
	events chan sse
	close  context.CancelFunc
	seen   []sse
}

// events opens the stream of a chat, from a place in it if last is not empty.
func (r *room) events(last string) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.b.addr+r.path("/events"), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := r.b.client().Do(req)
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		r.t.Fatalf("events: %d %s", res.StatusCode, kind)
	}
	s := &stream{t: r.t, events: make(chan sse, 10_000), close: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		defer res.Body.Close()
		var e sse
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "":
				if e.Name != "" {
					s.events <- e
				}
				e = sse{}
			case "id":
				e.ID = value
			case "event":
				e.Name = value
			case "data":
				e.Data = json.RawMessage(value)
			}
		}
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	return s
}

// next waits for an event that fits.
func (s *stream) next(what string, fits func(sse) bool) sse {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream ended before %s; it had %v", what, s.names())
			}
			s.seen = append(s.seen, e)
			if fits(e) {
				return e
			}
		case <-deadline.C:
			s.t.Fatalf("the stream has no %s; it had %v", what, s.names())
		}
	}
}

// named waits for the next event of that name.
func (s *stream) named(name string) sse {
	s.t.Helper()
	return s.next(name, func(e sse) bool { return e.Name == name })
}

// names are the events read so far.
func (s *stream) names() (out []string) {
	for _, e := range s.seen {
		out = append(out, e.Name)
	}
	return out
}

// lastID is the newest place the stream has told.
func (s *stream) lastID() (id string) {
	for _, e := range s.seen {
		if e.ID != "" {
			id = e.ID
		}
	}
	return id
}

func decode[T any](t testing.TB, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}
