package embedded

import (
	"net"
	"sync"
	"time"
)

// bufferedPipe is a pipe's client end with room for what is not read yet, as a socket has. Without it a pipeline of
// many commands never ends: the server waits for its first reply to be read, the client for its last command.
type bufferedPipe struct {
	net.Conn
	mu   sync.Mutex
	more *sync.Cond
	buf  []byte
	err  error // why nothing more is written
}

func newBufferedPipe(c net.Conn) *bufferedPipe {
	r := &bufferedPipe{Conn: c}
	r.more = sync.NewCond(&r.mu)
	go r.pump() // ends with Close
	return r
}

func (r *bufferedPipe) pump() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil {
		if len(r.buf) == 0 {
			r.more.Wait()
			continue
		}
		b := r.buf
		r.buf = nil
		r.mu.Unlock()
		_, err := r.Conn.Write(b)
		r.mu.Lock()
		if r.err == nil {
			r.err = err
		}
	}
}

func (r *bufferedPipe) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, b...)
	r.more.Signal()
	return len(b), r.err
}

func (r *bufferedPipe) Close() error {
	r.mu.Lock()
	r.err = net.ErrClosed
	r.more.Signal()
	r.mu.Unlock()
	return r.Conn.Close()
}

// Writing never waits, so only reading has a deadline.
func (r *bufferedPipe) SetDeadline(t time.Time) error    { return r.SetReadDeadline(t) }
func (r *bufferedPipe) SetWriteDeadline(time.Time) error { return nil }
