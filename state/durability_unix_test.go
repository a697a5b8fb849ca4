//go:build unix

package state

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/stand"
)

// A repeat finds its write done. It is confirmed by the same replicas as the first try would have been, whichever
// connection it comes on.
func TestARepeatIsOnlyDurableWhenItIs(t *testing.T) {
	t.Parallel()
	primary := startRedis(t, "--repl-diskless-sync-delay", "0")
	sock := strings.TrimPrefix(primary, "unix://")
	port := stand.FreePort(t)
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: sock})
	defer admin.Close() //nolint:errcheck // a test's client
	if err := admin.ConfigSet(t.Context(), "port", itoa(port)).Err(); err != nil {
		t.Fatal(err)
	}
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+itoa(port))
	await(t, replica, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return err
	})
	one := openStore(t, Options{URL: primary, Durability: "replicas=1"})
	w := mustAppend(t, one, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	lease := w.Lease
	w = mustAppend(t, one, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}}) // confirmed

	// The replica stays connected, and lags.
	info := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(replica, "unix://")})
	defer info.Close() //nolint:errcheck // a test's client
	server, err := info.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, pid, _ := strings.Cut(server, "process_id:")
	pid, _, _ = strings.Cut(pid, "\r")
	signal := func(sig syscall.Signal) {
		t.Helper()
		n, err := strconv.Atoi(pid)
		if err == nil {
			err = syscall.Kill(n, sig)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	// Another connection each time: one that wrote nothing yet has nothing to confirm.
	start := agent.Write{Chat: room, Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w2")}}
	choice := agent.Write{Chat: room, Events: []agent.Keyed{{Op: "c1", Event: turn.Decided{Ask: "a", By: chat.User{Platform: "test", Key: "ana"}}}}}
	choice.Known = agent.Head{Seq: 3, Tip: "w2"}
	for _, write := range []agent.Write{start, start, choice, choice} {
		s := openStore(t, Options{URL: primary, Durability: "replicas=1", confirm: 200 * time.Millisecond})
		got, err := s.Append(t.Context(), write)
		if !errors.Is(err, agent.ErrNotDurable) {
			t.Errorf("%s: %+v, %v", write.Events[0].Op, got, err)
		}
	}
	signal(syscall.SIGCONT)
	if got, err := openStore(t, Options{URL: primary, Durability: "replicas=1"}).Append(t.Context(), choice); err != nil || !got.Repeated {
		t.Errorf("it caught up: %+v, %v", got, err)
	}
}
