package gateway

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Opcodes of the gateway. https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

const (
	writeWithin = 10 * time.Second // for one frame to leave: behind a connection that is half open, it never does
	maxHeadline = 64 << 10         // bytes of an HTTP answer's header
	maxInflated = 1 << 20          // bytes of a small message, inflated
	maxBeat     = time.Hour        // between two heartbeats. Discord says 41.25 s
)

// closedByLibrary is why a connection ended that only discordgo had a reason to close.
const closedByLibrary = "discordgo closed it"

// errKept: a frame was not sent.
var errKept = errors.New("discord: kept back")

// closeReason is why a connection ended.
type closeReason struct {
	say     string // for the log
	code    int    // of Discord's close frame; 0: none came
	soon    bool   // Discord asks for another connection (op 7)
	invalid bool   // Discord calls the session invalid (op 9)
	fresh   bool   // the session is over: no RESUME
}

// wire is one connection to the gateway, between discordgo and the network: above TLS, so that it reads the frames.
//
// discordgo v0.29.0 must not see some of them, because of what it does then:
//   - op 7 before its Open has returned: it deadlocks. At any time it answers with a close frame of its own.
//   - op 9: it sends IDENTIFY at once, and again for each op 9 that answers: 10,382 in two seconds, measured.
//   - op 1: it may write to a connection that it has just closed: a nil pointer, and the process ends.
//   - op 11 before its Open has returned: it deadlocks.
//   - a HELLO without an interval, GUILD_CREATE without a guild, null: a panic that nobody can recover.
//
// So op 7 and op 9 become the end of the connection, op 1 is answered here, and the others are dropped. A read never waits for ever,
// a heartbeat that was not acknowledged ends the connection before the next (discordgo waits for five), an IDENTIFY leaves only with a
// ticket, and a close frame only at the very end: discordgo closes with 1000, after which there is no RESUME.
type wire struct {
	net.Conn
	silent  time.Duration               // the longest time between two reads
	seq     func() int64                // of the newest event
	ticket  func() bool                 // whether IDENTIFY may leave; takes it
	heard   func()                      // something came
	done    chan struct{}               // closed when it ended
	reason  atomic.Pointer[closeReason] // why
	ending  atomic.Bool                 // a close frame may leave
	unacked atomic.Bool                 // a heartbeat of discordgo's is not acknowledged
	resumed atomic.Bool                 // a RESUME left
	closer  atomic.Int32                // which of discordgo's two goroutines was told that it ended
	gone    chan struct{}               // closed when the network connection is
	closed  sync.Once

	// What comes in; used by one reader.
	in      splitter
	out     []byte // what discordgo may read
	opaque  bool   // no frames: discordgo is to see for itself
	readErr error
	head    []byte // of the HTTP answer; nil after it
	upgrade bool   // that has ended
	greeted bool   // HELLO has come
	chunk   []byte

	// What goes out.
	mu    sync.Mutex
	sent  splitter
	asked []byte // the HTTP request's last bytes
	open  bool   // that has ended
	bad   error  // something was kept back: nothing leaves any more
}

func newWire(c net.Conn, silent time.Duration) *wire {
	return &wire{Conn: c, silent: silent, done: make(chan struct{}), gone: make(chan struct{}), chunk: make([]byte, 8<<10),
		seq: func() int64 { return 0 }, ticket: func() bool { return false }, heard: func() {}}
}

// end notes why it ended; the first to say so is right. The network connection stays: discordgo closes it.
func (w *wire) end(c closeReason) {
	if w.reason.CompareAndSwap(nil, &c) {
		close(w.done)
	}
}

// hangUp ends it from outside, whatever discordgo is doing.
func (w *wire) hangUp(say string) {
	w.end(closeReason{say: say})
	_ = w.Close()
}

func (w *wire) Close() error {
	w.end(closeReason{say: closedByLibrary})
	var err error
	w.closed.Do(func() {
		err = w.Conn.Close()
		close(w.gone)
	})
	return err
}

// Who was told that a connection ended: nobody, the reader, or who writes. Only one is, because both would close it, which takes a second
// with discordgo's lock held: the later of them would close the connection after it.
const (
	closedByReader = iota + 1
	closedByWriter
)

// Read gives discordgo what it may see. Once who writes closes the connection there is nothing more: what comes in that second comes again
// with a RESUME.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.read(p)
	if err != nil {
		w.closer.CompareAndSwap(0, closedByReader)
	}
	if w.closer.Load() == closedByWriter {
		<-w.gone
		return 0, net.ErrClosed
	}
	return n, err
}

