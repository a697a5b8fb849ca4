package fakeslack

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// MaxConnections is how many sockets an app may have. https://docs.slack.dev/apis/events-api/using-socket-mode
	MaxConnections = 10
	// MaxAck is how many bytes an acknowledgement may have on the wire; a longer one is dropped without a word. [slack-go socketmode/client.go]
	MaxAck = 20 * 1024
	// pongWithin bounds the write of a control frame, in real time.
	pongWithin = 5 * time.Second
)

// socket is one Socket Mode connection.
type socket struct {
	conn *websocket.Conn

	mu     sync.Mutex
	queue  [][]byte
	wake   chan struct{} // of size 1
	ending bool          // close after what is queued
}

// write queues a frame; it never blocks.
func (c *socket) write(frame []byte) {
	c.mu.Lock()
	c.queue = append(c.queue, frame)
	c.mu.Unlock()
	c.nudge()
}

// end closes the connection after what is queued.
func (c *socket) end() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.nudge()
}

func (c *socket) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// openConnection is apps.connections.open.
func openConnection(s *Server, _ values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse {
		return no("internal_error")
	}
	t := s.id("ticket-")
	s.tickets[t] = true
	return map[string]any{"url": "ws" + strings.TrimPrefix(s.base, "http") + "/link/?ticket=" + t + "&app_id=" + s.opt.AppID}, nil
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	ok := s.tickets[ticket] && !s.refuse && !s.closed
	delete(s.tickets, ticket)
	if ok {
		s.work.Add(1)
		defer s.work.Done()
	}
	s.mu.Unlock()
	if !ok {
		http.Error(w, "no such ticket", http.StatusServiceUnavailable)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // clients name Slack as the origin; the ticket is the proof
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	c := &socket{conn: conn, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	full := len(s.sockets) >= MaxConnections
	if full {
		c.write(s.farewell("too_many_websockets"))
		c.end()
	} else {
		s.sockets = append(s.sockets, c)
		s.opened++
		hello, _ := json.Marshal(map[string]any{"type": "hello", "num_connections": len(s.sockets),
			"connection_info": map[string]any{"app_id": s.opt.AppID},
			"debug_info":      map[string]any{"host": "applink-fake", "build_number": 1, "approximate_connection_time": 18060}})
		c.write(hello)
		s.Fire()
	}
	s.mu.Unlock()
	gone := make(chan struct{})
	s.work.Go(func() { s.send(c, gone) })
	s.receive(c)
	close(gone)
	s.mu.Lock()
	s.sockets = slices.DeleteFunc(s.sockets, func(x *socket) bool { return x == c })
	s.Fire()
	s.mu.Unlock()
	_ = conn.Close()
}

func (s *Server) farewell(reason string) []byte {
	raw, _ := json.Marshal(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink-fake"}})
	return raw
}

// send writes what is queued and pings, until the connection ends.
func (s *Server) send(c *socket, gone <-chan struct{}) {
	ping := time.NewTicker(s.opt.PingEvery)
	defer ping.Stop()
	beat := func() error {
		return c.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(pongWithin))
	}
	if beat() != nil { // clients measure from the first
		_ = c.conn.Close()
		return
	}
	for {
		select {
		case <-gone:
			return
		case <-s.ctx.Done():
			_ = c.conn.Close()
			return
		case <-ping.C:
			if beat() != nil {
				_ = c.conn.Close()
				return
			}
		case <-c.wake:
			c.mu.Lock()
			frames, ending := c.queue, c.ending
			c.queue = nil
			c.mu.Unlock()
			for _, f := range frames {
				if c.conn.WriteMessage(websocket.TextMessage, f) != nil {
					_ = c.conn.Close()
					return
				}
			}
			if ending {
				_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(pongWithin))
				_ = c.conn.Close()
				return
			}
		}
	}
}

// receive reads acknowledgements until the connection ends.
func (s *Server) receive(c *socket) {
	for {
		_, raw, err := c.conn.ReadMessage()
		if err != nil {
			return
		}
		if len(raw) > MaxAck {
			continue
		}
		var ack struct {
			Envelope string          `json:"envelope_id"`
			Payload  json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(raw, &ack) != nil {
			continue
		}
		for _, of := range s.everywhere() { // the sockets are the app's, in all its workspaces
			of.acked(ack.Envelope, ack.Payload)
		}
	}
}

// acked notes an acknowledgement that came over a socket.
func (s *Server) acked(envelope string, payload json.RawMessage) {
	s.mu.Lock()
	then := func() {}
	if a := s.waiting[envelope]; s.home != nil && a == nil {
		// It is another workspace's.
	} else if s.loseAcks > 0 {
		s.loseAcks--
	} else {
		s.acks[envelope]++
		if a != nil {
			then = s.acknowledge(a, payload)
		}
		s.Fire()
	}
	s.mu.Unlock()
	then()
}

// pick is a random connection. s.mu is held.
func (s *Server) pick() *socket {
	if s.home != nil {
		s.home.mu.Lock()
		defer s.home.mu.Unlock()
		return s.home.pick()
	}
	if len(s.sockets) == 0 {
		return nil
	}
	return s.sockets[s.rng.IntN(len(s.sockets))]
}

// Connections are how many sockets are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Opened are how many sockets have been opened so far. An app that has replaced n of them has opened n more, and not more than before are open:
// what it left is open until Slack hears of it.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// RefuseConnections makes apps.connections.open and the websocket handshake fail, or stops that. Open sockets stay.
func (s *Server) RefuseConnections(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Disconnect sends every socket a disconnect frame with a reason: warning, refresh_requested or link_disabled. All but a
// warning also end the connection; after a warning Slack still sends to it.
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets {
		c.write(s.farewell(reason))
		if reason != "warning" {
			c.end()
		}
	}
}

// Drop closes every socket without a word.
func (s *Server) Drop() {
	s.mu.Lock()
	sockets := slices.Clone(s.sockets)
	s.mu.Unlock()
	for _, c := range sockets {
		_ = c.conn.NetConn().Close()
	}
}

// Raw writes a frame as it stands to one random socket, for what no real Slack would send.
func (s *Server) Raw(frame string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.pick()
	if c == nil {
		return errors.New("fakeslack: no socket is open")
	}
	c.write([]byte(frame))
	return nil
}
