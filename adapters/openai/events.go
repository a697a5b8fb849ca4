package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/tidwall/gjson"
)

// maxEvent is the longest line of a stream that is read. Longer ones are no text for people.
const maxEvent = 8 << 20

var errLongLine = errors.New("a line of the stream is longer than 8 MiB")

// event is one server-sent event.
type event struct {
	kind string
	data []byte // valid until the next call
}

// events reads server-sent events the way services really send them: with LF or CRLF, with comments, with or
// without the space, without the blank line at the end, or with only one newline between events.
type events struct {
	in   *bufio.Reader
	kind string
	data []byte
	out  []byte
	held []byte // a line that was read too early
	end  error
}

// next returns the next event. io.EOF means that the stream ended between events; any other error, that it was cut.
func (e *events) next() (event, error) {
	for {
		line, err := e.line()
		if err != nil {
			if whole(e.data) {
				return e.take(), nil // the error comes again at the next call
			}
			if len(e.data) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return event{}, err
		}
		if len(line) == 0 {
			if len(e.data) > 0 {
				return e.take(), nil
			}
			e.kind = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.kind = string(value)
		case "data":
			if whole(e.data) { // no blank line stood between
				e.held = append([]byte{}, line...)
				return e.take(), nil
			}
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
}

func (e *events) take() event {
	e.out, e.data = e.data, e.out[:0]
	ev := event{e.kind, e.out}
	e.kind = ""
	return ev
}

// whole reports whether data is an event by itself.
func whole(data []byte) bool {
	return len(data) > 0 && (bytes.HasPrefix(data, done) || gjson.ValidBytes(data))
}

var done = []byte("[DONE]")

// line reads up to a newline. The last line needs none.
func (e *events) line() ([]byte, error) {
	if e.held != nil {
		line := e.held
		e.held = nil
		return line, nil
	}
	if e.end != nil {
		return nil, e.end
	}
	var line []byte
	for {
		part, err := e.in.ReadSlice('\n')
		if line == nil && err == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		line = append(line, part...)
		switch {
		case len(line) > maxEvent:
			e.end = errLongLine
			return nil, e.end
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		e.end = err
		if len(line) == 0 {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