func (w *wire) read(p []byte) (int, error) {
	for len(w.out) == 0 {
		if w.readErr != nil {
			return 0, w.readErr
		}
		_ = w.SetReadDeadline(time.Now().Add(w.silent))
		n, err := w.Conn.Read(w.chunk)
		if n > 0 {
			w.heard()
			if bad := w.take(w.chunk[:n]); bad != nil {
				w.readErr = bad
				continue
			}
		}
		if err != nil {
			w.readErr = err
			w.broke(err)
		}
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

func (w *wire) broke(err error) {
	why := "the connection broke"
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = "nothing came for " + w.silent.String()
	case errors.Is(err, io.EOF):
		why = "Discord closed the connection without a word"
	}
	w.end(closeReason{say: why})
}

// take looks at what came. An error ends the connection for discordgo.
func (w *wire) take(b []byte) error {
	if !w.upgrade && !w.opaque {
		b = w.headline(b)
	}
	if w.opaque || !w.upgrade {
		w.out = append(w.out, b...)
		return nil
	}
	err := w.in.feed(b, w.incoming)
	if errors.Is(err, errFrames) {
		w.opaque = true
		w.out = append(w.out, w.in.raw...)
		return nil
	}
	return err
}

// headline lets the answer to the upgrade by, and returns what came after it.
func (w *wire) headline(b []byte) []byte {
	had := len(w.head)
	w.head = append(w.head, b...)
	end := bytes.Index(w.head, []byte("\r\n\r\n"))
	if end < 0 {
		w.opaque = len(w.head) > maxHeadline
		return b
	}
	w.upgrade = true
	if w.opaque = !bytes.HasPrefix(w.head, []byte("HTTP/1.1 101")); w.opaque {
		line, _, _ := bytes.Cut(w.head[:min(len(w.head), 100)], []byte("\r\n"))
		w.end(closeReason{say: fmt.Sprintf("the gateway answers %q instead of a websocket", line)})
		return b
	}
	at := end + len("\r\n\r\n") - had
	w.out = append(w.out, b[:at]...)
	w.head = nil
	return b[at:]
}

// incoming decides about one piece of what came.
func (w *wire) incoming(p framed) error {
	switch {
	case !p.whole:
		if p.start != nil && (!w.greeted || w.in.op == frameText && !opensObject(p.start)) {
			return w.refuse("what came is no packet of the gateway")
		}
	case p.op == frameClose:
		c := closeReason{say: "Discord closed the connection without a code"}
		if len(p.payload) >= 2 {
			c.code = int(binary.BigEndian.Uint16(p.payload))
			c.say = fmt.Sprintf("Discord closed the connection with %d", c.code)
			c.fresh = c.code == closeBadSequence || c.code == closeTimedOut
		}
		w.end(c)
	case p.op == frameText || p.op == frameBinary:
		pass, err := w.packet(p)
		if err != nil || !pass {
			return err
		}
	}
	w.out = append(w.out, p.raw...)
	return nil
}

func (w *wire) refuse(say string) error {
	w.end(closeReason{say: say})
	return errKept
}

func opensObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) == 0 || b[0] == '{'
}

// packet reports whether discordgo may see a small packet.
func (w *wire) packet(p framed) (pass bool, err error) {
	var e struct {
		Op   *int            `json:"op"`
		Type string          `json:"t"`
		Data json.RawMessage `json:"d"`
	}
	// As discordgo reads it: the first value of the message.
	if json.NewDecoder(bytes.NewReader(inflated(p))).Decode(&e) != nil || e.Op == nil {
		return false, nil
	}
	switch *e.Op {
	case opDispatch:
		return hasGuild(e.Type, e.Data), nil
	case opHeartbeat:
		return !w.beat(), nil
	case opReconnect:
		w.end(closeReason{say: "Discord asks for another connection (op 7)", soon: true})
		return false, errKept
	case opInvalid:
		again := bytes.Equal(bytes.TrimSpace(e.Data), []byte("true"))
		w.end(closeReason{say: fmt.Sprintf("Discord calls the session invalid (op 9 %t)", again), invalid: true, fresh: !again})
		return false, errKept
	case opHello:
		if !hello(e.Data) {
			return false, w.refuse("a HELLO without a heartbeat interval")
		}
		w.greeted = true
	case opAck:
		return w.unacked.Swap(false), nil
	}
	return true, nil
}

