package state

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
)

func TestNotConfirmedIsNotDurable(t *testing.T) {
	s, _ := mini(t, Options{Durability: "replicas=1"}) // miniredis confirms nothing, ever
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	write := agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}
	for i := range 2 {
		got, err := s.Append(t.Context(), write)
		if !errors.Is(err, agent.ErrNotDurable) || got.Head.Seq != 2 || got.Repeated != (i == 1) {
			t.Errorf("time %d: %+v, %v", i, got, err)
		}
	}
	for _, bad := range []string{"replicas=0", "replicas=x", "replicas", "sync"} {
		if _, err := Open(t.Context(), Options{Durability: bad}); err == nil || !strings.Contains(err.Error(), "redis.durability") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestFsync(t *testing.T) {
	m := miniredis.RunT(t)
	url := "redis://" + m.Addr()
	if _, err := Open(t.Context(), Options{URL: url, Durability: "fsync", Log: discard}); err == nil || !strings.Contains(err.Error(), "Redis 7.2") {
		t.Fatalf("a server without WAITAOF: %v", err)
	}
	var synced atomic.Int32
	if err := m.Server().Register("WAITAOF", func(c *server.Peer, _ string, _ []string) {
		c.WriteLen(2)
		c.WriteInt(int(synced.Load()))
		c.WriteInt(0)
	}); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, Options{URL: url, Durability: "fsync"})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	write := agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}
	if _, err := s.Append(t.Context(), write); !errors.Is(err, agent.ErrNotDurable) {
		t.Errorf("not on disk: %v", err)
	}
	synced.Store(1)
	if err := s.rdb.ScriptFlush(t.Context()).Err(); err != nil { // as after a restart of the server
		t.Fatal(err)
	}
	if w, err := s.Append(t.Context(), write); err != nil || !w.Repeated {
		t.Errorf("on disk: %+v, %v", w, err)
	}
}

// WAIT counts from the last write of its connection. A repeat that writes nothing would be confirmed by nobody
// having anything to confirm.
func TestARepeatIsOnlyDurableWhenItIs(t *testing.T) {
	primary := startRedis(t)
	sock := strings.TrimPrefix(primary, "unix://")
	port := freePort(t)
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
	s := openStore(t, Options{URL: primary, Durability: "replicas=1"})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	lease := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}}) // confirmed
	stop := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(replica, "unix://")})
	_ = stop.ShutdownNoSave(t.Context()).Err()
	_ = stop.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // how long WAIT may wait follows from it
	defer cancel()
	write := agent.Write{Chat: room, Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w2")}}
	for i := range 2 {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		w, err := s.Append(ctx, write)
		cancel()
		if !errors.Is(err, agent.ErrNotDurable) || w.Head.Seq != 3 {
			t.Errorf("time %d: %+v, %v", i, w, err)
		}
	}
}
