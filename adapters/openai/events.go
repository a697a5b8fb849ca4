package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"io"

	"github.com/tidwall/gjson"
)

// maxEvent is the longest line of a stream that is read. Longer ones are no text for people.
const maxEvent = 8 << 20

// event is one server-sent event.
type event struct {
	kind string
	data []byte // valid until the next call
}

// events reads server-sent events the way services really send them: with LF or CRLF, with comments, with or
// without the space, without the blank line at the end, or with only one newline between events.
type events struct {
	lines *bufio.Scanner
	again bool // the line was read too early: it is the next one, too
	end   error
	kind  string
	data  []byte
	out   []byte
}

func newEvents(in io.Reader) *events {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxEvent)
	return &events{lines: lines}
}

// next returns the next event. io.EOF means that the stream ended; any other error, that it was cut.
func (e *events) next() (event, error) {
	for {
		line, err := e.line()
		switch {
		case err != nil && whole(e.data), err == nil && len(line) == 0 && len(e.data) > 0:
			return e.take(), nil // an error comes again at the next call
		case err != nil:
			return event{}, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.kind = string(value)
		case "data":
			if whole(e.data) { // no blank line stood between
				e.again = true
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
	return bytes.HasPrefix(data, done) || gjson.ValidBytes(data)
}

var done = []byte("[DONE]")

// line reads up to a newline. The last line needs none; after it the error stays.
func (e *events) line() ([]byte, error) {
	if !e.again && !e.lines.Scan() {
		e.end = cmp.Or(e.lines.Err(), io.EOF)
	}
	e.again = false
	return bytes.TrimRight(e.lines.Bytes(), "\r"), e.end
}
