package fakediscord

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Opcodes of the gateway. https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-opcodes
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opPresence  = 3
	opVoice     = 4
	opResume    = 6
	opReconnect = 7
	opMembers   = 8
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
	opSounds    = 31
	opInfo      = 43
)

// maxPayload is what a client may send at once. https://docs.discord.com/developers/events/gateway#sending-events
const maxPayload = 4096

// socket is one connection to the gateway.
type socket struct {
	s       *Server
	conn    *websocket.Conn
	session *session // nil until IDENTIFY or RESUME
	told    bool     // it identified or resumed
	closing bool     // by us
	mute    bool     // nothing is written any more
	sends   window
	beat    *time.Timer
	zip     bool // each payload is compressed (compress: true of IDENTIFY)
	stream  bool // the whole connection is (compress=zlib-stream)

	mu    sync.Mutex
	queue []frame
	wake  chan struct{}
	done  chan struct{}
}

type frame struct {
	data  []byte
	code  int // a close frame
	cut   bool
	plain bool
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, WriteBufferSize: 1 << 14}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	q := r.URL.Query()
	c := &socket{s: s, conn: conn, wake: make(chan struct{}, 1), done: make(chan struct{}), stream: q.Get("compress") == "zlib-stream"}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = conn.Close()
		return
	}
	s.work.Add(1)
	s.sockets = append(s.sockets, c)
	s.dials = append(s.dials, r.URL.RequestURI())
	s.versions["gateway v"+q.Get("v")]++
	c.hello(q.Get("v"))
	s.Fire()
	s.mu.Unlock()
	go c.write()
	defer s.work.Done()
	c.read()
	<-c.done
}

// hello greets a new connection. s.mu is held.
func (c *socket) hello(version string) {
	if g, ok := c.s.greeting(OnConnect); ok {
		c.greet(g)
		return
	}
	if version != "" && version != "10" && version != "9" {
		c.close(4012)
		return
	}
	c.mute = c.s.silence == FromConnect
	c.op(opHello, obj{"heartbeat_interval": c.s.opt.Heartbeat.Milliseconds(), "_trace": []any{"fake"}})
	c.mute = c.mute || c.s.silence == FromHello
	c.expect()
}

// expect ends the connection if no heartbeat comes in time, by the real clock, and its session with it. s.mu is held.
func (c *socket) expect() {
	if c.beat != nil {
		c.beat.Stop()
	}
	c.beat = time.AfterFunc(c.s.opt.Heartbeat*3/2, func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		c.s.end(c.session)
		c.close(4009)
	})
}

// send queues a frame; it never blocks.
func (c *socket) send(f frame) {
	c.mu.Lock()
	c.queue = append(c.queue, f)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// op sends a payload that is no event. s.mu is held.
func (c *socket) op(code int, d any) {
	if c.mute || c.closing {
		return
	}
	raw, _ := json.Marshal(obj{"op": code, "d": d, "s": nil, "t": nil})
	c.send(frame{data: raw, plain: code == opHello})
}

// event sends an event. s.mu is held.
func (c *socket) event(raw []byte) {
	if !c.mute && !c.closing {
		c.send(frame{data: raw})
	}
}

// close closes with a code. s.mu is held.
func (c *socket) close(code int) {
	if !c.closing {
		c.closing = true
		c.send(frame{code: code})
	}
}

// drop resets the connection. s.mu is held.
func (c *socket) drop() {
	c.closing = true
	c.send(frame{cut: true})
}

// abort closes the connection now.
func (c *socket) abort() { _ = c.conn.Close() }

// write writes what is queued until the connection ends.
func (c *socket) write() {
	defer close(c.done)
	defer c.abort()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	for range c.wake {
		c.mu.Lock()
		frames := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, f := range frames {
			switch {
			case f.cut:
				if tcp, ok := c.conn.NetConn().(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				return
			case f.code != 0:
				_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(f.code, closeText[f.code]), time.Now().Add(time.Second))
				return
			case f.data == nil:
				return
			case c.stream:
				out.Reset()
				_, _ = z.Write(f.data)
				_ = z.Flush()
				_ = c.conn.WriteMessage(websocket.BinaryMessage, out.Bytes())
			case c.zip && !f.plain:
				_ = c.conn.WriteMessage(websocket.BinaryMessage, deflate(f.data))
			default:
				_ = c.conn.WriteMessage(websocket.TextMessage, f.data)
			}
		}
	}
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

var closeText = map[int]string{4000: "Unknown error.", 4001: "Unknown opcode.", 4002: "Error while decoding payload.", 4003: "Not authenticated.", 4004: "Authentication failed.",
	4005: "Already authenticated.", 4007: "Invalid seq.", 4008: "Rate limited.", 4009: "Session timed out.", 4010: "Invalid shard.", 4011: "Sharding required.",
	4012: "Invalid API version.", 4013: "Invalid intent(s).", 4014: "Disallowed intent(s)."}

// read reads until the connection ends, and sees to its session then.
func (c *socket) read() {
	var code int
	for {
		kind, raw, err := c.conn.ReadMessage()
		if err != nil {
			if e, ok := err.(*websocket.CloseError); ok {
				code = e.Code
			}
			break
		}
		c.s.mu.Lock()
		c.take(kind, raw)
		c.s.mu.Unlock()
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.beat != nil {
		c.beat.Stop()
	}
	c.s.sockets = slices.DeleteFunc(c.s.sockets, func(x *socket) bool { return x == c })
	if e := c.session; e != nil && e.socket == c {
		e.socket, e.lost = nil, c.s.clock.Now()
		// https://docs.discord.com/developers/events/gateway#disconnecting
		if !c.closing && (code == websocket.CloseNormalClosure || code == websocket.CloseGoingAway) {
			c.s.end(e)
		}
	}
	c.closing = true
	c.send(frame{}) // ends the writer
	c.s.Fire()
}

// take handles one payload of the client's. s.mu is held.
func (c *socket) take(kind int, raw []byte) {
	if c.closing {
		return
	}
	if l := c.s.opt.Limits.Sends; l.N > 0 {
		if ok, _, _ := c.sends.take(c.s.clock.Now(), l); !ok {
			c.close(4008)
			return
		}
	}
	var p struct {
		Op *int            `json:"op"`
		D  json.RawMessage `json:"d"`
	}
	if kind != websocket.TextMessage || len(raw) > maxPayload || json.Unmarshal(raw, &p) != nil || p.Op == nil {
		c.close(4002)
		return
	}
	switch *p.Op {
	case opHeartbeat:
		c.expect()
		c.s.Fire()
		c.op(opAck, nil)
	case opIdentify:
		c.identify(p.D)
	case opResume:
		c.resume(p.D)
	case opPresence, opVoice, opMembers, opSounds, opInfo:
		if !c.told {
			c.close(4003)
		}
	default:
		c.close(4001)
	}
}
