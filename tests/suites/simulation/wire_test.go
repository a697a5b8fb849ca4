package simulation

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/state/packed"
	. "github.com/nodhq/nod/tests/harness"
)

// redis is the one Redis of a story: miniredis, whose clock and expiry are the bubble's. Nobody listens: a connection hands what was written
// to it to the server itself, in the goroutine that writes, unless a fault befalls it.
type redis struct {
	mini *miniredis.Miniredis

	mu      sync.Mutex
	rng     *rand.Rand
	rate    float64       // of faults, for each write to a connection
	quiet   int           // while replicas start, nothing befalls anybody
	away    time.Time     // until then nobody reaches it
	ahead   time.Duration // of the bubble's clock
	dead    map[string]bool
	conns   map[*conn]string
	started map[turn.RunID]time.Time // when a run's start was carried out
	seen    map[string]bool          // names of commands and digests of scripts
	writes  int                      // to connections, since the replicas started, that count
	looks   int                      // of them, at what may have moved: there is one every half second
	at      int                      // the write that a fault befalls, in TestCrashMatrix
	what    fault                    // which
	kill    func(replica string)
	tell    func(format string, a ...any)
}

// fault is what TestCrashMatrix does to one write.
type fault int

const (
	none fault = iota
	killedBefore
	killedAfter
	replyLost
	awayBefore // for everybody, for longer than a lease
	awayAfter
)

func (f fault) String() string {
	return [...]string{"none", "killed before", "killed after", "reply lost", "away before", "away after"}[f]
}

var errCut = errors.New("the connection broke (simulated)")

func newRedis(rng *rand.Rand, rate float64, tell func(string, ...any)) *redis {
	r := &redis{
		mini: miniredis.NewMiniRedis(), rng: rng, rate: rate, tell: tell,
		dead: map[string]bool{}, conns: map[*conn]string{}, started: map[turn.RunID]time.Time{},
		seen: map[string]bool{},
	}
	r.mini.ClockTTL(true)
	c, err := r.mini.Dial() // starts it
	if err == nil {
		_ = c.Close()
	}
	return r
}

func (r *redis) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *redis) backend() Backend {
	return Backend{Name: "bubble", Start: func(testing.TB) string { return "redis://bubble" }, Dial: r.dial}
}

// dial is how one replica reaches it.
func (r *redis) dial(replica string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if time.Now().Before(r.away) || r.dead[replica] {
			return nil, errCut
		}
		c := &conn{r: r, who: replica, news: make(chan struct{}, 1)}
		c.peer = server.NewPeer(bufio.NewWriter(answers{c}))
		r.conns[c] = replica
		return c, nil
	}
}

// cut ends all connections of a replica, or of everybody.
func (r *redis) cut(replica string) {
	var all []*conn
	r.locked(func() {
		for c, who := range r.conns {
			if replica == "" || who == replica {
				all = append(all, c)
			}
		}
	})
	for _, c := range all {
		c.end(errCut)
	}
}

// fate is what befalls one write to a connection.
type fate int

const (
	passes   fate = iota
	dropped       // nothing is carried out, and the connection ends
	lost          // it is carried out, and the connection ends without an answer
	halved        // a part of it is carried out and answered, and the connection ends
	delayed       // it is carried out later, perhaps after whoever asked gave up and asked again
	answered      // it is carried out now and answered later
	refused       // the server answers that it is loading its data
	fates
)

// befalls decides.
func (r *redis) befalls(who string, cmds [][]string) (f fate, wait time.Duration, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.dead[who] || time.Now().Before(r.away):
		return dropped, 0, 0
	case r.quiet > 0:
		return passes, 0, 0
	case r.counts(cmds) && r.writes == r.at && r.what != none:
		switch r.what {
		case killedBefore, killedAfter:
			r.dead[who] = true
			r.kill(who)
		case awayBefore, awayAfter:
			r.away = time.Now().Add(3 * lease / 2)
			go r.cut("") // who calls has the lock
		default:
		}
		if r.what == killedBefore || r.what == awayBefore {
			return dropped, 0, 0
		}
		return lost, 0, 0
	}
	if r.rng.Float64() >= r.rate {
		return passes, 0, 0
	}
	f = 1 + fate(r.rng.IntN(int(fates)-1))
	wait, n = time.Duration(r.rng.IntN(int(12*time.Second))), r.rng.IntN(len(cmds))
	if !waits(cmds) && f > halved {
		f = dropped
	}
	return f, wait, n
}

// counts counts a write.
func (r *redis) counts(cmds [][]string) bool {
	if !waits(cmds) {
		if r.looks++; r.looks > 8 {
			return false
		}
	}
	r.writes++
	return true
}

// waits reports whether commands may take their time. What a connection begins with, and what hears signals, may not: whoever waits for those
// holds locks, and for a lock a bubble's time stands still.
func waits(cmds [][]string) bool {
	first := strings.ToUpper(cmds[0][0])
	return strings.HasPrefix(first, "EVAL") || strings.HasPrefix(first, "Z")
}

// trip is how long a round trip takes.
const trip = 300 * time.Microsecond

var startOf = regexp.MustCompile(`"run":"([^"]+)"`)

// sees remembers which runs' starts are carried out.
func (r *redis) sees(cmd []string) {
	name := strings.ToUpper(cmd[0])
	if name == "EVALSHA" {
		name = cmd[1]
	}
	r.locked(func() { r.seen[name] = true })
	for _, a := range events(cmd) {
		if strings.Contains(a, `"k":"started"`) {
			if m := startOf.FindStringSubmatch(a); m != nil {
				r.locked(func() {
					if _, again := r.started[turn.RunID(m[1])]; !again {
						r.started[turn.RunID(m[1])] = time.Now()
					}
				})
			}
		}
	}
}

