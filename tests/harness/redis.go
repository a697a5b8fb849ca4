package harness

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Backend is a Redis that several replicas share.
type Backend struct {
	Name string
	// Start gives the URL of a fresh one that ends with the test.
	Start func(testing.TB) string
	// Dial gives a replica its way to it; nil: over the network.
	Dial func(replica string) func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Mini is miniredis in this process; Real is a redis-server process of its own.
var (
	Mini = Backend{Name: "miniredis", Start: func(t testing.TB) string { return "redis://" + miniredis.RunT(t).Addr() }}
	Real = Backend{Name: "redis", Start: startReal}
)

// Lightest is for suites whose subject is not the store: a redis-server where there is one, and else miniredis, which makes a Lua
// interpreter anew for each script that it runs. That is most of what a chat costs there, and five times as much with the race detector.
var Lightest = Backend{Name: "the lightest", Start: func(t testing.TB) string {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return Mini.Start(t)
	}
	return Real.Start(t)
}}

// Backends are those that a test runs over: both, and with the race detector the lighter one, because it watches the code above the store,
// which is the same.
func Backends() []Backend {
	if Raced {
		return []Backend{Lightest}
	}
	return []Backend{Mini, Real}
}

// startReal runs a server on a socket in a directory of its own.
func startReal(t testing.TB) string { return StartRedis(t).URL }

// Redis is a redis-server process of a test's own that can be brought back as it was before.
type Redis struct {
	URL string

	t    testing.TB
	path string
	dir  string
	cmd  *exec.Cmd
}

// StartRedis runs a server on a socket in a directory of its own. It keeps what Save kept, and nothing else.
func StartRedis(t testing.TB) *Redis {
	t.Helper()
	path := need.Program(t, "redis", "redis-server")
	dir, err := os.MkdirTemp("", "nod") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &Redis{URL: "unix://" + filepath.Join(dir, "s"), t: t, path: path, dir: dir}
	t.Cleanup(func() { r.Kill() })
	r.Restart()
	return r
}

// Backend makes a world live on this server.
func (r *Redis) Backend() Backend {
	return Backend{Name: "redis", Start: func(testing.TB) string { return r.URL }}
}

// Kill is kill -9.
func (r *Redis) Kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// Restart kills the server and starts it with what was saved last.
func (r *Redis) Restart() {
	r.t.Helper()
	r.Kill()
	r.cmd = exec.Command(r.path, "--port", "0", "--unixsocket", filepath.Join(r.dir, "s"), "--save", "", "--appendonly", "no", "--dir", r.dir, "--daemonize", "no") //nolint:gosec // a test's server
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	over := time.Now().Add(deadline)
	for {
		s, err := state.OpenToRead(r.t.Context(), "", state.Options{URL: r.URL, Log: discard})
		if err == nil {
			_ = s.Close()
			return
		}
		if time.Now().After(over) {
			r.t.Fatalf("redis-server does not get ready: %v", err)
		}
		select { // nothing tells when the socket is there
		case <-r.t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Save keeps everything as it is now, for the next Restart.
func (r *Redis) Save() { r.do("SAVE") }

// Flush drops everything, under whoever uses it.
func (r *Redis) Flush() { r.do("FLUSHALL") }

func (r *Redis) do(args ...any) any {
	r.t.Helper()
	o, err := redis.ParseURL(r.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // a test's client
	got, err := c.Do(r.t.Context(), args...).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// Follow makes this server a replica of another one.
func (r *Redis) Follow(primary *Redis) {
	r.t.Helper()
	port := strconv.Itoa(stand.FreePort(r.t))
	primary.do("CONFIG", "SET", "port", port)
	r.do("REPLICAOF", "127.0.0.1", port)
}

// Followed waits until a replica has what was written so far.
func (r *Redis) Followed() {
	r.t.Helper()
	for over := time.Now().Add(deadline); ; {
		if n := r.do("WAIT", 1, 100); n == int64(1) {
			return
		}
		if time.Now().After(over) {
			r.t.Fatal("no replica follows")
		}
	}
}