// inflated is what a message carries. A compressed one is inflated for looking at it only; we do not ask for compression.
func inflated(p framed) []byte {
	if p.op != frameBinary {
		return p.payload
	}
	z, err := zlib.NewReader(bytes.NewReader(p.payload))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, maxInflated))
	return out
}

// hasGuild: discordgo dereferences a guild that such an event does not have.
func hasGuild(kind string, data json.RawMessage) bool {
	if kind != "GUILD_CREATE" && kind != "GUILD_UPDATE" {
		return true
	}
	var g struct {
		ID string `json:"id"`
	}
	return json.Unmarshal(data, &g) == nil && g.ID != ""
}

// hello: with an interval of 0 discordgo's ticker panics.
func hello(data json.RawMessage) bool {
	var h struct {
		Interval int64 `json:"heartbeat_interval"` // ms
	}
	return json.Unmarshal(data, &h) == nil && h.Interval > 0 && h.Interval <= maxBeat.Milliseconds()
}

// Write sends what may leave.
func (w *wire) Write(b []byte) (int, error) {
	n, err := w.write(b)
	if err != nil && !w.closer.CompareAndSwap(0, closedByWriter) && w.closer.Load() == closedByReader {
		return len(b), nil
	}
	return n, err
}

func (w *wire) write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil {
		return 0, w.bad
	}
	_ = w.SetWriteDeadline(time.Now().Add(writeWithin))
	frames := b
	if !w.open {
		frames = w.request(b)
		if n, err := w.Conn.Write(b[:len(b)-len(frames)]); err != nil {
			return n, err
		}
	}
	var out []byte
	bad := w.sent.feed(frames, func(p framed) error {
		if err := w.outgoing(p); err != nil {
			return err
		}
		out = append(out, p.raw...)
		return nil
	})
	if len(out) > 0 {
		if _, err := w.Conn.Write(out); err != nil {
			return 0, err
		}
	}
	if bad != nil {
		w.bad = bad
		return 0, bad
	}
	return len(b), nil
}

// request finds the end of the HTTP request, and returns what comes after it.
func (w *wire) request(b []byte) []byte {
	had := len(w.asked)
	all := append(w.asked, b...)
	end := bytes.Index(all, []byte("\r\n\r\n"))
	if end < 0 {
		w.asked = append([]byte(nil), all[max(0, len(all)-3):]...)
		return nil
	}
	w.open, w.asked = true, nil
	return b[end+len("\r\n\r\n")-had:]
}

// outgoing decides about one piece of what discordgo sends. An error keeps it back.
func (w *wire) outgoing(p framed) error {
	if !p.whole {
		if p.start != nil {
			return errKept // nothing that we send is so large, and IDENTIFY could be in it
		}
		return nil
	}
	switch p.op {
	case frameClose:
		w.closer.CompareAndSwap(0, closedByWriter)
		if !w.ending.Load() {
			return errKept
		}
	case frameText, frameBinary:
		return w.command(p.payload)
	}
	return nil
}

func (w *wire) command(payload []byte) error {
	var e struct {
		Op *int `json:"op"`
	}
	if json.Unmarshal(payload, &e) != nil || e.Op == nil {
		return errKept
	}
	switch *e.Op {
	case opHeartbeat:
		// "the client should immediately terminate the connection [...] and attempt to Resume"
		// https://discord.com/developers/docs/events/gateway#heartbeat-interval-example-heartbeat-ack
		if w.unacked.Swap(true) {
			w.end(closeReason{say: "a heartbeat was not acknowledged"})
			return errKept
		}
	case opIdentify:
		if !w.ticket() {
			w.end(closeReason{say: "an IDENTIFY without a ticket", fresh: true})
			return errKept
		}
	case opResume:
		w.resumed.Store(true)
	}
	return nil
}

// beat answers Discord's op 1, or reports that it cannot now.
func (w *wire) beat() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open || !w.sent.idle() {
		return false
	}
	last := []byte("null")
	if s := w.seq(); s > 0 {
		last = fmt.Append(nil, s)
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	_ = w.SetWriteDeadline(time.Now().Add(writeWithin))
	_, _ = w.Conn.Write(textFrame(fmt.Appendf(nil, `{"op":%d,"d":%s}`, opHeartbeat, last), mask)) // the next read sees what is wrong
	return true
}
