package state

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/stand"
)

func agentOp(stored string) agent.OpID { return agent.OpID(unescape(stored)) }

// startRedis runs a server on a socket in a directory of its own.
func startRedis(t testing.TB, args ...string) (url string) {
	t.Helper()
	dir := shortDir(t)
	sock := filepath.Join(dir, "s")
	run(t, dir, append([]string{"--bind", "127.0.0.1", "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no"}, args...))
	url = "unix://" + sock
	await(t, url, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
	return url
}

// shortDir is a directory whose path fits into a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nod")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func run(t testing.TB, dir string, args []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(need.Program(t, "redis", "redis-server"), append(args, "--dir", dir, "--daemonize", "no")...) //nolint:gosec // a test's server
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return cmd
}

// await asks until the server says yes.
func await(t testing.TB, url string, ask func(context.Context, *redis.Client) error) {
	t.Helper()
	logging.Disable()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	tune(o)
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // a test's client
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for try := 0; ; try++ {
		if err = ask(ctx, c); err == nil {
			return
		}
		if !pause(ctx, min(try, 2)) {
			t.Fatalf("the server does not get ready: %v", err)
		}
	}
}

// atEnd is what is done when all tests have run.
var atEnd []func()

// outliving is a test whose cleanup waits for the end of all of them.
type outliving struct{ testing.TB }

func (outliving) Cleanup(f func()) { atEnd = append(atEnd, f) }
func (outliving) Failed() bool     { return false }

var (
	theCluster string
	turns      sync.Mutex // of theCluster
)

// cluster is one of three primaries that share the slots, empty: to get together takes them seconds, so one serves all tests, each in its turn,
// which ends with it.
func cluster(t *testing.T) (url string) {
	t.Helper()
	turns.Lock()
	t.Cleanup(turns.Unlock)
	if theCluster == "" {
		theCluster = startCluster(outliving{t})
	}
	flush(t, theCluster)
	return theCluster
}

func startCluster(t testing.TB) (url string) {
	t.Helper()
	const nodes = 3
	var ports [nodes]int
	for i := range ports {
		ports[i] = stand.FreePort(t)
		run(t, shortDir(t), []string{
			"--bind", "127.0.0.1", "--port", fmt.Sprint(ports[i]), "--save", "", "--appendonly", "no",
			"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(stand.FreePort(t)), "--cluster-node-timeout", "5000",
		})
	}
	at := func(i int) string { return fmt.Sprintf("redis://127.0.0.1:%d", ports[i]) }
	var bus [nodes]string
	for i := range ports {
		await(t, at(i), func(ctx context.Context, c *redis.Client) error {
			me, err := c.Do(ctx, "CLUSTER", "NODES").Text()
			if err == nil {
				_, rest, _ := strings.Cut(me, "@")
				bus[i], _, _ = strings.Cut(rest, " ")
			}
			return err
		})
		from, to := 16384*i/nodes, 16384*(i+1)/nodes-1
		await(t, at(i), func(ctx context.Context, c *redis.Client) error {
			return c.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", from, to).Err()
		})
	}
	for i := 1; i < nodes; i++ {
		await(t, at(0), func(ctx context.Context, c *redis.Client) error {
			return c.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", ports[i], bus[i]).Err()
		})
	}
	for i := range ports {
		await(t, at(i), func(ctx context.Context, c *redis.Client) error {
			info, err := c.ClusterInfo(ctx).Result()
			if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3")) {
				err = fmt.Errorf("not formed: %s", info)
			}
			return err
		})
	}
	return at(0)
}

// A server that serves nobody more says so by itself, before it is asked anything.
func TestWhatAServerSaysBeforeItHangsUp(t *testing.T) {
	url := startRedis(t, "--maxclients", "1")
	first, err := net.Dial("unix", strings.TrimPrefix(url, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	s, err := Open(t.Context(), Options{URL: url, Log: discard})
	if err == nil || !strings.Contains(err.Error(), `"ERR max number of clients reached"`) {
		t.Errorf("%v, %v", s, err)
	}
}