// events are the events that a command brings, as append.lua takes them: each behind its operation and its link, and after the chat's name.
func events(cmd []string) (out []string) {
	const chat = 17
	if len(cmd) < 3 || !strings.HasPrefix(strings.ToUpper(cmd[0]), "EVAL") {
		return nil
	}
	n, _ := strconv.Atoi(cmd[2])
	for i := 2 + n + chat + 3; i < len(cmd); i++ {
		if !strings.HasPrefix(cmd[i], `{"`) {
			continue
		}
		if b, err := packed.Unpack(cmd[i-2]+" "+cmd[2+n+chat], []byte(cmd[i])); err == nil {
			out = append(out, string(b))
		}
	}
	return out
}

// conn is one connection, as its client has it.
type conn struct {
	r    *redis
	who  string
	peer *server.Peer
	turn sync.Mutex // of whoever has commands carried out

	mu       sync.Mutex
	in, out  []byte
	mute     bool // answers go nowhere
	hears    bool // it is subscribed
	err      error
	deadline time.Time
	news     chan struct{}
}

// answers is what the server writes to.
type answers struct{ *conn }

func (a answers) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mute && a.err == nil {
		a.out = append(a.out, b...)
		a.nudge()
	}
	return len(b), nil
}

func (c *conn) nudge() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// carry has commands carried out.
func (c *conn) carry(cmds [][]string) {
	c.turn.Lock()
	defer c.turn.Unlock()
	for _, cmd := range cmds {
		c.r.sees(cmd)
		if strings.EqualFold(cmd[0], "SUBSCRIBE") {
			c.hears = true
		}
		c.r.locked(func() { c.r.mini.SetTime(time.Now().Add(c.r.ahead)) })
		c.r.mini.Server().Dispatch(c.peer, cmd)
	}
	c.peer.Flush()
}

func (c *conn) silence(mute bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = mute
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return 0, c.err
	}
	c.in = append(c.in, b...)
	var cmds [][]string
	for cmd, rest := command(c.in); cmd != nil; cmd, rest = command(c.in) {
		cmds, c.in = append(cmds, cmd), rest
	}
	c.mu.Unlock()
	if len(cmds) == 0 {
		return len(b), nil
	}
	f, wait, n := c.r.befalls(c.who, cmds)
	if waits(cmds) {
		<-time.After(trip) // time goes by as elsewhere: whoever tries again at once is not there at the same moment
	}
	switch f {
	case dropped:
		c.end(errCut)
		return 0, errCut
	case lost:
		c.silence(true)
		c.carry(cmds)
		c.end(errCut)
	case halved:
		c.carry(cmds[:n])
		c.end(errCut)
	case delayed:
		time.AfterFunc(wait, func() { c.carry(cmds) })
	case answered:
		c.silence(true)
		c.carry(cmds)
		time.AfterFunc(wait, func() { c.end(errCut) })
	case refused:
		for range cmds {
			_, _ = answers{c}.Write([]byte("-LOADING Redis is loading the dataset in memory\r\n"))
		}
	default:
		c.carry(cmds)
	}
	if f != passes {
		c.r.tell("%s: %s %s", c.who, [...]string{"", "dropped", "reply lost", "halved", "delayed " + wait.String(), "no answer for " + wait.String(), "refused"}[f], brief(cmds))
	}
	return len(b), nil
}

// brief names commands.
func brief(cmds [][]string) string {
	out := strings.ToLower(cmds[0][0])
	for _, a := range events(cmds[0]) {
		for _, m := range kindOf.FindAllStringSubmatch(a, 1) {
			out += " " + m[1]
		}
	}
	if len(cmds) > 1 {
		out += " and " + strconv.Itoa(len(cmds)-1) + " more"
	}
	return out
}

var kindOf = regexp.MustCompile(`^\{(?:"v":\d+,)?"k":"([a-z_]+)"`)

func (c *conn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		if len(c.out) > 0 {
			n := copy(b, c.out)
			c.out = c.out[n:]
			c.mu.Unlock()
			return n, nil
		}
		err, deadline := c.err, c.deadline
		c.mu.Unlock()
		if err != nil {
			return 0, err
		}
		var over <-chan time.Time
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return 0, os.ErrDeadlineExceeded
			}
			t := time.NewTimer(left)
			over = t.C
			defer t.Stop()
		}
		select {
		case <-c.news:
		case <-over:
		}
	}
}

// end ends the connection. What was answered before can still be read.
func (c *conn) end(err error) {
	c.mu.Lock()
	before := c.err
	if before == nil {
		c.err = err
		c.nudge()
	}
	c.mu.Unlock()
	if before != nil {
		return
	}
	c.r.locked(func() { delete(c.r.conns, c) })
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.hears { // the server's goroutine for it ends
		c.r.mini.Server().Dispatch(c.peer, []string{"UNSUBSCRIBE"})
	}
}

func (c *conn) Close() error { c.end(net.ErrClosed); return nil }

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	c.nudge()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) LocalAddr() net.Addr              { return &net.UnixAddr{Name: c.who} }
func (c *conn) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "redis"} }

// command takes the first whole command off what a client wrote; nil where there is none.
func command(b []byte) (cmd []string, rest []byte) {
	number := func(sign byte) (n int) {
		line, after, whole := bytes.Cut(b, []byte("\r\n"))
		if !whole || len(line) == 0 || line[0] != sign {
			return -1
		}
		b = after
		n, _ = strconv.Atoi(string(line[1:]))
		return n
	}
	n := number('*')
	for range n {
		size := number('$')
		if size < 0 || len(b) < size+2 {
			return nil, nil
		}
		cmd, b = append(cmd, string(b[:size])), b[size+2:]
	}
	return cmd, b
}
