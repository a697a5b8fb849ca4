package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// Write sends what may leave.
func (w *wire) Write(b []byte) (int, error) {
	n, err := w.write(b)
	if err != nil && !w.told.CompareAndSwap(0, toldWriter) && w.told.Load() == toldReader {
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
		w.told.CompareAndSwap(0, toldWriter)
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
		if w.pend.Swap(true) {
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
