package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errTooBig ends a stream that holds more than we are willing to read.
var errTooBig = errors.New("the server sent more than can be read")

// codeTooBig is the JSON-RPC error code that stands in for an answer that was too large to read.
const codeTooBig = -31999

// lines reads JSON-RPC messages, one a line, as on stdio and in "data:" fields of an event stream. mcp-go reads lines of any length into
// memory; here a line over max is skipped, and if it was an answer, a small error with the same id takes its place, so that the call ends
// and says why.
type lines struct {
	src   *bufio.Reader
	max   int
	skip  int  // bytes of one line that may be skipped
	sse   bool // lines are those of an event stream
	event int  // bytes of this event so far
	line  []byte
	out   []byte
	err   error
}

func newLines(r io.Reader, sse bool) *lines {
	return &lines{src: bufio.NewReaderSize(r, 64<<10), max: maxAnswer, skip: maxSkipped, sse: sse}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.fill()
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

func (l *lines) fill() {
	if cap(l.line) > 1<<20 {
		l.line = nil // one large answer must not keep its memory for ever
	}
	l.line = l.line[:0]
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) && len(l.line) <= l.max {
		var part []byte
		part, err = l.src.ReadSlice('\n')
		l.line = append(l.line, part...)
	}
	if len(l.line) > l.max {
		l.out, l.err = l.replace(err)
		return
	}
	l.out, l.err = l.line, err
	// An event may have many data lines, which mcp-go joins.
	if l.event += len(l.line); !l.sse || len(bytes.TrimRight(l.line, "\r\n")) == 0 {
		l.event = 0
	}
	if l.event > 2*l.max {
		l.out, l.err = nil, errTooBig
	}
}

// replace skips the rest of the line and returns what stands in its place.
func (l *lines) replace(err error) ([]byte, error) {
	var e envelope
	head, prefix := l.line, ""
	if l.sse {
		head, prefix = bytes.TrimPrefix(l.line, []byte("data:")), "data: "
	}
	e.feed(head)
	for skipped := len(l.line); errors.Is(err, bufio.ErrBufferFull); {
		var part []byte
		part, err = l.src.ReadSlice('\n')
		e.feed(part)
		if skipped += len(part); skipped > l.skip {
			return nil, errTooBig
		}
	}
	l.event = 0
	if len(e.id) == 0 || e.method {
		return []byte("\n"), err
	}
	return fmt.Appendf(nil, `%s{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the answer was too large"}}`+"\n", prefix, e.id, codeTooBig), err
}

// envelope finds the id of a JSON-RPC message without keeping the message. The id may stand before or behind the result.
type envelope struct {
	depth     int
	text, esc bool // inside a string; after a backslash
	named     bool // at depth 1: past the colon
	key, id   []byte
	method    bool
}

func (e *envelope) feed(b []byte) {
	for _, c := range b {
		if e.depth == 1 {
			e.top(c)
		}
		switch {
		case e.esc:
			e.esc = false
		case c == '\\': // of a text: it stands nowhere else
			e.esc = true
		case c == '"':
			e.text = !e.text
		case e.text:
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
		}
	}
}

// top sees the bytes at depth 1: member names and plain values. What it takes out of the middle of a text is neither: no quote stands there bare.
func (e *envelope) top(c byte) {
	const enough = 64 // bytes; longer names and ids are none of ours
	switch {
	case c == ',':
		e.key, e.named = e.key[:0], false
	case c == ':':
		e.named = true
		if string(e.key) == `"method"` {
			e.method = true
		}
	case c <= ' ' || c == '}':
	case !e.named:
		if len(e.key) < enough {
			e.key = append(e.key, c)
		}
	case string(e.key) == `"id"` && len(e.id) < enough:
		e.id = append(e.id, c)
	}
}
