package gateway

import (
	"encoding/binary"
	"errors"
)

// Frames of websocket connections. https://www.rfc-editor.org/rfc/rfc6455#section-5.2
const (
	frameText   = 0x1
	frameBinary = 0x2
	frameClose  = 0x8

	maxControl = 125 // bytes that a control frame may carry

	// maxHeld is up to how many bytes a message is held back until it has come whole, so that it can be looked at before it goes on.
	// All that steers a connection is far smaller; what is larger is an event.
	maxHeld = 4 << 10
	// maxHeads bounds what such a message may have with its headers: its frames can be empty.
	maxHeads = 8 * maxHeld
)

// errFrames: what came are no websocket frames.
var errFrames = errors.New("not websocket frames")

// framed is part of what goes over a websocket connection in one direction. All pieces together are all of it, byte for byte, but that
// a control frame in the middle of a small message comes before it.
type framed struct {
	raw     []byte // with its headers, as it came; valid until the next piece
	whole   bool   // it is a whole message, or a control frame
	op      byte   // of the message; 0 where it is not whole
	payload []byte // unmasked; nil where it is not whole
	start   []byte // where it is not whole: how the message begins, unmasked, in its first piece
}

// splitter cuts one direction of a websocket connection into pieces. The zero value stands before the first frame.
type splitter struct {
	raw  []byte // of a frame that has not come whole
	held []byte // the earlier frames of a message that is held back
	msg  []byte // what they carry
	op   byte   // of the message under way; 0: none is
	big  bool   // too large to be held: it goes by in parts
	left uint64 // of the frame of such a message
	last bool   // that frame ends it
}

// idle: no frame and no message is under way, so something may be put between.
func (s *splitter) idle() bool { return len(s.raw) == 0 && s.op == 0 && s.left == 0 }

// feed takes what came, and gives take each piece that is complete with it. It stops at take's first error.
func (s *splitter) feed(b []byte, take func(framed) error) error {
	s.raw = append(s.raw, b...)
	rest := s.raw
	defer func() { s.raw = append(s.raw[:0], rest...) }()
	for len(rest) > 0 {
		n, p, err := s.next(rest)
		if err != nil || n == 0 {
			return err
		}
		rest = rest[n:]
		if p.raw == nil {
			continue
		}
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
}

// next consumes n bytes of b, and gives a piece where one is complete. With n 0 more has to come first.
func (s *splitter) next(b []byte) (n int, p framed, err error) {
	if s.left > 0 {
		n = int(min(s.left, uint64(len(b)))) //nolint:gosec // at most len(b)
		s.left -= uint64(n)                  //nolint:gosec // as above
		s.ended()
		return n, framed{raw: b[:n]}, nil
	}
	h, err := headerIn(b)
	switch {
	case err != nil || h.size == 0:
		return 0, framed{}, err
	case h.op >= frameClose:
		return s.control(b, h)
	case (h.op == 0) == (s.op == 0): // goes on with nothing, or begins in the middle
		return 0, framed{}, errFrames
	case s.big, uint64(len(s.msg))+h.payload > maxHeld, len(s.held) > maxHeads:
		return s.stream(b, h)
	case uint64(len(b)-h.size) < h.payload:
		return 0, framed{}, nil
	}
	n = h.size + int(h.payload) //nolint:gosec // at most maxHeld
	if h.op != 0 {
		s.op = h.op
	}
	s.held, s.msg = append(s.held, b[:n]...), append(s.msg, h.unmasked(b[h.size:n])...)
	if !h.fin {
		return n, framed{}, nil
	}
	p = framed{raw: s.held, whole: true, op: s.op, payload: s.msg}
	s.op, s.held, s.msg = 0, nil, nil
	return n, p, nil
}

func (s *splitter) control(b []byte, h frameHeader) (int, framed, error) {
	if !h.fin || h.payload > maxControl {
		return 0, framed{}, errFrames
	}
	n := h.size + int(h.payload) //nolint:gosec // at most maxControl
	if len(b) < n {
		return 0, framed{}, nil
	}
	return n, framed{raw: b[:n], whole: true, op: h.op, payload: h.unmasked(b[h.size:n])}, nil
}

// stream lets a message go by that is too large to be held: first what was held of it, and the header of this frame.
func (s *splitter) stream(b []byte, h frameHeader) (int, framed, error) {
	const glimpse = 64
	p := framed{raw: b[:h.size]}
	if !s.big {
		// Enough of the payload to see how it begins, where that has come.
		start := append(append([]byte{}, s.msg...), h.unmasked(b[h.size:min(len(b), h.size+glimpse)])...)
		if uint64(len(start)) < glimpse && h.payload >= glimpse {
			return 0, framed{}, nil
		}
		p.start = start
		p.raw = append(s.held, p.raw...)
	}
	if h.op != 0 {
		s.op = h.op
	}
	s.big, s.held, s.msg, s.left, s.last = true, nil, nil, h.payload, h.fin
	s.ended()
	return h.size, p, nil
}

// ended: the frame in hand may have ended its message.
func (s *splitter) ended() {
	if s.left == 0 && s.last {
		s.op, s.big, s.last = 0, false, false
	}
}

// frameHeader is a frame's header.
type frameHeader struct {
	fin     bool
	op      byte
	size    int // bytes of the header itself; 0: it has not come whole
	payload uint64
	masked  bool
	mask    [4]byte
}

func headerIn(b []byte) (frameHeader, error) {
	if len(b) < 2 {
		return frameHeader{}, nil
	}
	h := frameHeader{fin: b[0]&0x80 != 0, op: b[0] & 0x0f, masked: b[1]&0x80 != 0, payload: uint64(b[1] & 0x7f)}
	size := 2
	switch h.payload {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	at := size
	if h.masked {
		size += len(h.mask)
	}
	if len(b) < size {
		return frameHeader{}, nil
	}
	switch at {
	case 4:
		h.payload = uint64(binary.BigEndian.Uint16(b[2:]))
	case 10:
		h.payload = binary.BigEndian.Uint64(b[2:])
	}
	if h.masked {
		copy(h.mask[:], b[at:])
	}
	if h.payload > 1<<62 || h.op > frameBinary && h.op < frameClose {
		return frameHeader{}, errFrames
	}
	h.size = size
	return h, nil
}

// unmasked is a copy of the beginning of a frame's payload.
func (h frameHeader) unmasked(b []byte) []byte {
	out := append([]byte(nil), b...)
	for i := range out {
		out[i] ^= h.mask[i&3]
	}
	return out
}

// textFrame is a message of a client, in one frame. The mask is against intermediaries that take it for HTTP, and no secret.
func textFrame(payload []byte, mask [4]byte) []byte {
	b := []byte{0x80 | frameText}
	if len(payload) <= maxControl {
		b = append(b, 0x80|byte(len(payload)))
	} else {
		b = append(b, 0x80|126)
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload))) //nolint:gosec // ours are short
	}
	b = append(b, mask[:]...)
	return append(b, frameHeader{mask: mask}.unmasked(payload)...)
}
