package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is what lies between the bots and Redis, with what goes wrong on one. A library (toxiproxy was looked at) cuts and delays too, but
// cannot answer in Redis's name.
type wire struct {
	url string
	to  string // Redis's socket

	mu     sync.Mutex
	open   []net.Conn
	held   chan struct{} // closed when traffic goes on; nil: it does
	halve  int           // so many of the next replies arrive by half, and their connection is lost
	refuse []string      // answers to the next commands, which Redis never sees
}

func openWire(t testing.TB, redis *redisServer) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "nod") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	l := &wire{url: strings.Replace(redis.url, redis.sock, filepath.Join(dir, "l"), 1), to: redis.sock}
	in, err := net.Listen("unix", filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := in.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { l.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = in.Close()
		l.goOn()
		l.cut()
		conns.Wait()
		_ = os.RemoveAll(dir)
	})
	return l
}

// carry is one connection, to its end.
func (l *wire) carry(client net.Conn) {
	defer client.Close()
	l.mu.Lock()
	to := l.to
	l.mu.Unlock()
	server, err := net.Dial("unix", to)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.open = append(l.open, client, server)
	l.mu.Unlock()
	var way sync.WaitGroup
	way.Go(func() { l.copy(server, client, l.command) })
	l.copy(client, server, l.reply)
	_ = server.Close()
	_ = client.Close()
	way.Wait()
	l.mu.Lock()
	l.open = slices.DeleteFunc(l.open, func(c net.Conn) bool { return c == client || c == server })
	l.mu.Unlock()
}

// copy carries what comes from one end to the other. pass says what of it arrives, what is answered instead, and whether the connection lives on.
func (l *wire) copy(to, from net.Conn, pass func([]byte) (on []byte, back string, lives bool)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		held := l.held
		l.mu.Unlock()
		if held != nil {
			<-held
		}
		if n > 0 {
			on, back, lives := pass(buf[:n])
			_, _ = io.WriteString(from, back)
			if _, failed := to.Write(on); failed != nil || !lives {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *wire) command(b []byte) (on []byte, back string, lives bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.refuse) == 0 || b[0] != '*' {
		return b, "", true
	}
	back, l.refuse = l.refuse[0], l.refuse[1:]
	return nil, back, false
}

func (l *wire) reply(b []byte) (on []byte, back string, lives bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.halve == 0 {
		return b, "", true
	}
	l.halve--
	return b[:len(b)/2], "", false
}

// lead cuts every connection, and leads new ones to another server.
func (l *wire) lead(redis *redisServer) {
	l.mu.Lock()
	l.to = redis.sock
	l.mu.Unlock()
	l.cut()
}

// cut closes every connection.
func (l *wire) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
}

// hold keeps back everything until goOn.
func (l *wire) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(chan struct{})
}

func (l *wire) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// wrong are Redis's own words for what it does not do just now. https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
var wrong = []string{
	"-LOADING Redis is loading the dataset in memory\r\n", "-READONLY You can't write against a read only replica.\r\n",
	"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "-NOSCRIPT No matching script. Please use EVAL.\r\n",
	"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
}

// harm makes the next n commands be answered by an error, or the next n replies be lost by half.
func (l *wire) harm(n int, say string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if say == "" {
		l.halve += n
		return
	}
	for range n {
		l.refuse = append(l.refuse, say)
	}
}

// pause holds everything for so long.
func (l *wire) pause(d time.Duration) {
	l.hold()
	<-time.After(d)
	l.goOn()
}
